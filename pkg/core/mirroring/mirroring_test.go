// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package mirroring_test

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/mirroring"
)

type labels = map[string]string

func cluster(l labels, taints ...corev1.Taint) *clusterv1alpha1.Cluster {
	c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1", Labels: l}}
	c.Spec.Taints = taints
	return c
}

func TestLabels(t *testing.T) {
	for sentence, tc := range map[string]struct {
		before labels // of the Cluster, when it was mirrored first
		people labels // change them on the MemberCluster; "-" removes
		after  labels // of the Cluster now
		want   labels
	}{
		"a label of the Cluster is mirrored":                   {before: labels{"env": "prod"}, after: labels{"env": "prod"}, want: labels{"env": "prod"}},
		"a changed one is followed":                            {before: labels{"env": "prod"}, after: labels{"env": "test"}, want: labels{"env": "test"}},
		"a removed one goes":                                   {before: labels{"env": "prod"}, want: labels{}},
		"people's own value wins":                              {before: labels{"env": "prod"}, people: labels{"env": "canary"}, after: labels{"env": "test"}, want: labels{"env": "canary"}},
		"people's own value stays when the Cluster's goes":     {before: labels{"env": "prod"}, people: labels{"env": "canary"}, want: labels{"env": "canary"}},
		"people's own label stays":                             {people: labels{"tier": "gold"}, after: labels{"env": "prod"}, want: labels{"tier": "gold", "env": "prod"}},
		"people's own label stays when the Cluster has it too": {people: labels{"env": "canary"}, after: labels{"env": "prod"}, want: labels{"env": "canary"}},
		"a mirrored one that is removed comes back":            {before: labels{"env": "prod"}, people: labels{"env": "-"}, after: labels{"env": "prod"}, want: labels{"env": "prod"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			m := mirroring.Member(cluster(tc.before), nil)
			for key, value := range tc.people {
				if value == "-" {
					delete(m.Labels, key)
					continue
				}
				m.Labels[key] = value
			}
			m = mirroring.Member(cluster(tc.after), m)
			if diff := cmp.Diff(tc.want, maps.Clone(m.Labels)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again := mirroring.Member(cluster(tc.after), m); !cmp.Equal(m, again) {
				t.Errorf("twice is not once:\n%s", cmp.Diff(m, again))
			}
		})
	}
}

func TestTaints(t *testing.T) {
	taint := func(key, value string, effect corev1.TaintEffect) corev1.Taint {
		return corev1.Taint{Key: key, Value: value, Effect: effect}
	}
	m := mirroring.Member(cluster(nil,
		taint("gpu", "yes", corev1.TaintEffectNoSchedule), taint("drain", "", corev1.TaintEffectNoExecute),
		taint("busy", "", corev1.TaintEffectPreferNoSchedule), taint(clusterv1alpha1.TaintClusterNotReady, "", corev1.TaintEffectNoExecute)), nil)
	want := []memberclusterv1.Taint{{Key: "gpu", Value: "yes", Effect: "NoSchedule"}, {Key: "drain", Effect: "NoSchedule"}}
	if diff := cmp.Diff(want, m.Spec.Taints); diff != "" {
		t.Errorf("mirrored (-want +got):\n%s", diff)
	}
	m.Spec.Taints[0].Value = "no"
	m.Spec.Taints = append(m.Spec.Taints, memberclusterv1.Taint{Key: "own", Effect: "NoSchedule"})
	m = mirroring.Member(cluster(nil, taint("gpu", "yes", corev1.TaintEffectNoSchedule)), m)
	want = []memberclusterv1.Taint{{Key: "gpu", Value: "no", Effect: "NoSchedule"}, {Key: "own", Effect: "NoSchedule"}}
	if diff := cmp.Diff(want, m.Spec.Taints); diff != "" {
		t.Errorf("people's own win, and what the Cluster lost goes (-want +got):\n%s", diff)
	}
}

func usage(nodes int, cpu, free string) *mirroring.Usage {
	all := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	return &mirroring.Usage{Nodes: nodes, Capacity: all, Allocatable: all, Available: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(free)}}
}

