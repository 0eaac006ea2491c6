// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/interned"
	"sluice.dev/pkg/outcome"
)

// The two wire forms of a Work.
type (
	policyWork    = object[workv1alpha1.WorkSpec, workv1alpha1.WorkStatus]
	placementWork = object[placementv1.WorkSpec, placementv1.WorkStatus]
)

func decodeWork(form propagation.Form, raw []byte) (record[*propagation.Work], error) {
	if form == propagation.PlacementForm {
		return decodePlacementWork(raw)
	}
	o, err := decodeObject[workv1alpha1.WorkSpec, workv1alpha1.WorkStatus](raw)
	if err != nil {
		return record[*propagation.Work]{}, err
	}
	r, err := workRecord(form, &o.ObjectMeta)
	if err != nil {
		return r, err
	}
	r.value.Spec, r.value.Status = o.Spec, o.Status
	interned.Conditions(o.Status.Conditions)
	r.keys = by(o.Name)
	return r, nil
}

// decodePlacementWork reads the placement's form. Its suspension and what is to be
// preserved are said otherwise there, and mean the same.
func decodePlacementWork(raw []byte) (record[*propagation.Work], error) {
	o, err := decodeObject[placementv1.WorkSpec, placementv1.WorkStatus](raw)
	if err != nil {
		return record[*propagation.Work]{}, err
	}
	r, err := workRecord(propagation.PlacementForm, &o.ObjectMeta)
	if err != nil {
		return r, err
	}
	w := r.value
	w.Strategy, w.Results, w.Status.Conditions = o.Spec.ApplyStrategy, o.Status.ManifestConditions, o.Status.Conditions
	w.Spec.SuspendDispatching = o.Spec.SuspendDispatching
	if d := o.Spec.DeleteStrategy; d != nil && d.PropagationPolicy == placementv1.DeletePropagationPolicyAbandon {
		w.Spec.PreserveResourcesOnDeletion = new(true)
	}
	for _, m := range o.Spec.Workload.Manifests {
		w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, workv1alpha1.Manifest(m))
	}
	r.keys = by(w.Placement())
	return r, nil
}

func workRecord(form propagation.Form, o *metav1.ObjectMeta) (record[*propagation.Work], error) {
	cluster, ok := form.ClusterOf(o.Namespace)
	if !ok {
		return record[*propagation.Work]{}, fmt.Errorf("namespace %s is no member's", o.Namespace)
	}
	deleted := time.Time{}
	if o.DeletionTimestamp != nil {
		deleted = o.DeletionTimestamp.Time
	}
	return recordOf(o, &propagation.Work{
		Key:             propagation.WorkKey{Cluster: cluster, Name: o.Name, Form: form},
		UID:             o.UID,
		ResourceVersion: o.ResourceVersion,
		Generation:      o.Generation,
		Created:         o.CreationTimestamp.Time,
		Deleting:        o.DeletionTimestamp != nil,
		Deleted:         deleted,
		Labels:          o.Labels,
		Annotations:     o.Annotations,
		Finalizers:      o.Finalizers,
	}), nil
}

func workName(key propagation.WorkKey) types.NamespacedName {
	return types.NamespacedName{Namespace: key.Namespace(), Name: key.Name}
}

// Work is the Work of that key.
func (h *Hub) Work(ctx context.Context, key propagation.WorkKey) (*propagation.Work, error) {
	return h.works[key.Form].get(ctx, workName(key))
}

// WorksOf are the effective Works of a binding (propagation.Effective), of all
// members.
func (h *Hub) WorksOf(ctx context.Context, key propagation.BindingKey) ([]*propagation.Work, error) {
	all, err := h.worksNamed(ctx, key, 0)
	own := slices.DeleteFunc(all, func(w *propagation.Work) bool { return !w.IsOf(key) })
	return propagation.Effective(key, own), err
}

// WorksNamed are the Works that have one of the names of the binding's, which are the
// same in all members, and which nobody can take from them as a label could be. Among
// them may be those of another binding. What another process wrote this moment may be
// missing; a write that assumes otherwise fails, and the next answer has it.
func (h *Hub) WorksNamed(ctx context.Context, key propagation.BindingKey) ([]*propagation.Work, error) {
	return h.worksNamed(ctx, key, h.works[propagation.PolicyForm].seen.Load())
}

