// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// Health is the health of an object.
type Health = kinds.Health

// Reflect is what is reported of a member's object: the part of its status that its kind
// reports, and its health. An error says which of them a rule of the kind's owner does
// not tell, and why.
func Reflect(known kinds.Table, obj map[string]any) (status map[string]any, health Health, err error) {
	k := known.Of(obj)
	status, failed := k.Report(obj)
	health, err = k.Health(obj)
	return status, health, errors.Join(err, failed)
}

// ManifestStatus is what a Work's status says of obj, the member's object of its
// manifest with that ordinal. The object is named as the manifest names it: in
// which version it was read says nothing about it.
func ManifestStatus(known kinds.Table, ordinal int, manifest, obj map[string]any) workv1alpha1.ManifestStatus {
	gvk := schema.FromAPIVersionAndKind(text(manifest, "apiVersion"), text(manifest, "kind"))
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	status, health, err := Reflect(known, obj)
	s := workv1alpha1.ManifestStatus{
		Identifier: workv1alpha1.ResourceIdentifier{
			Ordinal: ordinal, Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Resource: plural.Resource,
			Namespace: text(manifest, "metadata", "namespace"), Name: text(manifest, "metadata", "name"),
		},
		Status: encode(bounded(status)),
		Health: health,
	}
	if err != nil {
		s.Message = conditions.Message(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return s
}

// Named returns what is said of a Work's objects, each named as its manifest names it now:
// one that is held back may have been applied in another version.
func Named(list []workv1alpha1.ManifestStatus, manifests []map[string]any) []workv1alpha1.ManifestStatus {
	out := slices.Clone(list)
	for i := range out {
		id := &out[i].Identifier
		if id.Ordinal < 0 || id.Ordinal >= len(manifests) {
			continue
		}
		manifest := manifests[id.Ordinal]
		gvk := schema.FromAPIVersionAndKind(text(manifest, "apiVersion"), text(manifest, "kind"))
		if id.Group == gvk.Group && id.Kind == gvk.Kind && id.Namespace == text(manifest, "metadata", "namespace") && id.Name == text(manifest, "metadata", "name") {
			id.Version = gvk.Version
		}
	}
	return out
}

// LastStatus is what is known of an object that is there no more: what the Work
// says of it, or else what the binding keeps of an earlier Work. b may be nil.
func LastStatus(known kinds.Table, w *propagation.Work, b *propagation.Binding, ordinal int, manifest map[string]any) workv1alpha1.ManifestStatus {
	s := ManifestStatus(known, ordinal, manifest, manifest)
	s.Message = ""
	for _, last := range w.Status.ManifestStatuses {
		if i := last.Identifier; i.Kind == s.Identifier.Kind && i.Namespace == s.Identifier.Namespace && i.Name == s.Identifier.Name {
			s.Status, s.Health, s.Message = last.Status, last.Health, last.Message
			return s
		}
	}
	if b != nil {
		for _, last := range b.Status.AggregatedStatus {
			if last.ClusterName == w.Key.Cluster {
				s.Status, s.Health = last.Status, cmp.Or(workv1alpha1.ResourceHealth(last.Health), healthBy(known, manifest, last.Status))
			}
		}
	}
	return s
}

// healthBy returns the health of an object by its status alone, which is how a binding
// records that a Job has finished.
func healthBy(known kinds.Table, manifest map[string]any, status *runtime.RawExtension) Health {
	obj, has := maps.Clone(manifest), map[string]any{}
	if status == nil || json.Unmarshal(status.Raw, &has) != nil {
		return ""
	}
	obj["status"] = has
	_, health, _ := Reflect(known, obj) // Unknown where it cannot be told
	return health
}

const messageTakenAway = "the member does not have the object any more, and while it is suspended it is not made again"

// TakenAway returns what is said of a suspended object after somebody deleted it in the
// member.
func TakenAway(last workv1alpha1.ManifestStatus) workv1alpha1.ManifestStatus {
	last.Status, last.Health, last.Message = nil, workv1alpha1.ResourceUnhealthy, messageTakenAway
	return last
}

// WithStatus returns a copy of the list with s at its ordinal.
func WithStatus(list []workv1alpha1.ManifestStatus, s workv1alpha1.ManifestStatus) []workv1alpha1.ManifestStatus {
	out := slices.DeleteFunc(slices.Clone(list), func(o workv1alpha1.ManifestStatus) bool { return o.Identifier.Ordinal == s.Identifier.Ordinal })
	out = append(out, s)
	slices.SortFunc(out, func(a, b workv1alpha1.ManifestStatus) int {
		return cmp.Compare(a.Identifier.Ordinal, b.Identifier.Ordinal)
	})
	return out
}
