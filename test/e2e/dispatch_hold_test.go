// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// spread leaves nginx in all members, with content 1.
func (s *scenario) spread() (policy, template) {
	s.Helper()
	p, nginx := s.Policy("pp").toAll(), s.Template("nginx")
	s.Apply(p, nginx)
	s.Expect(nginx).In(members...).At(1)
	return p, nginx
}

// hasContent is a check of a Work's manifest.
func hasContent(r resource, n int64) func(w map[string]any) error {
	return func(w map[string]any) error {
		for _, m := range items(w, "spec.workload.manifests") {
			if got := contentOf(r, m); got != fmt.Sprint(n) {
				return fmt.Errorf("its manifest has content %s, want %d", got, n)
			}
		}
		return nil
	}
}

// still is that members have this content once everything has settled, and had
// no other since the mark.
func (s *scenario) still(t template, n int64, in ...string) {
	s.Helper()
	s.Settle()
	s.Expect(t).At(n, in...)
}

func TestS15SuspendedAtCreation(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		s.Apply(s.Policy("pp").toAll().Suspended(), nginx)
		s.Expect(nginx).Works(members...)
		s.Settle()
		s.Expect(nginx).In()
		for _, m := range members {
			s.Expect(nginx).NeverIn(m)
		}
	})
}

func TestS16SuspendedAfterwards(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Apply(p.Suspended())
		s.Expect(nginx).Work("member1", isSuspended).Work("member2", isSuspended).Work("member3", isSuspended)
		s.Apply(nginx.At(2))
		for _, m := range members {
			s.Expect(nginx).Work(m, hasContent(nginx.resource, 2))
		}
		s.still(nginx, 1, members...)
	})
}

func TestS17OverrideStopsToo(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Apply(p.Suspended())
		s.Expect(nginx).Work("member1", isSuspended)
		s.Apply(s.override("over", nginx, "by", "override", "member1"))
		s.Expect(nginx).Work("member1", func(w map[string]any) error {
			for _, m := range items(w, "spec.workload.manifests") {
				if text(m, "metadata.labels.by") == "override" {
					return nil
				}
			}
			return errors.New("the override is not in the manifest")
		})
		s.Settle()
		s.Expect(nginx).Labelled("member1", "by", "")
		s.Apply(p.Resumed())
		s.Expect(nginx).Labelled("member1", "by", "override").Labelled("member2", "by", "")
	})
}

func TestS18Resume(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Apply(p.Suspended())
		s.Expect(nginx).Work("member3", isSuspended)
		s.Apply(nginx.At(2))
		s.still(nginx, 1, members...)
		s.Apply(p.Resumed())
		s.Expect(nginx).At(2, members...)
	})
}

// The order of a release: member1, then member2, then member3.
func TestS19ClusterByCluster(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Apply(p.SuspendedOn("member2", "member3"))
		s.Expect(nginx).Work("member2", isSuspended).Work("member3", isSuspended)
		s.Apply(nginx.At(2))
		s.Expect(nginx).At(2, "member1")
		s.still(nginx, 1, "member2", "member3")
		s.Apply(p.SuspendedOn("member3"))
		s.Expect(nginx).At(2, "member2")
		s.still(nginx, 1, "member3")
		s.Apply(p.Resumed())
		s.Expect(nginx).At(2, "member3")
	})
}

func TestS20NewImage(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		p, nginx := s.spread()
		s.Apply(p.SuspendedOn("member2", "member3"))
		s.Expect(nginx).Work("member2", isSuspended).Work("member3", isSuspended)
		s.Apply(nginx.Image("nginx:1.27.1"))
		image := func(want string) func(obj map[string]any) error {
			return func(obj map[string]any) error {
				for _, c := range items(obj, "spec.template.spec.containers") {
					if c["image"] != want {
						return fmt.Errorf("image is %s, want %s", c["image"], want)
					}
				}
				return nil
			}
		}
		s.Expect(nginx).Member("member1", image("nginx:1.27.1"))
		s.Settle()
		s.Expect(nginx).Member("member2", image("nginx:1.27.0")).Member("member3", image("nginx:1.27.0"))
	})
}

