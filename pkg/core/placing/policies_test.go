// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
)

func policy(edit func(p *placementv1.ClusterResourcePlacement)) *placementv1.ClusterResourcePlacement {
	p := &placementv1.ClusterResourcePlacement{}
	p.Name, p.Generation = "crp-1", 5
	n := int32(2)
	p.Spec.Policy = &placementv1.PlacementPolicy{PlacementType: placementv1.PickNPlacementType, NumberOfClusters: &n}
	edit(p)
	return p
}

// follow carries plans out, and is what is stored then.
func follow(plans ...*placementv1.ClusterResourcePlacement) []*placementv1.ClusterSchedulingPolicySnapshot {
	var stored []*placementv1.ClusterSchedulingPolicySnapshot
	for _, p := range plans {
		plan := placing.NextPolicy(p, stored)
		if plan.Create != nil {
			stored = append(stored, plan.Create)
		}
		for _, e := range plan.Edit {
			e.Labels[placementv1.LabelIsLatestSnapshot] = fmt.Sprint(e.Latest)
			for k, v := range e.ClusterSchedulingPolicySnapshot.Annotations {
				if new, ok := e.Annotations[k]; ok && new != v {
					e.ClusterSchedulingPolicySnapshot.Annotations[k] = new
				}
			}
		}
		stored = slices.DeleteFunc(stored, func(s *placementv1.ClusterSchedulingPolicySnapshot) bool { return slices.Contains(plan.Prune, s) })
	}
	return stored
}

