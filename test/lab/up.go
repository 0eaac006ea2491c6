// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice.dev/test/lab/cluster"
)

// Options say what Up starts.
type Options struct {
	Kube       string // the kube binary
	Members    int
	Audit      bool // API servers write audit logs
	Foreground bool // Up stays, watches, and takes the lab down when ctx ends
}

// superviseEvery is how often a foreground Up looks for members to start.
const superviseEvery = 100 * time.Millisecond

// Up starts the lab and returns when it is ready, or, in the foreground, when
// it is down again. A lab that is up stays up: what it lacks is started again.
// What a dead lab left is removed.
func (l *Lab) Up(ctx context.Context, o Options) error {
	lock, keeper, err := l.acquire(ctx)
	if err != nil {
		return err
	}
	if keeper != nil {
		return l.join(ctx, o, keeper)
	}
	defer lock.release()

	s, err := l.load()
	if err != nil {
		return err
	}
	if s != nil && s.Ready && !s.Foreground && anyAlive(s) {
		return l.revive(ctx, o, s)
	}
	if s != nil {
		l.say("removing what an earlier lab left")
		if err := l.killAll(s.Clusters); err != nil {
			return err
		}
	}
	if err := l.wipe(s, false); err != nil {
		return err
	}
	if o.Foreground {
		if err := lock.keep(); err != nil {
			return err
		}
	}
	return l.run(ctx, o)
}

// run starts the lab from nothing.
func (l *Lab) run(ctx context.Context, o Options) error {
	s, err := l.create(o)
	if err != nil {
		return err
	}
	l.say("starting %s", names(s))
	r := l.newRunner(ctx, s)
	if err := r.startAll(s.Clusters); err != nil {
		return l.abandon(s, err)
	}
	s.Ready = true
	if err := l.save(s); err != nil {
		return l.abandon(s, err)
	}
	if !o.Foreground {
		l.say("up, kubeconfigs in %s", l.kubeconfig(""))
		return nil
	}
	l.say("up, kubeconfigs in %s, until Ctrl-C", l.kubeconfig(""))
	err = r.supervise(s)
	if ctx.Err() != nil {
		l.say("ending")
		err = nil
	}
	return l.abandon(s, err)
}

// abandon ends everything, keeping the logs, and returns err.
func (l *Lab) abandon(s *state, err error) error {
	if kerr := l.killAll(s.Clusters); kerr != nil {
		return errors.Join(err, kerr)
	}
	return errors.Join(err, l.wipe(s, true))
}

// supervise lasts until a component dies or the context ends. It starts the
// members that are no longer meant to be stopped, for they must be its own
// children, and sees to it that the others stay stopped.
func (r *runner) supervise(s *state) error {
	told := map[string]bool{} // of being stopped
	for {
		for _, c := range s.Clusters {
			if err := r.superviseOne(c, told); err != nil {
				return err
			}
		}
		if err := sleep(r.ctx, superviseEvery); err != nil {
			return err
		}
	}
}

func (r *runner) superviseOne(c *cluster.Cluster, told map[string]bool) error {
	stopped := c.Stopped()
	if stopped && !told[c.Name] {
		r.lab.say("%s: stopped", c.Name)
	}
	told[c.Name] = stopped
	switch {
	case stopped && alive(c) > 0:
		return r.lab.stop(c)
	case !stopped && !noted(c):
		r.lab.say("%s: starting it again", c.Name)
		if err := r.start(c); err != nil && !errors.Is(err, errStopped) {
			return err
		}
	}
	return nil
}

// join is Up while a foreground Up holds the lab.
func (l *Lab) join(ctx context.Context, o Options, k *keeper) error {
	s, err := l.awaitKeeper(ctx, k)
	if err != nil {
		return err
	}
	if err := matches(o, s); err != nil {
		return err
	}
	for _, c := range s.Clusters {
		if err := l.askStart(ctx, c, k); err != nil {
			return err
		}
	}
	l.say("already up, in the foreground of process %d", k.id.PID)
	return nil
}

// revive is Up while a detached lab runs.
func (l *Lab) revive(ctx context.Context, o Options, s *state) error {
	if err := matches(o, s); err != nil {
		return err
	}
	var lacking []*cluster.Cluster
	for _, c := range s.Clusters {
		if c.Stopped() {
			l.say("%s: was stopped, starting it again", c.Name)
		} else if d := firstDeath(c); d != nil {
			l.say("%v", d)
			l.say("%s: starting it again", c.Name)
		} else {
			continue
		}
		if err := l.clear(c); err != nil {
			return err
		}
		lacking = append(lacking, c)
	}
	if err := l.newRunner(ctx, s).startAll(lacking); err != nil {
		return err
	}
	for _, c := range s.Clusters {
		if err := check(ctx, c); err != nil {
			return fmt.Errorf("%s: runs, but is not ready: %w", c.Name, err)
		}
	}
	if len(lacking) == 0 {
		l.say("already up, kubeconfigs in %s", l.kubeconfig(""))
	} else {
		l.say("up again, kubeconfigs in %s", l.kubeconfig(""))
	}
	return nil
}

// matches returns an error if the lab that is up is not what o asks for.
func matches(o Options, s *state) error {
	switch {
	case s.members() != o.Members:
		return fmt.Errorf("the lab is up with %d members, not %d: take it down first", s.members(), o.Members)
	case o.Audit && !s.Clusters[0].Audit:
		return errors.New("the lab is up without audit logs: take it down first")
	}
	return nil
}

// check asks the cluster's API server once whether it is ready.
func check(ctx context.Context, c *cluster.Cluster) error {
	api, err := c.API()
	if err != nil {
		return err
	}
	defer api.Close()
	return api.Ready(ctx)
}

func anyAlive(s *state) bool {
	for _, c := range s.Clusters {
		if alive(c) > 0 {
			return true
		}
	}
	return false
}

func names(s *state) string {
	var n []string
	for _, c := range s.Clusters {
		n = append(n, c.Name)
	}
	return strings.Join(n, ", ")
}