// worksNamed lists by both names of a binding's Works. No selector finds two names:
// where Works are not watched, these are two lists, asked for at once.
func (h *Hub) worksNamed(ctx context.Context, key propagation.BindingKey, since uint64) ([]*propagation.Work, error) {
	names := propagation.WorkNames(key)
	lists := make([][]*propagation.Work, len(names))
	group, ctx := errgroup.WithContext(ctx)
	for i, name := range names {
		group.Go(func() (err error) {
			lists[i], err = h.works[propagation.PolicyForm].listBy(ctx, name, query{fields: "metadata.name=" + name, since: since})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b *propagation.Work) int { return compareNames(workName(a.Key), workName(b.Key)) })
	return all, nil
}

// WorksOfPlacement are the Works of a placement, of all members.
func (h *Hub) WorksOfPlacement(ctx context.Context, placement string) ([]*propagation.Work, error) {
	return h.worksOfPlacement(ctx, placement, "")
}

// WorksOfPlacementOn are the Works of a placement in one member. Where this process
// does not watch Works, those of that member alone are listed.
func (h *Hub) WorksOfPlacementOn(ctx context.Context, placement, cluster string) ([]*propagation.Work, error) {
	all, err := h.worksOfPlacement(ctx, placement, propagation.PlacementForm.Namespace(cluster))
	return slices.DeleteFunc(all, func(w *propagation.Work) bool { return w.Key.Cluster != cluster }), err
}

func (h *Hub) worksOfPlacement(ctx context.Context, placement, namespace string) ([]*propagation.Work, error) {
	all, err := h.works[propagation.PlacementForm].listBy(ctx, placement, query{
		namespace: namespace, labels: placementv1.LabelParentCRP + "=" + placement, limit: pageSize,
	})
	return slices.DeleteFunc(all, func(w *propagation.Work) bool { return w.Placement() != placement }), err
}

// WorksOn are the Works of a member, of either form; a form that the hub does not
// serve has none.
func (h *Hub) WorksOn(ctx context.Context, cluster string) ([]*propagation.Work, error) {
	works, err := h.PolicyWorksOn(ctx, cluster)
	if err != nil {
		return nil, err
	}
	placed, err := h.PlacementWorksOn(ctx, cluster)
	return append(works, placed...), err
}

// PolicyWorksOn are the Works of policies of a member.
func (h *Hub) PolicyWorksOn(ctx context.Context, cluster string) ([]*propagation.Work, error) {
	return h.works[propagation.PolicyForm].list(ctx, propagation.PolicyForm.Namespace(cluster))
}

// PlacementWorksOn are the Works of placements of a member.
func (h *Hub) PlacementWorksOn(ctx context.Context, cluster string) ([]*propagation.Work, error) {
	works, err := h.works[propagation.PlacementForm].list(ctx, propagation.PlacementForm.Namespace(cluster))
	if errors.Is(err, outcome.ErrNotServed) || errors.Is(err, outcome.ErrGone) {
		return nil, nil
	}
	return works, err
}

// Works are the Works of policies, of all members.
func (h *Hub) Works(ctx context.Context) ([]*propagation.Work, error) {
	return h.works[propagation.PolicyForm].list(ctx, "")
}

// PlacementWorks are the Works of placements, of all members.
func (h *Hub) PlacementWorks(ctx context.Context) ([]*propagation.Work, error) {
	return h.works[propagation.PlacementForm].list(ctx, "")
}

// CommitWork makes the labels, annotations, finalizers and spec of the Work
// those of next, if it still is as old was read. A nil old makes the Work.
func (h *Hub) CommitWork(ctx context.Context, old, next *propagation.Work) (*propagation.Work, error) {
	k, name := h.works[next.Key.Form], workName(next.Key)
	switch {
	case old == nil && next.Key.Form == propagation.PlacementForm:
		return h.restoreWork(ctx, next)
	case old == nil:
		return k.create(ctx, name, name.Name, workPart(next, "", ""))
	}
	if equal, err := same(workPart(old, "", ""), workPart(next, "", "")); err != nil || equal {
		return old, err
	}
	return k.put(ctx, name, workPart(next, old.UID, old.ResourceVersion))
}

// restoreWork makes a placement's Work. It takes over a Work that has the name but not the
// placement's label: somebody edited the labels, and lists by label no longer find it. One
// that is being deleted gets them back as well, and has to go first.
func (h *Hub) restoreWork(ctx context.Context, next *propagation.Work) (*propagation.Work, error) {
	k, name := h.works[next.Key.Form], workName(next.Key)
	made, failed := k.create(ctx, name, next.Placement(), workPart(next, "", ""))
	if !outcome.IsConflict(failed) {
		return made, failed
	}
	stray, err := k.getLive(ctx, name)
	if err != nil || stray.value.Placement() == next.Placement() {
		return made, failed
	}
	if stray.value.Deleting {
		kept := *next
		kept.Finalizers = stray.value.Finalizers
		next = &kept
	}
	made, err = k.put(ctx, name, workPart(next, stray.value.UID, stray.value.ResourceVersion))
	if err == nil && stray.value.Deleting {
		return nil, failed
	}
	return made, err
}

// workPart is what CommitWork writes of a Work, which is all but the status.
func workPart(w *propagation.Work, uid types.UID, version string) any {
	meta := identity(workName(w.Key), uid, version)
	meta.Labels, meta.Annotations, meta.Finalizers = w.Labels, w.Annotations, w.Finalizers
	if w.Key.Form == propagation.PolicyForm {
		return policyWork{TypeMeta: workKinds[w.Key.Form].TypeMeta(), ObjectMeta: meta, Spec: w.Spec}
	}
	spec := placementv1.WorkSpec{ApplyStrategy: w.Strategy, SuspendDispatching: w.Spec.SuspendDispatching}
	for _, m := range w.Spec.Workload.Manifests {
		spec.Workload.Manifests = append(spec.Workload.Manifests, placementv1.Manifest(m))
	}
	if p := w.Spec.PreserveResourcesOnDeletion; p != nil && *p {
		spec.DeleteStrategy = &placementv1.DeleteStrategy{PropagationPolicy: placementv1.DeletePropagationPolicyAbandon}
	}
	return placementWork{TypeMeta: workKinds[w.Key.Form].TypeMeta(), ObjectMeta: meta, Spec: spec}
}

// CommitWorkStatus writes the status of a policy's Work as it was read, as far as
// a status may be long.
func (h *Hub) CommitWorkStatus(ctx context.Context, w *propagation.Work, status workv1alpha1.WorkStatus) (*propagation.Work, error) {
	status = reporting.BoundWork(status)
	if equal, err := same(w.Status, status); err != nil || equal {
		return w, err
	}
	name := workName(w.Key)
	return h.works[w.Key.Form].put(ctx, name, object[struct{}, workv1alpha1.WorkStatus]{
		TypeMeta: workKinds[w.Key.Form].TypeMeta(), ObjectMeta: identity(name, w.UID, w.ResourceVersion), Status: status,
	}, "status")
}

// CommitWorkResults writes the status of a placement's Work as it was read, as far as
// there is room for it.
func (h *Hub) CommitWorkResults(ctx context.Context, w *propagation.Work, status placementv1.WorkStatus) (*propagation.Work, error) {
	status = telling.BoundWork(w, status)
	was := placementv1.WorkStatus{Conditions: w.Status.Conditions, ManifestConditions: w.Results}
	if equal, err := same(was, status); err != nil || equal {
		return w, err
	}
	name := workName(w.Key)
	return h.works[w.Key.Form].put(ctx, name, object[struct{}, placementv1.WorkStatus]{
		TypeMeta: workKinds[w.Key.Form].TypeMeta(), ObjectMeta: identity(name, w.UID, w.ResourceVersion), Status: status,
	}, "status")
}

// DeleteWork deletes that very Work, if it still is as it was read; it then waits
// until it is released. That it is gone already is fine.
func (h *Hub) DeleteWork(ctx context.Context, w *propagation.Work) error {
	return h.works[w.Key.Form].deleteAt(ctx, workName(w.Key), w.UID, w.ResourceVersion)
}

// CommitRivals notes on the Work, as it was read, which others want what it has.
func (h *Hub) CommitRivals(ctx context.Context, w *propagation.Work, rivals []propagation.Rival) (*propagation.Work, error) {
	was, next := w.Annotations[propagation.AnnotationRivals], w.WithRivals(rivals).Annotations[propagation.AnnotationRivals]
	if was == next {
		return w, nil
	}
	var value any // nil takes it away
	if next != "" {
		value = next
	}
	patch := conditional(map[string]any{"metadata": map[string]any{"annotations": map[string]any{propagation.AnnotationRivals: value}}}, w.UID, w.ResourceVersion)
	return h.works[w.Key.Form].patch(ctx, workName(w.Key), patch)
}

// ReleaseWork lets a Work that is being deleted go: its objects have left the
// member. That it is gone already is fine.
func (h *Hub) ReleaseWork(ctx context.Context, w *propagation.Work) error {
	if !slices.Contains(w.Finalizers, propagation.FinalizerWork) {
		return nil
	}
	patch := conditional(map[string]any{"metadata": map[string]any{"finalizers": w.OthersFinalizers()}}, w.UID, w.ResourceVersion)
	_, err := h.works[w.Key.Form].patch(ctx, workName(w.Key), patch)
	return ignoreGone(err)
}
