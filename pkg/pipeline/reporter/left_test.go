// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporter_test

import (
	"slices"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/api/meta"

	events "sluice.dev/apis/events/v1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// A binding that no cluster fits goes on naming the member that it was in. When that has
// left with its Work, nothing is said of it any more: not that it has the object, nor that
// others want what it has. Of a member that is joined and has no Work yet, its applier will
// tell.
func TestC75Y9WhatLeftWithItsMemberIsSaidNoMore(t *testing.T) {
	for name, tt := range map[string]struct {
		joined, gone []string
		says         []string
		fully        bool
	}{
		"the member has left":               {joined: []string{"m1"}, gone: []string{"m2"}, says: []string{"m1"}},
		"it is joined, and gets a Work":     {joined: []string{"m1", "m2"}, gone: []string{"m2"}, says: []string{"m1", "m2"}, fully: true},
		"so have all members that it names": {gone: []string{"m1", "m2"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newEcho(t, "")
			r.rivalled("m2")
			r.applied()
			for _, m := range tt.joined {
				r.hub.Join(m)
			}
			for _, m := range tt.gone {
				must(t, r.hub.DeleteWork(t.Context(), r.live(m)))
			}
			key := r.work("m2")
			e, err := events.New("renderer", event.New(), events.WorkFailed, events.Data{Template: &r.key, Binding: &r.bound.Key, Cluster: "m2", Work: &key, Reason: "NoWork"})
			must(t, err)
			r.handle(e)
			b, err := r.hub.Binding(t.Context(), r.bound.Key)
			must(t, err)
			var says []string
			for _, i := range b.Status.AggregatedStatus {
				says = append(says, i.ClusterName)
			}
			fully := meta.IsStatusConditionTrue(b.Status.Conditions, workv1alpha2.ConditionFullyApplied)
			contested := meta.IsStatusConditionTrue(b.Status.Conditions, applying.ConditionContested)
			if !slices.Equal(says, tt.says) || fully != tt.fully || contested != tt.fully {
				t.Errorf("the status names %v, all is applied: %t, contested: %t; want %v, %t", says, fully, contested, tt.says, tt.fully)
			}
		})
	}
}

// live is the Work in a member.
func (r *echo) live(cluster string) *propagation.Work {
	r.t.Helper()
	w, err := r.hub.Work(r.t.Context(), r.work(cluster))
	must(r.t, err)
	return w
}

// rivalled lets another Work want what the one in that member has.
func (r *echo) rivalled(cluster string) {
	r.t.Helper()
	_, err := r.hub.CommitRivals(r.t.Context(), r.live(cluster), []propagation.Rival{{Name: "other", Object: r.key, By: "the policy of other"}})
	must(r.t, err)
}
