// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/cli/screen"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/core/rollout"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/carrying"
)

// placement prints what a placement propagates to the member.
func (o *renderOptions) placement(ctx context.Context, h *hub.Hub, key propagation.TemplateKey) error {
	with, err := o.placementOverrides(ctx, h)
	if err != nil {
		return err
	}
	p, err := placed(ctx, h, key)
	if err != nil {
		return err
	}
	b := telling.BindingTo(p.Bindings, o.cluster)
	if b == nil {
		return fmt.Errorf("%s gets nothing of %s: it is not picked ('%s explain crp/%s' says why)", o.cluster, refOf(key), name, key.Name)
	}
	if o.released {
		if b, err = newest(ctx, h, p, b); err != nil {
			return err
		}
	}
	if b.Spec.ResourceSnapshotName == "" || b.Spec.State != placementv1.BindingStateBound {
		return fmt.Errorf("%s gets nothing of %s yet ('%s explain crp/%s' says what the rollout waits for; --released shows it)", o.cluster, refOf(key), name, key.Name)
	}
	g, err := given(ctx, h, p.Placement, b)
	if err != nil {
		return err
	}
	manifests, err := g.With(with).Manifests()
	var failure *rendering.PlacementError
	if errors.As(err, &failure) {
		return fmt.Errorf("%s cannot be rendered for %s: %w", refOf(key), o.cluster, err)
	}
	if err != nil {
		return err
	}
	if !o.secrets {
		for i, m := range manifests {
			manifests[i] = explaining.Masked(m)
		}
	}
	if o.format == formatJSON {
		return o.screen.Encode(formatJSON, map[string]any{"apiVersion": "v1", "kind": "List", "items": manifests})
	}
	for i, m := range manifests {
		if i > 0 {
			o.screen.Println("---")
		}
		if err := o.screen.Encode(formatYAML, m); err != nil {
			return err
		}
	}
	return nil
}

// given reads what the binding propagates to its member.
func given(ctx context.Context, h *hub.Hub, p *placementv1.ClusterResourcePlacement, b *placementv1.ClusterResourceBinding) (explaining.Given, error) {
	var g explaining.Given
	var err error
	if g.Placed, err = carrying.Load(ctx, h, p.Name, b); errors.Is(err, outcome.ErrGone) {
		return g, fmt.Errorf("what crp/%s gives to %s is not kept any more: %w", p.Name, b.Spec.TargetCluster, err)
	}
	if err != nil {
		return g, err
	}
	g.Suspended = propagation.PlacementSuspended(p.Annotations, b.Spec.TargetCluster)
	if g.Member, err = h.Member(ctx, b.Spec.TargetCluster); err != nil && !errors.Is(err, outcome.ErrGone) {
		return g, err
	}
	return g, nil
}

// newest returns the binding as if the newest snapshot and the present overrides had
// been rolled out.
func newest(ctx context.Context, h *hub.Hub, p explaining.Placed, b *placementv1.ClusterResourceBinding) (*placementv1.ClusterResourceBinding, error) {
	next := b.DeepCopy()
	next.Spec.State = placementv1.BindingStateBound
	rollout.Overrides{}.Name(next)
	next.Spec.ResourceSnapshotName = ""
	for _, r := range p.History() {
		if r.Latest {
			next.Spec.ResourceSnapshotName = r.Name
		}
	}
	if next.Spec.ResourceSnapshotName == "" {
		return next, nil
	}
	g, err := given(ctx, h, p.Placement, next)
	if err != nil {
		return nil, err
	}
	cluster, err := h.ClusterOverrideSnapshots(ctx)
	if err != nil {
		return nil, err
	}
	inNames, err := h.NamespaceOverrideSnapshots(ctx)
	if err != nil {
		return nil, err
	}
	g.Concern(rollout.LatestOverrides(p.Placement.Name, cluster, inNames)).Name(next)
	return next, nil
}

// placementOverrides returns the ones to try; none if --with is not set.
func (o *renderOptions) placementOverrides(ctx context.Context, h *hub.Hub) ([]explaining.PlacementOverride, error) {
	if o.with == "" {
		return nil, nil
	}
	objects, err := o.objectsIn(o.with)
	if err != nil {
		return nil, err
	}
	var out []explaining.PlacementOverride
	for _, u := range objects {
		override, ok, err := o.plannedPlacementOverride(ctx, h, u)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("%s holds a %s: of a placement, --with takes overrides of placements, with a name", o.with, described(u))
		}
		out = append(out, override)
	}
	return out, nil
}

