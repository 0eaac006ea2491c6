// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	stdcmp "cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/test/pipelinetest/fixture"
)

// unboundHub is a hub of which somebody deleted a binding before it had any Work.
type unboundHub struct {
	Hub
	policies []*propagation.Policy
	// tells is the template that a Work of the binding tells of; nil: there is no Work.
	tells *propagation.TemplateKey
	// anew is what there is of the binding again, and linked are those that refer to its
	// template.
	anew   *propagation.Binding
	linked []*propagation.Binding
}

func (h unboundHub) BindingsReferringTo(context.Context, propagation.TemplateKey) ([]*propagation.Binding, error) {
	return h.linked, nil
}

func (h unboundHub) Binding(context.Context, propagation.BindingKey) (*propagation.Binding, error) {
	if h.anew != nil {
		return h.anew, nil
	}
	return nil, outcome.ErrGone
}

func (h unboundHub) WorksOf(_ context.Context, key propagation.BindingKey) ([]*propagation.Work, error) {
	if h.tells == nil {
		return nil, nil
	}
	template, err := json.Marshal(h.tells)
	return []*propagation.Work{{
		Key: propagation.WorkKey{Cluster: "m1", Name: propagation.WorkName(key)}, Annotations: map[string]string{propagation.AnnotationTemplate: string(template)},
	}}, err
}

func (h unboundHub) Policies(context.Context) ([]*propagation.Policy, error) { return h.policies, nil }

// heldBy is an index of what one policy holds.
type heldBy struct {
	policy    *propagation.Policy
	templates []propagation.TemplateKey
	looked    int
	paged     int
}

func (i *heldBy) Look(_ context.Context, t propagation.TemplateKey) (v claims.View, err error) {
	i.looked++
	if slices.Contains(i.templates, t) {
		v.Holder = i.policy.Claim()
	}
	return v, nil
}

func (i *heldBy) Held(_ context.Context, key propagation.PolicyKey, _ string, _ int) ([]propagation.TemplateKey, string, error) {
	i.paged++
	if key != i.policy.Key {
		return nil, "", nil
	}
	return i.templates, "", nil
}

// Z3, Z4: a binding that is deleted by hand before it had any Work, or edited so that it
// does not name its template, has that looked at, and no more than that.
func TestZ3ABindingWithoutWorksThatIsDeleted(t *testing.T) {
	nginx := fixture.Deployment("nginx").Template().Key
	settings := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: nginx.Namespace, Name: "settings"}
	widget := propagation.TemplateKey{APIVersion: "example.com/v1", Kind: "Widget", Namespace: nginx.Namespace, Name: "a-b"}
	odd := propagation.TemplateKey{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "system:viewer"}
	selecting := func(k propagation.TemplateKey) *propagation.Policy {
		return fixture.ClusterPolicy("p").Selecting(policyv1alpha1.ResourceSelector{APIVersion: k.APIVersion, Kind: k.Kind}).Policy()
	}
	for name, tc := range map[string]struct {
		gone  propagation.TemplateKey
		holds []propagation.TemplateKey
		// names is the template that the binding names, which is still there; nil: it is gone.
		names *propagation.TemplateKey
		want  []string
		// pages are read of all that is held.
		pages int
	}{
		"it is there, and somebody had it name another":       {gone: nginx, names: &settings, holds: []propagation.TemplateKey{nginx}, want: []string{events.TemplateTouched + " nginx"}},
		"it is there, and somebody had it name nothing":       {gone: nginx, names: new(propagation.TemplateKey), holds: []propagation.TemplateKey{nginx}, want: []string{events.TemplateTouched + " nginx"}},
		"a policy holds its template":                         {gone: nginx, holds: []propagation.TemplateKey{nginx}, want: []string{events.TemplateTouched + " nginx"}},
		"nobody holds its template":                           {gone: nginx},
		"it is of a kind whose bindings' names end in a hash": {gone: widget, holds: []propagation.TemplateKey{widget}, want: []string{events.TemplateTouched + " a-b"}},
		"others may have taken it along":                      {gone: settings, want: []string{events.BindingRemoved + " settings"}},
		"others may have, and a policy holds it":              {gone: settings, holds: []propagation.TemplateKey{settings}, want: []string{events.BindingRemoved + " settings", events.TemplateTouched + " settings"}},
		"its name does not tell that of its template":         {gone: odd, holds: []propagation.TemplateKey{odd}, want: []string{events.TemplateTouched + " system:viewer"}, pages: 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := selecting(tc.gone)
			index := &heldBy{policy: p, templates: tc.holds}
			h := unboundHub{policies: []*propagation.Policy{p}}
			if tc.names != nil {
				h.anew = &propagation.Binding{Key: propagation.BindingOf(tc.gone)}
				r := &h.anew.Spec.Resource
				r.APIVersion, r.Kind, r.Namespace, r.Name = tc.names.APIVersion, tc.names.Kind, tc.names.Namespace, tc.names.Name
			}
			a := New(h, index, time.Now)
			e := event.New()
			e.SetID("1")
			e.SetSource("/test")
			out, err := a.Binding(t.Context(), e, propagation.BindingOf(tc.gone))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, one := range out {
				d, err := events.Decode(one)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, one.Type()+" "+d.Template.Name)
			}
			slices.Sort(got)
			if d := cmp.Diff(tc.want, got); d != "" || index.paged != tc.pages {
				t.Errorf("%d pages were read, want %d; announced (-want +got):\n%s", index.paged, tc.pages, d)
			}
		})
	}
}

