// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

// Selectors are the selectors of a placement. Each selects cluster-scoped objects of a
// kind: the one of a name, those with labels, or all. With a Namespace, everything in
// it is selected. It is an error if two selectors select the same object.
type Selectors []placementv1.ClusterResourceSelector

// Duplicate is the error of selectors that select one object twice.
type Duplicate struct{ Key propagation.TemplateKey }

// Error describes the error for people.
func (d *Duplicate) Error() string { return fmt.Sprintf("%s is selected more than once", d.Key) }

// Concern reports whether a change of the object may change what is selected. It
// considers only the key, since nothing else is known of a deleted object; Select
// considers labels.
func (s Selectors) Concern(key propagation.TemplateKey) bool {
	gk := key.GroupVersionKind().GroupKind()
	if ExemptKind(gk) {
		return false
	}
	if key.Namespace != "" {
		return ExemptNamespace(key.Namespace) == "" && s.Concern(NamespaceKey(key.Namespace))
	}
	for _, sel := range s {
		if groupKind(sel) == gk && (sel.Name == "" || sel.Name == key.Name) {
			return true
		}
	}
	return false
}

// Select reports whether a cluster-scoped object is selected. The error is a *Duplicate
// if it is selected twice.
func (s Selectors) Select(key propagation.TemplateKey, obj map[string]any) (bool, error) {
	gk, times := key.GroupVersionKind().GroupKind(), 0
	for _, sel := range s {
		if groupKind(sel) != gk || sel.Name != "" && sel.Name != key.Name {
			continue
		}
		ok, err := labelled(sel, obj)
		if err != nil {
			return false, err
		}
		if ok {
			times++
		}
	}
	if times > 1 {
		return false, &Duplicate{key}
	}
	return times == 1, nil
}

// labelled reports whether the object has the labels that the selector asks for.
func labelled(s placementv1.ClusterResourceSelector, obj map[string]any) (bool, error) {
	if s.LabelSelector == nil {
		return true, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(s.LabelSelector)
	if err != nil {
		return false, fmt.Errorf("labelSelector for %s: %w", s.Kind, err)
	}
	meta, _ := obj["metadata"].(map[string]any)
	all, _ := meta["labels"].(map[string]any)
	has := make(labels.Set, len(all))
	for k, v := range all {
		has[k], _ = v.(string)
	}
	return selector.Matches(has), nil
}

// Version returns the kind in the version that the selectors name; false if none names
// it.
func (s Selectors) Version(gk schema.GroupKind) (schema.GroupVersionKind, bool) {
	for _, sel := range s {
		if groupKind(sel) == gk {
			return versioned(sel), true
		}
	}
	return schema.GroupVersionKind{}, false
}

// Kinds returns the cluster-scoped kinds that the selectors name, once each, and whether
// they select namespaces, with objects of every namespaced kind.
func (s Selectors) Kinds() (kinds []schema.GroupVersionKind, inNamespaces bool) {
	seen := map[schema.GroupKind]bool{}
	for _, sel := range s {
		if gk := groupKind(sel); !seen[gk] {
			seen[gk] = true
			kinds = append(kinds, versioned(sel))
		}
	}
	return kinds, seen[namespaces]
}

// Names returns the names of the kind's objects that the selectors name; all is true if
// there is a selector without a name.
func (s Selectors) Names(gk schema.GroupKind) (names []string, all bool) {
	for _, sel := range s {
		switch {
		case groupKind(sel) != gk:
		case sel.Name == "":
			return nil, true
		default:
			names = append(names, sel.Name)
		}
	}
	return names, false
}

func groupKind(s placementv1.ClusterResourceSelector) schema.GroupKind {
	return schema.GroupKind{Group: s.Group, Kind: s.Kind}
}

func versioned(s placementv1.ClusterResourceSelector) schema.GroupVersionKind {
	return groupKind(s).WithVersion(s.Version)
}

// Kinds returns the kinds whose objects placements may select, sorted: those that
// selectors name, and if any selects namespaces, inNamespaces.
func Kinds(placements []*placementv1.ClusterResourcePlacement, inNamespaces []schema.GroupVersionKind) []schema.GroupVersionKind {
	found, inside := map[schema.GroupVersionKind]bool{}, false
	for _, p := range placements {
		kinds, namespaces := SelectorsOf(p).Kinds()
		inside = inside || namespaces
		for _, gvk := range kinds {
			found[gvk] = true
		}
	}
	for _, gvk := range inNamespaces {
		if inside && !ExemptKind(gvk.GroupKind()) {
			found[gvk] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
}
