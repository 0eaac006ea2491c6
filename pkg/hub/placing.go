// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// The kinds of the placement API, but for Works.
var (
	placementKind            = placed(placementv1.KindClusterResourcePlacement, placementv1.ResourceClusterResourcePlacements, true)
	policySnapshotKind       = placed(placementv1.KindClusterSchedulingPolicySnapshot, placementv1.ResourceClusterSchedulingPolicySnapshots, true)
	resourceSnapshotKind     = placed(placementv1.KindClusterResourceSnapshot, placementv1.ResourceClusterResourceSnapshots, true)
	placementBindingKind     = placed(placementv1.KindClusterResourceBinding, placementv1.ResourceClusterResourceBindings, true)
	clusterOverrideKind      = placed(placementv1.KindClusterResourceOverride, placementv1.ResourceClusterResourceOverrides, false)
	clusterOverrideSnapshots = placed(placementv1.KindClusterResourceOverrideSnapshot, placementv1.ResourceClusterResourceOverrideSnapshots, false)
	resourceOverrideKind     = inNamespaces(placed(placementv1.KindResourceOverride, placementv1.ResourceResourceOverrides, false))
	resourceOverrideSnaps    = inNamespaces(placed(placementv1.KindResourceOverrideSnapshot, placementv1.ResourceResourceOverrideSnapshots, false))
	updateStrategyKind       = placed(placementv1.KindClusterStagedUpdateStrategy, placementv1.ResourceClusterStagedUpdateStrategies, false)
	updateRunKind            = placed(placementv1.KindClusterStagedUpdateRun, placementv1.ResourceClusterStagedUpdateRuns, true)
	approvalRequestKind      = placed(placementv1.KindClusterApprovalRequest, placementv1.ResourceClusterApprovalRequests, true)
	evictionKind             = placed(placementv1.KindClusterResourcePlacementEviction, placementv1.ResourceClusterResourcePlacementEvictions, true)
	disruptionBudgetKind     = placed(placementv1.KindClusterResourcePlacementDisruptionBudget, placementv1.ResourceClusterResourcePlacementDisruptionBudgets, false)
	memberKind               = resource{
		GroupVersionKind: memberclusterv1.SchemeGroupVersion.WithKind(memberclusterv1.KindMemberCluster),
		Plural:           memberclusterv1.ResourceMemberClusters, Status: true,
	}
)

func placed(kind, plural string, status bool) resource {
	return resource{GroupVersionKind: placementv1.SchemeGroupVersion.WithKind(kind), Plural: plural, Status: status}
}

func inNamespaces(r resource) resource {
	r.Namespaced = true
	return r
}

// placingKinds lists those of them that are watched.
var placingKinds = []resource{
	placementKind, policySnapshotKind, resourceSnapshotKind, placementBindingKind,
	clusterOverrideKind, clusterOverrideSnapshots, resourceOverrideKind, resourceOverrideSnaps,
	updateRunKind, approvalRequestKind, evictionKind, memberKind,
}

// placing is what this process knows of them.
type placing struct {
	placements      *kind[*placementv1.ClusterResourcePlacement]
	policySnapshots *kind[*placementv1.ClusterSchedulingPolicySnapshot]
	// resourceSnapshots are without their content, which is asked for by itself.
	resourceSnapshots *kind[*placementv1.ClusterResourceSnapshot]
	contents          *kind[*placementv1.ClusterResourceSnapshot]
	placementBindings *kind[*placementv1.ClusterResourceBinding]

	clusterOverrides         *kind[*placementv1.ClusterResourceOverride]
	clusterOverrideSnapshots *kind[*placementv1.ClusterResourceOverrideSnapshot]
	namespaceOverrides       *kind[*placementv1.ResourceOverride]
	namespaceOverrideSnaps   *kind[*placementv1.ResourceOverrideSnapshot]

	updateStrategies *kind[*placementv1.ClusterStagedUpdateStrategy]
	updateRuns       *kind[*placementv1.ClusterStagedUpdateRun]
	approvalRequests *kind[*placementv1.ClusterApprovalRequest]

	evictions         *kind[*placementv1.ClusterResourcePlacementEviction]
	disruptionBudgets *kind[*placementv1.ClusterResourcePlacementDisruptionBudget]

	members *kind[*memberclusterv1.MemberCluster]
}

