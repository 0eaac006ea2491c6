// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/function"
)

func cluster(name, price string) clusterv1alpha1.Cluster {
	c := clusterv1alpha1.Cluster{TypeMeta: metav1.TypeMeta{APIVersion: "cluster.karmada.io/v1alpha1", Kind: "Cluster"}}
	c.Name, c.Labels = name, map[string]string{LabelPrice: price, "name": name}
	return c
}

func binding(placement *policyv1alpha1.Placement, on ...string) *workv1alpha2.ResourceBinding {
	b := &workv1alpha2.ResourceBinding{TypeMeta: metav1.TypeMeta{APIVersion: "work.karmada.io/v1alpha2", Kind: "ResourceBinding"}}
	b.Namespace, b.Name, b.UID, b.ResourceVersion = "shop", "nginx-deployment", "u", "7"
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"}
	b.Spec.Replicas, b.Spec.Placement, b.Spec.SchedulerName = 3, placement, Scheduler
	for _, name := range on {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: name, Replicas: 3})
	}
	return b
}

func allowing(a policyv1alpha1.ClusterAffinity) *policyv1alpha1.Placement {
	return &policyv1alpha1.Placement{ClusterAffinity: &a}
}

func TestChoose(t *testing.T) {
	fleet := []clusterv1alpha1.Cluster{cluster("member1", "7"), cluster("member2", "3"), cluster("member3", "3"), cluster("gift", "free"), cluster("none", "")}
	tests := map[string]struct {
		placement *policyv1alpha1.Placement
		on        []string
		want      string // empty: none
	}{
		"the cheapest is chosen, of equals the first":     {want: "member2"},
		"who is there stays among equals":                 {on: []string{"member3"}, want: "member3"},
		"and moves where it is cheaper":                   {on: []string{"member1"}, want: "member2"},
		"a price that is no number is none":               {placement: allowing(policyv1alpha1.ClusterAffinity{ClusterNames: []string{"gift", "none"}})},
		"the placement's names are the only ones":         {placement: allowing(policyv1alpha1.ClusterAffinity{ClusterNames: []string{"member1"}}), want: "member1"},
		"excluded clusters are not":                       {placement: allowing(policyv1alpha1.ClusterAffinity{ExcludeClusters: []string{"member2"}}), want: "member3"},
		"labels select":                                   {placement: allowing(policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"name": "member3"}}}), want: "member3"},
		"what it does not understand it does not ignore":  {placement: allowing(policyv1alpha1.ClusterAffinity{FieldSelector: &policyv1alpha1.FieldSelector{}})},
		"nor several affinities":                          {placement: &policyv1alpha1.Placement{ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{{AffinityName: "a"}}}},
		"a placement that says nothing allows everything": {placement: &policyv1alpha1.Placement{}, want: "member2"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, why := Choose(binding(tc.placement, tc.on...), fleet)
			var want []workv1alpha2.TargetCluster
			if tc.want != "" {
				want = []workv1alpha2.TargetCluster{{Name: tc.want, Replicas: 3}}
			}
			if diff := cmp.Diff(want, got); diff != "" || (why == "") != (tc.want != "") {
				t.Errorf("why: %q (-want +got):\n%s", why, diff)
			}
		})
	}
}

