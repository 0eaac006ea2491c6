// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// Work is the Work of that key.
func (h *Hub) Work(ctx context.Context, key propagation.WorkKey) (*propagation.Work, error) {
	if err := h.ask(ctx, "get", key.String()); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.works.get(key.String(), key.String())
}

// Works are the Works of policies, of all members.
func (h *Hub) Works(ctx context.Context) ([]*propagation.Work, error) {
	return h.listWorks(ctx, func(w *propagation.Work) bool { return w.Key.Form == propagation.PolicyForm })
}

// PlacementWorks are the Works of placements, of all members.
func (h *Hub) PlacementWorks(ctx context.Context) ([]*propagation.Work, error) {
	return h.listWorks(ctx, func(w *propagation.Work) bool { return w.Key.Form == propagation.PlacementForm })
}

// WorksOf are the Works of a binding that stand.
func (h *Hub) WorksOf(ctx context.Context, key propagation.BindingKey) ([]*propagation.Work, error) {
	all, err := h.WorksNamed(ctx, key)
	own := slices.DeleteFunc(all, func(w *propagation.Work) bool { return !w.IsOf(key) })
	return propagation.Effective(key, own), err
}

// WorksNamed are the Works that have one of the names of the binding's.
func (h *Hub) WorksNamed(ctx context.Context, key propagation.BindingKey) ([]*propagation.Work, error) {
	names := propagation.WorkNames(key)
	return h.listWorks(ctx, func(w *propagation.Work) bool { return slices.Contains(names, w.Key.Name) })
}

// WorksOn are the Works of a member.
func (h *Hub) WorksOn(ctx context.Context, cluster string) ([]*propagation.Work, error) {
	return h.listWorks(ctx, func(w *propagation.Work) bool { return w.Key.Cluster == cluster })
}

// PolicyWorksOn are the Works of policies of a member.
func (h *Hub) PolicyWorksOn(ctx context.Context, cluster string) ([]*propagation.Work, error) {
	return h.listWorks(ctx, func(w *propagation.Work) bool { return w.Placement() == "" && w.Key.Cluster == cluster })
}

func (h *Hub) listWorks(ctx context.Context, wanted func(*propagation.Work) bool) ([]*propagation.Work, error) {
	if err := h.ask(ctx, "list", "works"); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(h.works.list(), func(w *propagation.Work) bool { return !wanted(w) }), nil
}

// CommitWork writes labels, annotations, finalizers and spec of a Work.
func (h *Hub) CommitWork(ctx context.Context, old, next *propagation.Work) (*propagation.Work, error) {
	id, verb := next.Key.String(), "update"
	if old == nil {
		verb = "create"
	} else if maps.Equal(old.Labels, next.Labels) && maps.Equal(old.Annotations, next.Annotations) &&
		slices.Equal(old.Finalizers, next.Finalizers) && same(old.Spec, next.Spec) && same(old.Strategy, next.Strategy) {
		return old, nil
	}
	if err := h.ask(ctx, verb, id); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	w := copyOf(next)
	w.Contents = nil // they are kept beside it
	if old == nil {
		is, _ := h.hasNamespace(next.Key.Namespace())
		switch {
		case !is:
			return nil, fmt.Errorf("create %s: no such namespace: %w", id, outcome.ErrGone)
		case h.works.live[id] != nil:
			h.works.look(id)
			return nil, errTaken
		}
		w.UID, w.Generation, w.Deleting, w.Status = types.UID(fmt.Sprintf("uid of %s %d", id, h.works.next(id))), 1, false, workv1alpha1.WorkStatus{}
		h.storeWork(w, true)
		return w, h.wrote(ctx, verb, id, nil, w)
	}
	r, err := h.works.current(id, old.UID, old.ResourceVersion)
	if err != nil {
		return nil, err
	}
	w.UID, w.Generation, w.Deleting, w.Status = r.value.UID, r.value.Generation, r.value.Deleting, r.value.Status
	w.Results = r.value.Results
	if !same(r.value.Spec, w.Spec) || !same(r.value.Strategy, w.Strategy) {
		w.Generation++
	}
	h.storeWork(w, true)
	return w, h.wrote(ctx, verb, id, r.value, w)
}

func workObject(k propagation.WorkKey) propagation.TemplateKey {
	about := hub.AboutWork(&propagation.Work{Key: k})
	return propagation.TemplateKey{APIVersion: about.APIVersion, Kind: about.Kind, Namespace: about.Namespace, Name: about.Name}
}

func (h *Hub) storeWork(w *propagation.Work, own bool) {
	version := h.works.next(w.Key.String())
	w.ResourceVersion = strconv.FormatUint(version, 10)
	h.works.store(w.Key.String(), &row[*propagation.Work]{key: workObject(w.Key), uid: w.UID, version: version, value: w}, own)
}

