// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
)

// ReasonHeld of a decision: the member keeps the placement as no member has what the
// affinity asks for. It is decided anew each time, as the member is not picked.
const ReasonHeld = "keeps the placement, as nothing moves for a label or property that no cluster has"

// maxTold is how many words or members a message names.
const maxTold = 5

// checkLabels returns the decision, unless the required affinity asks for a label or a
// property that no member has, or for a combination that none has, which is what a
// misspelled one looks like. Then nothing moves if a member would lose the placement by
// the affinity alone. If none would, or only members beyond the wanted number, the
// decision stands, and its message names the label if no member is picked.
func (s *surveyed) checkLabels(d Decision) Decision {
	matches := s.required()
	unknown := s.unknown()
	if len(unknown) == 0 && len(s.members) > 0 && !s.any(func(m *memberclusterv1.MemberCluster) bool { return matches(m) == "" }) {
		unknown = []string{"all that the required affinity asks for"}
	}
	if len(unknown) == 0 {
		return d
	}
	var lost []string
	for _, m := range s.members {
		if s.had[m.Name] && !s.spare[m.Name] && leaving(m) == "" && matches(m) != "" && !slices.ContainsFunc(d.Picked, decides(m.Name)) {
			lost = append(lost, m.Name)
		}
	}
	nobody := "no cluster has " + strings.Join(someOf(unknown), ", ")
	switch {
	case len(lost) > 0:
		return s.held(d, nobody+", and "+strings.Join(someOf(lost), ", ")+" would lose the placement: nothing moves; correct the affinity, or label a cluster so")
	case len(d.Picked) == 0:
		d.Condition.Message += ": " + nobody
	}
	return d
}

// held is the decision by which the members that have the placement keep it, and no
// other gets it.
func (s *surveyed) held(d Decision, why string) Decision {
	next := Decision{Condition: fulfilled(false)}
	next.Condition.Message += ": " + why
	for _, m := range s.members {
		if !s.had[m.Name] || leaving(m) != "" {
			continue
		}
		keeps := placementv1.ClusterDecision{ClusterName: m.Name, Selected: true, Reason: ReasonHeld}
		if i := slices.IndexFunc(d.Picked, decides(m.Name)); i >= 0 {
			keeps = d.Picked[i]
		}
		next.Picked = append(next.Picked, keeps)
	}
	for _, u := range slices.Concat(d.Picked, d.Unpicked) {
		if slices.ContainsFunc(next.Picked, decides(u.ClusterName)) {
			continue
		}
		if u.Selected {
			u.Selected, u.Reason = false, "cluster waits: "+why
		}
		next.Unpicked = append(next.Unpicked, u)
	}
	next.Unpicked = atMost(next.Unpicked)
	return next
}

func decides(name string) func(placementv1.ClusterDecision) bool {
	return func(d placementv1.ClusterDecision) bool { return d.ClusterName == name }
}

// unknown are the labels and properties, for people, that a term of the required affinity
// asks for and that no member has.
func (s *surveyed) unknown() []string {
	a := s.affinity()
	if a == nil || a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	var all []string
	for _, t := range a.RequiredDuringSchedulingIgnoredDuringExecution.ClusterSelectorTerms {
		if t.LabelSelector != nil {
			all = append(all, s.unknownLabels(t.LabelSelector)...)
		}
		if t.PropertySelector == nil {
			continue
		}
		for _, e := range t.PropertySelector.MatchExpressions {
			if !s.any(func(m *memberclusterv1.MemberCluster) bool { _, known := property(m, e.Name); return known }) {
				all = append(all, "the property "+e.Name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (s *surveyed) unknownLabels(l *metav1.LabelSelector) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(l.MatchLabels)) {
		if !s.labelled(key, l.MatchLabels[key]) {
			all = append(all, fmt.Sprintf("the label %s=%s", key, l.MatchLabels[key]))
		}
	}
	for _, e := range l.MatchExpressions {
		switch {
		case e.Operator == metav1.LabelSelectorOpExists && !s.labelled(e.Key):
			all = append(all, "the label "+e.Key)
		case e.Operator == metav1.LabelSelectorOpIn && !s.labelled(e.Key, e.Values...):
			all = append(all, fmt.Sprintf("the label %s in (%s)", e.Key, strings.Join(e.Values, ", ")))
		}
	}
	return all
}

// labelled tells whether any member has the label, with one of the values if there are
// any.
func (s *surveyed) labelled(key string, values ...string) bool {
	return s.any(func(m *memberclusterv1.MemberCluster) bool {
		value, has := m.Labels[key]
		return has && (len(values) == 0 || slices.Contains(values, value))
	})
}

func (s *surveyed) any(is func(*memberclusterv1.MemberCluster) bool) bool {
	return slices.ContainsFunc(s.members, is)
}

// someOf are the first few, and how many more there are.
func someOf(all []string) []string {
	if len(all) <= maxTold {
		return all
	}
	return append(slices.Clone(all[:maxTold]), fmt.Sprintf("%d more", len(all)-maxTold))
}
