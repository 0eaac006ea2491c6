// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/test/pipelinetest/fixture"
)

// A template has no binding. Whether it ever had one is known only if the definition of
// bindings is older than the template, and no Work says that it had one.
func TestZ11WhatWasPropagatedUnderFormerDefinitionsIsNotKnown(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	const going = "cannot tell: the hub's definition of bindings is gone, or being deleted: members keep what they have; once it is gone, install it with 'kubectl apply -f config/300-crds'"
	for name, tc := range map[string]struct {
		defined  time.Time // when bindings were; zero: they are not any more
		deleting bool
		works    bool
		refuse   func(*http.Request) *apierrors.StatusError
		want     string
	}{
		"the definition is older than the template":          {defined: noon.Add(-time.Minute), want: "nothing was ever propagated"},
		"the definition may not be read":                     {defined: noon.Add(time.Minute), refuse: failing("/resourcebindings.work.karmada.io", 403), want: "nothing was ever propagated"},
		"the definition is gone":                             {want: going},
		"the definition is younger than the template":        {defined: noon.Add(time.Minute), want: "cannot tell: nothing was propagated since the hub's definition of bindings was created, 2026-01-01T12:01:00Z, and the template is older: what members may have got before stays, and 'kubectl sluice get orphans' lists it; if its policy is missing, too, apply it again"},
		"the definition is being deleted":                    {defined: noon.Add(-time.Minute), deleting: true, want: going},
		"its Works are there, and may not be listed":         {defined: noon.Add(-time.Minute), works: true, refuse: failing("/works", 403), want: "nothing was ever propagated"},
		"its Works are there":                                {defined: noon.Add(-time.Minute), works: true, want: "cannot tell: the binding is missing, and there are Works for member1,member2: these members keep what they have; if its policy is missing, too, apply it again"},
		"its Works are there, and the definition is younger": {defined: noon.Add(time.Minute), works: true, want: "cannot tell: the binding is missing, and there are Works for member1,member2: these members keep what they have; if its policy is missing, too, apply it again"},
	} {
		t.Run(name, func(t *testing.T) {
			hub := serve(t, "hub").shop()
			p := fixture.Policy("web").Kind().To("member1", "member2")
			b := hub.propagated(fixture.Deployment("nginx"), p)
			hub.remove(bindingRef(b.Key))
			for _, ref := range hub.works() {
				if !tc.works {
					hub.remove(ref)
				}
			}
			nginx := hub.get("apps/v1/Deployment/shop/nginx")
			nginx.SetCreationTimestamp(metav1.NewTime(noon))
			hub.put("apps/v1/Deployment/shop/nginx", nginx.Object)
			if definition := "resourcebindings.work.karmada.io"; tc.defined.IsZero() {
				hub.undefined = definition
			} else {
				meta := map[string]any{"creationTimestamp": metav1.NewTime(tc.defined)}
				if tc.deleting {
					meta["deletionTimestamp"] = metav1.NewTime(noon)
				}
				hub.put("apiextensions.k8s.io/v1/CustomResourceDefinition/"+definition, map[string]any{"metadata": meta})
			}
			hub.refuse = tc.refuse
			a := run(t, hub, "explain", "deploy/nginx")
			a.wants(t, "")
			if !strings.Contains(a.out, "\n  In force   "+tc.want+"\n") || strings.Count(a.out, "ever propagated") != strings.Count(tc.want, "ever propagated") {
				t.Errorf("it says\n%s", a.out)
			}
			told := run(t, hub, "explain", "deploy/nginx", "-o", "json")
			if why, untold := strings.CutPrefix(tc.want, "cannot tell: "); untold != strings.Contains(told.out, why) {
				t.Errorf("a program is told\n%s", told.out)
			}
			if a := run(t, hub, "get", "deploy/nginx", "-o", "wide"); strings.Contains(a.out, "ever propagated") {
				t.Errorf("get says\n%s", a.out)
			}
			run(t, hub, "history", "deploy/nginx").wants(t, "deployment/nginx has no binding, and so no history: 'kubectl sluice explain deployment/nginx -n shop' says more")
		})
	}
}

// defined is the definition of a kind that the API serves, and that nobody put there: it
// is older than everything else.
func (a *api) defined(r *http.Request) (map[string]any, bool) {
	name, ok := strings.CutPrefix(r.URL.Path, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/")
	known := func(k servedKind) bool { return k.plural+"."+k.group == name }
	if !ok || r.Method != http.MethodGet || name == a.undefined || a.objects[r.URL.Path] != nil || !slices.ContainsFunc(served, known) {
		return nil, false
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": name},
	}, true
}