// What was rolled back on the hub is never seen by a member that was suspended.
func TestS21RollBack(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Apply(p.SuspendedOn("member2", "member3"))
		s.Expect(nginx).Work("member2", isSuspended).Work("member3", isSuspended)
		s.Apply(nginx.At(2))
		s.Expect(nginx).At(2, "member1").Work("member2", hasContent(nginx.resource, 2))
		s.Apply(nginx)
		s.Expect(nginx).At(1, "member1").Work("member2", hasContent(nginx.resource, 1))
		s.Apply(p.Resumed())
		s.Expect(nginx).Work("member2", isNotSuspended)
		s.Settle()
		s.Expect(nginx).had("member1", "1", "2", "1").had("member2", "1").had("member3", "1")
	})
}

// had is the contents that the object had in a member, one after the other.
func (e expectation) had(member string, want ...string) expectation {
	e.s.Helper()
	var got []string
	for _, c := range e.s.lab.clusters[member].mirror(e.resource).since(e.s.ns, 0) {
		if keyOf(c.after) != e.key() {
			continue
		}
		if n := e.content(c.after); len(got) == 0 || got[len(got)-1] != n {
			got = append(got, n)
		}
	}
	if !slices.Equal(got, want) {
		e.s.Errorf("%s had in %s the contents %v, want %v", e.thing, member, got, want)
	}
	return e
}

// Story 3: each cluster gets its own final content, and nothing before.
func TestS22OverridesWhileSuspended(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Apply(p.Suspended())
		s.Expect(nginx).Work("member1", isSuspended).Work("member2", isSuspended).Work("member3", isSuspended)
		s.Rest()
		mark := s.mark()
		s.Apply(nginx.At(2))
		for _, m := range members {
			s.Apply(s.override("for-"+m, nginx, "partition", m, m))
		}
		for _, m := range members {
			s.Expect(nginx).Work(m, hasContent(nginx.resource, 2)).Work(m, func(w map[string]any) error {
				if got := text(items(w, "spec.workload.manifests")[0], "metadata.labels.partition"); got != m {
					return fmt.Errorf("its manifest is of partition %q", got)
				}
				return nil
			})
		}
		s.Apply(p.Resumed())
		for _, m := range members {
			s.Expect(nginx).At(2, m).Labelled(m, "partition", m)
		}
		s.Settle()
		writes := map[string]int{}
		for _, c := range s.writesSince(mark) {
			if c.cluster != "hub" && c.before != nil && c.before.GetGeneration() != c.after.GetGeneration() ||
				c.cluster != "hub" && nginx.clusterScoped && !c.ownStatus() {
				writes[c.cluster]++
			}
		}
		for _, m := range members {
			if writes[m] != 1 {
				s.Errorf("%s was written %d times, want once", m, writes[m])
			}
		}
	})
}

// Story 1: a suspended Work does not fight for its object.
func TestS23DoesNotFight(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Apply(p.Suspended())
		s.Expect(nginx).Work("member1", isSuspended).Work("member2", isSuspended)
		s.Settle()
		s.ApplyIn("member1", nginx.At(9).thing)
		s.DeleteIn("member2", nginx)
		s.still(nginx, 9, "member1")
		s.Expect(nginx).In("member1", "member3")
		s.Apply(p.Resumed())
		s.Expect(nginx).In(members...).At(1, members...)
	})
}

// Deletion of the template passes a suspension.
func TestS24DeletionPasses(t *testing.T) {
	t.Parallel()
	for name, suspend := range map[string]func(p policy) policy{
		"all": policy.Suspended, "some": func(p policy) policy { return p.SuspendedOn("member2") },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, gatesOff, everyForm, func(s *scenario) {
				p, nginx := s.spread()
				s.Apply(suspend(p))
				s.Expect(nginx).Work("member2", isSuspended)
				s.Delete(nginx)
				s.Expect(nginx).Nowhere().NoBinding()
			})
		})
	}
}

// The suspension outlives its policy, until another one claims.
func TestS25PolicyDeleted(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Apply(p.Suspended())
		s.Expect(nginx).Work("member1", isSuspended)
		s.Apply(nginx.At(2))
		s.Expect(nginx).Work("member1", hasContent(nginx.resource, 2))
		s.Unchanged(func() {
			s.Delete(p)
			s.Expect(nginx).Unclaimed()
		})
		s.Told(nginx, "Warning", "SuspensionStays", "pp")
		s.Expect(nginx).Work("member1", isSuspended).At(1, members...)
		s.Apply(s.Policy("next").toAll())
		s.Expect(nginx).At(2, members...).Work("member1", isNotSuspended)
	})
}