func TestPolicySnapshots(t *testing.T) {
	same := func(*placementv1.ClusterResourcePlacement) {}
	more := func(p *placementv1.ClusterResourcePlacement) {
		n := int32(3)
		p.Spec.Policy.NumberOfClusters = &n
		p.Generation = 6
	}
	tolerant := func(p *placementv1.ClusterResourcePlacement) {
		p.Spec.Policy.Tolerations = []placementv1.Toleration{{Key: "gpu"}}
		p.Generation = 7
	}
	none := func(p *placementv1.ClusterResourcePlacement) { p.Spec.Policy = nil }
	one := func(edit func(*placementv1.ClusterResourcePlacement)) func(*placementv1.ClusterResourcePlacement) {
		return func(p *placementv1.ClusterResourcePlacement) {
			edit(p)
			n := int32(1)
			p.Spec.RevisionHistoryLimit = &n
		}
	}
	for name, tc := range map[string]struct {
		edits []func(*placementv1.ClusterResourcePlacement)
		want  []string // name, latest, generation, clusters
	}{
		"C26: the first":                          {[]func(*placementv1.ClusterResourcePlacement){same}, []string{"crp-1-0 true 5 2"}},
		"C27: the same makes none":                {[]func(*placementv1.ClusterResourcePlacement){same, same}, []string{"crp-1-0 true 5 2"}},
		"C27: a number is an annotation":          {[]func(*placementv1.ClusterResourcePlacement){same, more}, []string{"crp-1-0 true 6 3"}},
		"C27: a toleration makes another":         {[]func(*placementv1.ClusterResourcePlacement){same, tolerant}, []string{"crp-1-0 false 5 2", "crp-1-1 true 7 2"}},
		"C26: no policy is one":                   {[]func(*placementv1.ClusterResourcePlacement){none}, []string{"crp-1-0 true 5 "}},
		"C24: what was before makes another":      {[]func(*placementv1.ClusterResourcePlacement){same, tolerant, same}, []string{"crp-1-0 false 5 2", "crp-1-1 false 7 2", "crp-1-2 true 5 2"}},
		"C25: with a limit of 1 the latest stays": {[]func(*placementv1.ClusterResourcePlacement){same, one(tolerant)}, []string{"crp-1-1 true 7 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			var plans []*placementv1.ClusterResourcePlacement
			for _, e := range tc.edits {
				plans = append(plans, policy(e))
			}
			stored := follow(plans...)
			var got []string
			for _, s := range stored {
				got = append(got, fmt.Sprint(s.Name, " ", s.Labels[placementv1.LabelIsLatestSnapshot], " ", s.Annotations[placementv1.AnnotationCRPGeneration], " ", s.Annotations[placementv1.AnnotationNumberOfClusters]))
				if s.Labels[placementv1.LabelParentCRP] != "crp-1" || len(s.Spec.PolicyHash) != 64 || s.Spec.Policy != nil && s.Spec.Policy.NumberOfClusters != nil {
					t.Errorf("%s: %v %v", s.Name, s.Labels, s.Spec)
				}
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
			if p := placing.NextPolicy(plans[len(plans)-1], stored); p.Create != nil || len(p.Edit)+len(p.Prune) > 0 {
				t.Errorf("there is more to do: %+v", p)
			}
		})
	}
}

func TestAMarkIsReadAsItWasWritten(t *testing.T) {
	for _, m := range []placing.Mark{{}, {Asked: "a"}, {Asked: "a", Served: "b"}, {Asked: "a", Refused: true}, {Asked: "a", Served: "b", Refused: true}, {Asked: "a", Latest: "3"}, {Asked: "a", Served: "b", Refused: true, Latest: "0"}, {Asked: "a", Latest: "3", Again: time.Unix(1000, 0)}} {
		if got := placing.ParseMark(m.String()); got != m {
			t.Errorf("%+v is read as %+v", m, got)
		}
	}
}

func TestC30When(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	known := placing.Situation{Snapshotted: true, Known: true, Mark: placing.Mark{Asked: "a"}, Selected: placing.Mark{Asked: "a"}, Last: at(-1000)}
	with := func(edit func(*placing.Situation)) placing.Situation { s := known; edit(&s); return s }
	for name, tc := range map[string]struct {
		situation placing.Situation
		want      placing.Due
	}{
		"the first snapshot comes at once":                       {placing.Situation{Mark: placing.Mark{Asked: "a"}}, placing.Due{At: now, All: true}},
		"nothing changed":                                        {known, placing.Due{Never: true}},
		"changes are collected for 15 s":                         {with(func(s *placing.Situation) { s.First = at(-1) }), placing.Due{At: at(14)}},
		"30 s lie between two snapshots":                         {with(func(s *placing.Situation) { s.First, s.Last = at(-1), at(-2) }), placing.Due{At: at(28)}},
		"a clock that is a little ahead is waited for":           {with(func(s *placing.Situation) { s.First, s.Last = at(-1), at(2) }), placing.Due{At: at(32)}},
		"a snapshot made in an hour is of another clock":         {with(func(s *placing.Situation) { s.First, s.Last = at(-1), at(3600) }), placing.Due{At: at(14)}},
		"and so is a change noted in an hour":                    {with(func(s *placing.Situation) { s.First = at(3600) }), placing.Due{At: now}},
		"other selectors act at once":                            {with(func(s *placing.Situation) { s.Selected.Asked, s.Last = "b", at(-2) }), placing.Due{At: now, All: true}},
		"what may have been missed is looked for":                {with(func(s *placing.Situation) { s.Known = false }), placing.Due{At: now, All: true}},
		"what others may be selecting now is not selected twice": {with(func(s *placing.Situation) { s.Known, s.Made, s.Last = false, "a", at(-2) }), placing.Due{At: at(28), All: true}},
		"nor is what others have just selected for new ones":     {with(func(s *placing.Situation) { s.Selected.Asked, s.Made, s.Last = "b", "a", at(-2) }), placing.Due{At: at(28), All: true}},
		"but what was refused in between is": {with(func(s *placing.Situation) {
			s.Selected, s.Made, s.Last = placing.Mark{Asked: "b", Refused: true}, "a", at(-2)
		}), placing.Due{At: now, All: true}},
		"what others selected for other selectors counts not": {with(func(s *placing.Situation) { s.Known, s.Made, s.Last = false, "b", at(-2) }), placing.Due{At: now, All: true}},
		"what somebody made and did not note is looked at":    {with(func(s *placing.Situation) { s.Selected.Latest, s.Latest, s.Made, s.Last = "0", "1", "b", at(-2) }), placing.Due{At: now, All: true}},
		"what was noted is not":                               {with(func(s *placing.Situation) { s.Selected.Latest, s.Latest, s.Made = "1", "1", "b" }), placing.Due{Never: true}},
		"nor what was noted without an index":                 {with(func(s *placing.Situation) { s.Latest, s.Made = "1", "b" }), placing.Due{Never: true}},
		"what was refused is not asked again":                 {with(func(s *placing.Situation) { s.Selected.Refused, s.Snapshotted = true, false }), placing.Due{Never: true}},
		"what was refused is read as a whole later":           {with(func(s *placing.Situation) { s.Selected.Refused, s.First = true, at(-1) }), placing.Due{At: at(14), All: true}},
		"kinds that come or go are looked for":                {with(func(s *placing.Situation) { s.Selected.Served = "b" }), placing.Due{At: now, All: true}},
		"kinds wait for their time, too":                      {with(func(s *placing.Situation) { s.Selected.Served, s.Last = "b", at(-2) }), placing.Due{At: at(28), All: true}},
		"a snapshot that was deleted is made again":           {with(func(s *placing.Situation) { s.Snapshotted = false }), placing.Due{At: now, All: true}},
		"Z28: what may not be read is tried again":            {with(func(s *placing.Situation) { s.Selected.Again = at(60) }), placing.Due{At: at(60), All: true}},
		"Z28: what changed is not kept waiting for that":      {with(func(s *placing.Situation) { s.Selected.Again, s.First = at(60), at(-1) }), placing.Due{At: at(14)}},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.situation.When(now)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
			if !got.Never && (got.Now(got.At.Add(-1)) || !got.Now(got.At)) {
				t.Error("it is not due when it is")
			}
		})
	}
}
