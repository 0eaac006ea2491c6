// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// TooLarge says that a manifest has more bytes than a Work can carry.
type TooLarge struct{ Bytes, May int }

// Error says how many.
func (e *TooLarge) Error() string {
	return fmt.Sprintf("the manifest has %d bytes, of which a Work can carry %d", e.Bytes, e.May)
}

// Work is what the hub holds for the cluster: the manifest, which content it
// was made from (AnnotationRevision), and the suspensions of the binding. Of a Secret
// the content stays outside.
func Work(b *propagation.Binding, cluster string, manifest map[string]any) (*propagation.Work, error) {
	sealed, hash, whole, err := propagation.Seal(manifest)
	if err != nil {
		return nil, fmt.Errorf("seal the manifest of %s for %s: %w", b.Template(), cluster, err)
	}
	raw, err := json.Marshal(sealed)
	if err != nil {
		return nil, fmt.Errorf("encode the manifest of %s for %s: %w", b.Template(), cluster, err)
	}
	if len(raw) > propagation.MaxManifest {
		return nil, &TooLarge{Bytes: len(raw), May: propagation.MaxManifest}
	}
	if len(whole) > propagation.MaxContents {
		return nil, &TooLarge{Bytes: len(whole), May: propagation.MaxContents}
	}
	annotations, err := workAnnotations(b, cluster)
	if err != nil {
		return nil, err
	}
	w := &propagation.Work{
		Key:         propagation.WorkKey{Cluster: cluster, Name: propagation.WorkName(b.Key)},
		Labels:      map[string]string{propagation.LabelBinding: propagation.BindingLabel(b.Key)},
		Annotations: annotations,
		Finalizers:  []string{propagation.FinalizerWork},
		Spec: workv1alpha1.WorkSpec{
			Workload:                    workv1alpha1.WorkloadTemplate{Manifests: []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}},
			PreserveResourcesOnDeletion: b.Spec.PreserveResourcesOnDeletion,
		},
	}
	if id := b.PermanentID(); id != "" {
		w.Labels[propagation.BindingIDLabel(b.Key)] = id
	}
	if hash != "" {
		w.Contents = propagation.Contents{hash: whole}
	}
	if b.Preserves() {
		w.Spec.PreserveResourcesOnDeletion = new(true)
	}
	if b.SuspendedOn(cluster) {
		w.Spec.SuspendDispatching = new(true)
	}
	return w, nil
}

func workAnnotations(b *propagation.Binding, cluster string) (map[string]string, error) {
	template, err := json.Marshal(b.Template())
	if err != nil {
		return nil, fmt.Errorf("encode the key of %s: %w", b.Template(), err)
	}
	conflict := b.Spec.ConflictResolution
	if conflict == "" {
		conflict = policyv1alpha1.ConflictAbort
	}
	a := map[string]string{
		propagation.AnnotationTemplate:           string(template),
		propagation.AnnotationBindingUID:         string(b.UID),
		propagation.AnnotationTemplateUID:        string(b.TemplateUID()),
		propagation.AnnotationConflictResolution: string(conflict),
		propagation.AnnotationRevision:           b.Revision(),
	}
	if propagation.MayBeDefined(b.Template().GroupVersionKind().Group) && !b.Created.IsZero() {
		a[propagation.AnnotationBindingCreated] = b.Created.UTC().Format(time.RFC3339)
	}
	if b.OutlivesTemplate() || b.OnlyRequiredIn(cluster) {
		a[propagation.AnnotationDependency] = "true"
	} else if form := b.Annotations[propagation.AnnotationActiveForm]; form != "" {
		a[propagation.AnnotationActiveForm] = form
	}
	if b.Key.Scope() == propagation.Namespaced {
		a[propagation.AnnotationBindingNamespace] = b.Key.Namespace
		a[propagation.AnnotationBindingName] = b.Key.Name
	} else {
		a[propagation.AnnotationClusterBindingName] = b.Key.Name
	}
	return a, nil
}

// Equal tells whether the Work that exists says all that the desired one does:
// the same spec, with every desired label, annotation and finalizer. When the binding was
// created, it need not say: no Work is written for that alone.
func Equal(existing, desired *propagation.Work) bool {
	said, says := existing.Annotations, maps.Clone(desired.Annotations)
	delete(says, propagation.AnnotationBindingCreated)
	return has(existing.Labels, desired.Labels) && has(said, says) &&
		said[propagation.AnnotationOverrides] == says[propagation.AnnotationOverrides] &&
		said[propagation.AnnotationMemberFields] == says[propagation.AnnotationMemberFields] &&
		said[propagation.AnnotationDependency] == says[propagation.AnnotationDependency] &&
		said[propagation.AnnotationActiveForm] == says[propagation.AnnotationActiveForm] &&
		!slices.ContainsFunc(desired.Finalizers, func(f string) bool { return !slices.Contains(existing.Finalizers, f) }) &&
		yes(existing.Spec.SuspendDispatching) == yes(desired.Spec.SuspendDispatching) &&
		equality.Semantic.DeepEqual(existing.Strategy, desired.Strategy) &&
		yes(existing.Spec.PreserveResourcesOnDeletion) == yes(desired.Spec.PreserveResourcesOnDeletion) &&
		slices.EqualFunc(existing.Spec.Workload.Manifests, desired.Spec.Workload.Manifests, sameJSON)
}

func yes(b *bool) bool { return b != nil && *b }

func has(all, some map[string]string) bool {
	for k, v := range some {
		if have, ok := all[k]; !ok || have != v {
			return false
		}
	}
	return true
}

// sameJSON compares what the manifests say. What is no JSON equals nothing.
func sameJSON(a, b workv1alpha1.Manifest) bool {
	var va, vb any
	return json.Unmarshal(a.Raw, &va) == nil && json.Unmarshal(b.Raw, &vb) == nil && propagation.HashJSON(va) == propagation.HashJSON(vb)
}

// merge is the existing Work as the desired one wants it. What others added to
// its metadata stays.
func merge(existing, desired *propagation.Work) *propagation.Work {
	w := *existing
	w.Labels = union(existing.Labels, desired.Labels)
	w.Annotations = union(existing.Annotations, desired.Annotations)
	for _, ours := range []string{propagation.AnnotationOverrides, propagation.AnnotationMemberFields, propagation.AnnotationActiveForm, propagation.AnnotationDependency} {
		if desired.Annotations[ours] == "" {
			delete(w.Annotations, ours)
		}
	}
	w.Finalizers = slices.Clone(existing.Finalizers)
	for _, f := range desired.Finalizers {
		if !slices.Contains(w.Finalizers, f) {
			w.Finalizers = append(w.Finalizers, f)
		}
	}
	w.Spec, w.Strategy = desired.Spec, desired.Strategy
	return &w
}

func union(a, b map[string]string) map[string]string {
	out := make(map[string]string, len(a)+len(b))
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}
