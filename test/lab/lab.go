// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package lab keeps a hub and its member clusters on this machine, each a
// real API server on etcd, without root and without containers.
//
// Everything is in one directory: kubeconfig/NAME for users, and lab/ with
// the state, and lab/NAME/ with one cluster's logs, pid files, keys and data.
//
// Invariants:
//   - one program at a time changes the lab: it holds the lock;
//   - a process is noted in its pid file as soon as it runs and until its end
//     is seen, so whoever comes next can end it, after a SIGKILL of this
//     program, too;
//   - a cluster's address, keys and data stay the same until Down;
//   - a process that ends while its cluster is not marked as stopped has died,
//     which ends Up at once, with the tail of its log.
package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"sluice.dev/test/lab/cluster"
)

// Lab is the lab in one directory, up or not.
type Lab struct {
	dir   string
	out   io.Writer
	began time.Time
}

// Open names the lab in dir. Progress is written to out.
func Open(dir string, out io.Writer) (*Lab, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return &Lab{dir: abs, out: out, began: time.Now()}, nil
}

// state is what the lab is made of, written before anything starts.
type state struct {
	Kube     string             `json:"kube"` // the binary
	Clusters []*cluster.Cluster `json:"clusters"`
	// Ready is set once everything was ready: Up was not interrupted.
	Ready bool `json:"ready"`
	// Foreground says that the processes die with the Up that started them.
	Foreground bool `json:"foreground,omitempty"`
}

func (s *state) members() int { return len(s.Clusters) - 1 }

func (s *state) cluster(name string) (*cluster.Cluster, error) {
	for _, c := range s.Clusters {
		if c.Name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("no cluster %s in the lab", name)
}

func (l *Lab) root() string                  { return filepath.Join(l.dir, "lab") }
func (l *Lab) stateFile() string             { return filepath.Join(l.root(), "state.json") }
func (l *Lab) kubeconfig(name string) string { return filepath.Join(l.dir, "kubeconfig", name) }

// load returns nil if the lab is not up.
func (l *Lab) load() (*state, error) {
	b, err := os.ReadFile(l.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &state{}
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("%s: %w", l.stateFile(), err)
	}
	return s, nil
}

func (l *Lab) save(s *state) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	tmp := l.stateFile() + ".tmp"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, l.stateFile())
}

// say writes a line of progress with the seconds since the command began.
func (l *Lab) say(format string, args ...any) {
	fmt.Fprintf(l.out, "lab %5.1fs  %s\n", time.Since(l.began).Seconds(), fmt.Sprintf(format, args...))
}

// create chooses names and ports and writes every cluster's files.
func (l *Lab) create(o Options) (*state, error) {
	s := &state{Kube: o.Kube, Foreground: o.Foreground}
	taken := map[int]bool{}
	for i := range o.Members + 1 {
		c := &cluster.Cluster{Name: "hub", Role: cluster.Hub, Audit: o.Audit}
		if i > 0 {
			c.Name, c.Role = fmt.Sprintf("member%d", i), cluster.Member
		}
		c.Dir, c.Kubeconfig = filepath.Join(l.root(), c.Name), l.kubeconfig(c.Name)
		var err error
		if c.Ports, err = cluster.ChoosePorts(taken); err != nil {
			return nil, err
		}
		if err := c.Prepare(); err != nil {
			return nil, err
		}
		s.Clusters = append(s.Clusters, c)
	}
	return s, l.save(s)
}

// wipe removes what create and the clusters wrote, and the logs unless kept.
// No process may be left. The lock file stays: it is held.
func (l *Lab) wipe(s *state, keepLogs bool) error {
	var errs []error
	remove := func(path string) { errs = append(errs, os.RemoveAll(path)) }
	remove(l.stateFile())
	if s != nil {
		for _, c := range s.Clusters {
			remove(c.Kubeconfig)
		}
	}
	files, err := filepath.Glob(filepath.Join(l.root(), "*", "*"))
	errs = append(errs, err)
	for _, f := range files {
		if !keepLogs || filepath.Ext(f) != ".log" {
			remove(f)
		}
	}
	return errors.Join(errs...)
}
