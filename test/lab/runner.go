// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"sluice.dev/test/lab/cluster"
	"sluice.dev/test/lab/process"
)

const (
	readyLimit = 3 * time.Minute       // a cold, slow machine; a death ends the wait at once
	poll       = 50 * time.Millisecond // of readiness
	nag        = 10 * time.Second      // between lines about the same wait
	etcdGrace  = 5 * time.Second       // for etcd to end by itself
	goneLimit  = 10 * time.Second      // for a killed process to be gone
	tailLines  = 20                    // of a dead component's log
	mayDie     = 3                     // how often what keeps nothing is started again
)

// Death is a component that ended and should not have.
type Death struct {
	Cluster, Component string
	How                string
	Log                string
	Tail               []string
}

func (d *Death) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s died (%s); the end of %s:", d.Cluster, d.Component, d.How, d.Log)
	for _, line := range d.Tail {
		b.WriteString("\n  | " + line)
	}
	return b.String()
}

func death(c *cluster.Cluster, component, how string) *Death {
	log := c.Log(component)
	return &Death{
		Cluster: c.Name, Component: component, How: how,
		Log: log, Tail: process.Tail(log, tailLines),
	}
}

// runner starts clusters and watches what it started.
type runner struct {
	lab  *Lab
	kube string
	bind bool // the processes die with this program

	ctx  context.Context // ends with the first death, which is its cause
	fail context.CancelCauseFunc
}

func (l *Lab) newRunner(ctx context.Context, s *state) *runner {
	r := &runner{lab: l, kube: s.Kube, bind: s.Foreground}
	r.ctx, r.fail = context.WithCancelCause(ctx)
	return r
}

// startAll starts the clusters at the same time and returns when all are ready.
func (r *runner) startAll(clusters []*cluster.Cluster) error {
	var wg sync.WaitGroup
	for _, c := range clusters {
		wg.Go(func() {
			if err := r.start(c); err != nil {
				r.fail(err) // the first failure is the cause, the others follow from it
			}
		})
	}
	wg.Wait()
	return context.Cause(r.ctx)
}

// start starts a cluster none of whose components runs, and returns when it is ready.
func (r *runner) start(c *cluster.Cluster) error {
	api, err := c.API()
	if err != nil {
		return err
	}
	defer api.Close()
	for _, comp := range c.Store() {
		if err := r.spawn(c, comp); err != nil {
			return err
		}
	}
	if err := r.await(c, "its API server", api.Ready); err != nil {
		return err
	}
	r.lab.say("%s: serves at %s", c.Name, c.Server())
	for _, comp := range c.Clients() {
		if err := r.spawn(c, comp); err != nil {
			return err
		}
	}
	if c.Role == cluster.Member {
		if err := r.await(c, "its node to be made", api.EnsureNode); err != nil {
			return err
		}
		if err := r.await(c, "its node to be ready", api.NodeReady); err != nil {
			return err
		}
	}
	if err := r.await(c, "its default ServiceAccount", api.DefaultAccount); err != nil {
		return err
	}
	r.lab.say("%s: ready", c.Name)
	return nil
}

func (r *runner) spawn(c *cluster.Cluster, comp cluster.Component) error {
	return r.spawnAgain(c, comp, 0)
}

// spawnAgain starts a component that died so many times before.
func (r *runner) spawnAgain(c *cluster.Cluster, comp cluster.Component, died int) error {
	cmd := process.Command{
		Path: r.kube, Args: comp.Args, Dir: c.Dir, Env: c.Env(), Log: c.Log(comp.Name),
	}
	start := cmd.Detach
	if r.bind {
		start = cmd.Bind
	}
	p, err := start()
	if err != nil {
		return fmt.Errorf("%s: start %s: %w", c.Name, comp.Name, err)
	}
	if err := p.ID.Save(c.PIDFile(comp.Name)); err != nil {
		return errors.Join(err, p.ID.Signal(syscall.SIGKILL))
	}
	go func() {
		<-p.Done()
		if c.Stopped() {
			r.lab.forget(c, comp.Name)
			return
		}
		d := death(c, comp.Name, p.Err().Error())
		// What somebody killed is his; what ended by itself may be started again.
		var exit *exec.ExitError
		if !comp.Stateless || died == mayDie || !errors.As(p.Err(), &exit) || exit.ExitCode() < 0 {
			r.fail(d)
			return
		}
		r.lab.say("%v", d)
		if err := r.spawnAgain(c, comp, died+1); err != nil {
			r.fail(err)
		}
	}()
	return nil
}

// errStopped is the end of a wait for a cluster that was stopped meanwhile.
var errStopped = errors.New("stopped meanwhile")

// await waits until ok returns nil.
func (r *runner) await(c *cluster.Cluster, what string, ok func(context.Context) error) error {
	began := time.Now()
	for told := began; ; {
		err := ok(r.ctx)
		if err == nil {
			return nil
		}
		if c.Stopped() {
			return fmt.Errorf("%s: %w", c.Name, errStopped)
		}
		if time.Since(began) > readyLimit {
			return fmt.Errorf("%s: waited %v for %s: %w", c.Name, readyLimit, what, err)
		}
		if time.Since(told) > nag {
			told = time.Now()
			r.lab.say("%s: still waiting for %s: %v", c.Name, what, err)
		}
		if err := sleep(r.ctx, poll); err != nil {
			return err
		}
	}
}

// stop ends a cluster's processes: all at once, but for etcd, which may write
// its data out. Whoever started them does not matter.
func (l *Lab) stop(c *cluster.Cluster) error {
	return l.kill([]*cluster.Cluster{c}, func(component string) syscall.Signal {
		if component == cluster.Etcd {
			return syscall.SIGTERM
		}
		return syscall.SIGKILL
	})
}

// killAll ends the processes of clusters whose data are not needed any more.
func (l *Lab) killAll(clusters []*cluster.Cluster) error {
	return l.kill(clusters, func(string) syscall.Signal { return syscall.SIGKILL })
}

func (l *Lab) kill(clusters []*cluster.Cluster, with func(component string) syscall.Signal) error {
	var ids []process.ID
	var errs []error
	for _, c := range clusters {
		for _, comp := range c.Components() {
			id, err := process.Load(c.PIDFile(comp.Name))
			errs = append(errs, err)
			if id.Alive() {
				errs = append(errs, id.Signal(with(comp.Name)))
				ids = append(ids, id)
			}
		}
	}
	end := time.Now().Add(etcdGrace)
	for _, id := range ids {
		if id.WaitGone(time.Until(end)) {
			continue
		}
		errs = append(errs, id.Signal(syscall.SIGKILL))
		if !id.WaitGone(goneLimit) {
			errs = append(errs, fmt.Errorf("process %d does not end", id.PID))
		}
	}
	return errors.Join(errs...)
}

// forget removes a component's pid file, if its process is gone.
func (l *Lab) forget(c *cluster.Cluster, component string) {
	if id, err := process.Load(c.PIDFile(component)); err == nil && !id.Alive() {
		_ = os.Remove(c.PIDFile(component))
	}
}

// noted reports whether the cluster has a pid file: it was started, and its
// end was not seen yet.
func noted(c *cluster.Cluster) bool {
	for _, comp := range c.Components() {
		if _, err := os.Stat(c.PIDFile(comp.Name)); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// alive counts the components whose processes run.
func alive(c *cluster.Cluster) (n int) {
	for _, comp := range c.Components() {
		if id, err := process.Load(c.PIDFile(comp.Name)); err == nil && id.Alive() {
			n++
		}
	}
	return n
}