// CommitWorkStatus writes the status of a Work.
func (h *Hub) CommitWorkStatus(ctx context.Context, w *propagation.Work, status workv1alpha1.WorkStatus) (*propagation.Work, error) {
	if same(w.Status, status) {
		return w, nil
	}
	return h.changeWork(ctx, w, "update", "status of ", func(next *propagation.Work) { next.Status = copyOf(status) })
}

// changeWork makes one request that changes a part of the Work, if it still is as w was
// read.
func (h *Hub) changeWork(ctx context.Context, w *propagation.Work, verb, part string, change func(next *propagation.Work)) (*propagation.Work, error) {
	about := part + w.Key.String()
	if err := h.ask(ctx, verb, about); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.works.current(w.Key.String(), w.UID, w.ResourceVersion)
	if err != nil {
		return nil, err
	}
	next := *r.value
	change(&next)
	h.storeWork(&next, true)
	return &next, h.wrote(ctx, verb, about, r.value, &next)
}

// DeleteWork deletes that very Work, which waits for its finalizers.
func (h *Hub) DeleteWork(ctx context.Context, w *propagation.Work) error {
	if err := h.ask(ctx, "delete", w.Key.String()); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.works.live[w.Key.String()]
	if r == nil || r.uid != w.UID {
		h.works.look(w.Key.String())
		return nil
	}
	if _, err := h.works.current(w.Key.String(), w.UID, w.ResourceVersion); err != nil {
		return err
	}
	h.deleteWork(r, true)
	return h.wrote(ctx, "delete", w.Key.String(), r.value, nil)
}

func (h *Hub) deleteWork(r *row[*propagation.Work], own bool) {
	switch {
	case len(r.value.Finalizers) == 0:
		h.works.remove(r.value.Key.String(), own)
	case !r.value.Deleting:
		next := *r.value
		next.Deleting = true
		next.Generation++
		h.storeWork(&next, own)
	}
}

// CommitRivals notes who else wants what a Work has.
func (h *Hub) CommitRivals(ctx context.Context, w *propagation.Work, rivals []propagation.Rival) (*propagation.Work, error) {
	if w.WithRivals(rivals).Annotations[propagation.AnnotationRivals] == w.Annotations[propagation.AnnotationRivals] {
		return w, nil
	}
	return h.changeWork(ctx, w, "patch", "rivals of ", func(next *propagation.Work) { *next = *next.WithRivals(rivals) })
}

// ReleaseWork takes Sluice's finalizer off a Work.
func (h *Hub) ReleaseWork(ctx context.Context, w *propagation.Work) error {
	if !slices.Contains(w.Finalizers, propagation.FinalizerWork) {
		return nil
	}
	about := "finalizers of " + w.Key.String()
	if err := h.ask(ctx, "patch", about); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.works.live[w.Key.String()] == nil {
		h.works.look(w.Key.String())
		return nil
	}
	r, err := h.works.current(w.Key.String(), w.UID, w.ResourceVersion)
	if err != nil {
		return err
	}
	next := *r.value
	next.Finalizers = slices.DeleteFunc(slices.Clone(next.Finalizers), func(f string) bool { return f == propagation.FinalizerWork })
	if next.Deleting && len(next.Finalizers) == 0 {
		h.works.remove(w.Key.String(), true)
	} else {
		h.storeWork(&next, true)
	}
	return h.wrote(ctx, "patch", about, r.value, nil)
}

// LiveWork is the Work as it is; nil: there is none. For tests.
func (h *Hub) LiveWork(key propagation.WorkKey) *propagation.Work {
	if r := h.works.live[key.String()]; r != nil {
		return r.value
	}
	return nil
}

// LiveWorks are all Works as they are, sorted. For tests.
func (h *Hub) LiveWorks() []*propagation.Work {
	var all []*propagation.Work
	for _, id := range slices.Sorted(maps.Keys(h.works.live)) {
		all = append(all, h.works.live[id].value)
	}
	return all
}

// RemoveWork lets somebody delete a Work.
func (h *Hub) RemoveWork(key propagation.WorkKey) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.works.live[key.String()]
	if r == nil || r.value.Deleting {
		return false
	}
	h.deleteWork(r, false)
	return true
}

// Manifest is what a Work says that its member shall have.
func Manifest(w *propagation.Work) map[string]any { return Manifests(w)[0] }

// Manifests are all that a Work says that its member shall have.
func Manifests(w *propagation.Work) []map[string]any {
	var all []map[string]any
	for _, raw := range w.Spec.Workload.Manifests {
		var m map[string]any
		if err := utiljson.Unmarshal(raw.Raw, &m); err != nil {
			panic(fmt.Sprintf("decode a manifest of %s: %v", w.Key, err))
		}
		all = append(all, m)
	}
	return all
}