// Failover waits while the dispatching is suspended: the application neither leaves the
// cluster that does not fit any more, nor comes to the one that does. What is not
// suspended moves meanwhile.
func TestS26FailoverWaits(t *testing.T) {
	alone(t, gating{failover: true}, inNamespaces, func(s *scenario) {
		for _, m := range []string{"member2", "member3"} {
			s.Cleanup(func() { s.unlabel(m) })
		}
		s.labelCluster("member2", true)
		nginx, free := s.Template("nginx"), s.Template("free")
		fitting := func(name string, t template) policy {
			return s.Policy(name).Selecting(t).affinity(map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{s.ns: "yes"}}})
		}
		p := fitting("pp", nginx)
		s.Apply(p, nginx, fitting("moves", free), free)
		s.Expect(nginx).In("member2")
		s.Expect(free).In("member2")
		s.Apply(p.Suspended())
		s.Expect(nginx).Work("member2", isSuspended)
		before := s.uids(nginx, "member2")

		s.labelCluster("member3", true)
		s.labelCluster("member2", false)
		s.Expect(free).In("member3")
		// Nor does what has the template scheduled anew move it.
		s.Apply(nginx.At(2))
		s.Settle()
		s.Expect(nginx).In("member2").At(1, "member2")
		s.same(nginx, before, "member2")
		s.Apply(p)
		s.Expect(nginx).In("member3").At(2, "member3")
	})
}

// S27: what leaves the placement is held until the suspension is lifted.
func TestS27ScaleDownIsHeld(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Apply(p.Suspended())
		s.Expect(nginx).Work("member2", isSuspended)
		s.Apply(p.Suspended().To("member1"))
		s.Expect(nginx).Binding(func(b map[string]any) error {
			if n := len(items(b, "spec.clusters")); n != 1 {
				return fmt.Errorf("%d clusters are chosen, want one", n)
			}
			return nil
		})
		s.Settle()
		s.Expect(nginx).In(members...)
		s.Apply(p.Resumed().To("member1"))
		s.Expect(nginx).In("member1").Works("member1")
	})
}

// S27: only the deletion of the template passes.
func TestS27HeldAndDeleted(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Apply(p.Suspended().To("member1"))
		s.Settle()
		s.Expect(nginx).In(members...)
		s.Delete(nginx)
		s.Expect(nginx).Nowhere()
	})
}

// S28: what happens in the member is still told.
func TestS28StatusGoesOn(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		p, nginx := s.spread()
		s.Apply(p.Suspended())
		s.Expect(nginx).Work("member1", isSuspended)
		s.PatchIn("member1", nginx, "{\"spec\":{\"replicas\":3}}")
		s.Expect(nginx).Binding(func(b map[string]any) error {
			for _, item := range items(b, "status.aggregatedStatus") {
				if item["clusterName"] == "member1" && number(item, "status.availableReplicas") == 3 {
					return nil
				}
			}
			return fmt.Errorf("it does not tell of 3 replicas in member1: %s", asJSON(at(b, "status.aggregatedStatus")))
		})
	})
}

// S28: also that somebody deleted it there, which is put right once it is resumed.
func TestS28StatusTellsThatTheObjectIsGone(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		p, nginx := s.spread()
		inMember1 := func(health string) func(map[string]any) error {
			return func(b map[string]any) error {
				for _, item := range items(b, "status.aggregatedStatus") {
					if item["clusterName"] == "member1" && item["health"] == health && (at(item, "status") == nil) == (health == "Unhealthy") {
						return nil
					}
				}
				return fmt.Errorf("it does not tell that the object is %s in member1: %s", health, asJSON(at(b, "status.aggregatedStatus")))
			}
		}
		s.Expect(nginx).Binding(inMember1("Healthy"))
		s.Apply(p.Suspended())
		s.Expect(nginx).Work("member1", isSuspended)
		s.DeleteIn("member1", nginx)
		s.Expect(nginx).Binding(inMember1("Unhealthy"))
		s.Apply(p.Resumed())
		s.Expect(nginx).In(members...).Binding(inMember1("Healthy"))
	})
}
