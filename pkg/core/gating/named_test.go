// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gating_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/test/pipelinetest/fixture"
)

// What a binding says of its template somebody may have edited. That is put right, and
// nothing else follows from it: the gate is as open as it was.
func TestZ4WhatABindingSaysOfItsTemplateIsPutRight(t *testing.T) {
	nginx := fixture.Deployment("nginx")
	eager, lazy := fixture.Policy("p").To("member1"), fixture.Policy("p").Lazy().To("member1")
	for sentence, edit := range map[string]func(b *propagation.Binding){
		"another group that is built in":     func(b *propagation.Binding) { b.Spec.Resource.APIVersion = "batch/v1" },
		"another group":                      func(b *propagation.Binding) { b.Spec.Resource.APIVersion = "extensions/v1beta1" },
		"no group and version":               func(b *propagation.Binding) { b.Spec.Resource.APIVersion = "" },
		"another kind":                       func(b *propagation.Binding) { b.Spec.Resource.Kind = "StatefulSet" },
		"another name":                       func(b *propagation.Binding) { b.Spec.Resource.Name = "other" },
		"another namespace":                  func(b *propagation.Binding) { b.Spec.Resource.Namespace = "other" },
		"another uid":                        func(b *propagation.Binding) { b.Spec.Resource.UID = "other" },
		"no uid":                             func(b *propagation.Binding) { b.Spec.Resource.UID = "" },
		"nothing":                            func(b *propagation.Binding) { b.Spec.Resource = workv1alpha2.ObjectReference{} },
		"an owner of another group":          func(b *propagation.Binding) { b.Owner.APIVersion = "batch/v1" },
		"no owner":                           func(b *propagation.Binding) { b.Owner = workv1alpha2.ObjectReference{} },
		"another group, and the right owner": func(b *propagation.Binding) { b.Spec.Resource.APIVersion, b.Owner.APIVersion = "batch/v1", "apps/v2" },
	} {
		for gate, tc := range map[string]struct {
			was, now fixture.PolicyBuilder
			template fixture.TemplateBuilder
		}{
			"nothing waits":                     {eager, eager, nginx},
			"the policy's change waits":         {lazy, lazy.To("member2").Generation(2), nginx},
			"the template's change takes it in": {lazy, lazy.To("member2").Generation(2), nginx.Replicas(7)},
		} {
			t.Run(sentence+", "+gate, func(t *testing.T) {
				in := gating.Input{Template: tc.template.ClaimedBy(tc.now).Template(), Policy: tc.now.Policy(), Binding: after(nginx, tc.was)}
				want := gating.Decide(in)
				edited := *in.Binding
				edit(&edited)
				in.Binding = &edited
				if in.Former() != nil {
					t.Fatal("it is taken for a former template's, and would be deleted")
				}
				got := gating.Decide(in)
				ignore := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".ResourceVersion" }, cmp.Ignore())
				version := cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Next.Owner.APIVersion" }, cmp.Ignore())
				if d := cmp.Diff(want, got, ignore, version); d != "" {
					t.Errorf("the decision is another one than without the edit (-want +got):\n%s", d)
				}
				if got.Next == in.Binding {
					t.Error("the binding is not put right")
				}
			})
		}
	}
	other := fixture.Deployment("nginx").UID("other")
	if (gating.Input{Template: other.ClaimedBy(eager).Template(), Policy: eager.Policy(), Binding: after(nginx, eager)}).Former() == nil {
		t.Error("a binding of a former template is taken for the present one's")
	}
}

// A binding that names its template in a version that the hub does not serve: somebody
// edited it, if its Works name one that is served; else it is as it was.
func TestZ4Z14TheVersionThatABindingNames(t *testing.T) {
	nginx, p := fixture.Deployment("nginx"), fixture.Policy("p").Lazy().To("member1")
	for sentence, tc := range map[string]struct {
		binding string
		works   []string
		changed bool // the template, meanwhile
		want    string
	}{
		"its Works name the one that is served":              {"apps/v9", []string{"apps/v1"}, false, "apps/v1"},
		"so they do, and the template changed":               {"apps/v9", []string{"apps/v1"}, true, "apps/v1"},
		"one of its Works does":                              {"apps/v9", []string{"apps/v9", "apps/v1"}, false, "apps/v1"},
		"its Works name that one, which was served once":     {"apps/v1beta1", []string{"apps/v1beta1"}, false, "apps/v1beta1"},
		"its Works name a third one, which is not served":    {"apps/v9", []string{"apps/v1beta1"}, false, "apps/v9"},
		"it has no Works":                                    {"apps/v9", nil, false, "apps/v9"},
		"it names the one that is served, and its Works not": {"apps/v1", []string{"apps/v9"}, false, "apps/v1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := after(nginx, p)
			b.Spec.Resource.APIVersion = tc.binding
			in, now := gating.Input{Policy: p.Policy(), Binding: b}, nginx
			if tc.changed {
				now = now.Replicas(7)
			}
			in.Template = now.ClaimedBy(p).Template().KnownTo(b)
			for i, version := range tc.works {
				said := *b
				said.Spec.Resource.APIVersion = version
				w, err := rendering.Work(&said, fmt.Sprint("member", i+1), in.Template.Object)
				if err != nil {
					t.Fatal(err)
				}
				in.Works = append(in.Works, w)
			}
			if needs := in.NeedsWorks(); needs != (tc.binding != "apps/v1") {
				t.Errorf("it needs the Works: %t", needs)
			}
			got := gating.Decide(in)
			if version := got.Next.Spec.Resource.APIVersion; version != tc.want {
				t.Errorf("the binding names %s, want %s", version, tc.want)
			}
			if same := got.Next == b; same != (tc.binding == tc.want && !tc.changed) {
				t.Errorf("the binding is written: %t", !same)
			}
			if !tc.changed && got.Verdict != gating.Closed {
				t.Errorf("the gate is %s", got.Verdict)
			}
		})
	}
}