func object(t *testing.T, o any) *unstructured.Unstructured {
	t.Helper()
	raw, err := json.Marshal(o)
	u := &unstructured.Unstructured{}
	if err == nil {
		err = u.UnmarshalJSON(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// hub has a binding and two clusters, member2 the cheaper.
func hub(t *testing.T, b *workv1alpha2.ResourceBinding) *fake.FakeDynamicClient {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{bindings: "ResourceBindingList", clusters: "ClusterList"}
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds,
		object(t, b), object(t, cluster("member1", "7")), object(t, cluster("member2", "3")))
}

func told(t *testing.T, typ string) event.Event {
	t.Helper()
	cause := event.New()
	cause.SetID("cause")
	d, err := about(binding(nil))
	if err != nil {
		t.Fatal(err)
	}
	if typ == events.ClusterChanged {
		d = events.Data{Cluster: "member2"}
	}
	e, err := events.New("gate", cause, typ, d)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// writes are the patches that were sent.
func writes(c *fake.FakeDynamicClient) (all []string) {
	for _, a := range c.Actions() {
		if p, ok := a.(clienttesting.PatchAction); ok {
			all = append(all, p.GetSubresource()+string(p.GetPatch()))
		}
	}
	return all
}

func TestHandle(t *testing.T) {
	yes := true
	suspended := binding(nil, "member1")
	suspended.Spec.Suspension = &workv1alpha2.Suspension{Scheduling: &yes}
	another := binding(nil, "member1")
	another.Spec.SchedulerName = "another"
	const write = `{"metadata":{"resourceVersion":"7","uid":"u"},"spec":{"clusters":[{"name":"member2","replicas":3}]}}`
	tests := map[string]struct {
		binding    *workv1alpha2.ResourceBinding
		typ        string // by default binding.activated
		wantWrites []string
		want       string // type of the event emitted; empty: none
	}{
		"a binding is scheduled on condition that it is as it was read": {binding: binding(nil), wantWrites: []string{write}, want: events.BindingScheduled},
		"what is there already is told again and not written":           {binding: binding(nil, "member2"), want: events.BindingScheduled},
		"another scheduler's is left alone":                             {binding: another},
		"while scheduling is suspended nothing moves":                   {binding: suspended, want: events.BindingScheduled},
		"nor when a cluster changes":                                    {binding: suspended, typ: events.ClusterChanged},
		"a changed cluster announces who would move":                    {binding: binding(nil, "member1"), typ: events.ClusterChanged, want: events.BindingActivated},
		"and nobody else": {binding: binding(nil, "member2"), typ: events.ClusterChanged},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.typ == "" {
				tc.typ = events.BindingActivated
			}
			c := hub(t, tc.binding)
			res := run(t, c, told(t, tc.typ))
			if diff := cmp.Diff(tc.wantWrites, writes(c)); diff != "" || res.Err != nil {
				t.Errorf("writes, %v (-want +got):\n%s", res.Err, diff)
			}
			got := ""
			for _, e := range res.Events {
				if got = e.Type(); e.Type() == events.BindingActivated && e.Extensions()[events.ExtSchedulerName] != Scheduler {
					t.Errorf("%v is meant for another scheduler", e)
				}
				if d, err := events.Decode(e); err != nil || d.Binding.Name != "nginx-deployment" || d.Template.Name != "nginx" {
					t.Errorf("emitted %v, %v", e, err)
				}
			}
			if got != tc.want || len(res.Events) > 1 {
				t.Errorf("emitted %d, the last %q, want one %q", len(res.Events), got, tc.want)
			}
		})
	}
}

func run(t *testing.T, c *fake.FakeDynamicClient, e event.Event) function.Result {
	t.Helper()
	s := &Stage{hub: c, namespace: "shop", now: func() time.Time { return time.Unix(1, 0) }}
	return function.Run(function.WithLogger(t.Context(), slog.New(slog.DiscardHandler)), s, e)
}

func TestWhatFitsNowhereStaysAndSaysSo(t *testing.T) {
	c := hub(t, binding(allowing(policyv1alpha1.ClusterAffinity{ClusterNames: []string{"member9"}}), "member1"))
	res := run(t, c, told(t, events.BindingActivated))
	all := writes(c)
	if res.Err != nil || len(all) != 1 || all[0][:len("status{")] != "status{" {
		t.Fatalf("%v, writes %v, want one of the status", res.Err, all)
	}
	if again := run(t, c, told(t, events.BindingActivated)); again.Err != nil || len(writes(c)) != 1 {
		t.Errorf("again: %v, writes %v, want none", again.Err, writes(c)[1:])
	}
}

func TestALostRaceIsReadAgain(t *testing.T) {
	c, lost := hub(t, binding(nil)), 0
	c.PrependReactor("patch", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		if lost++; lost < 3 {
			return true, nil, apierrors.NewConflict(bindings.GroupResource(), "nginx-deployment", nil)
		}
		return false, nil, nil
	})
	if res := run(t, c, told(t, events.BindingActivated)); res.Err != nil || lost != 3 {
		t.Errorf("%v after %d writes, want the third to do", res.Err, lost)
	}
}
