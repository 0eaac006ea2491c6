// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

// wire is an object of the placement API, which is here what it is there.
type wire interface {
	runtime.Object
	metav1.Object
}

// wires are the objects of one of its kinds.
type wires[O wire] struct {
	*table[O]
	apiVersion, kind string
}

func newWires[O wire](h *Hub, apiVersion, kind string) *wires[O] {
	return &wires[O]{newTable[O](h), apiVersion, kind}
}

// placing are the objects of the placement API, but for Works.
type placing struct {
	placements        *wires[*placementv1.ClusterResourcePlacement]
	policySnapshots   *wires[*placementv1.ClusterSchedulingPolicySnapshot]
	resourceSnapshots *wires[*placementv1.ClusterResourceSnapshot]
	placementBindings *wires[*placementv1.ClusterResourceBinding]
	overrides         *wires[*placementv1.ClusterResourceOverride]
	inNames           *wires[*placementv1.ResourceOverride]
	clusterOverrides  *wires[*placementv1.ClusterResourceOverrideSnapshot]
	namespaced        *wires[*placementv1.ResourceOverrideSnapshot]
	updateStrategies  *wires[*placementv1.ClusterStagedUpdateStrategy]
	updateRuns        *wires[*placementv1.ClusterStagedUpdateRun]
	approvalRequests  *wires[*placementv1.ClusterApprovalRequest]
	evictions         *wires[*placementv1.ClusterResourcePlacementEviction]
	disruptionBudgets *wires[*placementv1.ClusterResourcePlacementDisruptionBudget]
	members           *wires[*memberclusterv1.MemberCluster]
}

func newPlacing(h *Hub) placing {
	v := placementv1.SchemeGroupVersion.String()
	return placing{
		placements:        newWires[*placementv1.ClusterResourcePlacement](h, v, placementv1.KindClusterResourcePlacement),
		policySnapshots:   newWires[*placementv1.ClusterSchedulingPolicySnapshot](h, v, placementv1.KindClusterSchedulingPolicySnapshot),
		resourceSnapshots: newWires[*placementv1.ClusterResourceSnapshot](h, v, placementv1.KindClusterResourceSnapshot),
		placementBindings: newWires[*placementv1.ClusterResourceBinding](h, v, placementv1.KindClusterResourceBinding),
		overrides:         newWires[*placementv1.ClusterResourceOverride](h, v, placementv1.KindClusterResourceOverride),
		inNames:           newWires[*placementv1.ResourceOverride](h, v, placementv1.KindResourceOverride),
		clusterOverrides:  newWires[*placementv1.ClusterResourceOverrideSnapshot](h, v, placementv1.KindClusterResourceOverrideSnapshot),
		namespaced:        newWires[*placementv1.ResourceOverrideSnapshot](h, v, placementv1.KindResourceOverrideSnapshot),
		updateStrategies:  newWires[*placementv1.ClusterStagedUpdateStrategy](h, v, placementv1.KindClusterStagedUpdateStrategy),
		updateRuns:        newWires[*placementv1.ClusterStagedUpdateRun](h, v, placementv1.KindClusterStagedUpdateRun),
		approvalRequests:  newWires[*placementv1.ClusterApprovalRequest](h, v, placementv1.KindClusterApprovalRequest),
		evictions:         newWires[*placementv1.ClusterResourcePlacementEviction](h, v, placementv1.KindClusterResourcePlacementEviction),
		disruptionBudgets: newWires[*placementv1.ClusterResourcePlacementDisruptionBudget](h, v, placementv1.KindClusterResourcePlacementDisruptionBudget),
		members:           newWires[*memberclusterv1.MemberCluster](h, memberclusterv1.SchemeGroupVersion.String(), memberclusterv1.KindMemberCluster),
	}
}

func (t *wires[O]) about(id string) string { return t.kind + " " + id }

func wireID(o metav1.Object) string {
	if o.GetNamespace() == "" {
		return o.GetName()
	}
	return o.GetNamespace() + "/" + o.GetName()
}

func (t *wires[O]) one(ctx context.Context, id string) (O, error) {
	var none O
	if err := t.hub.ask(ctx, "get", t.about(id)); err != nil {
		return none, err
	}
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	return t.get(id, t.about(id))
}

// of are the objects whose label has the value; an empty label: all.
func (t *wires[O]) of(ctx context.Context, label, value string) ([]O, error) {
	if err := t.hub.ask(ctx, "list", t.kind); err != nil {
		return nil, err
	}
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	return slices.DeleteFunc(t.list(), func(o O) bool { return label != "" && o.GetLabels()[label] != value }), nil
}

