// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A backup of an API server, and its restoration.

// etcd is where a cluster's API server has its data.
func (s *scenario) etcd(cluster string) string {
	return filepath.Join(s.lab.dir, "lab", cluster, "etcd")
}

// Backup copies the data of a cluster, which stops for as long as that takes.
func (s *scenario) Backup(cluster string) (copied string) {
	s.Helper()
	copied = s.TempDir()
	s.whileStopped(cluster, func() error { return os.CopyFS(copied, os.DirFS(s.etcd(cluster))) })
	return copied
}

// Restore brings a cluster back to what it was: its versions count from there, and
// what was made since is gone.
func (s *scenario) Restore(cluster, copied string) {
	s.Helper()
	s.whileStopped(cluster, func() error {
		if err := os.RemoveAll(s.etcd(cluster)); err != nil {
			return err
		}
		return os.CopyFS(s.etcd(cluster), os.DirFS(copied))
	})
	s.Eventually(func() error { return s.lab.clusters[cluster].listed(s) })
}

// whileStopped ends a cluster's processes, and starts them again when it is done.
func (s *scenario) whileStopped(cluster string, do func() error) {
	s.Helper()
	s.Stop(cluster)
	if err := do(); err != nil {
		s.Error(err)
	}
	s.Start(cluster)
}

// listed tells of a mirror that knows versions to which the cluster has not come yet.
func (c *cluster) listed(s *scenario) error {
	for _, m := range c.all() {
		now, err := m.client.List(s.Context(), metav1.ListOptions{Limit: 1})
		if err != nil {
			continue // it is not served
		}
		m.mu.Lock()
		known := m.version
		m.mu.Unlock()
		if a, b := versionOf(known), versionOf(now.GetResourceVersion()); a > b {
			return fmt.Errorf("%s of %s: version %d is known, and it has come to %d", m.resource.kind, c.name, a, b)
		}
	}
	return nil
}

// versionOf is the number that a version is; 0: none.
func versionOf(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// What a member lost is applied again, and what is in it is what the hub says.
func TestZ22MemberRestored(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		p, nginx, young, gone := s.Policy("pp").toAll(), s.Deployment("nginx"), s.ConfigMap("young"), s.ConfigMap("gone")
		s.Apply(p.Selecting(nginx, young, gone), nginx, gone)
		s.Expect(nginx).In(members...).At(1)
		s.Expect(gone).In(members...)
		s.Rest()
		before := s.uids(nginx, "member2")
		copied := s.Backup("member2")
		s.Apply(nginx.At(2), young)
		s.Delete(gone)
		s.Expect(nginx).At(2, members...)
		s.Expect(young).In(members...)
		s.Expect(gone).Nowhere()
		s.Rest()
		s.Restore("member2", copied)
		s.Expect(nginx).At(2, members...).Work("member2", isCondition("Applied", "True"))
		s.Expect(young).In(members...).At(1)
		s.same(nginx, before, "member2")
	})
}

// The hub has forgotten a suspension's owner, a content and a template.
func TestZ21HubRestored(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		p, nginx, young := s.Policy("pp").toAll(), s.Deployment("nginx"), s.ConfigMap("young")
		s.Apply(p.Selecting(nginx, young), nginx)
		s.Expect(nginx).In(members...).At(1)
		s.Rest()
		copied := s.Backup("hub")
		s.Apply(p.Selecting(nginx, young).Suspended())
		s.Expect(nginx).Work("member1", isSuspended)
		s.Apply(p.Selecting(nginx, young))
		s.Apply(nginx.At(2), young)
		s.Expect(nginx).At(2, members...)
		s.Expect(young).In(members...).At(1)
		s.Rest()
		before, orphan := s.uids(nginx, members...), s.uids(young, members...)

		s.Restore("hub", copied)
		s.Apply(p.Selecting(nginx, young).Suspended())
		s.Apply(nginx.At(3))
		s.Expect(nginx).Work("member1", isSuspended).Work("member2", isSuspended).Work("member3", isSuspended)
		s.Settle()
		for _, m := range members {
			if got := contentOf(nginx.resource, s.LiveIn(m, nginx).Object); got == "3" {
				s.Errorf("%s has what was made while the policy was suspended", m)
			}
		}
		s.Apply(p.Selecting(nginx, young))
		s.Expect(nginx).At(3, members...)
		s.same(nginx, before, members...)
		s.same(young, orphan, members...)
		s.orphaned(young, members...)

		s.Apply(young.At(2))
		s.Expect(young).At(2, members...).Works(members...)
		s.same(young, orphan, members...)
		s.orphaned(young)
	})
}

// orphaned is that an object is listed as an orphan in these members, and in no other.
func (s *scenario) orphaned(t template, in ...string) {
	s.Helper()
	out, err := s.Sluice("get", "orphans", "-o", "json")
	if err != nil {
		s.Fatalf("get orphans: %v\n%s", err, out)
	}
	var list struct {
		Items []struct{ Cluster, Kind, Namespace, Name string }
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		s.Fatalf("get orphans: %v\n%s", err, out)
	}
	var got []string
	for _, o := range list.Items {
		if o.Kind == t.kind && o.Namespace == s.ns && o.Name == t.name() {
			got = append(got, o.Cluster)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(in) {
		s.Errorf("%s is an orphan in %v, want %v:\n%s", t, got, in, out)
	}
}

// What members have is brought back to what the hub says, though nobody changed it.
func TestZ21MembersFollowTheRestoredHub(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		nginx := s.Deployment("nginx")
		s.Apply(s.Policy("pp").toAll(), nginx)
		s.Expect(nginx).In(members...).At(1)
		s.Rest()
		copied := s.Backup("hub")
		s.Apply(nginx.At(2))
		s.Expect(nginx).At(2, members...)
		s.Rest()
		before := s.uids(nginx, members...)
		s.Restore("hub", copied)
		s.Expect(nginx).At(1, members...)
		s.same(nginx, before, members...)
		s.Rest()
	})
}

// The backup is taken a moment before the hub goes back to it: a sweep may have seen
// nothing beyond it. What members have since then, and what is known of the policy, is
// not what the hub says.
func TestZ21ABackupOfAMomentAgo(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		p, nginx := s.Policy("pp").toAll(), s.Deployment("nginx")
		s.Apply(p.Selecting(nginx), nginx)
		s.Expect(nginx).In(members...).At(1)
		s.Rest()
		copied := s.Backup("hub")
		s.Apply(p.Selecting(nginx, s.ConfigMap("other")))
		s.Apply(nginx.At(2))
		s.Expect(nginx).At(2, members...)
		before := s.uids(nginx, members...)
		s.Restore("hub", copied)
		s.Expect(nginx).At(1, members...)
		s.Apply(p.Selecting(nginx).Suspended())
		s.Apply(nginx.At(3))
		s.Expect(nginx).Work("member1", isSuspended).Work("member2", isSuspended).Work("member3", isSuspended)
		s.Expect(nginx).At(1, members...)
		s.Apply(p.Selecting(nginx))
		s.Expect(nginx).At(3, members...)
		s.same(nginx, before, members...)
		s.Rest()
	})
}
