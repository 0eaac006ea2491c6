// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/test/pipelinetest/fixture"
)

// unboundHub is a hub of which somebody deleted a binding before it had any Work.
type unboundHub struct {
	Hub
	policies []*propagation.Policy
}

func (h unboundHub) Binding(context.Context, propagation.BindingKey) (*propagation.Binding, error) {
	return nil, outcome.ErrGone
}

func (h unboundHub) WorksOf(context.Context, propagation.BindingKey) ([]*propagation.Work, error) {
	return nil, nil
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

// Z3: a binding that is deleted by hand before it had any Work has its template looked
// at, and no more than that.
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
		want  []string
		// pages are read of all that is held.
		pages int
	}{
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
			a := New(unboundHub{policies: []*propagation.Policy{p}}, index, time.Now)
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
