// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package dependencies_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/propagation"
)

func TestStray(t *testing.T) {
	settings := &propagation.Template{Key: propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}}
	parent := &propagation.Binding{Key: propagation.BindingKey{Namespace: "shop", Name: "nginx-deployment"}}
	for name, tc := range map[string]struct {
		parent *propagation.Binding
		want   []propagation.BindingKey
	}{
		"a parent that says what it refers to":                     {parent: dependencies.Record(parent, []propagation.TemplateKey{settings.Key})},
		"S9 a parent that the garbage collector took":              {want: []propagation.BindingKey{parent.Key}},
		"S9 a parent that was made anew and refers to nothing yet": {parent: parent, want: []propagation.BindingKey{parent.Key}},
	} {
		t.Run(name, func(t *testing.T) {
			b := dependencies.Attach(settings, nil, parent)
			got := dependencies.Stray(b, func(propagation.BindingKey) *propagation.Binding { return tc.parent })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("strays (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLeft(t *testing.T) {
	settings := &propagation.Template{UID: "uid", Key: propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}}
	parent := &propagation.Binding{Key: propagation.BindingKey{Namespace: "shop", Name: "nginx-deployment"}}
	follows := dependencies.Attach(settings, nil, parent)
	alone := dependencies.Detach(follows, parent.Key)
	with := func(change func(b *propagation.Binding)) *propagation.Binding {
		next := *alone
		next.Annotations = map[string]string{}
		change(&next)
		return &next
	}
	held := func(b *propagation.Binding) {
		b.Labels = map[string]string{propagation.ClaimLabelNamespaced: "id"}
		b.Annotations = map[string]string{propagation.ClaimNamespacedNamespace: "shop", propagation.ClaimNamespacedName: "p"}
	}
	for name, tc := range map[string]struct {
		b    *propagation.Binding
		want bool
	}{
		"another template depends on it":              {b: follows},
		"nobody depends on it any more":               {b: alone, want: true},
		"Z29: a policy holds its template, and waits": {b: with(held)},
		"a policy holds a template that is not there": {b: with(func(b *propagation.Binding) { held(b); b.Spec.Resource.UID = "" }), want: true},
		"a policy took effect":                        {b: with(func(b *propagation.Binding) { b.Annotations[propagation.AnnotationActivePolicy] = "Namespaced/shop/p" })},
		"it is suspended":                             {b: with(func(b *propagation.Binding) { b.Spec.Suspension = &workv1alpha2.Suspension{Dispatching: new(true)} })},
	} {
		t.Run(name, func(t *testing.T) {
			if got := dependencies.Left(tc.b); got != tc.want {
				t.Errorf("left: %t, want %t", got, tc.want)
			}
		})
	}
}

func TestLinked(t *testing.T) {
	settings := &propagation.Template{Key: propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}}
	parent := &propagation.Binding{Key: propagation.BindingKey{Namespace: "shop", Name: "nginx-deployment"}}
	refers := dependencies.Record(parent, []propagation.TemplateKey{settings.Key})
	follows := dependencies.Attach(settings, nil, parent)
	stripped := *follows
	stripped.Labels = nil
	for name, tc := range map[string]struct {
		b    *propagation.Binding
		want bool
	}{
		"neither refers nor follows":             {b: parent},
		"refers to another":                      {b: refers, want: true},
		"refers to nothing any more":             {b: dependencies.Record(refers, nil)},
		"follows another":                        {b: follows, want: true},
		"follows nobody any more":                {b: dependencies.Detach(follows, parent.Key)},
		"follows, and refers to nothing":         {b: dependencies.Record(follows, nil), want: true},
		"refers, and follows nobody any more":    {b: dependencies.Detach(dependencies.Record(follows, []propagation.TemplateKey{settings.Key}), parent.Key), want: true},
		"had lost the label, and is told of now": {b: dependencies.Attach(settings, &stripped, parent), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.b.Labels[propagation.LabelLinked] != ""; got != tc.want {
				t.Errorf("labelled as linked: %t, want %t", got, tc.want)
			}
		})
	}
	if again := dependencies.Attach(settings, follows, parent); again != follows {
		t.Error("attached a second time it is another binding")
	}
}
