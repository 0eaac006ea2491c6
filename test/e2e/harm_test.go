// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// alone runs the steps once for each form, side by side, and with no other test
// beside them: for steps that do harm to everybody. What harms is done once for
// all forms, when each of them has come to it (party). A member that steps which failed
// left unjoined joins again, so that what comes after them tells of itself.
func alone(t *testing.T, want gating, forms []form, steps func(s *scenario)) {
	t.Helper()
	needLab(t)
	p := &party{guests: len(forms)}
	p.turn = sync.NewCond(&p.mu)
	defer theLab.reunite(t)
	t.Run("alone", func(t *testing.T) {
		for _, f := range forms {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				t.Cleanup(p.leave)
				theLab.gates.need(t, want)
				s := begin(t, f)
				s.party = p
				steps(s)
			})
		}
	})
}

// reunite lets members that are unjoined join again.
func (l *lab) reunite(t *testing.T) {
	t.Helper()
	for _, name := range members {
		if _, err := l.hub.on(clusters, "").Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			continue
		}
		if out, err := l.program(t.Context(), "kubectl-sluice", "hub", "join", name, "--cluster-kubeconfig", l.kubeconfig(name)).CombinedOutput(); err != nil {
			t.Errorf("join %s again: %v\n%s", name, err, out)
		}
	}
}

// party lets several scenarios do one thing together.
type party struct {
	mu      sync.Mutex
	turn    *sync.Cond
	guests  int
	here    int
	acting  bool
	courses int
}

// together waits until every guest is here; one of them does it for all.
func (p *party) together(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.here++
	p.turn.Broadcast()
	for course := p.courses; p.courses == course; {
		if p.here < p.guests || p.acting {
			p.turn.Wait()
			continue
		}
		p.act(do)
	}
}

// act does it with the lock released; guests go on even if it ends the test of
// the one who does it.
func (p *party) act(do func()) {
	p.acting = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.acting, p.here = false, 0
		p.courses++
		p.turn.Broadcast()
	}()
	do()
}

func (p *party) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.guests--
	p.turn.Broadcast()
}

// Restart kills the pipeline's process and starts it again.
func (s *scenario) Restart() { s.Helper(); s.make("pipeline-restart") }

// Flush empties the pipeline's Redis.
func (s *scenario) Flush() { s.Helper(); s.make("pipeline-flush") }

// Stop takes a member away.
func (s *scenario) Stop(member string) {
	s.Helper()
	s.Cleanup(func() { s.run("member-start", "M="+member) })
	s.make("member-stop", "M="+member)
}

// Start brings a member back.
func (s *scenario) Start(member string) { s.Helper(); s.make("member-start", "M="+member) }

func (s *scenario) make(target string, args ...string) {
	s.Helper()
	if s.party == nil {
		s.Fatalf("%s does harm to other scenarios: the test must be alone", target)
	}
	s.party.together(func() { s.run(target, args...) })
}

// run calls one of the targets by which anybody may try the promises by hand.
// SLUICE_E2E_ROOT says where the Makefile is.
func (s *scenario) run(target string, args ...string) {
	if err := harm(target, args...); err != nil {
		s.Error(err)
	}
}

func harm(target string, args ...string) error {
	dir, err := filepath.Abs(theLab.dir)
	if err != nil {
		return err
	}
	args = append([]string{"--no-print-directory", "-C", root(), target, "OUTPUT=" + dir}, args...)
	cmd := exec.Command("make", args...) //nolint:gosec // own targets
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// worry restarts and flushes the pipeline by turns all the time, at this
// interval, while every scenario runs: none may notice. An empty interval means
// that it does not.
func worry(ctx context.Context, interval string) {
	if interval == "" || noLab != nil {
		return
	}
	every, err := time.ParseDuration(interval)
	if err != nil {
		panic(err)
	}
	go func() {
		for i := 0; ctx.Err() == nil; i++ {
			pause(ctx, every)
			if err := harm([]string{"pipeline-restart", "pipeline-flush"}[i%2]); err != nil {
				fmt.Fprintln(os.Stderr, "e2e:", err)
			}
		}
	}()
}

// whileRestarting does something while the pipeline is killed and starts again:
// what happens then is told by no event.
func (s *scenario) whileRestarting(do func()) {
	s.Helper()
	var both sync.WaitGroup
	both.Go(do)
	s.Restart()
	both.Wait()
}

// whileAway does something while the pipeline does nothing at all, kills it and
// starts it again: it hears of none of what was done. Its webhook, which the hub goes
// without when it does not answer, is not waited for meanwhile.
func (s *scenario) whileAway(do func()) {
	s.Helper()
	s.party.together(func() {
		if err := s.lab.signal("pipeline", syscall.SIGSTOP); err != nil {
			s.Errorf("stop the pipeline: %v", err)
		}
		s.unregister()
	})
	do()
	s.Restart()
}

// signal sends a signal to the process of this pid file.
func (l *lab) signal(file string, what syscall.Signal) error {
	raw, err := os.ReadFile(filepath.Join(l.dir, file+".pid"))
	if err != nil {
		return err
	}
	pid, _, _ := strings.Cut(strings.TrimSpace(string(raw)), " ")
	n, err := strconv.Atoi(pid)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return syscall.Kill(n, what)
}

// Switch sets the gates for everybody.
func (s *scenario) Switch(want gating) {
	s.Helper()
	s.party.together(func() {
		s.lab.gates.mu.Lock()
		defer s.lab.gates.mu.Unlock()
		s.lab.gates.known = false
		if err := s.lab.gates.set(s.Context(), want); err != nil {
			s.Errorf("switch the gates: %v", err)
		}
	})
}