// plannedPlacementOverride returns an override of placements in a file as the snapshot
// that would be made of it; false: the object is none.
func (s *session) plannedPlacementOverride(ctx context.Context, h *hub.Hub, u *unstructured.Unstructured) (out explaining.PlacementOverride, is bool, err error) {
	_, ofCluster := hub.ClusterOverrideKeyOf(keyOf(u))
	_, inName := hub.NamespaceOverrideKeyOf(keyOf(u))
	if !ofCluster && !inName || u.GetName() == "" {
		return out, false, nil
	}
	client, err := s.place(u)
	if err != nil {
		return out, true, err
	}
	answer, err := dryRun(ctx, client, u)
	switch {
	case apierrors.IsForbidden(err):
		s.screen.Note("You may not write overrides of placements, so the hub was not asked whether it would take this one.")
		answer = u
	case err != nil:
		return out, true, fmt.Errorf("the hub would refuse %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	if ofCluster {
		out.Cluster, err = clusterOverride(ctx, h, answer)
	} else {
		out.InName, err = namespaceOverride(ctx, h, answer, u.GetNamespace())
	}
	return out, true, err
}

func clusterOverride(ctx context.Context, h *hub.Hub, u *unstructured.Unstructured) (*placementv1.ClusterResourceOverrideSnapshot, error) {
	o := &placementv1.ClusterResourceOverride{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o); err != nil {
		return nil, fmt.Errorf("decode %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	stored, err := h.ClusterOverrideSnapshotsOf(ctx, o.Name)
	if err != nil {
		return nil, err
	}
	kept := make([]rollout.Kept, len(stored))
	for i, s := range stored {
		kept[i] = rollout.Kept{Name: s.Name, Labels: s.Labels, Hash: string(s.Spec.OverrideHash)}
	}
	index, _ := rollout.NextOverride(kept, "", propagation.HashJSON(o.Spec))
	snapshot := &placementv1.ClusterResourceOverrideSnapshot{}
	snapshot.Name, snapshot.Labels = rollout.OverrideSnapshotName(o.Name, index), rollout.OverrideLabels(o.Name, index)
	snapshot.Spec.OverrideSpec = o.Spec
	return snapshot, nil
}

func namespaceOverride(ctx context.Context, h *hub.Hub, u *unstructured.Unstructured, namespace string) (*placementv1.ResourceOverrideSnapshot, error) {
	o := &placementv1.ResourceOverride{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o); err != nil {
		return nil, fmt.Errorf("decode %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	o.Namespace = cmp.Or(o.Namespace, namespace)
	stored, err := h.NamespaceOverrideSnapshotsOf(ctx, types.NamespacedName{Namespace: o.Namespace, Name: o.Name})
	if err != nil {
		return nil, err
	}
	kept := make([]rollout.Kept, len(stored))
	for i, s := range stored {
		kept[i] = rollout.Kept{Name: s.Name, Labels: s.Labels, Hash: string(s.Spec.OverrideHash)}
	}
	index, _ := rollout.NextOverride(kept, "", propagation.HashJSON(o.Spec))
	snapshot := &placementv1.ResourceOverrideSnapshot{}
	snapshot.Namespace, snapshot.Name, snapshot.Labels = o.Namespace, rollout.OverrideSnapshotName(o.Name, index), rollout.OverrideLabels(o.Name, index)
	snapshot.Spec.OverrideSpec = o.Spec
	return snapshot, nil
}

// placedRewrites returns what would change in members for placements with the overrides
// of a file; untouched counts the placements for which nothing would.
func (o *diffOptions) placedRewrites(ctx context.Context, h *hub.Hub, overrides []explaining.PlacementOverride) (out []explaining.Rewrite, untouched int, err error) {
	if len(overrides) == 0 {
		return nil, 0, nil
	}
	placements, err := h.Placements(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("list placements: %w", installed(err))
	}
	for _, p := range placements {
		bindings, err := h.PlacementBindingsOf(ctx, p.Name)
		if err != nil {
			return nil, 0, err
		}
		slices.SortFunc(bindings, func(a, b *placementv1.ClusterResourceBinding) int {
			return cmp.Compare(a.Spec.TargetCluster, b.Spec.TargetCluster)
		})
		var before, after []explaining.Given
		for _, b := range bindings {
			if b.DeletionTimestamp != nil || b.Spec.State != placementv1.BindingStateBound || b.Spec.ResourceSnapshotName == "" {
				continue
			}
			g, err := given(ctx, h, p, b)
			if errors.Is(err, outcome.ErrGone) {
				o.screen.Note("%v", err)
				continue
			}
			if err != nil {
				return nil, 0, err
			}
			before, after = append(before, g), append(after, g.With(overrides))
		}
		some := explaining.PlacedRewrites(p.Name, before, after)
		if len(some) == 0 {
			untouched++
		}
		out = append(out, some...)
	}
	return out, untouched, nil
}

// showPlacedRewrites shows which members would change, and how.
func (o *diffOptions) showPlacedRewrites(all []explaining.Rewrite, untouched int) {
	count, last := newTally(), ""
	for _, r := range all {
		if r.Placement != last {
			o.screen.Printf("Placement   %s, at the pace of its rollout\n", r.Placement)
			last = r.Placement
		}
		count.add(r.Placement, r)
		o.screen.Println("  " + o.screen.Paint(screen.Bold, where(r.Template)))
		o.showRewrite("    ", r)
	}
	o.screen.Println(count.says("placement changes in members", "placements change in members", untouched))
}
