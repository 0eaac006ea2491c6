// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

const (
	labGrace      = 20 * time.Second // for the lab to end itself
	pipelineGrace = 10 * time.Second // for the pipeline to drain
	demoPatience  = 2 * time.Minute  // of demo and with for the quickstart
	poll          = 100 * time.Millisecond
	nag           = 10 * time.Second // between lines about the same wait
)

// options say what to play.
type options struct {
	members    int
	redis      string
	bin        string
	source     string
	withParent bool
	audit      bool
	patience   time.Duration // for the quickstart; 0 waits on
}

func (o *options) flags(c *cobra.Command) {
	c.Flags().IntVar(&o.members, "members", 3, "`number` of member clusters")
	c.Flags().StringVar(&o.redis, "redis", "", "`address` of a Redis to use instead of the embedded one")
	c.Flags().StringVar(&o.source, "source", ".", "`directory` of the repository: config/, examples/")
	c.Flags().BoolVar(&o.withParent, "with-parent", false, "end when the process that started this one ends")
	c.Flags().BoolVar(&o.audit, "audit", false, "have the API servers log who asks what")
	binFlag(c, &o.bin)
}

func binFlag(c *cobra.Command, bin *string) {
	c.Flags().StringVar(bin, "bin", "", "`directory` of the programs (default: that of this one)")
}

// session is one playground that is up or coming up.
type session struct {
	options
	dir   directory
	out   *printer
	began time.Time
	fail  context.CancelCauseFunc

	lab      *child
	pipeline *pipeline
	hub      *cluster
	members  []*cluster
}

// play brings a playground up, runs then and takes it down again.
func (o options) play(cmd *cobra.Command, dir directory, out io.Writer, then func(context.Context, *session) error) (err error) {
	if o.members < 1 {
		return fmt.Errorf("--members %d: the quickstart needs one at least", o.members)
	}
	for _, name := range []string{"lab", "standalone", "kubectl-sluice"} {
		if _, err := binary(o.bin, name); err != nil {
			return err
		}
	}
	give, err := dir.take()
	if errors.Is(err, errTaken) {
		return fmt.Errorf("%w: use that one, or end it first", err)
	}
	if err != nil {
		return err
	}
	defer give()
	ctx, fail := context.WithCancelCause(cmd.Context())
	defer fail(nil)
	s := &session{options: o, dir: dir, began: time.Now(), fail: fail}
	s.out = &printer{to: out, began: s.began}
	if o.withParent {
		go s.endWithParent(ctx)
	}
	err = s.up(ctx)
	if err == nil {
		err = then(ctx, s)
	}
	// What went wrong by itself says more than what failed in consequence.
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	interrupted := cmd.Context().Err() != nil
	if interrupted && (err == nil || errors.Is(err, context.Canceled)) {
		err = nil
		if o.patience > 0 { // was to come to an end by itself
			err = errors.New("interrupted")
		}
	}
	s.down(err)
	return err
}

// up starts everything and returns when the quickstart is where it belongs.
func (s *session) up(ctx context.Context) error {
	stop, err := s.serve(ctx)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, stop)
	if err := s.startLab(ctx); err != nil {
		return err
	}
	if err := s.connect(); err != nil {
		return err
	}
	if err := s.prepareHub(ctx); err != nil {
		return err
	}
	if err := s.startPipeline(ctx); err != nil {
		return err
	}
	if err := s.joinMembers(ctx); err != nil {
		return err
	}
	if err := s.quickstart(ctx); err != nil {
		return err
	}
	return s.dir.save("ready", time.Now().UTC().Format(time.RFC3339))
}

// down ends what up started, the pipeline first.
func (s *session) down(err error) {
	_ = os.Remove(s.dir.ready())
	if err != nil {
		s.out.say("ending, because of this: %v", err)
	} else {
		s.out.say("ending")
	}
	s.fail(nil)
	if s.pipeline != nil {
		s.pipeline.end()
	}
	if s.lab != nil {
		s.lab.end(labGrace)
	}
}

// startLab returns when the hub and the members are ready.
func (s *session) startLab(ctx context.Context) error {
	path, err := binary(s.bin, "lab")
	if err != nil {
		return err
	}
	s.out.say("starting a hub and %d members", s.options.members)
	ready := make(chan struct{})
	var once sync.Once
	show := &lineWriter{line: func(line string) {
		if strings.Contains(line, "up, kubeconfigs in") {
			once.Do(func() { close(ready) })
			return
		}
		if strings.HasPrefix(line, "[+]") || line == "readyz check failed" {
			return // of an API server that is not ready, what is well does not matter
		}
		s.out.print(line)
	}}
	args := []string{"up", "--foreground", "--dir", string(s.dir), "--members", fmt.Sprint(s.options.members)}
	if s.audit {
		args = append(args, "--audit")
	}
	s.lab, err = spawn("the lab", s.dir.log("lab"), show, syscall.SIGTERM, path, args...)
	if err != nil {
		return err
	}
	go func() {
		<-s.lab.done
		s.fail(fmt.Errorf("the lab ended (%s); the end of %s:\n%s",
			s.lab.how(), relative(s.lab.log), tail(s.lab.log)))
	}()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// with runs a command while a playground is up.
func (o options) with(cmd *cobra.Command, dir directory, args []string) error {
	command := func(ctx context.Context) error {
		c := exec.CommandContext(ctx, args[0], args[1:]...)
		c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
		c.WaitDelay = pipelineGrace
		c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
		c.Env = append(os.Environ(), "SLUICE_E2E_DIR="+string(dir))
		return c.Run()
	}
	if _, err := os.Stat(dir.ready()); err == nil && dir.ask(cmd.Context(), "ping") == nil {
		fmt.Printf("using the playground that is up in %s\n", relative(string(dir)))
		return command(cmd.Context())
	}
	log, err := newLog(dir)
	if err != nil {
		return err
	}
	defer log.Close()
	fmt.Printf("starting a playground, its lines go to %s\n", relative(log.Name()))
	err = o.play(cmd, dir, log, func(ctx context.Context, s *session) error {
		fmt.Printf("the playground is ready after %.0f s\n", time.Since(s.began).Seconds())
		return command(ctx)
	})
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		fmt.Fprintf(os.Stderr, "the end of %s:\n%s\n", relative(log.Name()), tail(log.Name()))
	}
	return err
}

// newLog is beside the logs that a session writes, which it clears at first.
func newLog(dir directory) (*os.File, error) {
	if err := os.MkdirAll(string(dir), 0o755); err != nil {
		return nil, err
	}
	return os.Create(dir.path("playground.log"))
}

// endWithParent ends the session when this program's parent is gone.
func (s *session) endWithParent(ctx context.Context) {
	parent := os.Getppid()
	_ = wait(ctx, func() bool { return os.Getppid() != parent })
	s.fail(errors.New("the process that started this one is gone"))
}

// wait polls until ok or the end of the context.
func wait(ctx context.Context, ok func() bool) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// printer writes whole lines, whoever they are from.
type printer struct {
	mu    sync.Mutex
	to    io.Writer
	began time.Time
}

func (p *printer) print(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintln(p.to, line)
}

// say writes a line of the playground's own, with the seconds since it began.
func (p *printer) say(format string, args ...any) {
	p.print(fmt.Sprintf("play %5.1fs  %s", time.Since(p.began).Seconds(), fmt.Sprintf(format, args...)))
}