// commit writes all but the status; same tells whether nothing would change.
func (t *wires[O]) commit(ctx context.Context, old, next O, make bool) (O, error) {
	id, verb := wireID(next), "patch"
	if make {
		verb = "create"
	} else if same(old, next) {
		return old, nil
	}
	if err := t.hub.ask(ctx, verb, t.about(id)); err != nil {
		return old, err
	}
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	o, _ := next.DeepCopyObject().(O)
	if make {
		if t.live[id] != nil {
			t.look(id)
			return old, errTaken
		}
		o.SetUID(t.hub.newUID())
		o.SetGeneration(1)
		o.SetCreationTimestamp(metav1.NewTime(t.hub.second()))
		t.put(o, true)
		return o, t.hub.wrote(ctx, verb, t.about(id), nil, o)
	}
	r, err := t.current(id, old.GetUID(), old.GetResourceVersion())
	if err != nil {
		return old, err
	}
	o.SetGeneration(generated(r.value, o))
	t.put(o, true)
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		t.remove(id, true)
	}
	return o, t.hub.wrote(ctx, verb, t.about(id), r.value, o)
}

// status writes next, of which only the status differs from what was read.
func (t *wires[O]) status(ctx context.Context, old, next O) (O, error) {
	if same(old, next) {
		return old, nil
	}
	about := "status of " + t.about(wireID(old))
	if err := t.hub.ask(ctx, "update", about); err != nil {
		return old, err
	}
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	r, err := t.current(wireID(old), old.GetUID(), old.GetResourceVersion())
	if err != nil {
		return old, err
	}
	o, _ := next.DeepCopyObject().(O)
	t.put(o, true)
	return o, t.hub.wrote(ctx, "update", about, r.value, o)
}

func (t *wires[O]) put(o O, own bool) {
	version := t.hub.next()
	o.SetResourceVersion(strconv.FormatUint(version, 10))
	key := propagation.TemplateKey{APIVersion: t.apiVersion, Kind: t.kind, Namespace: o.GetNamespace(), Name: o.GetName()}
	t.store(wireID(o), &row[O]{key: key, uid: o.GetUID(), version: version, value: o}, own)
}

// Put makes the object of the placement API by a person's hand.
func (h *Hub) Put(o runtime.Object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch o := o.(type) {
	case *placementv1.ClusterResourcePlacement:
		putBy(h, h.placing.placements, o)
	case *placementv1.ClusterSchedulingPolicySnapshot:
		putBy(h, h.placing.policySnapshots, o)
	case *placementv1.ClusterResourceSnapshot:
		putBy(h, h.placing.resourceSnapshots, o)
	case *placementv1.ClusterResourceBinding:
		putBy(h, h.placing.placementBindings, o)
	case *placementv1.ClusterResourceOverrideSnapshot:
		putBy(h, h.placing.clusterOverrides, o)
	case *placementv1.ResourceOverrideSnapshot:
		putBy(h, h.placing.namespaced, o)
	case *memberclusterv1.MemberCluster:
		putBy(h, h.placing.members, o)
	default:
		panic(fmt.Sprintf("%T is no kind of the placement API", o))
	}
}

func putBy[O wire](h *Hub, t *wires[O], o O) {
	if r := t.live[wireID(o)]; r != nil {
		o.SetUID(r.uid)
		o.SetGeneration(r.value.GetGeneration() + 1)
	} else {
		o.SetUID(h.newUID())
		o.SetGeneration(1)
	}
	t.put(o, false)
}

// Drop deletes a binding of a placement by a person's hand.
func (h *Hub) Drop(binding string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.placing.placementBindings.live[binding] != nil {
		h.placing.placementBindings.remove(binding, false)
	}
}

// Placement answers as pkg/hub does.
func (h *Hub) Placement(ctx context.Context, name string) (*placementv1.ClusterResourcePlacement, error) {
	return h.placing.placements.one(ctx, name)
}

// PlacementNow answers as pkg/hub does.
func (h *Hub) PlacementNow(ctx context.Context, name string) (*placementv1.ClusterResourcePlacement, error) {
	return h.placing.placements.one(ctx, name)
}

// PlacementsRetired answers as pkg/hub does.
func (h *Hub) PlacementsRetired(context.Context) (bool, error) { return h.Retired, nil }

// MembersRetired answers as pkg/hub does.
func (h *Hub) MembersRetired(context.Context) (bool, error) { return h.Retired, nil }

// PlacementWorksUndefined answers as pkg/hub does.
func (h *Hub) PlacementWorksUndefined(context.Context) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dropped[KindWorks] && len(h.works.live) == 0, nil
}

// PolicySnapshotsUndefined answers as pkg/hub does.
func (h *Hub) PolicySnapshotsUndefined(context.Context) (bool, error) { return false, nil }

// MemberNow answers as pkg/hub does.
func (h *Hub) MemberNow(ctx context.Context, name string) (*memberclusterv1.MemberCluster, error) {
	return h.Member(ctx, name)
}

// PlacementBindingsNow answers as pkg/hub does.
func (h *Hub) PlacementBindingsNow(ctx context.Context, placement string) ([]*placementv1.ClusterResourceBinding, error) {
	return h.PlacementBindingsOf(ctx, placement)
}

// PolicySnapshotsNow answers as pkg/hub does.
func (h *Hub) PolicySnapshotsNow(ctx context.Context, placement string) ([]*placementv1.ClusterSchedulingPolicySnapshot, error) {
	return h.PolicySnapshotsOf(ctx, placement)
}

