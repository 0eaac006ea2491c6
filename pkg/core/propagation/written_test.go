// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"testing"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
)

func TestZ16NewDefaultsAreNoChange(t *testing.T) {
	read := func(version string, generation int64, spec map[string]any, labels map[string]any) *Template {
		meta := map[string]any{"name": "a", "namespace": "shop", "resourceVersion": version}
		if generation > 0 {
			meta["generation"] = generation
		}
		if labels != nil {
			meta["labels"] = labels
		}
		obj := map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": meta, "spec": spec, "status": map[string]any{"seen": version}}
		return &Template{
			Key: TemplateKey{APIVersion: "example.com/v1", Kind: "Widget", Namespace: "shop", Name: "a"},
			UID: "uid", ResourceVersion: version, Hash: HashContent(obj), Object: obj,
		}
	}
	small := func() map[string]any { return map[string]any{"size": "s"} }
	filled := func() map[string]any { return map[string]any{"size": "s", "colour": "red"} }
	shop := func() map[string]any { return map[string]any{"app": "shop"} }
	for sentence, tc := range map[string]struct {
		acted, now *Template
		changed    bool
	}{
		"as it was":                                         {acted: read("5", 2, small(), nil), now: read("5", 2, small(), nil)},
		"a field is filled in":                              {acted: read("5", 2, small(), nil), now: read("5", 2, filled(), nil)},
		"and the status is written after":                   {acted: read("5", 2, small(), nil), now: read("9", 2, filled(), nil)},
		"a user's change counts a generation":               {acted: read("5", 2, small(), nil), now: read("9", 3, filled(), nil), changed: true},
		"a label is no part of the generation":              {acted: read("5", 2, small(), nil), now: read("9", 2, filled(), shop()), changed: true},
		"the system's own labels are nobody's":              {acted: read("5", 2, small(), nil), now: read("9", 2, filled(), map[string]any{ClaimLabelCluster: "id"})},
		"a kind without generations, and nobody wrote":      {acted: read("5", 0, small(), nil), now: read("5", 0, filled(), nil)},
		"a kind without generations, and somebody wrote":    {acted: read("5", 0, small(), nil), now: read("9", 0, filled(), nil), changed: true},
		"a kind without generations, and the same content":  {acted: read("5", 0, small(), nil), now: read("9", 0, small(), nil)},
		"a user's change after a field was filled in":       {acted: read("5", 2, small(), nil), now: read("9", 3, map[string]any{"size": "l", "colour": "red"}, nil), changed: true},
		"a user who says what was filled in: nothing to do": {acted: read("5", 2, small(), nil), now: read("9", 2, filled(), nil)},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := &Binding{
				Annotations: map[string]string{AnnotationContentHash: tc.acted.Hash, AnnotationWritten: tc.acted.Written()},
				Spec:        workv1alpha2.ResourceBindingSpec{Resource: workv1alpha2.ObjectReference{APIVersion: "example.com/v1", Kind: "Widget", Namespace: "shop", Name: "a", UID: "uid"}},
			}
			known := tc.now.KnownTo(b)
			if changed := known.Hash != tc.acted.Hash; changed != tc.changed {
				t.Errorf("changed: %t, want %t", changed, tc.changed)
			}
			if known.Itself().Hash != HashContent(tc.now.Object) {
				t.Error("what it says now is not its hash any more")
			}
			another := *tc.now
			another.UID = "another"
			if got := another.KnownTo(b); got.Hash != another.Hash {
				t.Error("another template of the name passes for the one that was acted on")
			}
			delete(b.Annotations, AnnotationWritten)
			if got := tc.now.KnownTo(b); got.Hash != tc.now.Hash {
				t.Error("a binding that does not say what was written is believed")
			}
		})
	}
}
