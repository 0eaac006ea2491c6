// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ID names one process for good.
type ID struct {
	PID   int
	Start uint64 // clock ticks after boot
	Boot  string
}

// Self is this program.
func Self() (ID, error) { return identify(os.Getpid()) }

func identify(pid int) (ID, error) {
	boot, err := bootID()
	if err != nil {
		return ID{}, err
	}
	s, err := readStat(pid)
	if err != nil {
		return ID{}, err
	}
	return ID{PID: pid, Start: s.start, Boot: boot}, nil
}

// Alive reports whether the process still runs. A zombie does not, once all of its
// threads have ended: until then it has what it had open, as the port it listens on.
func (id ID) Alive() bool {
	if id.PID <= 0 {
		return false
	}
	boot, err := bootID()
	if err != nil || boot != id.Boot {
		return false
	}
	s, err := readStat(id.PID)
	return err == nil && s.start == id.Start && !s.dead()
}

// RSS is the process's resident memory in bytes, 0 if it does not run.
func (id ID) RSS() int64 {
	if !id.Alive() {
		return 0
	}
	s, err := readStat(id.PID)
	if err != nil {
		return 0
	}
	return s.rssPages * int64(os.Getpagesize())
}

// Signal sends sig if the process still runs.
func (id ID) Signal(sig syscall.Signal) error {
	// Open first (a pidfd), identify then: what is open cannot change.
	p, err := os.FindProcess(id.PID)
	if err != nil {
		return err
	}
	defer func() { _ = p.Release() }()
	if !id.Alive() {
		return nil
	}
	if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %d: %w", id.PID, err)
	}
	return nil
}

// WaitGone waits until the process has ended, and reports whether it has.
func (id ID) WaitGone(limit time.Duration) bool {
	for end := time.Now().Add(limit); id.Alive(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// String is the form of pid files: the pid comes first.
func (id ID) String() string { return fmt.Sprintf("%d %d %s", id.PID, id.Start, id.Boot) }

// Save writes a pid file, whole or not at all.
func (id ID) Save(path string) error {
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, []byte(id.String()+"\n"), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// Load reads a pid file. No file is the zero ID, which is not alive.
func Load(path string) (ID, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ID{}, nil
	}
	if err != nil {
		return ID{}, err
	}
	return Parse(string(b))
}

// Parse reads what String wrote.
func Parse(s string) (ID, error) {
	var id ID
	if _, err := fmt.Sscan(s, &id.PID, &id.Start, &id.Boot); err != nil {
		return ID{}, fmt.Errorf("process id %q: %w", s, err)
	}
	return id, nil
}

func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b)), err
}

type stat struct {
	state    string
	threads  int // with the first, of which alone state tells
	start    uint64
	rssPages int64
}

func (s stat) dead() bool { return s.state == "Z" && s.threads <= 1 || s.state == "X" }

// readStat reads /proc/PID/stat, see proc_pid_stat(5). The program's name may
// hold spaces and parentheses, so fields count from the last parenthesis.
func readStat(pid int) (stat, error) {
	path := "/proc/" + strconv.Itoa(pid) + "/stat"
	b, err := os.ReadFile(path)
	if err != nil {
		return stat{}, err
	}
	const state, threads, start, rss = 3, 20, 22, 24 // numbered from 1, as in the manual
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) <= rss-state {
		return stat{}, fmt.Errorf("%s: %d fields", path, len(f))
	}
	s := stat{state: f[0]}
	if s.threads, err = strconv.Atoi(f[threads-state]); err != nil {
		return stat{}, fmt.Errorf("%s: threads: %w", path, err)
	}
	if s.start, err = strconv.ParseUint(f[start-state], 10, 64); err != nil {
		return stat{}, fmt.Errorf("%s: start time: %w", path, err)
	}
	if s.rssPages, err = strconv.ParseInt(f[rss-state], 10, 64); err != nil {
		return stat{}, fmt.Errorf("%s: memory: %w", path, err)
	}
	return s, nil
}
