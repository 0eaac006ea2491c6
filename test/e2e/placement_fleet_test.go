// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ghost is a MemberCluster that no agent stands behind: the test says itself how it
// is. It has a taint of the scenario, which others' placements do not tolerate.
type ghost struct {
	name   string
	labels map[string]any
	// taints beside that of the scenario.
	taints []any
	// unhealthy and silent are for how long; 0: it is well.
	unhealthy, silent time.Duration
	finalizers        []any
}

// Ghosts lets them join. Why clusters are refused is told of twenty: with others' ghosts
// beside, it would be told of those.
func (s *scenario) Ghosts(all ...ghost) {
	s.Helper()
	for _, g := range all {
		m := newThing(pickMembers, "", s.ghostly(g.name)).with("spec", map[string]any{
			"identity": map[string]any{"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"},
			"taints":   append([]any{map[string]any{"key": s.ns, "effect": "NoSchedule"}}, g.taints...),
		}).with("metadata.labels", g.labels).with("metadata.finalizers", g.finalizers)
		s.Apply(m)
		s.PatchAs("e2e-agent", m, g.status(), "status")
	}
}

// ghostly is the name of a ghost: behind those of the members.
func (s *scenario) ghostly(name string) string { return s.unique("z-" + name) }

func (g ghost) status() string {
	ago := func(d time.Duration) string { return time.Now().Add(-d).UTC().Format(time.RFC3339) }
	healthy, since := "True", time.Hour
	if g.unhealthy > 0 {
		healthy, since = "False", g.unhealthy
	}
	c := `{"type":%q,"status":%q,"reason":"Told","message":"","lastTransitionTime":%q}`
	return fmt.Sprintf(`{"status":{"agentStatus":[{"type":"MemberAgent","lastReceivedHeartbeat":%q,"conditions":[%s,%s]}]}}`,
		ago(g.silent), fmt.Sprintf(c, "Joined", "True", ago(time.Hour)), fmt.Sprintf(c, "Healthy", healthy, ago(since)))
}

// haunted is a placement for the scenario's ghosts alone.
func (s *scenario) haunted(policy map[string]any, tolerations ...map[string]any) thing {
	policy = maps.Clone(policy)
	if policy["affinity"] == nil {
		policy["affinity"] = wanting("ghost", s.ns)
	}
	all := []any{map[string]any{"key": s.ns, "operator": "Exists"}}
	for _, t := range tolerations {
		all = append(all, t)
	}
	policy["tolerations"] = all
	return s.picker(policy).with("spec.strategy", atOnce)
}

func (s *scenario) labelled(labels ...string) map[string]any {
	all := map[string]any{"ghost": s.ns}
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		all[key] = value
	}
	return all
}

