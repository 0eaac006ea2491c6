// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation_test

import (
	"testing"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
)

// A template that is read in another version than the one it was acted on in is not
// changed by that, unless it says something else.
func TestKnownTo(t *testing.T) {
	read := func(apiVersion string, size int64) *propagation.Template {
		obj := map[string]any{"apiVersion": apiVersion, "kind": "Widget", "metadata": map[string]any{"name": "w", "namespace": "n"}, "size": size}
		return &propagation.Template{Key: propagation.KeyOf(obj), Object: obj, Hash: propagation.HashContent(obj)}
	}
	bound := func(t *propagation.Template) *propagation.Binding {
		b := &propagation.Binding{Key: propagation.BindingOf(t.Key), Annotations: map[string]string{propagation.AnnotationContentHash: t.Hash}}
		b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: t.Key.APIVersion, Kind: t.Key.Kind, Namespace: t.Key.Namespace, Name: t.Key.Name, UID: "uid"}
		return b
	}
	old := read("example.com/v1beta1", 1)
	for sentence, tc := range map[string]struct {
		read        *propagation.Template
		binding     *propagation.Binding
		wantVersion string
		wantActed   bool
	}{
		"Z14 the same content in another version": {read("example.com/v1", 1), bound(old), "example.com/v1beta1", true},
		"other content in another version":        {read("example.com/v1", 2), bound(old), "example.com/v1beta1", false},
		"the same content in the same version":    {read("example.com/v1beta1", 1), bound(old), "example.com/v1beta1", true},
		"a binding that awaits its template":      {read("example.com/v1", 1), &propagation.Binding{}, "example.com/v1", false},
		"content acted on in the newer words then": {read("example.com/v1", 1), func() *propagation.Binding {
			b := bound(read("example.com/v1", 1))
			b.Spec.Resource.APIVersion = "example.com/v1beta1"
			return b
		}(), "example.com/v1beta1", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			before := tc.read.Hash
			got := tc.read.KnownTo(tc.binding)
			if got.Key.APIVersion != tc.wantVersion || (got.Hash == tc.binding.ActedHash()) != tc.wantActed {
				t.Errorf("known as %s, as acted on: %t", got.Key.APIVersion, got.Hash == tc.binding.ActedHash())
			}
			if got.Hash != propagation.HashContent(got.Object) || tc.read.Hash != before || tc.read.Object["apiVersion"] != tc.read.Key.APIVersion {
				t.Error("hash and object are not of each other, or what was read was changed")
			}
		})
	}
	if read("example.com/v1", 1).KnownTo(nil).Key.APIVersion != "example.com/v1" {
		t.Error("without a binding it is known as it was read")
	}
}

// A baseline says in which version it was read. Older releases left that out.
func TestZ14AsFoundInAnotherVersion(t *testing.T) {
	read := func(apiVersion, name string) *propagation.Template {
		obj := map[string]any{"apiVersion": apiVersion, "kind": "Gear", "metadata": map[string]any{"name": "gear"}, "spec": map[string]any{"name": name}}
		return &propagation.Template{
			Key: propagation.TemplateKey{APIVersion: apiVersion, Kind: "Gear", Name: "gear"}, ResourceVersion: "7", Object: obj, Hash: propagation.HashContent(obj),
		}
	}
	old := read("example.com/v1beta1", "a")
	found := propagation.NewBaseline(old)
	if want := propagation.Baseline("7@v1beta1/" + old.Hash); found != want {
		t.Errorf("the baseline is %s, want %s", found, want)
	}
	for name, tc := range map[string]struct {
		baseline propagation.Baseline
		now      *propagation.Template
		want     bool
	}{
		"the same version":                             {found, old, true},
		"another version":                              {found, read("example.com/v1", "a"), true},
		"other content":                                {found, read("example.com/v1beta1", "b"), false},
		"other content in another version":             {found, read("example.com/v1", "b"), false},
		"an older release's baseline":                  {propagation.Baseline("7/" + old.Hash), old, true},
		"an older release's baseline, another version": {propagation.Baseline("7/" + old.Hash), read("example.com/v1", "a"), false},
		"no baseline":                                  {"", old, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := *tc.now
			now.Baseline = tc.baseline
			if got := now.AsFound(); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}
