// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package registrar

import (
	"context"
	"errors"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

// A MemberCluster that goes with its kind goes without anybody's wish: it is made again
// when the hub serves its kind again.
func TestZ11AMemberClusterThatGoesWithItsKindComesBackWithIt(t *testing.T) {
	f := &fleet{cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1"}}, retired: true}
	now := began
	s := mirroringStage(f, &now)
	step := stepper(t, f, s)
	step("namespace fleet-member-member1", "member")
	f.member.DeletionTimestamp = &metav1.Time{Time: began}
	step("member") // nothing but its finalizer
	step("namespace fleet-member-member1", "member")
}

// Where all definitions are deleted, those of other kinds may be gone first. No
// MemberCluster, and with it its definition, waits for them.
func TestZ11AMemberClusterThatGoesWithItsKindWaitsForNoOther(t *testing.T) {
	kinds := []string{"Cluster", "Work", "ClusterResourceBinding", "ClusterResourcePlacement"}
	for entry, call := range map[string]func(*Registrar, context.Context) error{
		"the MemberCluster's event": func(r *Registrar, ctx context.Context) error {
			_, err := r.Relabelled(ctx, event.New(), "member1")
			return err
		},
		"the Cluster's event": func(r *Registrar, ctx context.Context) error {
			_, err := r.Changed(ctx, event.New(), "member1")
			return err
		},
		"the sweep": func(r *Registrar, ctx context.Context) error {
			if err := r.hub.(*fleet).served("Cluster"); err != nil {
				return errors.Join(err, r.Retire(ctx))
			}
			_, err := r.Sweep(ctx, tick.New(event.New(), nil, began), false)
			return err
		},
	} {
		for set := range 1 << len(kinds) {
			f := &fleet{
				retired: true, unserved: map[string]bool{},
				cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1"}},
				member:  &memberclusterv1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "member1", Finalizers: []string{memberclusterv1.Finalizer}, DeletionTimestamp: &metav1.Time{Time: began}}},
			}
			b := &placementv1.ClusterResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: "b", Labels: map[string]string{placementv1.LabelParentCRP: "crp"}}}
			b.Spec.TargetCluster = "member1"
			f.bindings = []*placementv1.ClusterResourceBinding{b}
			var unserved []string
			for i, kind := range kinds {
				if set&(1<<i) != 0 {
					f.unserved[kind], unserved = true, append(unserved, kind)
				}
			}
			f.cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
			now := began
			err := call(mirroringStage(f, &now), t.Context())
			// The scheduler, which is there, removes a binding that is there.
			waits := !f.unserved["ClusterResourceBinding"] && !f.unserved["ClusterResourcePlacement"]
			if (f.member != nil) != waits {
				t.Errorf("%s, not served %v: it waits: %t, want %t (%v)", entry, unserved, f.member != nil, waits, err)
			}
		}
	}
}

// While Clusters are not served, an event about one cluster looks at the MemberCluster of
// that one only. A sweep lists all.
func TestZ11AnEventLooksAtItsOwnMemberCluster(t *testing.T) {
	now := began
	for _, there := range []bool{true, false} {
		f := &fleet{retired: true, unserved: map[string]bool{"Cluster": true}}
		if there {
			f.member = &memberclusterv1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "member1", Finalizers: []string{memberclusterv1.Finalizer}, DeletionTimestamp: &metav1.Time{Time: began}}}
		}
		r := mirroringStage(f, &now)
		for name, call := range map[string]func(context.Context, event.Event, string) ([]event.Event, error){"MemberCluster": r.Relabelled, "Cluster": r.Changed} {
			if _, err := call(t.Context(), event.New(), "member1"); !errors.Is(err, outcome.ErrNotServed) {
				t.Errorf("the event about a %s ends with %v", name, err)
			}
		}
		if f.listed > 0 || f.member != nil {
			t.Errorf("two events list all MemberClusters %d times; it stays: %t", f.listed, f.member != nil)
		}
		if err := r.Retire(t.Context()); err != nil || f.listed != 1 {
			t.Errorf("a sweep lists them %d times, %v", f.listed, err)
		}
	}
}
