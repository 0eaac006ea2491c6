// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// child is a program that this one starts, and starts again after it was killed. It
// dies with this one.
type child struct {
	path, log string
	args      []string
	cmd       *exec.Cmd
}

// spawner is a thread that lives as long as this program: the kernel sends the death
// signal when the thread that forked ends, not the process.
var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

func (c *child) start() error {
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	c.cmd = exec.Command(c.path, c.args...)
	c.cmd.Stdout, c.cmd.Stderr = log, log
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	result := make(chan error)
	spawner() <- func() { result <- c.cmd.Start() }
	if err := <-result; err != nil {
		return fmt.Errorf("start %s: %w", c.path, err)
	}
	return nil
}

func (c *child) signal(s syscall.Signal) error {
	if c.cmd == nil {
		return nil
	}
	if err := c.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("signal %s: %w", filepath.Base(c.path), err)
	}
	if s == syscall.SIGKILL {
		_ = c.cmd.Wait() // it was killed
		c.cmd = nil
	}
	return nil
}

// component is a process of the lab that this program started, by its pid file: pid,
// start time, boot.
type component struct{ pidFile string }

// signal sends it, if the process is still the one that the file names.
func (c component) signal(s syscall.Signal) error {
	raw, err := os.ReadFile(c.pidFile)
	if err != nil {
		return err
	}
	fields := strings.Fields(string(raw))
	if len(fields) < 2 {
		return fmt.Errorf("%s: no pid and start", c.pidFile)
	}
	pid, err := strconv.Atoi(fields[0])
	if err != nil {
		return fmt.Errorf("%s: %w", c.pidFile, err)
	}
	// What is open cannot become another process; then it is looked at.
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer func() { _ = p.Release() }()
	if started(pid) != fields[1] {
		return fmt.Errorf("%s: its process is gone", c.pidFile)
	}
	if err := p.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %d: %w", pid, err)
	}
	return nil
}

// started is when a process was started, in clock ticks after boot; empty: there is
// none.
func started(pid int) string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(raw), ") ") // behind the program's name
	if fields := strings.Fields(rest); len(fields) > 19 {
		return fields[19]
	}
	return ""
}
