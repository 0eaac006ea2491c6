// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
)

// term is a term of an affinity, made ready. What cannot be understood matches no
// member.
type term struct {
	labels     labels.Selector
	properties []comparison
}

// comparison is one expression about a property.
type comparison struct {
	name  string
	holds func(order int) bool
	with  resource.Quantity
}

func compile(t placementv1.ClusterSelectorTerm) term {
	out := term{labels: labels.Everything()}
	if t.LabelSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
		if err != nil {
			return term{labels: labels.Nothing()}
		}
		out.labels = selector
	}
	if t.PropertySelector == nil {
		return out
	}
	for _, e := range t.PropertySelector.MatchExpressions {
		holds, known := operators[e.Operator]
		if !known || len(e.Values) != 1 {
			return term{labels: labels.Nothing()}
		}
		with, err := resource.ParseQuantity(e.Values[0])
		if err != nil {
			return term{labels: labels.Nothing()}
		}
		out.properties = append(out.properties, comparison{e.Name, holds, with})
	}
	return out
}

// operators take the order of the member's value and the one that is given.
var operators = map[placementv1.PropertySelectorOperator]func(order int) bool{
	placementv1.PropertySelectorGreaterThan:          func(o int) bool { return o > 0 },
	placementv1.PropertySelectorGreaterThanOrEqualTo: func(o int) bool { return o >= 0 },
	placementv1.PropertySelectorEqualTo:              func(o int) bool { return o == 0 },
	placementv1.PropertySelectorNotEqualTo:           func(o int) bool { return o != 0 },
	placementv1.PropertySelectorLessThan:             func(o int) bool { return o < 0 },
	placementv1.PropertySelectorLessThanOrEqualTo:    func(o int) bool { return o <= 0 },
}

func (t term) matches(m *memberclusterv1.MemberCluster) bool {
	if !t.labels.Matches(labels.Set(m.Labels)) {
		return false
	}
	for _, c := range t.properties {
		if value, known := property(m, c.name); !known || !c.holds(value.Cmp(c.with)) {
			return false
		}
	}
	return true
}

// resources begins the name of a property that stands in the member's usage; what
// follows is one of usages, a dash and the name of the resource.
const resources = "resources.kubernetes-fleet.io/"

// property is a member's value; false: it has none.
func property(m *memberclusterv1.MemberCluster, name string) (value resource.Quantity, known bool) {
	if of, ok := strings.CutPrefix(name, resources); ok {
		which, resourceName, _ := strings.Cut(of, "-")
		usage := m.Status.ResourceUsage
		list := map[string]corev1.ResourceList{"total": usage.Capacity, "allocatable": usage.Allocatable, "available": usage.Available}[which]
		value, known = list[corev1.ResourceName(resourceName)]
		return value, known
	}
	p, known := m.Status.Properties[memberclusterv1.PropertyName(name)]
	if !known {
		return value, false
	}
	value, err := resource.ParseQuantity(p.Value)
	return value, err == nil
}

// prefer is the half of the step Score that is about the preferred affinity.
func (s *surveyed) prefer(candidates []*candidate) {
	a := s.affinity()
	if a == nil {
		return
	}
	for _, p := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		t := compile(placementv1.ClusterSelectorTerm{LabelSelector: p.Preference.LabelSelector})
		share := s.shares(p.Preference.PropertySorter)
		for _, c := range candidates {
			if t.matches(c.member) {
				c.affinity += int32(math.Round(float64(p.Weight) * share(c.member)))
			}
		}
	}
}

// shares is which part of a weight a member gets by the sorter: all of it the first
// in the order, nothing the last, nor one without the property. Where all are alike,
// nobody gets anything.
func (s *surveyed) shares(sorter *placementv1.PropertySorter) func(*memberclusterv1.MemberCluster) float64 {
	if sorter == nil {
		return func(*memberclusterv1.MemberCluster) float64 { return 1 }
	}
	least, most := math.Inf(1), math.Inf(-1)
	for _, m := range s.members {
		if q, known := property(m, sorter.Name); known {
			v := q.AsApproximateFloat64()
			least, most = min(least, v), max(most, v)
		}
	}
	return func(m *memberclusterv1.MemberCluster) float64 {
		q, known := property(m, sorter.Name)
		if !known || most <= least {
			return 0
		}
		share := (q.AsApproximateFloat64() - least) / (most - least)
		if sorter.SortOrder == placementv1.Ascending {
			share = 1 - share
		}
		return share
	}
}
