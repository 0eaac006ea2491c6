// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// child is a program that dies with this one.
type child struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	err  error // how it ended; after done
}

// spawn starts a program. It has a process group of its own, so that a
// terminal's Ctrl-C reaches this program alone, which then ends the child. Its
// output goes to the log and, where show is not nil, stdout there, too.
func spawn(name, log string, show io.Writer, death syscall.Signal, path string, args ...string) (*child, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	c := &child{name: name, cmd: exec.Command(path, args...), log: log, done: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = file, file
	if show != nil {
		c.cmd.Stdout = io.MultiWriter(show, file)
	}
	c.cmd.WaitDelay = 2 * time.Second // for the output, should somebody else hold it
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death}
	if err := onSpawner(c.cmd.Start); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		c.err = c.cmd.Wait()
		_ = file.Close()
		close(c.done)
	}()
	return c, nil
}

// how says how the child ended; after done.
func (c *child) how() string {
	if c.err == nil {
		return "exit status 0"
	}
	return c.err.Error()
}

// end asks the child to end and kills it if it does not within the grace.
func (c *child) end(grace time.Duration) {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-c.done:
		return
	case <-late.C:
	}
	_ = c.cmd.Process.Kill()
	<-c.done
}

// spawner is a thread that lives as long as this program: the kernel sends the
// death signal when the thread that forked ends, not the process.
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

func onSpawner(f func() error) error {
	result := make(chan error)
	spawner() <- func() { result <- f() }
	return <-result
}

// What tail shows of a log, and what it reads at most.
const (
	tailLines = 20
	tailBytes = 16 << 10
)

// tail is the end of a log, indented.
func tail(log string) string {
	f, err := os.Open(log)
	if err != nil {
		return "  | " + err.Error()
	}
	defer f.Close()
	if s, err := f.Stat(); err == nil && s.Size() > tailBytes {
		_, _ = f.Seek(-tailBytes, io.SeekEnd)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return "  | " + err.Error()
	}
	all := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return "  | " + strings.Join(all[max(0, len(all)-tailLines):], "\n  | ")
}

// lineWriter gives each whole line to a function.
type lineWriter struct {
	line func(string)
	rest []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		w.line(string(w.rest[:i]))
		w.rest = w.rest[i+1:]
	}
}
