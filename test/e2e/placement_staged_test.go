// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	updateStrategies = resource{group: placementGroup, version: "v1", kind: "ClusterStagedUpdateStrategy", plural: "clusterstagedupdatestrategies"}
	updateRuns       = resource{group: placementGroup, version: "v1", kind: "ClusterStagedUpdateRun", plural: "clusterstagedupdateruns"}
	approvalRequests = resource{group: placementGroup, version: "v1", kind: "ClusterApprovalRequest", plural: "clusterapprovalrequests"}
)

// staged is a strategy: the first member, then, after an approval, the others, one at a
// time, and then some time passes.
func (s *scenario) staged() thing {
	key := s.labelMembers(map[string]string{members[0]: "canary", members[1]: "prod", members[2]: "prod"})
	stage := func(name string) map[string]any {
		return map[string]any{"name": name, "labelSelector": map[string]any{"matchLabels": map[string]any{key: name}}}
	}
	canary, prod := stage("canary"), stage("prod")
	canary["afterStageTasks"] = []any{map[string]any{"type": "Approval"}}
	prod["afterStageTasks"] = []any{map[string]any{"type": "TimedWait", "waitTime": "1s"}}
	return newThing(updateStrategies, "", s.unique("careful")).with("spec.stages", []any{canary, prod})
}

// release is a run of the placement by the strategy.
func (s *scenario) release(name string, p, strategy thing) thing {
	r := newThing(updateRuns, "", s.unique(name)).with("spec.placementName", p.name())
	return r.with("spec.stagedRolloutStrategyName", strategy.name()).with("spec.state", "Run")
}

// RunSays waits until a condition of the run has the reason, and its message the words.
func (s *scenario) RunSays(r thing, of, reason, words string) {
	s.Helper()
	s.Eventually(func() error {
		for _, c := range items(s.Live(r).Object, "status.conditions") {
			if text(c, "type") == of && text(c, "reason") == reason && strings.Contains(text(c, "message"), words) {
				return nil
			}
		}
		return fmt.Errorf("%s says %v, want %s %s %q", r, items(s.Live(r).Object, "status.conditions"), of, reason, words)
	})
}

// Approve approves the request, as the API's users do.
func (s *scenario) Approve(request string) {
	s.Helper()
	s.patch(s.lab.hub, newThing(approvalRequests, "", request), "e2e-patch", fmt.Sprintf(
		`{"status":{"conditions":[{"type":"Approved","status":"True","reason":"LooksGood","message":"tried by hand","lastTransitionTime":%q}]}}`,
		time.Now().UTC().Format(time.RFC3339)), "status")
}

// explainsPlacement checks that explain says so of the placement.
func (s *scenario) explainsPlacement(p thing, words string) {
	s.Helper()
	if out, err := s.Sluice("explain", "crp/"+p.name()); err != nil || !strings.Contains(out, words) {
		s.Errorf("explain: %v: %s, want %q", err, out, words)
	}
}

func TestC61StagedUpdateRun(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm, p := s.aside()
		p = p.with("spec.strategy", map[string]any{"type": "External"})
		strategy := s.staged()
		first := s.release("first", p, strategy)
		s.Apply(first.with("spec.state", "Initialize"))
		s.RunSays(first, "Initialized", "UpdateRunInitializedFailed", "there is no ClusterResourcePlacement "+p.name())
		s.Apply(p)
		s.RunSays(first, "Initialized", "UpdateRunInitializedFailed", "there is no ClusterStagedUpdateStrategy "+strategy.name())
		s.Apply(strategy)
		s.RunSays(first, "Initialized", "UpdateRunInitializedSuccessfully", "gives resource snapshot 0 to 3 clusters in 2 stages")
		s.Says(p, carried[0], "RolloutStarted RolloutControlledByExternalController Unknown")
		s.Settle()
		s.Expect(cm).Nowhere()

		s.Patch(first, `{"spec":{"state":"Run"}}`)
		request := first.name() + "-after-canary"
		s.RunSays(first, "Progressing", "UpdateRunWaiting", "waits for the approval of ClusterApprovalRequest "+request)
		s.holds(cm, "page", "one", members[0])
		s.Settle()
		s.Expect(cm).In(members[0])
		s.explainsPlacement(p, "Run         "+first.name()+" (UpdateRunWaiting): after stage canary: waits for the approval of ClusterApprovalRequest "+request)
		if out, err := s.Sluice("approve", "careq/"+request); err != nil || !strings.Contains(out, "the end of stage canary is approved") {
			s.Errorf("approve: %v: %s", err, out)
		}
		s.RunSays(first, "Succeeded", "UpdateRunSucceeded", "")
		s.holds(cm, "page", "one", members...)
		s.Says(p, carried...)

		s.Apply(cm.set("data.page", "two"))
		s.Snapshots(placement{p}, snapshots, "-0-snapshot", "-1-snapshot latest")
		s.Settle()
		s.holds(cm, "page", "one", members...)
		s.explainsPlacement(p, "Run         none")
		second, back := s.release("second", p, strategy), s.release("third", p, strategy).with("spec.resourceSnapshotIndex", "0")
		s.Apply(second)
		s.RunSays(second, "Progressing", "UpdateRunWaiting", second.name()+"-after-canary")
		s.holds(cm, "page", "two", members[0])
		s.Apply(back)
		s.RunSays(back, "Progressing", "UpdateRunWaiting", "waits for run "+second.name())
		s.Unchanged(func() { s.Settle() })
		s.Delete(second)
		s.RunSays(back, "Progressing", "UpdateRunWaiting", back.name()+"-after-canary")
		s.holds(cm, "page", "one", members...)
	})
}

