// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/outcome"
)

// Scheduler is its name in the policies' schedulerName.
const Scheduler = "cheapest"

var (
	bindings = workv1alpha2.SchemeGroupVersion.WithResource("resourcebindings")
	clusters = clusterv1alpha1.SchemeGroupVersion.WithResource("clusters")
)

// Stage schedules the bindings of one namespace.
type Stage struct {
	hub       dynamic.Interface
	namespace string
	now       func() time.Time
}

// Name is that of the function.
func (s *Stage) Name() string { return Scheduler }

// Handle schedules the binding that the event names or, where a cluster changed,
// announces those that would be scheduled otherwise now. It is safe to call
// twice: the same binding and clusters give the same answer, and what would
// change nothing is not written.
func (s *Stage) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	d, err := events.Decode(e) // 1. decode: the keys alone
	if err != nil {
		return nil, outcome.Terminal(err)
	}
	fleet, err := s.fleet(ctx) // 2. load: what is so now
	if err != nil {
		return nil, err
	}
	if e.Type() == events.ClusterChanged {
		return s.clusterChanged(ctx, e, d, fleet)
	}
	b, err := s.binding(ctx, d.Binding.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", d.Binding, err)
	}
	if !ours(b) {
		return nil, nil // another scheduler's by now
	}
	target, why := Choose(b, fleet)                         // 3. decide: pure
	if b, err = s.commit(ctx, b, target, why); err != nil { // 4. commit, if it still is as it was read
		return nil, err
	}
	out := events.From(Scheduler, e) // 5. emit, whether or not anything was written
	out.Emit(events.BindingScheduled, events.Data{
		Template: d.Template, Binding: d.Binding, BindingVersion: b.ResourceVersion, SchedulerName: Scheduler, Message: why,
	})
	return out.Events()
}

// ours tells whether this scheduler is the binding's.
func ours(b *workv1alpha2.ResourceBinding) bool {
	return b.Spec.SchedulerName == Scheduler && b.DeletionTimestamp == nil
}

// commit writes the clusters, and the condition Scheduled where there is
// something to say. What cannot be scheduled stays where it is.
func (s *Stage) commit(ctx context.Context, b *workv1alpha2.ResourceBinding, target []workv1alpha2.TargetCluster, why string) (*workv1alpha2.ResourceBinding, error) {
	var err error
	if why == "" && !equality.Semantic.DeepEqual(target, b.Spec.Clusters) {
		if b, err = s.patch(ctx, b, map[string]any{"spec": map[string]any{"clusters": target}}); err != nil {
			return nil, fmt.Errorf("write the clusters: %w", err)
		}
	}
	c := metav1.Condition{Type: workv1alpha2.ConditionScheduled, Status: metav1.ConditionTrue, Reason: workv1alpha2.ReasonSuccess, Message: "The cheapest cluster is chosen."}
	if why != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, workv1alpha2.ReasonNoClusterFit, why
	}
	old := meta.FindStatusCondition(b.Status.Conditions, c.Type)
	if why == "" && (old == nil || old.Status == metav1.ConditionTrue) {
		return b, nil // Sluice says so when it sums up
	}
	conditions := slices.Clone(b.Status.Conditions)
	c.LastTransitionTime = metav1.NewTime(s.now())
	if !meta.SetStatusCondition(&conditions, c) {
		return b, nil
	}
	if b, err = s.patch(ctx, b, map[string]any{"status": map[string]any{"conditions": conditions}}, "status"); err != nil {
		return nil, fmt.Errorf("write the condition: %w", err)
	}
	return b, nil
}

// patch changes the binding, if it still is the one that was read, in that
// version. A lost race is a Conflict: the event is handled again from the start.
func (s *Stage) patch(ctx context.Context, b *workv1alpha2.ResourceBinding, change map[string]any, subresource ...string) (*workv1alpha2.ResourceBinding, error) {
	change["metadata"] = map[string]any{"uid": b.UID, "resourceVersion": b.ResourceVersion}
	raw, err := json.Marshal(change)
	if err != nil {
		return nil, err
	}
	u, err := s.hub.Resource(bindings).Namespace(b.Namespace).Patch(ctx, b.Name, types.MergePatchType, raw, metav1.PatchOptions{FieldManager: Scheduler}, subresource...)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil, outcome.Conflict(err)
	}
	if err != nil {
		return nil, err
	}
	return decode[workv1alpha2.ResourceBinding](u.Object)
}

// clusterChanged announces the bindings that would be scheduled otherwise now, one
// event each, so that each is scheduled and retried by itself. Nobody else does
// it for them.
func (s *Stage) clusterChanged(ctx context.Context, e event.Event, d events.Data, fleet []clusterv1alpha1.Cluster) ([]event.Event, error) {
	list, err := s.hub.Resource(bindings).Namespace(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list bindings: %w", err)
	}
	out := events.From(Scheduler, e)
	for _, u := range list.Items {
		b, err := decode[workv1alpha2.ResourceBinding](u.Object)
		if err != nil {
			return nil, err
		}
		target, why := Choose(b, fleet)
		if !ours(b) || why != "" || equality.Semantic.DeepEqual(target, b.Spec.Clusters) {
			continue
		}
		data, err := about(b)
		if err != nil {
			return nil, err
		}
		data.Reason, data.Message = "ClusterChanged", "cluster "+d.Cluster+" changed"
		out.Emit(events.BindingActivated, data)
	}
	return out.Events()
}

// about are the keys of an event about the binding.
func about(b *workv1alpha2.ResourceBinding) (d events.Data, err error) {
	raw, err := json.Marshal(map[string]any{
		"template":       map[string]any{"apiVersion": b.Spec.Resource.APIVersion, "kind": b.Spec.Resource.Kind, "namespace": b.Spec.Resource.Namespace, "name": b.Spec.Resource.Name},
		"binding":        map[string]any{"namespace": b.Namespace, "name": b.Name},
		"bindingVersion": b.ResourceVersion,
		"schedulerName":  Scheduler,
	})
	if err != nil {
		return d, err
	}
	return d, json.Unmarshal(raw, &d)
}

func (s *Stage) binding(ctx context.Context, name string) (*workv1alpha2.ResourceBinding, error) {
	u, err := s.hub.Resource(bindings).Namespace(s.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return decode[workv1alpha2.ResourceBinding](u.Object)
}

func (s *Stage) fleet(ctx context.Context) ([]clusterv1alpha1.Cluster, error) {
	list, err := s.hub.Resource(clusters).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	all := make([]clusterv1alpha1.Cluster, 0, len(list.Items))
	for _, u := range list.Items {
		c, err := decode[clusterv1alpha1.Cluster](u.Object)
		if err != nil {
			return nil, err
		}
		all = append(all, *c)
	}
	return all, nil
}

func decode[T any](object map[string]any) (*T, error) {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, out); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return out, nil
}