// PicksGhosts is Picks for ghosts, by their short names. Whether they get something is
// not asked: nobody is there.
func (s *scenario) PicksGhosts(p thing, reason string, want ...string) map[string]map[string]any {
	s.Helper()
	for i := range want {
		want[i] = s.ghostly(want[i])
	}
	decided := map[string]map[string]any{}
	s.Eventually(func() error {
		latest, err := s.latestPolicy(p)
		if err != nil {
			return err
		}
		if seen, live := number(latest, "status.observedCRPGeneration"), s.Live(p).GetGeneration(); seen != live {
			return fmt.Errorf("generation %d is scheduled, want %d", seen, live)
		}
		if is := text(conditionOf(latest, "Scheduled"), "reason"); is != reason {
			return fmt.Errorf("scheduled: %s, want %s", is, reason)
		}
		clear(decided)
		var got []string
		for _, d := range items(latest, "status.targetClusters") {
			name := strings.TrimSuffix(strings.TrimPrefix(text(d, "clusterName"), "z-"), "-"+s.ns)
			if decided[name] = d; truth(d, "selected") {
				got = append(got, text(d, "clusterName"))
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			return fmt.Errorf("picked %q, want %q", got, want)
		}
		return nil
	})
	return decided
}

// latestPolicy is the snapshot of the placement's policy that is in force.
func (s *scenario) latestPolicy(p thing) (map[string]any, error) {
	list, err := s.lab.hub.on(pickSnaps, "").List(s.Context(), metav1.ListOptions{LabelSelector: fleet + "parent-CRP=" + p.name() + "," + fleet + "is-latest-snapshot=true"})
	if err != nil {
		return nil, err
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("%s has %d latest policies", p, len(list.Items))
	}
	return list.Items[0].Object, nil
}

func (s *scenario) because(decided map[string]map[string]any, name, words string) {
	s.Helper()
	if why := text(decided[name], "reason"); !strings.Contains(why, words) {
		s.Errorf("%s: %q, want it to say %q", name, why, words)
	}
}

// Of many clusters, all that are picked are told, and of the others twenty with why.
func TestC28C47C52C84ManyClusters(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		for i := range 25 {
			s.Ghosts(ghost{name: fmt.Sprintf("%02d", i), labels: s.labelled()})
		}
		p := s.haunted(pickN(4))
		s.Apply(p)
		decided := s.PicksGhosts(p, enough, "21", "22", "23", "24") // C47: by name, the last first
		if len(decided) != 24 {
			s.Errorf("%d decisions, want 4 and 20", len(decided))
		}
		for name, d := range decided {
			picked := truth(d, "selected")
			if picked && (text(d, "reason") != "picked by scheduling policy" || at(d, "clusterScore.affinityScore") == nil || at(d, "clusterScore.topologySpreadScore") == nil) {
				s.Errorf("%s: %v", name, d)
			}
			if !picked && text(d, "reason") == "" {
				s.Errorf("%s is refused without a reason", name)
			}
		}
		latest, err := s.latestPolicy(p)
		if err != nil {
			s.Fatal(err)
		}
		c := conditionOf(latest, "Scheduled")
		if text(c, "status") != "True" || text(c, "message") != "found all the clusters needed as specified by the scheduling policy" || number(c, "observedGeneration") != 1 {
			s.Errorf("Scheduled: %v", c)
		}
		s.Eventually(func() error {
			list, err := s.lab.hub.on(pickBindings, "").List(s.Context(), metav1.ListOptions{LabelSelector: fleet + "parent-CRP=" + p.name()})
			if err != nil {
				return err
			}
			for _, b := range list.Items {
				if text(b.Object, "spec.schedulingPolicySnapshotName") != p.name()+"-0" || text(b.Object, "spec.clusterDecision.reason") != "picked by scheduling policy" {
					s.Fatalf("binding %v", b.Object["spec"])
				}
			}
			return differs("bindings", len(list.Items), 4)
		})
	})
}

// Who joins and matches is placed on, who leaves is replaced, and what was bound to
// it goes.
func TestC33C48C54JoinAndLeave(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		s.Ghosts(ghost{name: "a", labels: s.labelled()}, ghost{name: "b", labels: s.labelled()})
		all, two := s.haunted(map[string]any{"placementType": "PickAll"}), s.haunted(pickN(2))
		two = two.with("metadata.name", two.name()+"-n")
		s.Apply(all, two)
		s.PicksGhosts(all, enough, "a", "b")
		s.PicksGhosts(two, enough, "a", "b")
		s.Ghosts(ghost{name: "d", labels: map[string]any{"ghost": "another"}}, ghost{name: "c", labels: s.labelled()})
		s.because(s.PicksGhosts(all, enough, "a", "b", "c"), "d", "required cluster affinity")
		s.PicksGhosts(two, enough, "a", "b") // C53
		s.Delete(newThing(pickMembers, "", s.ghostly("a")))
		s.PicksGhosts(all, enough, "b", "c")
		s.PicksGhosts(two, enough, "b", "c")
		s.Eventually(func() error {
			list, err := s.lab.hub.on(pickBindings, "").List(s.Context(), metav1.ListOptions{})
			if err != nil {
				return err
			}
			for _, b := range list.Items {
				if text(b.Object, "spec.targetCluster") == s.ghostly("a") {
					return fmt.Errorf("binding %s of who left is there", b.GetName())
				}
			}
			return nil
		})
	})
}

