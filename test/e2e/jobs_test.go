// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"
)

var jobs = resource{group: "batch", version: "v1", kind: "Job", plural: "jobs"}

// job runs once and is removed by the member some seconds after it has ended, within
// which a busy pipeline has heard of that.
func (s *scenario) job(name string) template {
	s.Helper()
	j := s.builtin(jobs, `
spec:
  ttlSecondsAfterFinished: 10
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}`)
	for _, m := range members {
		s.lab.clusters[m].mirror(jobs) // what comes and goes is seen from now on
	}
	return template{j.with("metadata.name", name)}
}

// ran tells how many Jobs of that name a member has had.
func (s *scenario) ran(j template, member string) int {
	had := map[string]bool{}
	for _, c := range s.lab.clusters[member].mirror(jobs).since(s.ns, 0) {
		if keyOf(c.after) == j.key() {
			had[string(c.after.GetUID())] = true
		}
	}
	return len(had)
}

// ranOnce waits until the members have removed the Job, each its first.
func (s *scenario) ranOnce(j template, in ...string) {
	s.Helper()
	for _, m := range in {
		s.Eventually(func() error {
			if n := s.ran(j, m); n != 1 || s.Expect(j).inMember(m) != nil {
				return fmt.Errorf("%s has had %d Jobs %s, and has it: %t", m, n, j.name(), s.Expect(j).inMember(m) != nil)
			}
			return nil
		})
	}
}

func TestZ20JobThatEnded(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		inMember, onHub := s.job("in-member"), s.job("on-hub")
		s.Apply(s.Policy("pp").Selecting(inMember, onHub).To("member1", "member2"), inMember, onHub)
		for _, j := range []template{inMember, onHub} {
			s.ranOnce(j, "member1", "member2")
			s.Expect(j).Works("member1", "member2").Binding(isCondition("FullyApplied", "True")).Binding(func(b map[string]any) error {
				for _, i := range items(b, "status.aggregatedStatus") {
					if err := differs("its health in "+text(i, "clusterName"), text(i, "health"), "Healthy"); err != nil {
						return err
					}
				}
				return nil
			})
		}
		s.Delete(onHub)
		s.Expect(onHub).Works().NoBinding()
		s.Delete(asThing(works, s.Expect(inMember).work("member2")))
		s.Touch(s.Policy("pp"))
		s.Settle()
		s.ranOnce(inMember, "member1", "member2")
		s.ranOnce(onHub, "member1", "member2")
	})
}

func TestZ20JobThatEndedAndRestart(t *testing.T) {
	alone(t, gatesOff, inNamespaces, func(s *scenario) {
		j := s.job("once")
		s.Apply(s.Policy("pp").Selecting(j).To("member1", "member2"), j)
		s.ranOnce(j, "member1", "member2")
		s.Expect(j).Binding(isCondition("FullyApplied", "True"))
		s.Rest()
		s.Restart()
		s.Flush()
		s.Settle()
		s.ranOnce(j, "member1", "member2")
	})
}

// A placement's Work keeps no status of a Job, but that it finished.
func TestZ20AJobOfAPlacementThatEndedAndRestart(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		j, p := s.job("once"), s.everywhere()
		s.Apply(j, p)
		s.ranOnce(j, members...)
		s.Rest()
		s.Restart()
		s.Flush()
		s.Settle()
		s.ranOnce(j, members...)
	})
}

// Nothing on the hub that tells of a member is needed to know that a Job has ended there.
func TestZ20JobThatEndedAndWhatTellsOfItIsDeleted(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		j := s.job("once")
		s.Apply(s.Policy("pp").Selecting(j).To("member1", "member2"), j)
		s.ranOnce(j, "member1", "member2")
		s.Expect(j).Binding(isCondition("FullyApplied", "True"))
		for _, what := range []struct {
			name string
			harm func()
		}{
			{"the namespace of a member's Works", func() { s.forget("hub", newThing(namespaces, "", "karmada-es-member2")) }},
			{"the kind of Works", func() { s.undefine(works); s.install(s.crd(works)) }},
			{"the kind of bindings", func() { s.undefine(bindings); s.install(s.crd(bindings)) }},
			{"a Cluster", func() {
				s.Delete(newThing(clusters, "", "member2"))
				s.Expect(j).Binding(func(b map[string]any) error { // it has forgotten what the Work said
					return differs("how many clusters its status names", len(items(b, "status.aggregatedStatus")), 1)
				})
				s.joins("member2")
			}},
			{"a Work", func() { s.forget("hub", asThing(works, s.Expect(j).work("member2"))) }},
		} {
			s.Rest()
			s.party.together(what.harm)
			s.Eventually(func() error { return s.lab.joined(s.Context()) })
			s.Settle()
			s.Expect(j).Works("member1", "member2").Work("member2", isCondition("Applied", "True"))
			for _, m := range []string{"member1", "member2"} {
				if n := s.ran(j, m); n != 1 {
					s.Errorf("%s is deleted: %s has had %d Jobs", what.name, m, n)
				}
			}
		}
	})
}
