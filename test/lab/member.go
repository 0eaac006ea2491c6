// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"

	"sluice.dev/test/lab/cluster"
	"sluice.dev/test/lab/process"
)

// errNotUp is the answer of commands that need a lab.
var errNotUp = errors.New("the lab is not up")

// Stop ends the processes of one cluster. Its data, its address and its
// kubeconfig stay.
func (l *Lab) Stop(ctx context.Context, name string) error {
	lock, keeper, s, err := l.enter(ctx)
	if err != nil {
		return err
	}
	if lock != nil {
		defer lock.release()
	}
	c, err := s.cluster(name)
	if err != nil {
		return err
	}
	if c.Stopped() && !noted(c) {
		l.say("%s: is stopped already", name)
		return nil
	}
	// The mark comes first, or the processes would seem to die.
	if err := os.WriteFile(c.StoppedMark(), nil, 0o644); err != nil {
		return err
	}
	for noted(c) {
		if err := l.stop(c); err != nil {
			return err
		}
		if keeper == nil || !keeper.id.Alive() {
			l.forgetAll(c)
			continue
		}
		// The keeper forgets when it has seen the end; only then would it
		// start the cluster again.
		if err := sleep(ctx, poll); err != nil {
			return err
		}
	}
	l.say("%s: stopped", name)
	return nil
}

// Start starts a stopped cluster again and returns when it is ready.
func (l *Lab) Start(ctx context.Context, name string) error {
	lock, keeper, s, err := l.enter(ctx)
	if err != nil {
		return err
	}
	if lock != nil {
		defer lock.release()
	}
	c, err := s.cluster(name)
	if err != nil {
		return err
	}
	if keeper != nil {
		if err := l.askStart(ctx, c, keeper); err != nil {
			return err
		}
		l.say("%s: ready", name)
		return nil
	}
	if !c.Stopped() && firstDeath(c) == nil {
		l.say("%s: runs already", name)
		return check(ctx, c)
	}
	if err := l.clear(c); err != nil {
		return err
	}
	return l.newRunner(ctx, s).startAll([]*cluster.Cluster{c})
}

// enter takes the lock of a lab that is up, or finds its keeper.
func (l *Lab) enter(ctx context.Context) (*lock, *keeper, *state, error) {
	lock, keeper, err := l.acquire(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	var s *state
	if keeper != nil {
		s, err = l.awaitKeeper(ctx, keeper)
	} else if s, err = l.load(); err == nil && (s == nil || !s.Ready || s.Foreground) {
		// Foreground, but no keeper: it was killed, and the processes with it.
		err = errNotUp
	}
	if err != nil && lock != nil {
		lock.release()
	}
	return lock, keeper, s, err
}

// clear ends what is left of a cluster's processes and of the wish to stop it,
// so that it may be started.
func (l *Lab) clear(c *cluster.Cluster) error {
	if err := l.stop(c); err != nil {
		return err
	}
	l.forgetAll(c)
	return unmark(c)
}

func (l *Lab) forgetAll(c *cluster.Cluster) {
	for _, comp := range c.Components() {
		l.forget(c, comp.Name)
	}
}

func unmark(c *cluster.Cluster) error {
	if err := os.Remove(c.StoppedMark()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// askStart has the keeper start the cluster, if it is stopped, and waits until
// it is ready.
func (l *Lab) askStart(ctx context.Context, c *cluster.Cluster, k *keeper) error {
	if err := unmark(c); err != nil {
		return err
	}
	api, err := c.API()
	if err != nil {
		return err
	}
	defer api.Close()
	for {
		if alive(c) == len(c.Components()) {
			if err = api.Ready(ctx); err == nil {
				return nil
			}
		}
		if !k.id.Alive() {
			return fmt.Errorf("the lab ended while %s was starting: process %d said why", c.Name, k.id.PID)
		}
		if err := sleep(ctx, poll); err != nil {
			return err
		}
	}
}

// awaitKeeper waits until the foreground Up has everything ready.
func (l *Lab) awaitKeeper(ctx context.Context, k *keeper) (*state, error) {
	for {
		s, err := l.load()
		if err != nil {
			return nil, err
		}
		if s != nil && s.Ready && s.Foreground {
			return s, nil
		}
		if !k.id.Alive() {
			return nil, fmt.Errorf("the lab ended while it was starting: process %d said why", k.id.PID)
		}
		if err := sleep(ctx, poll); err != nil {
			return nil, err
		}
	}
}

// firstDeath returns the first component that does not run, nil if all do.
func firstDeath(c *cluster.Cluster) *Death {
	for _, comp := range c.Components() {
		if id, err := process.Load(c.PIDFile(comp.Name)); err != nil || !id.Alive() {
			return death(c, comp.Name, "nobody saw how")
		}
	}
	return nil
}
