// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const placementGroup = "placement.kubernetes-fleet.io"

var (
	pickers      = resource{group: placementGroup, version: "v1", kind: "ClusterResourcePlacement", plural: "clusterresourceplacements", clusterScoped: true}
	pickSnaps    = resource{group: placementGroup, version: "v1", kind: "ClusterSchedulingPolicySnapshot", plural: "clusterschedulingpolicysnapshots", clusterScoped: true}
	pickBindings = resource{group: placementGroup, version: "v1", kind: "ClusterResourceBinding", plural: "clusterresourcebindings", clusterScoped: true}
	pickMembers  = resource{group: "cluster.kubernetes-fleet.io", version: "v1", kind: "MemberCluster", plural: "memberclusters", clusterScoped: true}
)

// picker is a placement of the scenario's namespace with that policy; nil: none.
func (s *scenario) picker(policy map[string]any) thing {
	p := newThing(pickers, "", fmt.Sprintf("%.50s", strings.TrimPrefix(s.ns, scenarioPrefix)))
	p = p.with("spec.resourceSelectors", []any{map[string]any{"group": "", "version": "v1", "kind": "Namespace", "name": s.ns}})
	if policy == nil {
		return p
	}
	return p.with("spec.policy", policy)
}

// labelMembers gives each member a label of the scenario's own, and takes it away at
// the end.
func (s *scenario) labelMembers(values map[string]string) (key string) {
	s.Helper()
	key = "e2e-" + s.ns
	s.labelMembersBy(key, values)
	return key
}

func (s *scenario) labelMembersBy(key string, values map[string]string) {
	s.Helper()
	set := func(member, value string) {
		s.Patch(newThing(pickMembers, "", member), fmt.Sprintf("{\"metadata\":{\"labels\":{%q:%s}}}", key, value))
	}
	for member, value := range values {
		set(member, fmt.Sprintf("%q", value))
		s.Cleanup(func() {
			_, err := s.lab.hub.on(pickMembers, "").Patch(s.background(), member, mergePatch, []byte(fmt.Sprintf("{\"metadata\":{\"labels\":{%q:null}}}", key)), patchOptions)
			if err != nil {
				s.Errorf("clean up %s: %v", member, err)
			}
		})
	}
}

func pickN(n int64, more ...any) map[string]any {
	policy := map[string]any{"placementType": "PickN", "numberOfClusters": n}
	for i := 0; i+1 < len(more); i += 2 {
		policy[fmt.Sprint(more[i])] = more[i+1]
	}
	return policy
}

func wanting(key, value string) map[string]any {
	return map[string]any{"clusterAffinity": map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{
		"clusterSelectorTerms": []any{map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{key: value}}}},
	}}}
}

// Picks waits until the placement's newest form is scheduled to these members, with
// that reason, and each of them is bound, and nobody else; and says what was decided.
func (s *scenario) Picks(p thing, reason string, want ...string) map[string]map[string]any {
	s.Helper()
	decided := map[string]map[string]any{}
	s.Eventually(func() error {
		of := metav1.ListOptions{LabelSelector: "kubernetes-fleet.io/parent-CRP=" + p.name()}
		snaps, err := s.lab.hub.on(pickSnaps, "").List(s.Context(), of)
		if err != nil {
			return err
		}
		generation := s.Live(p).GetGeneration()
		var got []string
		for _, snap := range snaps.Items {
			if snap.GetLabels()["kubernetes-fleet.io/is-latest-snapshot"] != "true" {
				continue
			}
			if seen := number(snap.Object, "status.observedCRPGeneration"); seen != generation {
				return fmt.Errorf("generation %d is scheduled, want %d", seen, generation)
			}
			if is := text(conditionOf(snap.Object, "Scheduled"), "reason"); is != reason {
				return fmt.Errorf("scheduled: %s, want %s", is, reason)
			}
			for _, d := range items(snap.Object, "status.targetClusters") {
				decided[text(d, "clusterName")] = d
				if truth(d, "selected") {
					got = append(got, text(d, "clusterName"))
				}
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			return fmt.Errorf("picked %q, want %q", got, want)
		}
		return s.bound(of, want)
	})
	return decided
}

func (s *scenario) bound(of metav1.ListOptions, want []string) error {
	list, err := s.lab.hub.on(pickBindings, "").List(s.Context(), of)
	if err != nil {
		return err
	}
	var got []string
	for _, b := range list.Items {
		if b.GetDeletionTimestamp() == nil && text(b.Object, "spec.state") == "Bound" && text(b.Object, "spec.resourceSnapshotName") != "" {
			got = append(got, text(b.Object, "spec.targetCluster"))
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		return fmt.Errorf("bound %q, want %q", got, want)
	}
	return nil
}

const (
	enough    = "SchedulingPolicyFulfilled"
	tooFew    = "SchedulingPolicyUnfulfilled"
	spreading = "topologySpreadConstraints"
)

func TestC31PickAllIsTheDefault(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		p := s.picker(nil)
		s.Apply(p)
		for _, d := range s.Picks(p, enough, "member1", "member2", "member3") {
			if text(d, "reason") != "picked by scheduling policy" {
				s.Errorf("%v", d)
			}
		}
	})
}

