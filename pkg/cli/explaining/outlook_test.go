// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
)

// joined are healthy members.
func joined(names ...string) (all []*memberclusterv1.MemberCluster) {
	for _, name := range names {
		m := &memberclusterv1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		m.Status.AgentStatus = []memberclusterv1.AgentStatus{{Type: memberclusterv1.MemberAgent, Conditions: []metav1.Condition{
			{Type: memberclusterv1.ConditionJoined, Status: metav1.ConditionTrue}, {Type: memberclusterv1.ConditionHealthy, Status: metav1.ConditionTrue},
		}}}
		all = append(all, m)
	}
	return all
}

func TestOutlook(t *testing.T) {
	item, err := placing.NewItem(propagation.TemplateKey{APIVersion: "v1", Kind: "Namespace", Name: "shop"}, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}})
	if err != nil {
		t.Fatal(err)
	}
	content := placing.NewContent([]placing.Item{item})
	one := intstr.FromInt32(1)
	strategy := func(kind placementv1.RolloutStrategyType) func(*placementv1.ClusterResourcePlacement) {
		return func(p *placementv1.ClusterResourcePlacement) {
			p.Spec.Strategy.Type = kind
			p.Spec.Strategy.RollingUpdate = &placementv1.RollingUpdateConfig{MaxUnavailable: &one, MaxSurge: &one}
		}
	}
	fixed := func(names ...string) func(*placementv1.ClusterResourcePlacement) {
		return func(p *placementv1.ClusterResourcePlacement) {
			p.Spec.Policy = &placementv1.PlacementPolicy{PlacementType: placementv1.PickFixedPlacementType, ClusterNames: names}
		}
	}
	for sentence, tc := range map[string]struct {
		has    string // of the snapshot, by these members
		hash   string // of the newest snapshot
		change []func(*placementv1.ClusterResourcePlacement)
		want   string
		fresh  bool
		fails  string // unfulfilled, or stuck
	}{
		"a new placement goes everywhere at once":     {want: "1 a gets it, 1 b gets it, 1 c gets it", fresh: true},
		"nothing changes":                             {has: "a b c", hash: content.Hash(), want: "0 a , 0 b , 0 c "},
		"C64: other content goes one after the other": {has: "a b c", hash: "other", change: []func(*placementv1.ClusterResourcePlacement){strategy("RollingUpdate")}, want: "1 a is updated, 2 b is updated, 3 c is updated", fresh: true},
		"C35: who is not named loses it":              {has: "a b", hash: content.Hash(), change: []func(*placementv1.ClusterResourcePlacement){fixed("b", "c")}, want: "1 a loses it, 0 b , 1 c gets it"},
		"C35: a member that there is not":             {change: []func(*placementv1.ClusterResourcePlacement){fixed("a", "z")}, want: "1 a gets it, 0 z ", fresh: true, fails: "could not find all the clusters"},
		"C61: somebody else says when":                {has: "a b c", hash: "other", change: []func(*placementv1.ClusterResourcePlacement){strategy("External")}, want: "0 a , 0 b , 0 c ", fresh: true, fails: "controlled by somebody else"},
		"rolled back, it stays at what it has": {has: "a b c", hash: "other", change: []func(*placementv1.ClusterResourcePlacement){func(p *placementv1.ClusterResourcePlacement) {
			p.Annotations = map[string]string{placing.AnnotationRollback: "0"}
		}}, want: "0 a , 0 b , 0 c "},
	} {
		t.Run(sentence, func(t *testing.T) {
			var p explaining.Placed
			if tc.hash != "" {
				s := &placementv1.ClusterResourceSnapshot{ObjectMeta: metav1.ObjectMeta{
					Name:        "shop-0-snapshot",
					Labels:      map[string]string{placementv1.LabelResourceIndex: "0", placementv1.LabelIsLatestSnapshot: "true"},
					Annotations: map[string]string{placementv1.AnnotationResourceHash: tc.hash, placementv1.AnnotationNumberOfResourceSnapshots: "1"},
				}}
				p.Snapshots = append(p.Snapshots, s)
			}
			for _, m := range strings.Fields(tc.has) {
				b := &placementv1.ClusterResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: "shop-" + m, Generation: 1}}
				b.Spec = placementv1.ResourceBindingSpec{State: placementv1.BindingStateBound, TargetCluster: m, ResourceSnapshotName: "shop-0-snapshot"}
				b.Status.Conditions = []metav1.Condition{{Type: placementv1.ConditionAvailable, Status: metav1.ConditionTrue, ObservedGeneration: 1}}
				p.Bindings = append(p.Bindings, b)
			}
			next := &placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: "shop", Generation: 1}}
			for _, c := range tc.change {
				c(next)
			}
			o := p.Outlook(next, content, joined("a", "b", "c"), time.Unix(1000, 0))
			var got []string
			for _, m := range o.Members {
				got = append(got, fmt.Sprintf("%d %s %s", m.Step, m.Cluster, m.Change))
			}
			if is := strings.Join(got, ", "); is != tc.want || o.New != tc.fresh {
				t.Errorf("got %q, new %t; want %q, new %t", is, o.New, tc.want, tc.fresh)
			}
			if said := o.Unfulfilled + o.Stuck; tc.fails == "" && said != "" || !strings.Contains(said, tc.fails) {
				t.Errorf("it says %q, want %q", said, tc.fails)
			}
			if len(o.Selected) != 1 || o.Selected[0].Name != "shop" {
				t.Errorf("selected %v", o.Selected)
			}
		})
	}
}