func TestStatus(t *testing.T) {
	began := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	well := mirroring.Observation{Version: "v1.36.3", Usage: usage(3, "12", "10")}
	first, changed := mirroring.Status(memberclusterv1.MemberClusterStatus{}, 1, well, began)
	if !changed || first.Properties[memberclusterv1.PropertyNodeCount].Value != "3" || !first.Agent(memberclusterv1.MemberAgent).LastReceivedHeartbeat.Time.Equal(began) {
		t.Fatalf("first: %+v", first)
	}
	for _, c := range []string{"ReadyToJoin", "Joined", "Healthy"} {
		if !conditions.Is(first.Conditions, c, metav1.ConditionTrue) {
			t.Errorf("%s is not True", c)
		}
	}
	later := began.Add(time.Hour)
	lost := mirroring.Observation{Failure: "it does not answer", Seen: later.Add(-time.Second)}
	ill, _ := mirroring.Status(first, 1, lost, later)
	for sentence, tc := range map[string]struct {
		old  memberclusterv1.MemberClusterStatus
		o    mirroring.Observation
		want bool
	}{
		"a member that is well still is":       {first, well, false},
		"nothing is known of its nodes":        {first, mirroring.Observation{Version: "v1.36.3"}, false},
		"a little load is no news":             {first, mirroring.Observation{Version: "v1.36.3", Usage: usage(3, "12", "9500m")}, false},
		"much load is":                         {first, mirroring.Observation{Version: "v1.36.3", Usage: usage(3, "12", "9")}, true},
		"no room left is":                      {first, mirroring.Observation{Version: "v1.36.3", Usage: usage(3, "12", "0")}, true},
		"a node more is":                       {first, mirroring.Observation{Version: "v1.36.3", Usage: usage(4, "12", "10")}, true},
		"an upgrade is":                        {first, mirroring.Observation{Version: "v1.37.0"}, true},
		"it does not answer":                   {first, lost, true},
		"it still does not, for another cause": {ill, mirroring.Observation{Failure: "refused", Seen: lost.Seen}, false},
		"it answers again":                     {ill, well, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			if s, got := mirroring.Status(tc.old, 1, tc.o, later); got != tc.want {
				t.Errorf("changed %t, want %t:\n%s", got, tc.want, cmp.Diff(tc.old, s))
			}
		})
	}
	if got := ill.Agent(memberclusterv1.MemberAgent).LastReceivedHeartbeat; !got.Time.Equal(lost.Seen) || !conditions.Is(ill.Conditions, "Healthy", metav1.ConditionFalse) {
		t.Errorf("C49: a member that fell silent was last seen at %s, want %s", got, lost.Seen)
	}
	if ill.ResourceUsage.Allocatable == nil {
		t.Error("what was known is forgotten")
	}
}

func TestSummary(t *testing.T) {
	first, changed := mirroring.Summary(nil, usage(3, "12", "10"))
	if !changed || first.Allocated.Cpu().String() != "2" || first.Allocatable.Cpu().String() != "12" {
		t.Fatalf("first: %+v", first)
	}
	hidden := usage(3, "12", "10")
	hidden.Available = nil
	blind, _ := mirroring.Summary(nil, hidden)
	for sentence, tc := range map[string]struct {
		old  *clusterv1alpha1.ResourceSummary
		u    *mirroring.Usage
		want bool
		load string // empty: not known
	}{
		"a member whose nodes were not looked at": {first, nil, false, "2"},
		"the same again":                                {first, usage(3, "12", "10"), false, "2"},
		"a little load is no news":                      {first, usage(3, "12", "9500m"), false, "2"},
		"much load is":                                  {first, usage(3, "12", "9"), true, "3"},
		"no room left is":                               {first, usage(3, "12", "0"), true, "12"},
		"larger nodes are":                              {first, usage(3, "16", "14"), true, "2"},
		"its pods are not told any more":                {first, hidden, false, "2"},
		"its pods were never told":                      {blind, hidden, false, ""},
		"its pods are told for the first time":          {blind, usage(3, "12", "12"), true, "0"},
		"a member without nodes has nothing to be said": {nil, &mirroring.Usage{Allocatable: corev1.ResourceList{}, Available: corev1.ResourceList{}}, false, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			s, got := mirroring.Summary(tc.old, tc.u)
			load := ""
			if s != nil && s.Allocated != nil {
				load = s.Allocated.Cpu().String()
			}
			if got != tc.want || load != tc.load {
				t.Errorf("changed %t, load %q, want %t and %q", got, load, tc.want, tc.load)
			}
		})
	}
}
