// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

const (
	configMap  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: %s, labels: {app: web}}, data: {a: one, b: two}}`
	deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: nginx, namespace: %s}, spec: {replicas: 2, selector: {matchLabels: {app: web}},
		template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}}}`
)

func TestApplyMarksTheObjectAndWritesOnce(t *testing.T) {
	w := anywhere(t)
	of, m := work("settings-x"), w.manifest(configMap)
	before := w.manifest(configMap)
	a := w.apply(of, m)
	if !a.Changed || a.State.UID == "" || a.State.FieldsHash == "" || a.State.ManifestHash != propagation.HashJSON(m) {
		t.Errorf("applied %+v", a)
	}
	live := w.live(refOf(m))
	want := map[string]any{"app": "web", "sluice.dev/work": "settings-x", "karmada.io/managed": "true"}
	if diff := cmp.Diff(want, field(live, "metadata", "labels")); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if got := field(live, "metadata", "annotations", applying.AnnotationWork); got != "karmada-es-member1/settings-x" {
		t.Errorf("annotation %v", got)
	}
	if diff := cmp.Diff(before, m); diff != "" {
		t.Errorf("the manifest was changed:\n%s", diff)
	}
	w.wantWrites(1, "for a new object")
	if again := w.apply(of, m); again.Changed || again.State != a.State || again.Object == nil {
		t.Errorf("applied again: %+v", again)
	}
	w.wantWrites(0, "with nothing to do")
	if a.Object["data"] != nil {
		t.Error("the data of a ConfigMap is kept")
	}
}