// Placements answers as pkg/hub does.
func (h *Hub) Placements(ctx context.Context) ([]*placementv1.ClusterResourcePlacement, error) {
	return h.placing.placements.of(ctx, "", "")
}

// CommitPlacementStatus answers as pkg/hub does.
func (h *Hub) CommitPlacementStatus(ctx context.Context, p *placementv1.ClusterResourcePlacement, status placementv1.ClusterResourcePlacementStatus) (*placementv1.ClusterResourcePlacement, error) {
	next := p.DeepCopy()
	next.Status = status
	return h.placing.placements.status(ctx, p, next)
}

// PolicySnapshotsOf answers as pkg/hub does.
func (h *Hub) PolicySnapshotsOf(ctx context.Context, placement string) ([]*placementv1.ClusterSchedulingPolicySnapshot, error) {
	return h.placing.policySnapshots.of(ctx, placementv1.LabelParentCRP, placement)
}

// ResourceSnapshotsOf answers as pkg/hub does: without the content.
func (h *Hub) ResourceSnapshotsOf(ctx context.Context, placement string) ([]*placementv1.ClusterResourceSnapshot, error) {
	all, err := h.placing.resourceSnapshots.of(ctx, placementv1.LabelParentCRP, placement)
	for i, s := range all {
		bare := *s
		bare.Spec = placementv1.ResourceSnapshotSpec{}
		all[i] = &bare
	}
	return all, err
}

// ResourceSnapshot answers as pkg/hub does.
func (h *Hub) ResourceSnapshot(ctx context.Context, name string) (*placementv1.ClusterResourceSnapshot, error) {
	return h.placing.resourceSnapshots.one(ctx, name)
}

// PlacementBindingsOf answers as pkg/hub does.
func (h *Hub) PlacementBindingsOf(ctx context.Context, placement string) ([]*placementv1.ClusterResourceBinding, error) {
	return h.placing.placementBindings.of(ctx, placementv1.LabelParentCRP, placement)
}

// CommitPlacementBinding answers as pkg/hub does.
func (h *Hub) CommitPlacementBinding(ctx context.Context, old, next *placementv1.ClusterResourceBinding) (*placementv1.ClusterResourceBinding, error) {
	return h.placing.placementBindings.commit(ctx, old, next, old == nil)
}

// CommitPlacementBindingStatus answers as pkg/hub does.
func (h *Hub) CommitPlacementBindingStatus(ctx context.Context, b *placementv1.ClusterResourceBinding, status placementv1.ResourceBindingStatus) (*placementv1.ClusterResourceBinding, error) {
	next := b.DeepCopy()
	next.Status = status
	return h.placing.placementBindings.status(ctx, b, next)
}

// ClusterOverrideSnapshot answers as pkg/hub does.
func (h *Hub) ClusterOverrideSnapshot(ctx context.Context, name string) (*placementv1.ClusterResourceOverrideSnapshot, error) {
	return h.placing.clusterOverrides.one(ctx, name)
}

// NamespaceOverrideSnapshot answers as pkg/hub does.
func (h *Hub) NamespaceOverrideSnapshot(ctx context.Context, name types.NamespacedName) (*placementv1.ResourceOverrideSnapshot, error) {
	return h.placing.namespaced.one(ctx, name.String())
}

// Member answers as pkg/hub does.
func (h *Hub) Member(ctx context.Context, name string) (*memberclusterv1.MemberCluster, error) {
	return h.placing.members.one(ctx, name)
}

// WorksOfPlacement answers as pkg/hub does.
func (h *Hub) WorksOfPlacement(ctx context.Context, placement string) ([]*propagation.Work, error) {
	return h.listWorks(ctx, func(w *propagation.Work) bool { return placement != "" && w.Placement() == placement })
}

// WorksOfPlacementOn answers as pkg/hub does.
func (h *Hub) WorksOfPlacementOn(ctx context.Context, placement, cluster string) ([]*propagation.Work, error) {
	return h.listWorks(ctx, func(w *propagation.Work) bool {
		return placement != "" && w.Placement() == placement && w.Key.Cluster == cluster
	})
}

// PlacementWorksOn answers as pkg/hub does.
func (h *Hub) PlacementWorksOn(ctx context.Context, cluster string) ([]*propagation.Work, error) {
	return h.listWorks(ctx, func(w *propagation.Work) bool { return w.Placement() != "" && w.Key.Cluster == cluster })
}

// CommitWorkResults answers as pkg/hub does.
func (h *Hub) CommitWorkResults(ctx context.Context, w *propagation.Work, status placementv1.WorkStatus) (*propagation.Work, error) {
	was := placementv1.WorkStatus{Conditions: w.Status.Conditions, ManifestConditions: w.Results}
	if same(was, status) {
		return w, nil
	}
	return h.changeWork(ctx, w, "update", "status of ", func(next *propagation.Work) {
		status := copyOf(status)
		next.Status.Conditions, next.Results = status.Conditions, status.ManifestConditions
	})
}
