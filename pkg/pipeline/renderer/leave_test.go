// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// What goes with the definition of its kind nobody deleted: members keep it, also where the
// kind is served again and the template comes later. A kind without a definition takes
// nothing with it: what is missing when it is served again, somebody deleted.
func TestATemplateThatGoesWithItsKindIsPreserved(t *testing.T) {
	for sentence, tc := range map[string]struct {
		key  propagation.TemplateKey
		want bool
	}{
		"somebody's own kind":                   {key: propagation.TemplateKey{APIVersion: "example.com/v1", Kind: "Gear", Namespace: "shop", Name: "gear"}, want: true},
		"the API server's own, in no API group": {key: propagation.TemplateKey{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "token"}},
		"the API server's own, in an API group": {key: propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := templateBound(t, tc.key)
			// are checks whether the Works are being deleted, and whether they preserve.
			are := func(deleting, preserve bool) {
				t.Helper()
				for _, c := range []string{"m1", "m2"} {
					w := r.work(c)
					if w == nil || w.Deleting != deleting {
						t.Fatalf("the Work for %s is %v, want it to be deleted: %t", c, w, deleting)
					}
					if keep := w.Spec.PreserveResourcesOnDeletion; (keep != nil && *keep) != preserve {
						t.Errorf("the Work for %s preserves: %t, want %t", c, !preserve, preserve)
					}
				}
			}
			kind := tc.key.GroupVersionKind()
			r.render()
			are(false, false)
			if err := r.hub.DeleteBinding(t.Context(), r.bound); err != nil {
				t.Fatal(err)
			}
			r.hub.Serve(kind.GroupKind())
			r.render()
			are(false, tc.want)
			if r.render(); len(r.writes) > 0 {
				t.Errorf("it writes again: %v", r.writes)
			}
			r.hub.Serve(kind.GroupKind(), kind.Version)
			r.render() // and there is no such template
			are(true, tc.want)
		})
	}
}

// Z11: what went with a former definition of its kind is preserved, too. Nobody asks the
// gate for what cannot be: it would ask here again, for ever.
func TestZ11ATemplateThatWentWithTheFormerDefinitionIsPreserved(t *testing.T) {
	r := secretBound(t)
	r.render()
	if err := r.hub.DeleteBinding(t.Context(), r.bound); err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"m1", "m2"} {
		w := *r.work(c)
		w.Annotations = maps.Clone(w.Annotations)
		w.Annotations[propagation.AnnotationBindingCreated] = fixture.Start.Format(time.RFC3339) // as of a kind of somebody's own
		if _, err := r.hub.CommitWork(t.Context(), r.work(c), &w); err != nil {
			t.Fatal(err)
		}
	}
	r.hub.Define(schema.GroupKind{Kind: "Secret"}, fixture.Start.Add(time.Minute))
	if out := r.render(); len(out) > 0 {
		t.Errorf("it tells %v", out)
	}
	for _, c := range []string{"m1", "m2"} {
		if w := r.work(c); w == nil || w.Deleting || w.Spec.PreserveResourcesOnDeletion == nil || !*w.Spec.PreserveResourcesOnDeletion {
			t.Errorf("the Work for %s is %v, want it to preserve its object", c, w)
		}
	}
	told := len(r.hub.Untold())
	if r.render(); len(r.writes) > 0 || len(r.hub.Untold()) > told {
		t.Errorf("it writes again: %v", r.writes)
	}
	kept := func(want string) {
		t.Helper()
		for _, c := range []string{"m1", "m2"} {
			got := ""
			if c := applying.Kept(r.work(c)); c != nil {
				got = string(c.Status) + " " + c.Reason
			}
			if got != want {
				t.Errorf("%s says that it is kept: %q, want %q", c, got, want)
			}
		}
	}
	kept("True CannotTell")
	r.hub.Serve(schema.GroupKind{Kind: "Secret"}) // it is taken away once more: they are kept for the same reason
	if r.render(); len(r.writes) > 0 {
		t.Errorf("it writes again: %v", r.writes)
	}
	kept("True CannotTell")
	r.bound = nil
	r.let("hunter2")
	r.render()
	kept("")
	if r.render(); len(r.writes) > 0 {
		t.Errorf("it writes again: %v", r.writes)
	}
}

// With many templates deleted at once, each Work that has gone has the others looked at.
func TestOfWorksThatAreBeingDeletedNothingIsAskedAgain(t *testing.T) {
	r := secretBound(t)
	r.render()
	if err := r.hub.DeleteBinding(t.Context(), r.bound); err != nil {
		t.Fatal(err)
	}
	asked := 0
	r.hub.Ask = func(_ context.Context, q pipelinetest.Request) error {
		if q.Verb == "get" && strings.Contains(q.About, r.key.String()) {
			asked++
		}
		return nil
	}
	for i, want := range []int{1, 1} { // the proof that they may go, and then no more
		if r.render(); asked != want {
			t.Errorf("rendered %d times, it asked %d times whether the template is there, want %d", i+1, asked, want)
		}
	}
	if w := r.work("m1"); w == nil || !w.Deleting {
		t.Errorf("the Work is %v, want it to be on its way", w)
	}
}
