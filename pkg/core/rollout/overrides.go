// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/rendering"
)

// Override is the snapshot of an override, of either scope, as it is asked whether it
// concerns a placement in a member.
type Override struct {
	// Namespace is empty for an override without one.
	Namespace, Name string
	Placement       *placementv1.PlacementRef
	Policy          *placementv1.OverridePolicy
	// Selects tells whether it selects the object.
	selects func(placementv1.ResourceIdentifier) bool
}

// LatestOverrides are the overrides in force that may concern the placement, in the
// order in which they are applied: those without a namespace first, then by name.
func LatestOverrides(placement string, cluster []*placementv1.ClusterResourceOverrideSnapshot, inNames []*placementv1.ResourceOverrideSnapshot) []Override {
	var out []Override
	for _, s := range cluster {
		o := s.Spec.OverrideSpec
		if InForce(s) && OfPlacement(o.Placement, placement) {
			out = append(out, Override{Name: s.Name, Placement: o.Placement, Policy: o.Policy, selects: func(id placementv1.ResourceIdentifier) bool {
				return slices.ContainsFunc(o.ClusterResourceSelectors, func(sel placementv1.ClusterResourceSelector) bool {
					inside := sel.Group == "" && sel.Kind == "Namespace" && id.Namespace == sel.Name && id.Namespace != ""
					return inside || id.Namespace == "" && id.Group == sel.Group && id.Kind == sel.Kind && id.Name == sel.Name
				})
			}})
		}
	}
	for _, s := range inNames {
		o := s.Spec.OverrideSpec
		if InForce(s) && OfPlacement(o.Placement, placement) {
			out = append(out, Override{Namespace: s.Namespace, Name: s.Name, Placement: o.Placement, Policy: o.Policy, selects: func(id placementv1.ResourceIdentifier) bool {
				return slices.ContainsFunc(o.ResourceSelectors, func(sel placementv1.ResourceSelector) bool {
					return id.Namespace == s.Namespace && id.Group == sel.Group && id.Kind == sel.Kind && id.Name == sel.Name
				})
			}})
		}
	}
	slices.SortFunc(out, func(a, b Override) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// InForce reports whether the snapshot of an override is the one in force.
func InForce(m metav1.Object) bool {
	return m.GetLabels()[placementv1.LabelIsLatestSnapshot] == "true" && m.GetDeletionTimestamp() == nil
}

// Lost reports whether an override of the placement has no snapshot in force.
func Lost[S metav1.Object](stored []S, override metav1.Object, of *placementv1.PlacementRef, placement string) bool {
	return override.GetDeletionTimestamp() == nil && OfPlacement(of, placement) &&
		!slices.ContainsFunc(stored, func(s S) bool { return InForce(s) && metav1.IsControlledBy(s, override) })
}

// OfPlacement reports whether an override that says so is one of the placement's: of any,
// where it names none.
func OfPlacement(ref *placementv1.PlacementRef, name string) bool {
	return ref == nil || ref.Name == name
}

// OverridesFor are those of the overrides that select any of the objects, for each
// member that one of their rules is for.
func OverridesFor(overrides []Override, objects []placementv1.ResourceIdentifier, members []*memberclusterv1.MemberCluster) map[string]Overrides {
	out := map[string]Overrides{}
	for _, o := range overrides {
		if !slices.ContainsFunc(objects, o.selects) || o.Policy == nil {
			continue
		}
		for _, m := range members {
			if slices.ContainsFunc(o.Policy.OverrideRules, func(r placementv1.OverrideRule) bool { return rendering.RuleConcerns(r, m.Labels) }) {
				out[m.Name] = out[m.Name].with(o, m)
			}
		}
	}
	return out
}

// with adds an override, and what it sees of the member.
func (o Overrides) with(more Override, m *memberclusterv1.MemberCluster) Overrides {
	if more.Namespace == "" {
		o.Cluster = append(o.Cluster, more.Name)
	} else {
		o.InNames = append(o.InNames, placementv1.NamespacedName{Namespace: more.Namespace, Name: more.Name})
	}
	if o.For == nil {
		o.For = &placementv1.OverriddenFor{Labels: map[string]string{}}
	}
	for _, key := range rendering.KeysSeen(more.Policy.OverrideRules, m.Name) {
		if value, has := m.Labels[key]; has {
			o.For.Labels[key] = value
		} else {
			o.For.Lacks = append(o.For.Lacks, key)
		}
	}
	slices.Sort(o.For.Lacks)
	o.For.Lacks = slices.Compact(o.For.Lacks)
	return o
}

// OverridesOf are those that the binding names.
func OverridesOf(b *placementv1.ClusterResourceBinding) Overrides {
	return Overrides{Cluster: b.Spec.ClusterResourceOverrideSnapshots, InNames: b.Spec.ResourceOverrideSnapshots, For: b.Spec.OverriddenFor}
}

// Name has the binding name them.
func (o Overrides) Name(b *placementv1.ClusterResourceBinding) {
	b.Spec.ClusterResourceOverrideSnapshots, b.Spec.ResourceOverrideSnapshots, b.Spec.OverriddenFor = o.Cluster, o.InNames, o.For
}

// SameNames reports whether both are the same overrides.
func (o Overrides) SameNames(of Overrides) bool {
	return equality.Semantic.DeepEqual(o.Cluster, of.Cluster) && equality.Semantic.DeepEqual(o.InNames, of.InNames)
}

// Same reports whether both do the same in the member. Where one of them does not say what
// they see of it, that is no difference: it was written before that was noted.
func (o Overrides) Same(of Overrides) bool {
	return o.SameNames(of) && (o.For == nil || of.For == nil || equality.Semantic.DeepEqual(o.For, of.For))
}

// Kept is a stored snapshot of an override.
type Kept struct {
	Name string
	// Owner is the UID of the override that it belongs to, with which it ends.
	Owner  types.UID
	Labels map[string]string
	Hash   string
}

// overrideHistory is how many snapshots of an override are kept, with the latest.
const overrideHistory = 10

// EndedOverrides are the names of those among the stored snapshots of an override, of
// which latest is the index of the newest, whether it is among them or not, that
// nobody keeps any more: the history is longer, and no binding names them.
func EndedOverrides(stored []Kept, latest int, needed map[string]bool) []string {
	indexOf := func(k Kept) int {
		i, err := strconv.Atoi(k.Labels[placementv1.LabelOverrideIndex])
		if err != nil {
			return latest // nobody knows of what it is
		}
		return i
	}
	earlier := slices.DeleteFunc(slices.Clone(stored), func(k Kept) bool { return indexOf(k) >= latest })
	slices.SortFunc(earlier, func(a, b Kept) int { return cmp.Compare(indexOf(b), indexOf(a)) })
	var ended []string
	for i, k := range earlier {
		if i >= overrideHistory-1 && !needed[k.Name] {
			ended = append(ended, k.Name)
		}
	}
	return ended
}

// NextOverride says which snapshot the override with the UID shall have, whose spec has
// the hash: its index, and whether it has to be made. A snapshot of an override that was
// deleted does not do for one that was made anew like it: the garbage collector takes it.
func NextOverride(stored []Kept, override types.UID, hash string) (index int, fresh bool) {
	index = -1
	newest := Kept{}
	for _, k := range stored {
		if i, err := strconv.Atoi(k.Labels[placementv1.LabelOverrideIndex]); err == nil && i > index {
			index, newest = i, k
		}
	}
	if index >= 0 && newest.Hash == hash && newest.Owner == override {
		return index, false
	}
	return index + 1, true
}

// OverrideLabels are those of the snapshot of an override.
func OverrideLabels(override string, index int) map[string]string {
	return map[string]string{
		placementv1.LabelParentOverride: override, placementv1.LabelOverrideIndex: strconv.Itoa(index), placementv1.LabelIsLatestSnapshot: "true",
	}
}

// OverrideSnapshotName is the name of the snapshot of an override.
func OverrideSnapshotName(override string, index int) string {
	return fmt.Sprintf("%s-%d", override, index)
}