// Z4: whoever took a template along is told that its binding was deleted, for the one that
// its policy has made anew knows of nobody.
func TestZ4WhoTookATemplateAlongTakesItAlongAnew(t *testing.T) {
	nginx := fixture.Deployment("nginx").Template().Key
	settings := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: nginx.Namespace, Name: "settings"}
	of := func(k propagation.TemplateKey) *propagation.Binding {
		b := &propagation.Binding{Key: propagation.BindingOf(k)}
		b.Spec.Resource.APIVersion, b.Spec.Resource.Kind, b.Spec.Resource.Namespace, b.Spec.Resource.Name = k.APIVersion, k.Kind, k.Namespace, k.Name
		return b
	}
	parent := dependencies.Record(of(nginx), []propagation.TemplateKey{settings})
	parent.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "m1"}, {Name: "m2"}}
	cut := dependencies.Attach(&propagation.Template{Key: settings}, of(settings), parent)
	cut.Spec.RequiredBy[0].Clusters = cut.Spec.RequiredBy[0].Clusters[1:]
	for name, tc := range map[string]struct {
		gone   propagation.TemplateKey
		anew   *propagation.Binding
		heard  string // empty: that it was deleted
		linked []*propagation.Binding
		told   bool
	}{
		"it is gone":                           {gone: settings, linked: []*propagation.Binding{parent}, told: true},
		"it was made anew":                     {gone: settings, anew: of(settings), linked: []*propagation.Binding{parent}, told: true},
		"it was made anew, and follows again":  {gone: settings, anew: dependencies.Attach(&propagation.Template{Key: settings}, of(settings), parent), linked: []*propagation.Binding{parent}},
		"somebody edited it off all members":   {gone: settings, anew: of(settings), heard: events.ResourceUpdated, linked: []*propagation.Binding{parent}, told: true},
		"somebody edited it off one member":    {gone: settings, anew: cut, heard: events.ResourceUpdated, linked: []*propagation.Binding{parent}, told: true},
		"somebody wrote something else":        {gone: settings, anew: dependencies.Attach(&propagation.Template{Key: settings}, of(settings), parent), heard: events.ResourceUpdated, linked: []*propagation.Binding{parent}},
		"those that there are refer to others": {gone: settings, linked: []*propagation.Binding{of(nginx)}},
		"nobody takes along what is no such":   {gone: nginx, linked: []*propagation.Binding{parent}},
	} {
		t.Run(name, func(t *testing.T) {
			e := event.New()
			e.SetID("1")
			e.SetSource("/test")
			e.SetType(stdcmp.Or(tc.heard, events.ResourceDeleted))
			h := unboundHub{tells: &tc.gone, anew: tc.anew, linked: tc.linked}
			out, err := New(h, &heldBy{}, time.Now).Binding(t.Context(), e, propagation.BindingOf(tc.gone))
			if err != nil {
				t.Fatal(err)
			}
			told := slices.ContainsFunc(out, func(one event.Event) bool {
				d, err := events.Decode(one)
				return err == nil && one.Type() == events.BindingScheduled && *d.Binding == parent.Key && *d.Template == nginx
			})
			// What the former one inherited is to go, too.
			ends := slices.ContainsFunc(out, func(one event.Event) bool { return one.Type() == events.BindingRemoved })
			if want := tc.anew != nil && tc.heard == ""; ends != want {
				t.Errorf("that the former binding ended is told: %t, want %t", ends, want)
			}
			if told != tc.told || len(out) == 0 {
				t.Errorf("%d events, the parent is told: %t, want %t", len(out), told, tc.told)
			}
		})
	}
}

