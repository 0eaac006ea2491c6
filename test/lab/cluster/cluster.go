// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster knows what one cluster of the lab is made of: its programs
// and their flags, its certificates, tokens and kubeconfigs, and how to tell
// that it is ready. It starts no process.
//
// Invariants:
//   - everything listens on loopback, at ports that are part of the cluster:
//     it comes back at the same address with the same data;
//   - each program has its own user, so that an audit log tells who asked;
//   - no client is throttled: neither by the server (no priority and
//     fairness, high limits) nor in the programs (no client-side limit);
//   - on a hub an object starts nothing: there is no controller for workloads.
package cluster

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

// Role says which programs and controllers a cluster has.
type Role string

const (
	Hub    Role = "hub"
	Member Role = "member"
)

// Cluster is one API server and what belongs to it.
type Cluster struct {
	Name  string `json:"name"`
	Role  Role   `json:"role"`
	Ports Ports  `json:"ports"`
	Audit bool   `json:"audit,omitempty"`

	// Dir holds data, logs, keys and pid files; Kubeconfig is the file for
	// users. Both absolute.
	Dir        string `json:"dir"`
	Kubeconfig string `json:"kubeconfig"`
}

// Component is one program of a cluster.
type Component struct {
	Name string
	Args []string // of the kube binary
	// Stateless: it keeps nothing, so it may be started again when it dies.
	Stateless bool
}

// The components' names; each is a program of the kube binary.
const (
	Etcd      = "etcd"
	apiserver = "apiserver"
	kcm       = "kcm"
	scheduler = "scheduler"
	kwok      = "kwok"
)

// Server is the API server's URL.
func (c *Cluster) Server() string { return fmt.Sprintf("https://127.0.0.1:%d", c.Ports.API) }

// Log is where a component writes.
func (c *Cluster) Log(component string) string { return c.path(component + ".log") }

// PIDFile is where the process of a component is noted.
func (c *Cluster) PIDFile(component string) string { return c.path(component + ".pid") }

// AuditLog is the API server's audit log, written if Audit is set.
func (c *Cluster) AuditLog() string { return c.path("audit.log") }

// StoppedMark exists while the cluster is meant to be stopped.
func (c *Cluster) StoppedMark() string { return c.path("stopped") }

// Stopped reports whether the cluster is meant to be stopped.
func (c *Cluster) Stopped() bool {
	_, err := os.Stat(c.StoppedMark())
	return err == nil
}

func (c *Cluster) path(elem ...string) string {
	return filepath.Join(append([]string{c.Dir}, elem...)...)
}

// Env is the environment of all components: nothing of the user's own, lest a
// KUBECONFIG, a proxy or a file in the home directory reach them.
func (c *Cluster) Env() []string {
	return []string{"HOME=" + c.Dir, "PATH=/usr/bin:/bin", "TMPDIR=" + os.TempDir()}
}

//go:embed files
var files embed.FS

// Prepare writes every file that the components read.
func (c *Cluster) Prepare() error {
	for _, dir := range []string{c.path("pki"), c.path("config"), filepath.Dir(c.Kubeconfig)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := c.writeIdentities(); err != nil {
		return fmt.Errorf("write keys and kubeconfigs of %s: %w", c.Name, err)
	}
	t, err := template.New("").Delims("[[", "]]").ParseFS(files, "files/*.yaml")
	if err != nil {
		return err
	}
	for _, name := range []string{"audit.yaml", "kwok.yaml", "scheduler.yaml"} {
		f, err := os.Create(c.path("config", name))
		if err != nil {
			return err
		}
		err = t.ExecuteTemplate(f, name, map[string]string{
			"NodeIP": NodeIP, "Kubeconfig": c.userKubeconfig(scheduler),
		})
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}
