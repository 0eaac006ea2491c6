// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package carrying

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
)

// fleet is a hub with one snapshot and one override, and counts who asks for the member.
type fleet struct {
	Hub
	override *placementv1.ClusterResourceOverrideSnapshot
	labels   map[string]string
	asked    int
}

func (f *fleet) ResourceSnapshotsOf(context.Context, string) ([]*placementv1.ClusterResourceSnapshot, error) {
	s, err := f.ResourceSnapshot(context.Background(), "")
	return []*placementv1.ClusterResourceSnapshot{s}, err
}

func (f *fleet) ResourceSnapshot(context.Context, string) (*placementv1.ClusterResourceSnapshot, error) {
	s := &placementv1.ClusterResourceSnapshot{}
	s.Name = "shop-0-snapshot"
	s.Labels = map[string]string{placementv1.LabelResourceIndex: "0"}
	s.Annotations = map[string]string{placementv1.AnnotationNumberOfResourceSnapshots: "1"}
	return s, nil
}

func (f *fleet) ClusterOverrideSnapshot(context.Context, string) (*placementv1.ClusterResourceOverrideSnapshot, error) {
	return f.override, nil
}

func (f *fleet) Member(context.Context, string) (*memberclusterv1.MemberCluster, error) {
	f.asked++
	return &memberclusterv1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Labels: f.labels}}, nil
}

// An override sees the member as the binding says. Where that says nothing of a label, it
// was made by somebody else, or before that was noted.
func TestC61C70WhatAnOverrideSeesOfItsMember(t *testing.T) {
	looking := &placementv1.OverridePolicy{OverrideRules: []placementv1.OverrideRule{{
		ClusterSelector: &placementv1.ClusterSelector{ClusterSelectorTerms: []placementv1.ClusterSelectorTerm{{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}}}},
		JSONPatchOverrides: []placementv1.JSONPatchOverride{{
			Operator: placementv1.JSONPatchOverrideOpAdd, Path: "/data/zone", Value: &apiextensionsv1.JSON{Raw: []byte(`"${MEMBER-CLUSTER-LABEL-KEY-zone}"`)},
		}},
	}}}
	blind := &placementv1.OverridePolicy{OverrideRules: []placementv1.OverrideRule{{ClusterSelector: &placementv1.ClusterSelector{}}}}
	is := map[string]string{"env": "prod", "zone": "a", "team": "shop"}
	for sentence, tc := range map[string]struct {
		policy *placementv1.OverridePolicy
		noted  *placementv1.OverriddenFor
		want   map[string]string
		asked  int
	}{
		"as the binding says":                           {looking, &placementv1.OverriddenFor{Labels: map[string]string{"env": "test", "zone": "b"}}, map[string]string{"env": "test", "zone": "b"}, 0},
		"without a label that it says the member lacks": {looking, &placementv1.OverriddenFor{Labels: map[string]string{"env": "test"}, Lacks: []string{"zone"}}, map[string]string{"env": "test"}, 0},
		"as it is, where the binding says nothing":      {looking, nil, map[string]string{"env": "prod", "zone": "a"}, 1},
		"as it is, of what the binding does not say":    {looking, &placementv1.OverriddenFor{Labels: map[string]string{"env": "test"}}, map[string]string{"env": "test", "zone": "a"}, 1},
		"what looks at nothing has nothing read":        {blind, nil, nil, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := &placementv1.ClusterResourceOverrideSnapshot{}
			o.Spec.OverrideSpec.Policy = tc.policy
			hub := &fleet{override: o, labels: is}
			b := &placementv1.ClusterResourceBinding{}
			b.Spec.TargetCluster, b.Spec.ResourceSnapshotName = "member1", "shop-0-snapshot"
			b.Spec.ClusterResourceOverrideSnapshots, b.Spec.OverriddenFor = []string{"o-0"}, tc.noted
			in, err := Load(t.Context(), hub, "shop", b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, in.Labels); diff != "" || hub.asked != tc.asked {
				t.Errorf("labels (-want +got), and %d requests for the member, want %d:\n%s", hub.asked, tc.asked, diff)
			}
		})
	}
}
