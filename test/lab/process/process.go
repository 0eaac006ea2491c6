// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package process starts programs and knows them again later, from another
// program, too.
//
// Invariants:
//   - a process is identified by its pid, its start time and the boot it was
//     started in, so no signal ever reaches a stranger that got an old pid;
//   - a bound process dies with its starter, even if that is killed by SIGKILL;
//   - a detached process outlives its starter and has no terminal.
//
// It needs Linux: /proc, pidfd, PR_SET_PDEATHSIG.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// Command is a program to start.
type Command struct {
	Path string
	Args []string // without the program's name
	Dir  string
	Env  []string
	Log  string // stdout and stderr are appended here
}

// Process is a running child of this program.
type Process struct {
	ID   ID
	done chan struct{}
	err  error
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the process ended; only after Done.
func (p *Process) Err() error { return p.err }

// Detach starts c so that it goes on when this program ends.
func (c Command) Detach() (*Process, error) {
	return c.start(&syscall.SysProcAttr{Setsid: true})
}

// Bind starts c so that it dies with this program. It has a process group of
// its own, so that a terminal's Ctrl-C reaches this program alone.
func (c Command) Bind() (p *Process, err error) {
	onSpawner(func() {
		p, err = c.start(&syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL})
	})
	return p, err
}

func (c Command) start(attr *syscall.SysProcAttr) (*Process, error) {
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = c.Dir, c.Env, log, log, attr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	id, err := identify(cmd.Process.Pid)
	if err != nil {
		// Our own child that is not waited for cannot vanish from /proc.
		return nil, errors.Join(fmt.Errorf("identify %s: %w", c.Path, err), cmd.Process.Kill(), cmd.Wait())
	}
	p := &Process{ID: id, done: make(chan struct{})}
	go func() {
		if p.err = cmd.Wait(); p.err == nil {
			p.err = errors.New("exit status 0")
		}
		close(p.done)
	}()
	return p, nil
}

var spawner struct {
	once sync.Once
	work chan func()
}

// onSpawner runs f on a thread that lives as long as this program: the kernel
// sends the death signal when the thread that forked ends, not the process.
func onSpawner(f func()) {
	spawner.once.Do(func() {
		spawner.work = make(chan func())
		go func() {
			runtime.LockOSThread()
			for f := range spawner.work {
				f()
			}
		}()
	})
	done := make(chan struct{})
	spawner.work <- func() { defer close(done); f() }
	<-done
}
