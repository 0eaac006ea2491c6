// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
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

func TestZ34WorkNamesHave128Bits(t *testing.T) {
	present := regexp.MustCompile(`-[0-9a-f]{32}$`)
	former := regexp.MustCompile(`[^0-9a-f][0-9a-f]{10}$`)
	long := strings.Repeat("a-long-name.", 25)
	for name, k := range map[string]BindingKey{
		"a namespaced binding":           {Namespace: "shop", Name: "nginx-deployment"},
		"a cluster's binding":            {Name: "viewer-clusterrole"},
		"a name that has to be cut":      {Namespace: "shop", Name: long},
		"a name that is cut at a dot":    {Namespace: "shop", Name: "abcdefghijklmnopqrstuvwxyz012.x-deployment"},
		"a name that is all but letters": {Namespace: "shop", Name: "::::"},
		"a name of a former name's form": {Namespace: "shop", Name: "nginx-deployment-0123456789"},
	} {
		t.Run(name, func(t *testing.T) {
			names := WorkNames(k)
			if len(names) != 2 || names[0] != WorkName(k) || names[1] != FormerWorkName(k) {
				t.Fatalf("names %v", names)
			}
			if !present.MatchString(names[0]) || !former.MatchString(names[1]) || present.MatchString(names[1]) {
				t.Errorf("names %v, want a hash of 32 digits and one of 10", names)
			}
			for _, n := range names {
				if errs := append(validation.IsValidLabelValue(n), validation.IsDNS1123Subdomain(n)...); len(errs) > 0 {
					t.Errorf("%s: %v", n, errs)
				}
			}
		})
	}
	a, b := BindingKey{Namespace: "shop", Name: long + "a"}, BindingKey{Namespace: "shop", Name: long + "b"}
	if WorkName(a) == WorkName(b) || WorkName(a) == WorkName(BindingKey{Name: a.Name}) {
		t.Error("two bindings have one name")
	}
}

// These names are in the etcds and members of those who were there before 128 bits:
// no change of this package may give them others.
func TestZ34FormerNamesAreThoseOfTheReleases(t *testing.T) {
	for k, want := range map[BindingKey]string{
		{Namespace: "shop", Name: "nginx-deployment"}:        "nginx-deployment-c78d58cc34",
		{Name: "viewer-clusterrole"}:                         "viewer-clusterrole-2ea91c4394",
		{Namespace: "shop", Name: strings.Repeat("ab.", 30)}: "ab.ab.ab.ab.ab.ab.ab.ab.ab.ab.ab.ab.ab.ab.ab.ab.ab.a-42867228f7",
	} {
		if got := FormerWorkName(k); got != want {
			t.Errorf("%s was called %s, and is taken to have been %s", k, want, got)
		}
		if got := BindingLabel(k); got != want {
			t.Errorf("the Works of %s are labelled %s: all would be written anew with %s", k, want, got)
		}
	}
}

func TestZ34WhatABindingsWorksAreKnownBy(t *testing.T) {
	k := BindingOf(nginxKey())
	present, former := WorkName(k), FormerWorkName(k)
	unsaid := func(w *Work) { delete(w.Annotations, AnnotationBindingName) }
	mute := func(w *Work) { w.Annotations = nil }
	forged := func(w *Work) { w.Annotations[AnnotationBindingName] = "another-deployment" }
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
			for _, w := range Standing(k, slices.Clone(tc.works)) {
				got = append(got, w.Key.Cluster+" "+w.Key.Name)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("standing (-want +got)\n%s", d)
			}
		})
	}
}
