// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"sluice.dev/test/redistest"
)

// Redis is killed while the change of an override, and then that of a policy, is on its
// way to hundreds of templates, and starts again: each of them gets there, and nothing
// else happens to what stays.
func TestY7RedisRestartsInAFanOut(t *testing.T) {
	for sentence, start := range map[string]func(testing.TB) *redistest.Server{
		"it comes back with what it had": redistest.Durable,
		"it comes back empty":            redistest.Real,
	} {
		t.Run(sentence, func(t *testing.T) {
			alone(t, gatesOff, []form{pp}, func(s *scenario) {
				redis := start(s)
				s.instead("--redis", redis.Addr)
				const n = 300
				all := s.hundreds(n)
				crowd := s.Policy("crowd").SelectingLabel(all[0], "crowd", s.ns)
				s.Apply(crowd.To("member1", "member2"))
				s.arrive(progress{func() int { return s.arrivedIn("member1") + s.arrivedIn("member2") }, 2 * n})
				s.Rest()
				mark, before := s.mark(), s.uidsOf(all, "member1")

				s.Apply(newThing(overrides, s.ns, "more").with("spec", map[string]any{
					"resourceSelectors": crowd.body["spec"].(map[string]any)["resourceSelectors"],
					"overrideRules": []any{map[string]any{"overriders": map[string]any{"plaintext": []any{
						map[string]any{"path": "/data/more", "operator": "add", "value": "yes"},
					}}}},
				}))
				s.midway(redis,
					progress{func() int { return s.worksFor("member1", more) + s.worksFor("member2", more) }, 2 * n},
					progress{func() int { return s.arrivedIn("member1", more) + s.arrivedIn("member2", more) }, 2 * n})
				s.Rest()
				s.onlyChanged(mark, 1)

				mark = s.mark()
				s.Apply(crowd.To("member1", "member3"))
				s.midway(redis,
					progress{func() int { return s.worksFor("member3") + n - s.worksFor("member2") }, 2 * n},
					progress{func() int { return s.arrivedIn("member3", more) + n - s.arrivedIn("member2") }, 2 * n})
				s.arrive(progress{func() int { return s.worksFor("member1", more) + s.worksFor("member3", more) - s.worksFor("member2") }, 2 * n})
				s.Rest()
				s.onlyChanged(mark, 0, "member2")
				s.theSame(all, "member1", before)
				s.Silent(func() {})
			})
		})
	}
}

// instead starts a process of the pipeline that takes the place of that of the lab until
// the test ends.
func (s *scenario) instead(args ...string) {
	s.Helper()
	s.Cleanup(s.Restart)
	s.party.together(func() {
		if err := s.lab.signal("pipeline", syscall.SIGSTOP); err != nil {
			s.Fatal(err)
		}
		s.second(s.lab.kubeconfig("hub"), args...)
	})
}

// more tells whether the override acts on a ConfigMap.
func more(o *unstructured.Unstructured) bool { return text(o.Object, "data.more") == "yes" }

// arrivedIn counts the labelled ConfigMaps in a member of which all that holds.
func (s *scenario) arrivedIn(member string, that ...func(*unstructured.Unstructured) bool) int {
	return count(s.lab.clusters[member].mirror(configMaps).of(s.ns), that)
}

// worksFor counts the Works for a member that give it such ConfigMaps.
func (s *scenario) worksFor(member string, that ...func(*unstructured.Unstructured) bool) int {
	var all []*unstructured.Unstructured
	for _, w := range s.lab.hub.mirror(works).of(s.ns) {
		if w.GetNamespace() == "karmada-es-"+member {
			all = append(all, manifestOf(w))
		}
	}
	return count(all, that)
}

func count(all []*unstructured.Unstructured, that []func(*unstructured.Unstructured) bool) int {
	n := 0
	for _, o := range all {
		is := o.GetLabels()["crowd"] != ""
		for _, holds := range that {
			is = is && holds(o)
		}
		if is {
			n++
		}
	}
	return n
}

// progress is how far something has come.
type progress struct {
	now func() int
	all int
}

func (p progress) isAt(n int) error {
	if now := p.now(); now < n {
		return fmt.Errorf("%d of %d", now, p.all)
	}
	return nil
}

// arrive waits until all has.
func (s *scenario) arrive(p progress) {
	s.Helper()
	if err := s.within(3*time.Minute, func() error { return p.isAt(p.all) }); err != nil {
		s.Fatalf("in the end %v", err)
	}
}

// midway kills Redis when some of the Works are written, and not all. What cannot ask
// whether it is suspended reaches no member: when that stands still, Redis starts again,
// and all arrives.
func (s *scenario) midway(redis *redistest.Server, written, arrived progress) {
	s.Helper()
	s.Eventually(func() error { return written.isAt(written.all / 10) })
	redis.Stop(s)
	if written.isAt(written.all) == nil {
		s.Fatal("all Works were written before Redis ended")
	}
	last, since := arrived.now(), time.Now()
	s.Eventually(func() error {
		if now := arrived.now(); now != last {
			last, since = now, time.Now()
		}
		if stood := time.Since(since); stood < quiet {
			return fmt.Errorf("%d of %d arrived, and it has stood still for %s only", last, arrived.all, stood)
		}
		return nil
	})
	s.Logf("without Redis %d of %d Works are written, and %d of %d changes have arrived", written.now(), written.all, last, arrived.all)
	if last >= arrived.all {
		s.Error("all arrived without Redis")
	}
	redis.Start(s)
	began := time.Now()
	s.arrive(arrived)
	s.Logf("all has arrived %s after Redis came back", time.Since(began).Round(100*time.Millisecond))
}

// onlyChanged fails where since the mark anything was deleted, but in a member that loses
// it, or a member's object that stays was written more often than that.
func (s *scenario) onlyChanged(mark map[*mirror]int, times int, loses ...string) {
	s.Helper()
	wrote := map[string]int{}
	for _, c := range s.writesSince(mark) {
		of := strings.TrimPrefix(c.after.GetNamespace(), "karmada-es-")
		if c.cluster != "hub" {
			of = c.cluster
		}
		if c.kind == watch.Deleted && (len(loses) == 0 || of != loses[0]) {
			s.Errorf("%s", c)
		}
		if c.cluster != "hub" && c.kind == watch.Modified {
			if wrote[of+keyOf(c.after)]++; wrote[of+keyOf(c.after)] > times {
				s.Errorf("%s: written %d times, want %d", c, wrote[of+keyOf(c.after)], times)
			}
		}
	}
}