// Who leaves the placements, and who joins them, is counted.
func TestC104JoinsAndLeavesAreCounted(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		const joins, leaves = `join_result_counter{result="true"}`, `leave_result_counter{result="true"}`
		joined, left := s.counted(joins), s.counted(leaves)
		if out, err := s.Sluice("unjoin", "member3"); err != nil {
			s.Fatalf("unjoin: %v\n%s", err, out)
		}
		s.Eventually(func() error { return differs(leaves, s.counted(leaves), left+1) })
		s.joins("member3")
		s.Eventually(func() error { return differs(joins, s.counted(joins), joined+1) })
		s.Eventually(func() error { return s.lab.joined(s.Context()) })
	})
}

// counted is the value of a metric; 0: nothing has been counted.
func (s *scenario) counted(metric string) float64 {
	s.Helper()
	for line := range strings.Lines(s.metrics()) {
		if value, is := strings.CutPrefix(line, metric+" "); is {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				s.Errorf("%s: %v", metric, err)
			}
			return n
		}
	}
	return 0
}

// Who is leaving, is unhealthy for long or silent for long is not picked.
func TestC48C49WhoIsNotConnected(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		leaving := ghost{name: "leaving", labels: s.labelled(), finalizers: list("e2e.sluice.dev/stays")}
		s.Ghosts(leaving, ghost{name: "well", labels: s.labelled()},
			ghost{name: "ill", labels: s.labelled(), unhealthy: 6 * time.Minute}, ghost{name: "unwell", labels: s.labelled(), unhealthy: time.Minute},
			ghost{name: "silent", labels: s.labelled(), silent: 6 * time.Minute})
		gone := newThing(pickMembers, "", s.ghostly("leaving"))
		if err := s.lab.hub.on(pickMembers, "").Delete(s.Context(), gone.name(), metav1.DeleteOptions{}); err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() {
			if _, err := s.lab.hub.on(pickMembers, "").Patch(s.background(), gone.name(), mergePatch, []byte(`{"metadata":{"finalizers":null}}`), patchOptions); err != nil {
				s.Errorf("clean up %s: %v", gone, err)
			}
		})
		p := s.haunted(map[string]any{"placementType": "PickAll"})
		s.Apply(p)
		decided := s.PicksGhosts(p, enough, "unwell", "well")
		s.because(decided, "leaving", "is leaving the fleet")
		s.because(decided, "ill", "not healthy for more than 5 minutes")
		s.because(decided, "silent", "no heartbeat for more than 5 minutes")
	})
}