// Of two templates whose bindings have one name, one waits, which stands on the other's
// binding. The garbage collector takes that away before the gate comes to it: whoever
// waits is woken all the same.
func TestZ34WhoWaitsForABindingsNameIsWoken(t *testing.T) {
	long := func(suffix string) propagation.TemplateKey {
		return propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: strings.Repeat("a", 242) + suffix}
	}
	first, second := long("0031ed"), long("05564f")
	nginx := fixture.Deployment("nginx").Template().Key
	for name, tc := range map[string]struct {
		gone  propagation.TemplateKey
		tells bool // a Work is there, and tells of the one that is gone
		holds []propagation.TemplateKey
		want  []propagation.TemplateKey
		// asks is that anybody was asked who else there is.
		asks bool
	}{
		"a Work tells of the other one":       {gone: first, tells: true, holds: []propagation.TemplateKey{first, second}, want: []propagation.TemplateKey{first, second}, asks: true},
		"and nothing is known of it any more": {gone: first, tells: true, holds: []propagation.TemplateKey{second}, want: []propagation.TemplateKey{first, second}, asks: true},
		"no Work tells of either":             {gone: first, holds: []propagation.TemplateKey{first, second}, want: []propagation.TemplateKey{first, second}, asks: true},
		"nobody waits":                        {gone: first, tells: true, holds: []propagation.TemplateKey{first}, want: []propagation.TemplateKey{first}, asks: true},
		"a name that is one template's alone": {gone: nginx, tells: true, holds: []propagation.TemplateKey{nginx}, want: []propagation.TemplateKey{nginx}},
	} {
		t.Run(name, func(t *testing.T) {
			p := fixture.Policy("p").Selecting(policyv1alpha1.ResourceSelector{APIVersion: tc.gone.APIVersion, Kind: tc.gone.Kind}).Policy()
			index := &heldBy{policy: p, templates: tc.holds}
			h := unboundHub{policies: []*propagation.Policy{p}}
			if tc.tells {
				h.tells = &tc.gone
			}
			e := event.New()
			e.SetID("1")
			e.SetSource("/test")
			out, err := New(h, index, time.Now).Binding(t.Context(), e, propagation.BindingOf(tc.gone))
			if err != nil {
				t.Fatal(err)
			}
			var got []propagation.TemplateKey
			for _, one := range out {
				d, err := events.Decode(one)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, *d.Template)
			}
			if d := cmp.Diff(tc.want, got); d != "" || (index.looked+index.paged > 0) != tc.asks {
				t.Errorf("looked %d times, read %d pages; announced (-want +got):\n%s", index.looked, index.paged, d)
			}
		})
	}
}