func newPlacing(client api) placing {
	p := placing{
		placements:               wireKind[placementv1.ClusterResourcePlacement](client, placementKind, ""),
		policySnapshots:          wireKind[placementv1.ClusterSchedulingPolicySnapshot](client, policySnapshotKind, placementv1.LabelParentCRP),
		resourceSnapshots:        wireKind[placementv1.ClusterResourceSnapshot](client, resourceSnapshotKind, placementv1.LabelParentCRP),
		contents:                 wireKind[placementv1.ClusterResourceSnapshot](client, resourceSnapshotKind, ""),
		placementBindings:        wireKind[placementv1.ClusterResourceBinding](client, placementBindingKind, placementv1.LabelParentCRP),
		clusterOverrides:         wireKind[placementv1.ClusterResourceOverride](client, clusterOverrideKind, ""),
		clusterOverrideSnapshots: wireKind[placementv1.ClusterResourceOverrideSnapshot](client, clusterOverrideSnapshots, placementv1.LabelParentOverride),
		namespaceOverrides:       wireKind[placementv1.ResourceOverride](client, resourceOverrideKind, ""),
		namespaceOverrideSnaps:   wireKind[placementv1.ResourceOverrideSnapshot](client, resourceOverrideSnaps, placementv1.LabelParentOverride),
		updateStrategies:         wireKind[placementv1.ClusterStagedUpdateStrategy](client, updateStrategyKind, ""),
		updateRuns:               wireKind[placementv1.ClusterStagedUpdateRun](client, updateRunKind, ""),
		approvalRequests:         wireKind[placementv1.ClusterApprovalRequest](client, approvalRequestKind, ""),
		evictions:                wireKind[placementv1.ClusterResourcePlacementEviction](client, evictionKind, ""),
		disruptionBudgets:        wireKind[placementv1.ClusterResourcePlacementDisruptionBudget](client, disruptionBudgetKind, ""),
		members:                  wireKind[memberclusterv1.MemberCluster](client, memberKind, ""),
	}
	p.resourceSnapshots.bare = true
	whole := p.resourceSnapshots.decode
	p.resourceSnapshots.decode = func(raw []byte) (record[*placementv1.ClusterResourceSnapshot], error) {
		r, err := whole(raw)
		if err == nil {
			r.value.Spec = placementv1.ResourceSnapshotSpec{}
		}
		return r, err
	}
	return p
}

// watched are the kinds by name, as far as they can be watched.
func (p *placing) watched() map[schema.GroupVersionKind]watched {
	return map[schema.GroupVersionKind]watched{
		placementKind.GroupVersionKind:            p.placements,
		policySnapshotKind.GroupVersionKind:       p.policySnapshots,
		resourceSnapshotKind.GroupVersionKind:     p.resourceSnapshots,
		placementBindingKind.GroupVersionKind:     p.placementBindings,
		clusterOverrideKind.GroupVersionKind:      p.clusterOverrides,
		clusterOverrideSnapshots.GroupVersionKind: p.clusterOverrideSnapshots,
		resourceOverrideKind.GroupVersionKind:     p.namespaceOverrides,
		resourceOverrideSnaps.GroupVersionKind:    p.namespaceOverrideSnaps,
		updateRunKind.GroupVersionKind:            p.updateRuns,
		approvalRequestKind.GroupVersionKind:      p.approvalRequests,
		evictionKind.GroupVersionKind:             p.evictions,
		memberKind.GroupVersionKind:               p.members,
	}
}

// wire is an object that is here what it is in the API.
type wire interface {
	runtime.Object
	metav1.Object
	metav1.ObjectMetaAccessor
}

// wireKind is a kind of such objects. Those with the label have an owner, which
// its value names.
func wireKind[T any, O interface {
	*T
	wire
}](client api, r resource, label string) *kind[O] {
	return &kind[O]{resource: r, client: client, decode: func(raw []byte) (record[O], error) {
		o := O(new(T))
		if err := utiljson.Unmarshal(raw, o); err != nil {
			return record[O]{}, fmt.Errorf("decode: %w", err)
		}
		o.GetObjectKind().SetGroupVersionKind(r.GroupVersionKind)
		o.SetManagedFields(nil)
		meta, ok := o.GetObjectMeta().(*metav1.ObjectMeta)
		if !ok {
			return record[O]{}, fmt.Errorf("decode: %T has no metadata", o)
		}
		rec := recordOf(meta, o)
		if label != "" {
			rec.keys = by(o.GetLabels()[label])
		}
		return rec, nil
	}}
}