// zoned is an override by which the ConfigMap says in which zone its member is: by one rule
// for zone a, and by another for the others. The members' labels have that key.
func (s *scenario) zoned(cm template, p thing, key string) thing {
	rule := func(operator, value string) map[string]any {
		return map[string]any{
			"clusterSelector": map[string]any{"clusterSelectorTerms": []any{map[string]any{"labelSelector": map[string]any{
				"matchExpressions": []any{map[string]any{"key": key, "operator": operator, "values": list("a")}},
			}}}},
			"jsonPatchOverrides": []any{map[string]any{"op": "add", "path": "/data/zone", "value": value}},
		}
	}
	return newThing(overridesWithin, cm.itself().namespace(), "zoned").with("spec", map[string]any{
		"placement":         map[string]any{"name": p.name()},
		"resourceSelectors": []any{map[string]any{"group": "", "version": "v1", "kind": "ConfigMap", "name": cm.name()}},
		"policy":            map[string]any{"overrideRules": []any{rule("In", "a"), rule("NotIn", "not a, but ${MEMBER-CLUSTER-LABEL-KEY-"+key+"}")}},
	})
}

// What overrides make of an object depends on labels of its member. Where runs roll out, a
// member keeps what it got when these change, also if its Work is made anew meanwhile, and
// gets the other when it is its turn.
func TestC61C70ALabelThatAnOverrideLooksAt(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm, p := s.aside()
		p = p.with("spec.strategy", map[string]any{"type": "External"})
		key := "zone-" + s.ns
		s.labelMembersBy(key, map[string]string{members[0]: "a", members[1]: "b", members[2]: "c"})
		strategy := newThing(updateStrategies, "", s.unique("at-once")).with("spec.stages", []any{
			map[string]any{"name": "all", "labelSelector": map[string]any{}, "maxConcurrency": "100%"},
		})
		first := s.release("first", p, strategy)
		s.Apply(s.zoned(cm, p, key), strategy, p, first)
		s.RunSays(first, "Succeeded", "UpdateRunSucceeded", "")
		s.holds(cm, "zone", "a", members[0])
		s.holds(cm, "zone", "not a, but b", members[1])
		s.holds(cm, "zone", "not a, but c", members[2])

		s.labelMembersBy(key, map[string]string{members[0]: "b", members[1]: "a", members[2]: "d"})
		for _, m := range members {
			s.anew(newThing(placedWorks, "fleet-member-"+m, p.name()+"-work"))
		}
		s.Settle()
		s.holds(cm, "zone", "a", members[0])
		s.holds(cm, "zone", "not a, but b", members[1])
		s.holds(cm, "zone", "not a, but c", members[2])

		second := s.release("second", p, strategy)
		s.Apply(second)
		s.RunSays(second, "Succeeded", "UpdateRunSucceeded", "")
		s.holds(cm, "zone", "not a, but b", members[0])
		s.holds(cm, "zone", "a", members[1])
		s.holds(cm, "zone", "not a, but d", members[2])
	})
}

// Where a placement rolls out by itself, members follow their labels.
func TestC70MembersFollowTheLabelsThatAnOverrideLooksAt(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm, p := s.aside()
		key := "zone-" + s.ns
		s.labelMembersBy(key, map[string]string{members[0]: "a", members[1]: "b"})
		s.Apply(s.zoned(cm, p, key), p)
		s.holds(cm, "zone", "a", members[0])
		s.holds(cm, "zone", "not a, but b", members[1])
		s.labelMembersBy(key, map[string]string{members[0]: "b", members[1]: "a", members[2]: "c"})
		s.holds(cm, "zone", "not a, but b", members[0])
		s.holds(cm, "zone", "a", members[1])
		s.holds(cm, "zone", "not a, but c", members[2]) // which had no such label, so that the override failed
		s.Says(p, carriedOverridden...)
	})
}

