// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func nginxKey() TemplateKey {
	return TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"}
}

// workNamed is a Work of nginx as the hub has it.
func workNamed(t *testing.T, name string, change ...func(*Work)) *Work {
	t.Helper()
	raw, err := json.Marshal(nginxKey())
	if err != nil {
		t.Fatal(err)
	}
	b := BindingOf(nginxKey())
	w := &Work{
		Key:         WorkKey{Cluster: "m1", Name: name},
		Annotations: map[string]string{AnnotationTemplate: string(raw), AnnotationBindingNamespace: b.Namespace, AnnotationBindingName: b.Name},
	}
	for _, c := range change {
		c(w)
	}
	return w
}

func TestZ34WhatABindingsWorksAreKnownBy(t *testing.T) {
	k := BindingOf(nginxKey())
	present, former := WorkName(k), FormerWorkName(k)
	unsaid := func(w *Work) { delete(w.Annotations, AnnotationBindingName) }
	mute := func(w *Work) { w.Annotations = nil }
	edited := func(w *Work) { w.Annotations[AnnotationBindingName] = "another-deployment" }
	forged := func(w *Work) {
		edited(w)
		w.Annotations[AnnotationTemplate] = `{"apiVersion":"apps/v1","kind":"Deployment","namespace":"shop","name":"another"}`
	}
	placed := func(w *Work) { w.Key.Form = PlacementForm }
	for name, tc := range map[string]struct {
		work      *Work
		owners    []string
		successor string
	}{
		"a Work of the present name":                                 {workNamed(t, present), []string{present, former}, ""},
		"a Work of the former name":                                  {workNamed(t, former), []string{former, present}, present},
		"one that only says which template it is of":                 {workNamed(t, former, unsaid), []string{former, present}, present},
		"one that does not say whose it is":                          {workNamed(t, former, mute), []string{former}, ""},
		"one whose binding's name somebody edited":                   {workNamed(t, present, edited), []string{present, former}, ""},
		"one of the former name, whose binding's name was edited":    {workNamed(t, former, edited), []string{former, present}, present},
		"one that says it is of another binding":                     {workNamed(t, present, forged), []string{present}, ""},
		"one of the former name that says it is of another binding":  {workNamed(t, former, forged), []string{former}, ""},
		"one of a third name":                                        {workNamed(t, "nginx"), []string{"nginx"}, ""},
		"a placement's Work of such a name has nothing of a binding": {workNamed(t, former, placed), []string{"placement_" + former}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.owners, tc.work.Owners()); d != "" {
				t.Errorf("owners (-want +got)\n%s", d)
			}
			by, has := tc.work.Successor()
			if has != (tc.successor != "") || by.Name != tc.successor || has && by.Cluster != "m1" {
				t.Errorf("its successor is %v (%t), want %q", by, has, tc.successor)
			}
		})
	}
}

func TestZ34OneWorkOfABindingStandsInACluster(t *testing.T) {
	k := BindingOf(nginxKey())
	at := func(cluster, name string, change ...func(*Work)) *Work {
		return workNamed(t, name, append(change, func(w *Work) { w.Key.Cluster = cluster })...)
	}
	dying := func(w *Work) { w.Deleting = true }
	present, former := WorkName(k), FormerWorkName(k)
	for name, tc := range map[string]struct {
		works []*Work
		want  []string
	}{
		"none":                               {nil, nil},
		"one of each name, in two clusters":  {[]*Work{at("m1", present), at("m2", former)}, []string{"m1 " + present, "m2 " + former}},
		"both names in one":                  {[]*Work{at("m1", former), at("m1", present)}, []string{"m1 " + present}},
		"both, and the one that stands goes": {[]*Work{at("m1", former), at("m1", present, dying)}, []string{"m1 " + present}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, w := range Effective(k, slices.Clone(tc.works)) {
				got = append(got, w.Key.Cluster+" "+w.Key.Name)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("effective (-want +got)\n%s", d)
			}
		})
	}
}
