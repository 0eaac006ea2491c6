// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"

	"sluice.dev/test/lab/cluster"
	"sluice.dev/test/lab/process"
)

// Status is what a program may know of the lab (lab status -o json).
type Status struct {
	Dir      string          `json:"dir"`
	Up       bool            `json:"up"`               // every cluster is
	Keeper   int             `json:"keeper,omitempty"` // pid of the foreground up
	Clusters []ClusterStatus `json:"clusters"`
}

// ClusterStatus is one cluster's.
type ClusterStatus struct {
	Name       string            `json:"name"`
	Role       cluster.Role      `json:"role"`
	State      State             `json:"state"`
	Up         bool              `json:"up"`               // State is up
	Reason     string            `json:"reason,omitempty"` // why it is not up
	Server     string            `json:"server"`
	Kubeconfig string            `json:"kubeconfig"`
	AuditLog   string            `json:"auditLog,omitempty"`
	Components []ComponentStatus `json:"components"`
}

// ComponentStatus is one process's.
type ComponentStatus struct {
	Name   string `json:"name"`
	PID    int    `json:"pid,omitempty"` // 0 if it does not run
	Up     bool   `json:"up"`
	Log    string `json:"log"`
	RSSMiB int64  `json:"rssMiB,omitempty"`
}

// State of a cluster.
type State string

const (
	StateUp      State = "up"      // all processes run, the API server is ready
	StateStopped State = "stopped" // by Stop
	StateDead    State = "dead"    // a process is missing
	StateUnready State = "unready" // the API server is not ready
)

// Status looks at the lab and changes nothing.
func (l *Lab) Status(ctx context.Context) (*Status, error) {
	st := &Status{Dir: l.dir, Clusters: []ClusterStatus{}}
	s, err := l.load()
	if s == nil || err != nil {
		return st, err
	}
	if k := l.keeper(); k != nil {
		st.Keeper = k.id.PID
	}
	st.Up = s.Ready
	for _, c := range s.Clusters {
		cs := clusterStatus(ctx, c)
		st.Up = st.Up && cs.Up
		st.Clusters = append(st.Clusters, cs)
	}
	return st, nil
}

func clusterStatus(ctx context.Context, c *cluster.Cluster) ClusterStatus {
	cs := ClusterStatus{
		Name: c.Name, Role: c.Role, State: StateUp,
		Server: c.Server(), Kubeconfig: c.Kubeconfig,
	}
	if c.Audit {
		cs.AuditLog = c.AuditLog()
	}
	for _, comp := range c.Components() {
		st := ComponentStatus{Name: comp.Name, Log: c.Log(comp.Name)}
		if id, err := process.Load(c.PIDFile(comp.Name)); err == nil && id.Alive() {
			st.PID, st.Up, st.RSSMiB = id.PID, true, id.RSS()>>20
		} else if cs.State == StateUp {
			cs.State, cs.Reason = StateDead, comp.Name+" does not run, see "+c.Log(comp.Name)
		}
		cs.Components = append(cs.Components, st)
	}
	if c.Stopped() {
		cs.State, cs.Reason = StateStopped, ""
	} else if cs.State == StateUp {
		if err := check(ctx, c); err != nil {
			cs.State, cs.Reason = StateUnready, err.Error()
		}
	}
	cs.Up = cs.State == StateUp
	return cs
}
