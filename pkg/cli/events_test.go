// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest/fixture"
)

// event stores one about an object, so many seconds after the start.
func (a *api) event(namespace, id, kind, name, reason string, seconds int) {
	a.put("v1/Event/"+namespace+"/"+id, corev1.Event{
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name}, Reason: reason, Message: "because", Type: corev1.EventTypeNormal,
		LastTimestamp: metav1.NewTime(fixture.Start.Add(time.Duration(seconds) * time.Second)), Count: 1,
	})
}

// reasons are those of the decisions that the command shows, in order.
func reasons(t *testing.T, hub *api, args ...string) []string {
	t.Helper()
	a := run(t, hub, append(args, "-o", "json")...)
	a.wants(t, "")
	var got struct{ Items []decision }
	if err := json.Unmarshal([]byte(a.out), &got); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range got.Items {
		out = append(out, d.About+": "+d.Reason)
	}
	return out
}

func TestEvents(t *testing.T) {
	hub := serve(t, "hub").shop()
	p := fixture.Policy("web").Kind().To("member1")
	hub.policy(p)
	b := hub.propagated(fixture.Deployment("fine"), p)
	b.Status.Conditions = []metav1.Condition{{Type: "Scheduled", Status: metav1.ConditionTrue, Reason: "Success", Message: "chosen", LastTransitionTime: metav1.NewTime(fixture.Start.Add(2 * time.Second))}}
	hub.binding(b)
	hub.event("karmada-es-member1", "c", "Work", propagation.WorkName(b.Key), "SyncSucceed", 3)
	hub.event("shop", "b", "Deployment", "fine", "Claimed", 1)
	hub.event("shop", "x", "ConfigMap", "fine", "OfAnotherKind", 1)
	hub.event("shop", "y", "Deployment", "other", "OfAnother", 1)
	hub.event("shop", "a", "ResourceBinding", b.Key.Name, "AggregateStatusSucceed", 4)

	want := []string{"work on member1: RefusedByMember", "template: Claimed", "binding: Success", "work on member1: SyncSucceed", "binding: AggregateStatusSucceed"}
	if diff := cmp.Diff(want, reasons(t, hub, "events", "deploy/fine")); diff != "" {
		t.Error(diff)
	}
	a := run(t, hub, "events", "deploy/fine")
	a.wants(t, "")
	if !strings.Contains(a.out, "Scheduled is True") || strings.Count(a.out, "\n") != len(want)+1 {
		t.Error(a.out)
	}
	run(t, hub, "events", "deploy/none").wants(t, "deployment/none not found in namespace shop")
}

func TestEventsOfAPlacement(t *testing.T) {
	hub := placedShop(t)
	hub.event("default", "a", "ClusterResourcePlacement", "shop", "PlacementRolloutStarted", 1)
	got := reasons(t, hub, "events", "crp/shop")
	if len(got) != 7 || got[len(got)-1] != "placement: PlacementRolloutStarted" || got[0] != "placement: Done" {
		t.Errorf("got %q", got)
	}
	run(t, hub, "events", "crp/none").wants(t, "not found")
}

func TestEventsFollow(t *testing.T) {
	hub := serve(t, "hub").shop()
	p := fixture.Policy("web").Kind().To("member1")
	b := hub.propagated(fixture.Deployment("fine"), p)
	hub.event("shop", "a", "Deployment", "fine", "Claimed", 1)
	out, end := following(t, hub, "events", "deploy/fine", "-f")
	out.until(t, "template event Claimed because")
	hub.event("shop", "b", "ResourceBinding", b.Key.Name, "ScheduleBindingSucceed", 2)
	out.until(t, "binding event ScheduleBindingSucceed because")
	b.Status.Conditions = []metav1.Condition{{Type: "Scheduled", Status: metav1.ConditionTrue, Reason: "Success", LastTransitionTime: metav1.NewTime(fixture.Start)}}
	hub.binding(b)
	out.until(t, "binding Scheduled is True Success")
	if code := end(); code != 0 || strings.Count(out.String(), "Claimed") != 1 || strings.Count(out.String(), "ABOUT") != 1 {
		t.Errorf("ends with %d:\n%s", code, out)
	}
	run(t, hub, "events", "deploy/fine", "-f", "-o", "json").wants(t, "leave out -o")
}
