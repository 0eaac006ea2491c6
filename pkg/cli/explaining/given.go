// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/core/rollout"
)

// Given is what a placement propagates to a member.
type Given struct {
	rendering.Placed
	Member *memberclusterv1.MemberCluster
}

// Manifests returns what the member gets, in the order of its Works, with the data of
// Secrets. It uses the renderer's functions.
func (g Given) Manifests() ([]map[string]any, error) {
	works, err := rendering.PlacementWorks(g.Placed)
	if err != nil {
		return nil, err
	}
	var out []map[string]any
	for _, w := range works {
		for _, m := range w.Spec.Workload.Manifests {
			manifest, err := opened(w, m)
			if err != nil {
				return nil, err
			}
			out = append(out, manifest)
		}
	}
	return out, nil
}

// PlacementOverride is an override of placements, of either scope, as the snapshot that
// would be made of it; the field of the other scope is nil.
type PlacementOverride struct {
	Cluster *placementv1.ClusterResourceOverrideSnapshot
	InName  *placementv1.ResourceOverrideSnapshot
}

// With returns what the member would get with these overrides in place of the versions
// that it has, or in addition, if they apply to this placement and member.
func (g Given) With(overrides []PlacementOverride) Given {
	var cluster []*placementv1.ClusterResourceOverrideSnapshot
	var inNames []*placementv1.ResourceOverrideSnapshot
	for _, o := range overrides {
		if s := o.Cluster; s != nil {
			cluster = append(cluster, s)
			g.ClusterOverrides = slices.DeleteFunc(slices.Clone(g.ClusterOverrides), func(has *placementv1.ClusterResourceOverrideSnapshot) bool {
				return has.Labels[placementv1.LabelParentOverride] == s.Labels[placementv1.LabelParentOverride]
			})
		}
		if s := o.InName; s != nil {
			inNames = append(inNames, s)
			g.Overrides = slices.DeleteFunc(slices.Clone(g.Overrides), func(has *placementv1.ResourceOverrideSnapshot) bool {
				return has.Namespace == s.Namespace && has.Labels[placementv1.LabelParentOverride] == s.Labels[placementv1.LabelParentOverride]
			})
		}
	}
	concern := g.Concern(rollout.LatestOverrides(g.Placement, cluster, inNames))
	for _, s := range cluster {
		if slices.Contains(concern.Cluster, s.Name) {
			g.ClusterOverrides = append(g.ClusterOverrides, s)
		}
	}
	for _, s := range inNames {
		if slices.Contains(concern.InNames, placementv1.NamespacedName{Namespace: s.Namespace, Name: s.Name}) {
			g.Overrides = append(g.Overrides, s)
		}
	}
	slices.SortStableFunc(g.ClusterOverrides, func(a, b *placementv1.ClusterResourceOverrideSnapshot) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(g.Overrides, func(a, b *placementv1.ResourceOverrideSnapshot) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	if g.Member != nil {
		g.Labels = g.Member.Labels
	}
	return g
}

// Concern returns those of the overrides that apply to what the member gets.
func (g Given) Concern(overrides []rollout.Override) rollout.Overrides {
	if g.Member == nil {
		return rollout.Overrides{}
	}
	var objects []placementv1.ResourceIdentifier
	for _, part := range g.Parts {
		for _, content := range part.Spec.SelectedResources {
			objects = append(objects, rendering.Carried(content.Raw)...)
		}
	}
	return rollout.OverridesFor(overrides, objects, []*memberclusterv1.MemberCluster{g.Member})[g.Member.Name]
}

// PlacedRewrites compares what members get from a placement now with what they would
// get, object by object.
func PlacedRewrites(placement string, before, after []Given) []Rewrite {
	var out []Rewrite
	for i := range before {
		cluster := before[i].Binding.Spec.TargetCluster
		for _, r := range placedRewrites(before[i], after[i]) {
			r.Placement = placement
			j := slices.IndexFunc(out, func(o Rewrite) bool {
				return o.Template == r.Template && o.What == r.What && o.Diff == r.Diff && o.Failure == r.Failure
			})
			if j < 0 {
				j = len(out)
				out = append(out, r)
			}
			out[j].Clusters = append(out[j].Clusters, cluster)
			if after[i].Suspended {
				out[j].Held = append(out[j].Held, cluster)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Rewrite) int { return strings.Compare(a.Template.ID(), b.Template.ID()) })
	return out
}

// placedRewrites compares what one member gets.
func placedRewrites(before, after Given) []Rewrite {
	whole := propagation.PlacementKey(before.Placement)
	was, failed := byKey(before)
	is, fails := byKey(after)
	switch {
	case fails != nil && failed != nil && failed.Error() == fails.Error():
		return nil
	case fails != nil:
		return []Rewrite{{Template: whole, What: Fails, Failure: fails.Error()}}
	case failed != nil:
		return []Rewrite{{Template: whole, What: Mended}}
	}
	var out []Rewrite
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, id := range slices.Sorted(maps.Keys(all)) {
		r := Rewrite{Template: propagation.KeyOf(all[id]), What: Changes}
		switch {
		case was[id] == nil:
			r.What = Joins
		case is[id] == nil:
			r.What = Leaves
		}
		r.Diff = manifestDiff(r.Template, was[id], is[id])
		if r.Diff != "" || r.What != Changes {
			out = append(out, r)
		}
	}
	return out
}

// byKey returns the manifests by their keys.
func byKey(g Given) (map[string]map[string]any, error) {
	all, err := g.Manifests()
	if err != nil {
		return nil, err
	}
	out := make(map[string]map[string]any, len(all))
	for _, m := range all {
		out[propagation.KeyOf(m).ID()] = m
	}
	return out, nil
}
