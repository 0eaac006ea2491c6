// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	placementv1 "sluice.dev/apis/placement/v1"
)

// overridden is a world in which each member has what an override made of it at that moment,
// and the override is missing now.
func overridden(made time.Time, picked ...string) *world {
	w := newWorld("1", "1", picked...)
	w.overrides, w.made = map[string]Overrides{}, map[types.NamespacedName]time.Time{{Name: "gold-0"}: made, {Namespace: "shop", Name: "silver-3"}: made.Add(-time.Hour)}
	for _, c := range picked {
		w.overrides[c] = Overrides{Cluster: []string{"gold-0"}, InNames: []placementv1.NamespacedName{{Namespace: "shop", Name: "silver-3"}}}
	}
	w.settle()
	w.overrides, w.made = nil, nil
	return w
}

const gone = "ClusterResourceOverride gold"

// A member whose overrides went with the definition of their kind keeps what it has, and says
// why; the others go on.
func TestZ11AMemberKeepsWhatOverridesMadeThatNobodyDeleted(t *testing.T) {
	made := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for sentence, tc := range map[string]struct {
		undefined map[string]string
		edit      func(*world)
		keeps     string // the members that name the override
		says      []string
	}{
		"somebody deleted it":                     {},
		"it went":                                 {undefined: map[string]string{"a": gone, "b": gone}, keeps: "a b", says: []string{"2 of 2 clusters wait: overrides went with the definition of their kind"}},
		"it went, and concerned one":              {undefined: map[string]string{"b": gone}, keeps: "b", says: []string{"cluster b waits: overrides (" + gone + ") went with the definition of their kind", "apply them again"}},
		"it went, and the content changes":        {undefined: map[string]string{"b": gone}, edit: func(w *world) { w.snapshot = second }, keeps: "b", says: []string{"cluster b waits: overrides ("}},
		"it went, and others have something else": {undefined: map[string]string{"a": gone}, edit: func(w *world) { w.overrides = map[string]Overrides{"b": {Cluster: []string{"iron-0"}}} }, keeps: "a", says: []string{"cluster a waits"}},
		"it went, and nobody picks one":           {undefined: map[string]string{"a": gone, "b": gone}, edit: func(w *world) { w.picked = []string{"a"} }, keeps: "a", says: []string{"cluster a waits"}},
		"it went, and runs decide":                {undefined: map[string]string{"a": gone}, edit: func(w *world) { w.placement.Spec.Strategy.Type = placementv1.ExternalRolloutStrategyType }, keeps: "a b", says: []string{"cluster b waits: the rollout is controlled by somebody else", "; cluster a waits: overrides ("}},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := overridden(made, "a", "b")
			w.undefined = tc.undefined
			if tc.edit != nil {
				tc.edit(w)
			}
			p := w.roll()
			for range 5 {
				w.finish()
				for c := range w.has("") {
					w.observe(c)
				}
				p = w.roll()
			}
			keeps := map[string]bool{}
			for c := range w.has("") {
				b := w.of(c)
				if len(b.Spec.ClusterResourceOverrideSnapshots) == 1 && b.Spec.ClusterResourceOverrideSnapshots[0] == "gold-0" {
					keeps[c] = true
				}
				if b.Annotations[AnnotationUndefined] != tc.undefined[c] {
					t.Errorf("the binding of %s says that %q went", c, b.Annotations[AnnotationUndefined])
				}
			}
			if names(keeps) != tc.keeps {
				t.Errorf("%q keep it, want %q", names(keeps), tc.keeps)
			}
			for _, words := range tc.says {
				if !strings.Contains(p.Message, words) {
					t.Errorf("it says %q, want %q", p.Message, words)
				}
			}
			if (p.Message == "") != (len(tc.says) == 0) {
				t.Errorf("it says %q", p.Message)
			}
		})
	}
}

// When it is applied again, it is in force again, and nothing more is said.
func TestZ11AnOverrideThatIsAppliedAgainIsInForce(t *testing.T) {
	made := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	w := overridden(made, "a")
	w.undefined = map[string]string{"a": gone}
	w.roll()
	w.undefined, w.overrides = nil, map[string]Overrides{"a": {Cluster: []string{"gold-1"}}}
	w.made = map[types.NamespacedName]time.Time{{Name: "gold-1"}: made.Add(time.Hour)}
	w.settle()
	says := w.of("a").Annotations
	if _, told := says[AnnotationUndefined]; told || says[AnnotationOverridesMade] != "2026-11-20T13:00:00Z" || w.of("a").Spec.ClusterResourceOverrideSnapshots[0] != "gold-1" {
		t.Errorf("the binding says %v of %q", says, w.of("a").Spec.ClusterResourceOverrideSnapshots)
	}
}

// A binding notes when the newest override that it names was made: with what gives it that,
// and where an earlier release did not, once.
func TestZ11ABindingNotesWhenItsOverridesWereMade(t *testing.T) {
	made := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	w := overridden(made, "a")
	if at := w.of("a").Annotations[AnnotationOverridesMade]; at != "2026-11-20T12:00:00Z" {
		t.Errorf("it notes %q", at)
	}
	for _, tc := range []struct {
		defined time.Duration
		want    bool
	}{{-time.Hour, false}, {0, false}, {time.Second, true}} {
		if got := WentUndefined(w.of("a"), made.Add(tc.defined)); got != tc.want {
			t.Errorf("defined %s after it was made: it went %t, want %t", tc.defined, got, tc.want)
		}
	}
	delete(w.of("a").Annotations, AnnotationOverridesMade)
	if WentUndefined(w.of("a"), made.Add(time.Hour)) {
		t.Error("nobody knows when it was made, and it went")
	}
	w.overrides = map[string]Overrides{"a": OverridesOf(w.of("a"))}
	if p := w.next(); len(p.Steps) > 0 {
		t.Errorf("nobody knows when it was made, and there are %d steps", len(p.Steps))
	}
	w.made = map[types.NamespacedName]time.Time{{Name: "gold-0"}: made}
	generation := w.of("a").Generation
	w.carryOut(w.next())
	if at := w.of("a").Annotations[AnnotationOverridesMade]; at != "2026-11-20T12:00:00Z" || w.of("a").Generation != generation {
		t.Errorf("it notes %q, in generation %d after %d", at, w.of("a").Generation, generation)
	}
	if p := w.next(); len(p.Steps) > 0 {
		t.Errorf("it is noted, and there are %d steps", len(p.Steps))
	}
	w.overrides = nil // somebody deleted it
	w.settle()
	if at, is := w.of("a").Annotations[AnnotationOverridesMade]; is {
		t.Errorf("it has no overrides, and notes %q", at)
	}
}

func TestZ11OverridesAreListed(t *testing.T) {
	for want, went := range map[string][]string{
		"a":                         {"a"},
		"a, b":                      {"b", "a"},
		"a, b, c, d, e, and 2 more": {"g", "f", "e", "d", "c", "b", "a"},
	} {
		if got := Went(went); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for snapshot, want := range map[string]string{"gold-0": "gold", "gold-of-12-3": "gold-of-12", "mine": "mine"} {
		if got := OverrideOf(types.NamespacedName{Namespace: "shop", Name: snapshot}); got.Name != want || got.Namespace != "shop" {
			t.Errorf("%s is of %s, want %s", snapshot, got, want)
		}
	}
}