func TestC32C34RequiredAffinity(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		key := s.labelMembers(map[string]string{"member1": "prod", "member2": "canary", "member3": "prod"})
		p := s.picker(map[string]any{"placementType": "PickAll", "affinity": wanting(key, "prod")})
		s.Apply(p)
		decided := s.Picks(p, enough, "member1", "member3")
		if why := text(decided["member2"], "reason"); !strings.Contains(why, "required cluster affinity") {
			s.Errorf("member2: %q", why)
		}
		s.Patch(newThing(pickMembers, "", "member2"), fmt.Sprintf("{\"metadata\":{\"labels\":{%q:\"prod\"}}}", key))
		s.Picks(p, enough, "member1", "member2", "member3") // C33
		s.Patch(newThing(pickMembers, "", "member2"), fmt.Sprintf("{\"metadata\":{\"labels\":{%q:\"canary\"}}}", key))
		s.Patch(p, "{\"spec\":{\"strategy\":{\"rollingUpdate\":{\"unavailablePeriodSeconds\":1}}}}")
		s.Picks(p, enough, "member1", "member2", "member3")
		s.Patch(p, fmt.Sprintf("{\"spec\":{\"policy\":{\"affinity\":{\"clusterAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"clusterSelectorTerms\":[{\"labelSelector\":{\"matchLabels\":{%q:\"canary\"}}}]}}}}}}", key))
		s.Picks(p, enough, "member2")
	})
}

func TestC35PickFixed(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		p := s.picker(map[string]any{"placementType": "PickFixed", "clusterNames": list("member3", "member1")})
		s.Apply(p)
		s.Picks(p, enough, "member1", "member3")
		p = p.with("spec.policy.clusterNames", list("member1", "nowhere"))
		s.Apply(p)
		decided := s.Picks(p, tooFew, "member1")
		if why := text(decided["nowhere"], "reason"); !strings.Contains(why, "not found") {
			s.Errorf("nowhere: %q", why)
		}
	})
}

func TestC36C37C38C39PickNUpAndDown(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		p := s.picker(pickN(1))
		s.Apply(p)
		s.Picks(p, enough, "member3")
		for n, want := range map[int64][]string{2: {"member2", "member3"}} {
			p = p.with("spec.policy.numberOfClusters", n)
			s.Apply(p)
			s.Picks(p, enough, want...)
		}
		p = p.with("spec.policy.numberOfClusters", int64(4))
		s.Apply(p)
		s.Picks(p, tooFew, "member1", "member2", "member3")
		p = p.with("spec.policy.numberOfClusters", int64(1))
		s.Apply(p)
		s.Picks(p, enough, "member3")
		p = p.with("spec.policy.numberOfClusters", int64(0))
		s.Apply(p)
		s.Picks(p, enough)
	})
}

func TestC40PreferredAffinity(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		key := s.labelMembers(map[string]string{"member1": "prod", "member2": "canary", "member3": "prod"})
		p := s.picker(pickN(1, "affinity", map[string]any{"clusterAffinity": map[string]any{"preferredDuringSchedulingIgnoredDuringExecution": []any{
			map[string]any{"weight": int64(20), "preference": map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{key: "canary"}}}},
		}}}))
		s.Apply(p)
		decided := s.Picks(p, enough, "member2")
		if score := number(decided["member2"], "clusterScore.affinityScore"); score != 20 {
			s.Errorf("member2: %v", decided["member2"])
		}
	})
}

func TestC42C45SpreadOverALabel(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		key := s.labelMembers(map[string]string{"member1": "prod", "member2": "canary", "member3": "prod"})
		spread := func(when string) []any {
			return []any{map[string]any{"maxSkew": int64(1), "topologyKey": key, "whenUnsatisfiable": when}}
		}
		p := s.picker(pickN(2, spreading, spread("DoNotSchedule")))
		s.Apply(p)
		s.Picks(p, enough, "member2", "member3")
		p = s.picker(pickN(3, spreading, spread("DoNotSchedule")))
		s.Apply(p)
		s.Picks(p, enough, "member1", "member2", "member3")
	})
}

func TestC42WithoutTheLabel(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		key := s.labelMembers(map[string]string{"member1": "prod", "member2": "prod"})
		p := s.picker(pickN(3, spreading, []any{map[string]any{"topologyKey": key}}))
		s.Apply(p)
		decided := s.Picks(p, tooFew, "member1", "member2")
		if why := text(decided["member3"], "reason"); !strings.Contains(why, "does not have the label") {
			s.Errorf("member3: %q", why)
		}
	})
}