// Topology first, then affinity: each alone, and both at once with what is required.
func TestC41C43C44C47Constraints(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		s.Ghosts(ghost{name: "a1", labels: s.labelled("zone=a", "tier=gold")}, ghost{name: "a2", labels: s.labelled("zone=a", "tier=gold")},
			ghost{name: "b1", labels: s.labelled("zone=b")}, ghost{name: "none", labels: s.labelled("tier=gold")}, ghost{name: "out", labels: map[string]any{"zone": "b"}})
		preferring := func(weight int64) map[string]any {
			a := wanting("ghost", s.ns)
			inner, _ := a["clusterAffinity"].(map[string]any)
			inner["preferredDuringSchedulingIgnoredDuringExecution"] = []any{map[string]any{
				"weight": weight, "preference": map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"tier": "gold"}}},
			}}
			return a
		}
		spread := func(when string) []any {
			return []any{map[string]any{"maxSkew": int64(1), "topologyKey": "zone", "whenUnsatisfiable": when}}
		}
		n := 0
		picks := func(policy map[string]any, reason string, want ...string) map[string]map[string]any {
			s.Helper()
			p := s.haunted(policy)
			p = p.with("metadata.name", fmt.Sprintf("%.40s-%d", p.name(), n))
			n++
			s.Apply(p)
			return s.PicksGhosts(p, reason, want...)
		}
		s.because(picks(pickN(5), tooFew, "a1", "a2", "b1", "none"), "out", "required cluster affinity") // C41
		picks(pickN(2, "affinity", preferring(10)), enough, "a2", "none")                                // C40, C47
		picks(pickN(2, "affinity", preferring(-10)), enough, "b1", "none")
		strict := picks(pickN(2, "affinity", preferring(10), spreading, spread("DoNotSchedule")), enough, "a2", "b1") // C44
		s.because(strict, "none", "does not have the label")
		if score := number(strict["a2"], "clusterScore.affinityScore"); score != 10 {
			s.Errorf("a2: %v", strict["a2"])
		}
		picks(pickN(4, "affinity", preferring(10), spreading, spread("DoNotSchedule")), tooFew, "a1", "a2", "b1")
		picks(pickN(4, "affinity", preferring(10), spreading, spread("ScheduleAnyway")), enough, "a1", "a2", "b1", "none") // C43
		picks(pickN(2, "affinity", preferring(10), spreading, spread("ScheduleAnyway")), enough, "a2", "b1")               // C47
	})
}

// A taint keeps placements out that do not tolerate it, and each taint has to be
// tolerated.
func TestC51C55C56C57Tolerations(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		taint := func(key, value string) any {
			return map[string]any{"key": key, "value": value, "effect": "NoSchedule"}
		}
		s.Ghosts(ghost{name: "plain", labels: s.labelled()}, ghost{name: "one", labels: s.labelled(), taints: []any{taint("disk", "slow")}},
			ghost{name: "two", labels: s.labelled(), taints: []any{taint("disk", "slow"), taint("gpu", "")}})
		n := 0
		tolerating := func(tolerations ...map[string]any) thing {
			p := s.haunted(map[string]any{"placementType": "PickAll"}, tolerations...)
			n++
			return p.with("metadata.name", fmt.Sprintf("%.40s-%d", p.name(), n))
		}
		picks := func(p thing, want ...string) map[string]map[string]any {
			s.Helper()
			s.Apply(p)
			return s.PicksGhosts(p, enough, want...)
		}
		decided := picks(tolerating(), "plain")
		s.because(decided, "one", "has the taint disk=slow:NoSchedule, which is not tolerated")
		decided = picks(tolerating(map[string]any{"key": "disk", "value": "slow"}), "one", "plain") // Equal is the default
		s.because(decided, "two", "has the taint gpu:NoSchedule")
		picks(tolerating(map[string]any{"key": "disk", "operator": "Equal", "value": "fast"}), "plain")
		picks(tolerating(map[string]any{"key": "disk", "operator": "Exists", "effect": "NoSchedule"}), "one", "plain")
		picks(tolerating(map[string]any{"key": "disk", "operator": "Exists"}, map[string]any{"key": "gpu", "operator": "Exists"}), "one", "plain", "two")
		picks(tolerating(map[string]any{"operator": "Exists"}), "one", "plain", "two") // C56
		for words, bad := range map[string]map[string]any{
			"value must be empty when operator is Exists": {"key": "disk", "operator": "Exists", "value": "slow"},
			"operator must be Exists when key is empty":   {"operator": "Equal", "value": "slow"},
			"Unsupported value: \"NoExecute\"":            {"key": "disk", "operator": "Exists", "effect": "NoExecute"},
			"Unsupported value: \"Gt\"":                   {"key": "disk", "operator": "Gt"},
		} {
			s.refusesPlacement(tolerating(bad), words)
		}
	})
}