// anew deletes the Work of a placement, and waits until it is there again, and applied.
func (s *scenario) anew(work thing) {
	s.Helper()
	was := s.Live(work).GetUID()
	s.Delete(work)
	s.Eventually(func() error {
		w, err := s.lab.hub.on(placedWorks, work.namespace()).Get(s.Context(), work.name(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if w.GetUID() == was {
			return fmt.Errorf("%s was not made anew", work)
		}
		return isCondition("Applied", "True", "AllManifestsApplied")(w.Object)
	})
}

// A run is for the members that were picked when it was made: if others are picked, it
// ends, and who has something keeps it.
func TestC61ARunEndsWhenOthersArePicked(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm, p := s.aside()
		p = p.with("spec.strategy", map[string]any{"type": "External"}).with("spec.policy", map[string]any{"placementType": "PickFixed", "clusterNames": list(members[0], members[1])})
		strategy := s.staged()
		r := s.release("release", p, strategy)
		s.Apply(p, strategy, r)
		s.RunSays(r, "Progressing", "UpdateRunWaiting", r.name()+"-after-canary")
		s.Patch(p, fmt.Sprintf(`{"spec":{"policy":{"clusterNames":[%q,%q]}}}`, members[1], members[2]))
		s.RunSays(r, "Succeeded", "UpdateRunFailed", "the placement's policy changed")
		s.Settle()
		s.Expect(cm).In(members[0])
		s.Says(p, carried[0], "RolloutStarted RolloutControlledByExternalController Unknown")

		next := s.release("next", p, strategy)
		s.Apply(next)
		s.RunSays(next, "Progressing", "UpdateRunWaiting", next.name()+"-after-canary")
		s.Approve(next.name() + "-after-canary")
		s.RunSays(next, "Succeeded", "UpdateRunSucceeded", "")
		s.holds(cm, "page", "one", members[1:]...)
		s.Expect(cm).In(members[1:]...)
		s.Says(p, carried...)
	})
}

func TestC61WhatARunMayNotSay(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		strategy := s.staged()
		for words, o := range map[string]thing{
			"TimedWait needs a waitTime": strategy.with("spec.stages", []any{map[string]any{"name": "a", "afterStageTasks": []any{map[string]any{"type": "TimedWait"}}}}),
			"waitTime is not allowed for Approval": strategy.with("spec.stages", []any{map[string]any{
				"name": "a", "afterStageTasks": []any{map[string]any{"type": "Approval", "waitTime": "1s"}},
			}}),
			"cannot be TimedWait": strategy.with("spec.stages", []any{map[string]any{
				"name": "a", "beforeStageTasks": []any{map[string]any{"type": "TimedWait", "waitTime": "1s"}},
			}}),
			"there can be one task of each type": strategy.with("spec.stages", []any{map[string]any{
				"name": "a", "afterStageTasks": []any{map[string]any{"type": "Approval"}, map[string]any{"type": "Approval"}},
			}}),
			"duplicate entries for key":          strategy.with("spec.stages", []any{map[string]any{"name": "a"}, map[string]any{"name": "a"}}),
			"maxConcurrency must be at least 1":  strategy.with("spec.stages", []any{map[string]any{"name": "a", "maxConcurrency": int64(0)}}),
			"spec.placementName: Required value": newThing(updateRuns, "", s.unique("none")).with("spec.stagedRolloutStrategyName", "careful"),
		} {
			if err := s.apply(s.lab.hub, o); err == nil || !strings.Contains(err.Error(), words) {
				s.Errorf("%v is refused with %v, want %s", o, err, words)
			}
		}
		r := s.release("release", s.nowhere(), strategy).with("spec.state", "Initialize")
		s.Apply(r)
		for words, o := range map[string]thing{
			"a run that was not started cannot be stopped": r.with("spec.state", "Stop"),
			"placementName is immutable":                   r.with("spec.placementName", "other"),
			"resourceSnapshotIndex is immutable":           r.with("spec.resourceSnapshotIndex", "3"),
		} {
			if err := s.apply(s.lab.hub, o); err == nil || !strings.Contains(err.Error(), words) {
				s.Errorf("%v is refused with %v, want %s", o, err, words)
			}
		}
	})
}