func TestApplyBringsUpWhatChanged(t *testing.T) {
	w := anywhere(t)
	of, m := work("settings-x"), w.manifest(configMap)
	w.apply(of, m)
	next := w.manifest(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: %s}, data: {a: three}}`)
	if a := w.apply(of, next); !a.Changed {
		t.Error("a new manifest changed nothing")
	}
	live := w.live(refOf(m))
	if diff := cmp.Diff(map[string]any{"a": "three"}, field(live, "data")); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	if field(live, "metadata", "labels", "app") != nil {
		t.Error("a label that the template lost is still there")
	}
}

func TestC76AnotherWritersFieldIsTakenUnlessTheStrategySaysNot(t *testing.T) {
	asked := func(t placementv1.ApplyStrategyType, config *placementv1.ServerSideApplyConfig) *placementv1.ApplyStrategy {
		return &placementv1.ApplyStrategy{Type: t, ServerSideApplyConfig: config}
	}
	for name, tc := range map[string]struct {
		strategy *placementv1.ApplyStrategy
		refused  bool
	}{
		"a policy's Work":                                {},
		"C76: client-side apply":                         {strategy: asked(placementv1.ApplyStrategyTypeClientSideApply, nil)},
		"C76, C101: server-side apply, force":            {strategy: asked(placementv1.ApplyStrategyTypeServerSideApply, &placementv1.ServerSideApplyConfig{ForceConflicts: true})},
		"C76, C101: server-side apply, force is false":   {asked(placementv1.ApplyStrategyTypeServerSideApply, &placementv1.ServerSideApplyConfig{}), true},
		"C76, C101: server-side apply, force by default": {asked(placementv1.ApplyStrategyTypeServerSideApply, nil), true},
	} {
		t.Run(name, func(t *testing.T) {
			w := anywhere(t)
			of, m := work("settings-x"), w.manifest(configMap)
			of.Strategy = tc.strategy
			w.apply(of, m)
			w.edit(refOf(m), "kubectl-edit", func(o map[string]any) { set(o, "mine", "data", "a") })
			_, err := bring(t.Context(), w.Client, of, m, applying.TakeOverNever)
			var contested *Contested
			if refused := errors.As(err, &contested); refused != tc.refused || !refused && err != nil {
				t.Fatalf("got %v, want refused %t", err, tc.refused)
			}
			want := "one"
			if tc.refused {
				want = "mine"
				if !strings.Contains(err.Error(), ".data.a") || !strings.Contains(err.Error(), "force") {
					t.Errorf("%q names neither the field nor the next step", err)
				}
			}
			if got := field(w.live(refOf(m)), "data", "a"); got != want {
				t.Errorf("the field is %v, want %s", got, want)
			}
		})
	}
}

func TestDrift(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(obj map[string]any)
		writes int32
	}{
		"a field of ours is mended":            {func(obj map[string]any) { set(obj, "other", "data", "a") }, 1},
		"a field that was removed comes back":  {func(obj map[string]any) { delete(obj["data"].(map[string]any), "b") }, 1},
		"a field that somebody added stays":    {func(obj map[string]any) { set(obj, "mine", "data", "c") }, 0},
		"an annotation of somebody else stays": {func(obj map[string]any) { set(obj, "x", "metadata", "annotations", "their") }, 0},
		"a label of ours is mended":            {func(obj map[string]any) { set(obj, "x", "metadata", "labels", "app") }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := anywhere(t)
			of, m := work("settings-x"), w.manifest(configMap)
			w.apply(of, m)
			w.wantWrites(1, "for a new object")
			w.edit(refOf(m), "kubectl-edit", tc.change)
			o, err := w.Observe(t.Context(), refOf(m))
			if err != nil {
				t.Fatal(err)
			}
			if drifted(of, m, o) != (tc.writes > 0) {
				t.Errorf("drifted: %v", drifted(of, m, o))
			}
			w.apply(of, m)
			w.wantWrites(tc.writes, "after the change")
			w.apply(of, m)
			w.wantWrites(0, "after mending it")
			live := w.live(refOf(m))
			if field(live, "data", "a") != "one" || field(live, "data", "b") != "two" || field(live, "metadata", "labels", "app") != "web" {
				t.Errorf("not as applied: %v", live)
			}
		})
	}
}

func TestAnObjectThatWasDeletedComesBack(t *testing.T) {
	w := anywhere(t)
	of, m := work("settings-x"), w.manifest(configMap)
	first := w.apply(of, m)
	if deleted, err := drop(t.Context(), w.kubectl, refOf(m), "settings-x"); !deleted || err != nil {
		t.Fatalf("deleted %v, error %v", deleted, err)
	}
	if second := w.apply(of, m); !second.Changed || second.State.UID == first.State.UID {
		t.Errorf("applied %+v after %+v", second, first)
	}
}

// What is created without a read is what an apply would make. What is there already, of
// whomever, stays as it is, however it came to be there.
func TestZ1WhatIsThereIsNotCreated(t *testing.T) {
	for name, template := range map[string]string{"settings": configMap, "nginx": deployment} {
		t.Run(name, func(t *testing.T) {
			w := anywhere(t)
			of, m := work(name+"-x"), w.manifest(template)
			o, err := w.Create(t.Context(), of, "hub1", m)
			if err != nil {
				t.Fatal(err)
			}
			if o.Work != name+"-x" || o.Hub != "hub1" || o.UID == "" || o.Changed != "" || o.Manifest != propagation.ManifestHash(m) {
				t.Errorf("created %+v", o)
			}
			if diff := cmp.Diff(w.manifest(template), m); diff != "" {
				t.Errorf("the manifest was changed:\n%s", diff)
			}
			w.wantWrites(1, "for a new object")
			of.Status.Applied = &workv1alpha1.AppliedState{ManifestHash: propagation.HashJSON(m), FieldsHash: o.FieldsHash, UID: o.UID}
			if again := w.apply(of, m); again.Changed {
				t.Error("what was created had to be applied once more")
			}
			w.edit(refOf(m), "kubectl", func(obj map[string]any) {
				set(obj, "theirs", "metadata", "annotations", "note")
			})
			said := func() map[string]any { // what controllers do not change
				live := w.live(refOf(m))
				return map[string]any{
					"generation": field(live, "metadata", "generation"), "labels": field(live, "metadata", "labels"), "spec": field(live, "spec"), "data": field(live, "data"),
					"work": field(live, "metadata", "annotations", applying.AnnotationWork), "note": field(live, "metadata", "annotations", "note"),
				}
			}
			before := said()
			for _, by := range []string{name + "-x", "other-work"} {
				if _, err := w.Create(t.Context(), work(by), "hub1", m); !errors.Is(err, ErrExists) {
					t.Errorf("%s creates what is there: %v", by, err)
				}
			}
			if diff := cmp.Diff(before, said()); diff != "" {
				t.Errorf("what is there was changed:\n%s", diff)
			}
		})
	}
}

func TestWhatIsNotOurs(t *testing.T) {
	w := anywhere(t)
	m := w.manifest(configMap)
	theirs := w.manifest(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: %s}, data: {a: theirs, c: theirs}}`)
	if _, err := bring(t.Context(), w.kubectl, work("other-work"), theirs, applying.TakeOverNever); err != nil {
		t.Fatal(err)
	}
	var notOurs *NotOurs
	_, err := bring(t.Context(), w.Client, work("settings-x"), m, applying.TakeOverNever)
	if want := "ConfigMap " + w.namespace + "/settings exists in member1 and belongs to the Work other-work; set conflictResolution: Overwrite to take it over"; !errors.As(err, &notOurs) || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	w.edit(refOf(m), "kubectl", func(obj map[string]any) {
		delete(field(obj, "metadata", "labels").(map[string]any), propagation.LabelMemberWork)
	})
	_, err = bring(t.Context(), w.Client, work("settings-x"), m, applying.TakeOverNever)
	if want := "ConfigMap " + w.namespace + "/settings exists in member1 and was not made by Sluice; set conflictResolution: Overwrite to take it over"; !errors.As(err, &notOurs) || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if deleted, err := drop(t.Context(), w.Client, refOf(m), "settings-x"); deleted || err != nil {
		t.Errorf("deleted %v, error %v", deleted, err)
	}
	w.wantWrites(0, "to what is not ours")
	if _, err := bring(t.Context(), w.Client, work("settings-x"), m, applying.TakeOverAlways); err != nil {
		t.Fatal(err)
	}
	if live := w.live(refOf(m)); field(live, "data", "a") != "one" || field(live, "metadata", "labels", propagation.LabelMemberWork) != "settings-x" {
		t.Errorf("not taken over: %v", live)
	}
}