func wireName(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// ownedBy are the objects whose label names their owner.
func ownedBy[O wire](ctx context.Context, k *kind[O], label, owner, namespace string) ([]O, error) {
	return k.listBy(ctx, owner, query{namespace: namespace, labels: label + "=" + owner, limit: pageSize})
}

// createWire creates an object. If the name is taken, the object that has it may belong
// to owner.
func createWire[O wire](ctx context.Context, k *kind[O], o O, owner string) (O, error) {
	part, err := wirePart(o)
	if err != nil {
		return o, fmt.Errorf("create %s: %w", k.about(wireName(o)), err)
	}
	t, meta := k.TypeMeta(), part["metadata"].(map[string]any)
	part["apiVersion"], part["kind"] = t.APIVersion, t.Kind
	meta["name"] = o.GetName()
	if o.GetNamespace() != "" {
		meta["namespace"] = o.GetNamespace()
	}
	return k.create(ctx, wireName(o), owner, part)
}

// restoreWire is createWire for objects that are named after their placement alone. It
// takes over an object that has the name but not the placement's label: somebody edited
// the labels, and lists by label no longer find it.
func restoreWire[O wire](ctx context.Context, k *kind[O], o O) (O, error) {
	placement := o.GetLabels()[placementv1.LabelParentCRP]
	made, failed := createWire(ctx, k, o, placement)
	if !outcome.IsConflict(failed) {
		return made, failed
	}
	stray, err := k.getLive(ctx, wireName(o))
	if err != nil || stray.value.GetLabels()[placementv1.LabelParentCRP] == placement || stray.value.GetDeletionTimestamp() != nil {
		return made, failed
	}
	made, err = updateWire(ctx, k, stray.value, o)
	if apierrors.IsInvalid(err) { // it differs in a field that is immutable
		return made, errors.Join(failed, deleteWire(ctx, k, stray.value))
	}
	return made, err
}

// updateWire makes an object next's, in all but the status, if it still is as
// old was read.
func updateWire[O wire](ctx context.Context, k *kind[O], old, next O) (O, error) {
	a, err := wirePart(old)
	if err != nil {
		return old, fmt.Errorf("update %s: %w", k.about(wireName(old)), err)
	}
	b, err := wirePart(next)
	if err != nil {
		return old, fmt.Errorf("update %s: %w", k.about(wireName(old)), err)
	}
	patch := diff(a, b)
	if patch == nil {
		return old, nil
	}
	return k.patch(ctx, wireName(old), conditional(patch, old.GetUID(), old.GetResourceVersion()))
}

// wirePart is what is written of an object beside its status: its spec, and of
// its metadata what is ours to set.
func wirePart(o metav1.Object) (map[string]any, error) {
	whole, err := decoded(o)
	if err != nil {
		return nil, err
	}
	meta := map[string]any{}
	all, _ := whole["metadata"].(map[string]any)
	for _, key := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
		if v, ok := all[key]; ok {
			meta[key] = v
		}
	}
	part := map[string]any{"metadata": meta}
	if spec, ok := whole["spec"]; ok {
		part["spec"] = spec
	}
	return part, nil
}

// putStatus writes the status of an object as it was read.
func putStatus[O wire, S any](ctx context.Context, k *kind[O], o O, old, status S) (O, error) {
	if equal, err := same(old, status); err != nil || equal {
		return o, err
	}
	name := wireName(o)
	return k.put(ctx, name, object[struct{}, S]{
		TypeMeta: k.TypeMeta(), ObjectMeta: identity(name, o.GetUID(), o.GetResourceVersion()), Status: status,
	}, "status")
}

// deleteWire deletes an object if it still is as it was read. That it is gone
// already is fine.
func deleteWire[O wire](ctx context.Context, k *kind[O], o O) error {
	return k.deleteAt(ctx, wireName(o), o.GetUID(), o.GetResourceVersion())
}

// PlacingKinds are the kinds of the placement API that are watched, but for
// Works.
func PlacingKinds() []schema.GroupVersionKind {
	kinds := make([]schema.GroupVersionKind, len(placingKinds))
	for i, r := range placingKinds {
		kinds[i] = r.GroupVersionKind
	}
	return kinds
}

// PlacementKind is the kind of placements.
func PlacementKind() schema.GroupVersionKind { return placementKind.GroupVersionKind }

// PlacementKeyOf is the name of the placement that an event names; false where
// it is no placement.
func PlacementKeyOf(k propagation.TemplateKey) (string, bool) { return keyOf(k, placementKind) }

// MemberKind is the kind of members as placements see them.
func MemberKind() schema.GroupVersionKind { return memberKind.GroupVersionKind }

// PolicySnapshotKeyOf is the name of the snapshot of a policy that an event
// names.
func PolicySnapshotKeyOf(k propagation.TemplateKey) (string, bool) {
	return keyOf(k, policySnapshotKind)
}

// ResourceSnapshotKeyOf is the name of the snapshot of objects that an event
// names.
func ResourceSnapshotKeyOf(k propagation.TemplateKey) (string, bool) {
	return keyOf(k, resourceSnapshotKind)
}

// PlacementBindingKeyOf is the name of the placement's binding that an event
// names.
func PlacementBindingKeyOf(k propagation.TemplateKey) (string, bool) {
	return keyOf(k, placementBindingKind)
}

// MemberOf is the name of the member as placements see it that an event names.
func MemberOf(k propagation.TemplateKey) (string, bool) { return keyOf(k, memberKind) }

// ClusterOverrideKeyOf is the name of the override without a namespace that an
// event names.
func ClusterOverrideKeyOf(k propagation.TemplateKey) (string, bool) {
	return keyOf(k, clusterOverrideKind)
}

// NamespaceOverrideKeyOf is the override with a namespace that an event names.
func NamespaceOverrideKeyOf(k propagation.TemplateKey) (types.NamespacedName, bool) {
	name, ok := keyOf(k, resourceOverrideKind)
	return types.NamespacedName{Namespace: k.Namespace, Name: name}, ok
}

func keyOf(k propagation.TemplateKey, r resource) (string, bool) {
	if k.GroupVersionKind() != r.GroupVersionKind {
		return "", false
	}
	return k.Name, true
}
