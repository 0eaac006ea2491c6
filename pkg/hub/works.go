// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

type workObject = object[workv1alpha1.WorkSpec, workv1alpha1.WorkStatus]

func decodeWork(raw []byte) (record[*propagation.Work], error) {
	o, err := decodeObject[workv1alpha1.WorkSpec, workv1alpha1.WorkStatus](raw)
	if err != nil {
		return record[*propagation.Work]{}, err
	}
	cluster, ok := propagation.ClusterOfWorkNamespace(o.Namespace)
	if !ok {
		return record[*propagation.Work]{}, fmt.Errorf("namespace %s is no member's", o.Namespace)
	}
	r := recordOf(&o.ObjectMeta, &propagation.Work{
		Key:             propagation.WorkKey{Cluster: cluster, Name: o.Name},
		UID:             o.UID,
		ResourceVersion: o.ResourceVersion,
		Generation:      o.Generation,
		Created:         o.CreationTimestamp.Time,
		Deleting:        o.DeletionTimestamp != nil,
		Labels:          o.Labels,
		Annotations:     o.Annotations,
		Finalizers:      o.Finalizers,
		Spec:            o.Spec,
		Status:          o.Status,
	})
	r.owner = o.Name
	return r, nil
}

func workName(key propagation.WorkKey) types.NamespacedName {
	return types.NamespacedName{Namespace: propagation.WorkNamespace(key.Cluster), Name: key.Name}
}

// Work is the Work of that key.
func (h *Hub) Work(ctx context.Context, key propagation.WorkKey) (*propagation.Work, error) {
	return h.works.get(ctx, workName(key))
}

// WorksOf are the Works of a binding, of all members. They are found by their
// name, which is the same for all of them, and which nobody can take from them
// as a label could be.
func (h *Hub) WorksOf(ctx context.Context, key propagation.BindingKey) ([]*propagation.Work, error) {
	name := propagation.WorkName(key)
	return h.works.listOwned(ctx, name, query{fields: "metadata.name=" + name})
}

// WorksOn are the Works of a member.
func (h *Hub) WorksOn(ctx context.Context, cluster string) ([]*propagation.Work, error) {
	return h.works.list(ctx, propagation.WorkNamespace(cluster))
}

// Works are the Works of all members.
func (h *Hub) Works(ctx context.Context) ([]*propagation.Work, error) { return h.works.list(ctx, "") }

// CommitWork makes the labels, annotations, finalizers and spec of the Work
// those of next, if it still is as old was read. A nil old makes the Work.
func (h *Hub) CommitWork(ctx context.Context, old, next *propagation.Work) (*propagation.Work, error) {
	name := workName(next.Key)
	if old == nil {
		return h.works.create(ctx, name, name.Name, workPart(next))
	}
	if equal, err := same(workPart(old), workPart(next)); err != nil || equal {
		return old, err
	}
	o := workPart(next)
	o.UID, o.ResourceVersion = old.UID, old.ResourceVersion
	return h.works.put(ctx, name, o)
}

// workPart is what CommitWork writes of a Work, which is all but the status.
func workPart(w *propagation.Work) workObject {
	name := workName(w.Key)
	return workObject{
		TypeMeta: workKind.typeMeta(),
		ObjectMeta: metav1.ObjectMeta{
			Namespace: name.Namespace, Name: name.Name, Labels: w.Labels, Annotations: w.Annotations, Finalizers: w.Finalizers,
		},
		Spec: w.Spec,
	}
}

// CommitWorkStatus writes the status of the Work as it was read.
func (h *Hub) CommitWorkStatus(ctx context.Context, w *propagation.Work, status workv1alpha1.WorkStatus) (*propagation.Work, error) {
	if equal, err := same(w.Status, status); err != nil || equal {
		return w, err
	}
	name := workName(w.Key)
	return h.works.put(ctx, name, object[struct{}, workv1alpha1.WorkStatus]{
		TypeMeta: workKind.typeMeta(), ObjectMeta: identity(name, w.UID, w.ResourceVersion), Status: status,
	}, "status")
}

// DeleteWork deletes that very Work, which then waits until it is released.
// That it is gone already is fine.
func (h *Hub) DeleteWork(ctx context.Context, w *propagation.Work) error {
	return h.works.delete(ctx, workName(w.Key), w.UID)
}

// ReleaseWork lets a Work that is being deleted go: its objects have left the
// member. That it is gone already is fine.
func (h *Hub) ReleaseWork(ctx context.Context, w *propagation.Work) error {
	if !slices.Contains(w.Finalizers, propagation.FinalizerWork) {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(w.Finalizers), func(f string) bool { return f == propagation.FinalizerWork })
	patch := conditional(map[string]any{"metadata": map[string]any{"finalizers": rest}}, w.UID, w.ResourceVersion)
	_, err := h.works.patch(ctx, workName(w.Key), patch)
	return ignoreGone(err)
}