func TestNamespaces(t *testing.T) {
	w := anywhere(t)
	free := w.namespace + "-new"
	m := w.manifest(configMap)
	set(m, free, "metadata", "namespace")
	var missing *NoNamespace
	if _, err := bring(t.Context(), w.Client, work("x"), m, applying.TakeOverNever); !errors.As(err, &missing) || missing.Namespace != free {
		t.Fatalf("error %v", err)
	}
	for range 2 {
		if err := w.EnsureNamespace(t.Context(), free, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := bring(t.Context(), w.Client, work("x"), m, applying.TakeOverNever); err != nil {
		t.Error(err)
	}
	// Its own template may take over a namespace that Sluice made.
	ns := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": free}}
	if _, err := bring(t.Context(), w.Client, work("ns"), ns, applying.TakeOverNever); err != nil {
		t.Error(err)
	}
	if deleted, err := drop(t.Context(), w.Client, refOf(ns), "ns"); !deleted || err != nil {
		t.Errorf("deleted %v, error %v", deleted, err)
	}
}

func TestDelete(t *testing.T) {
	w := anywhere(t)
	m := w.manifest(configMap)
	w.apply(work("settings-x"), m)
	w.wantWrites(1, "for a new object")
	if deleted, err := drop(t.Context(), w.Client, refOf(m), "another-work"); deleted || err != nil {
		t.Errorf("deleted another Work's: %v, %v", deleted, err)
	}
	if deleted, err := drop(t.Context(), w.Client, refOf(m), ""); deleted || err != nil {
		t.Errorf("deleted nobody's: %v, %v", deleted, err)
	}
	w.wantWrites(0, "to another's object")
	if deleted, err := drop(t.Context(), w.Client, refOf(m), "settings-x"); !deleted || err != nil {
		t.Errorf("deleted %v, error %v", deleted, err)
	}
	if _, err := w.Observe(t.Context(), refOf(m)); !errors.Is(err, outcome.ErrGone) {
		t.Errorf("observed after deletion: %v", err)
	}
	if deleted, err := drop(t.Context(), w.Client, refOf(m), "settings-x"); deleted || err != nil {
		t.Errorf("deleted twice: %v, %v", deleted, err)
	}
	if deleted, err := drop(t.Context(), w.Client, Ref{APIVersion: "no.such/v1", Kind: "Thing", Namespace: "shop", Name: "a"}, "w"); deleted || err != nil {
		t.Errorf("deleted of a kind that is not served: %v, %v", deleted, err)
	}
}

// autoscaler of the Deployment NAME.
const autoscaler = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {namespace: %s, name: nginx}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: NAME}
  minReplicas: 1
  maxReplicas: 9`

// scaleTo is an edit.
func scaleTo(n int64) func(obj map[string]any) {
	return func(obj map[string]any) { set(obj, n, "spec", "replicas") }
}

func TestReplicasOfTheMember(t *testing.T) {
	for name, tc := range map[string]struct {
		label      string
		autoscales string // name of the Deployment that an autoscaler is for
		manager    string
		sub        []string
		want       int64 // replicas after the scaling by hand or autoscaler, and the next apply
	}{
		"an autoscaler's number stays":                 {"", "nginx", "kube-controller-manager", []string{"scale"}, 5},
		"an autoscaler's number stays on k3s, too":     {"", "nginx", "k3s", []string{"scale"}, 5},
		"that of an autoscaler that is gone is drift":  {"", "", "kube-controller-manager", []string{"scale"}, 2},
		"that of an autoscaler for another one is too": {"", "other", "kube-controller-manager", []string{"scale"}, 2},
		"a person's number is drift":                   {"", "", "kubectl", nil, 2},
		"a person's number by way of scale too":        {"", "", "kubectl", []string{"scale"}, 2},
		"a person's number stays where that is asked":  {"true", "", "kubectl", nil, 5},
		"an own autoscaler's stays where it is asked":  {"true", "", "cron-scaler", []string{"scale"}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			w := anywhere(t)
			of, m := work("nginx-x"), w.manifest(deployment)
			if tc.label != "" {
				set(m, tc.label, "metadata", "labels", propagation.LabelRetainReplicas)
			}
			w.apply(of, m)
			if tc.autoscales != "" {
				w.apply(work("autoscaler"), w.manifest(strings.Replace(autoscaler, "NAME", tc.autoscales, 1)))
			}
			w.edit(refOf(m), tc.manager, scaleTo(5), tc.sub...)
			w.apply(of, m)
			if got := field(w.live(refOf(m)), "spec", "replicas"); got != tc.want {
				t.Errorf("%v replicas, want %d", got, tc.want)
			}
			w.writes.Store(0)
			w.apply(of, m)
			w.wantWrites(0, "with nothing to do")
			// A new manifest carries another number; the member's stays.
			set(m, int64(3), "spec", "replicas")
			set(m, "new", "spec", "template", "metadata", "labels", "version")
			w.apply(of, m)
			want := int64(3)
			if tc.want == 5 {
				want = 5
			}
			if got := field(w.live(refOf(m)), "spec", "replicas"); got != want {
				t.Errorf("%v replicas with a new manifest, want %d", got, want)
			}
		})
	}
}

// The template's number counts again when the autoscaler is gone.
func TestReplicasOfAnAutoscalerThatIsGone(t *testing.T) {
	w := anywhere(t)
	of, m, hpa, m2 := work("nginx-x"), w.manifest(deployment), work("autoscaler"), w.manifest(strings.Replace(autoscaler, "NAME", "nginx", 1))
	w.apply(of, m)
	w.apply(hpa, m2)
	w.edit(refOf(m), "kube-controller-manager", scaleTo(5), "scale")
	w.apply(of, m)
	if _, err := drop(t.Context(), w.Client, refOf(m2), "autoscaler"); err != nil {
		t.Fatal(err)
	}
	w.writes.Store(0)
	w.apply(of, m)
	w.wantWrites(0, "as long as the template says nothing new")
	set(m, int64(3), "spec", "replicas")
	w.apply(of, m)
	if got := field(w.live(refOf(m)), "spec", "replicas"); got != int64(3) {
		t.Errorf("%v replicas, want the template's 3", got)
	}
}

// Whether there is an autoscaler has to be known before its number is overwritten.
func TestReplicasOfAMemberThatDoesNotTell(t *testing.T) {
	w := onFake(t)
	of, m := work("nginx-x"), w.manifest(deployment)
	w.apply(of, m)
	w.edit(refOf(m), "kube-controller-manager", scaleTo(5), "scale")
	w.api.answer = func(rw http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/horizontalpodautoscalers") {
			return false
		}
		fail(rw, http.StatusForbidden, metav1.StatusReasonForbidden, target{resource: "horizontalpodautoscalers"}, "horizontalpodautoscalers.autoscaling is forbidden: sluice cannot list them")
		return true
	}
	if _, err := bring(t.Context(), w.Client, of, m, applying.TakeOverNever); err == nil || !strings.Contains(err.Error(), "horizontalpodautoscalers") {
		t.Errorf("error %v, want it to name what cannot be read", err)
	}
	if got := field(w.live(refOf(m)), "spec", "replicas"); got != int64(5) {
		t.Errorf("%v replicas, want them untouched", got)
	}
}

func TestReplicasThatNobodyElseOwnsDoNotFallBack(t *testing.T) {
	w := anywhere(t)
	of, m := work("nginx-x"), w.manifest(deployment)
	set(m, "true", "metadata", "labels", propagation.LabelRetainReplicas)
	w.apply(of, m)
	set(m, int64(7), "spec", "replicas")
	w.apply(of, m)
	if got := field(w.live(refOf(m)), "spec", "replicas"); got != int64(2) {
		t.Errorf("%v replicas, want the member's 2", got)
	}
}

func TestAManifestThatNamesNothing(t *testing.T) {
	w := anywhere(t)
	var refused *Refused
	for _, m := range []map[string]any{nil, {}, {"apiVersion": "v1", "kind": "ConfigMap"}, {"apiVersion": 1, "kind": []any{}, "metadata": "x"},
		{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}} {
		if _, err := bring(t.Context(), w.Client, work("x"), m, applying.TakeOverNever); !errors.As(err, &refused) {
			t.Errorf("%v: error %v", m, err)
		}
	}
}

func TestAWorkOfSeveralManifests(t *testing.T) {
	w := anywhere(t)
	of := work("two")
	of.Spec.Workload.Manifests = append(of.Spec.Workload.Manifests, of.Spec.Workload.Manifests[0])
	other := w.manifest(`{apiVersion: v1, kind: ConfigMap, metadata: {name: second, namespace: %s}}`)
	for _, m := range []map[string]any{w.manifest(configMap), other} {
		first, err := bring(t.Context(), w.Client, of, m, applying.TakeOverNever)
		if err != nil {
			t.Fatal(err)
		}
		again, err := bring(t.Context(), w.Client, of, m, applying.TakeOverNever)
		if was, is := field(first.Object, "metadata", "resourceVersion"), field(again.Object, "metadata", "resourceVersion"); err != nil || was != is {
			t.Errorf("applied again: version %v, then %v, %v", was, is, err)
		}
	}
}
