// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package detector_test

import (
	"slices"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/runtime/schema"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// touched has the detector handle those of the events that it gets itself, and returns the
// types of the others.
func (s *scene) touched(all []event.Event) (others []string) {
	s.Helper()
	for len(all) > 0 {
		e := all[0]
		all = all[1:]
		if e.Type() != events.TemplateTouched && e.Type() != events.PolicyChanged {
			others = append(others, e.Type())
			continue
		}
		more, err := s.detector.Handle(s.Context(), e)
		if err != nil {
			s.Fatal(err)
		}
		all = append(all, more...)
	}
	return others
}

// A policy that preempts names what the hub does not serve: it contests nothing, writes
// nothing, and its templates are touched once, however often sources and sweeps tell of it.
func TestZ1APreemptingPolicyOfAKindThatIsNotServedIsQuiet(t *testing.T) {
	for name, kind := range map[string]schema.GroupVersionKind{
		"the kind is not served":               {Group: "example.com", Version: "v1", Kind: "Gear"},
		"the kind is served in other versions": {Group: "apps", Version: "v9", Kind: "Deployment"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.hub.SetFeatures(propagation.Features{Preemption: true})
			s.hub.Serve(schema.GroupKind{Group: "example.com", Kind: "Gear"})
			s.hub.Serve(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "v1")
			key, of := propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: "shop", Name: "strong"}, s.policy
			s.hub.PutPolicy(key, policyv1alpha1.PropagationSpec{
				Preemption: policyv1alpha1.PreemptAlways, Priority: new(int32(100)),
				ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: "nginx"}},
			})
			s.policy = key
			var recorded []string
			s.hub.Recorded = func(_ hub.About, reason, _ string) { recorded = append(recorded, reason) }
			if others := s.touched(s.hear(events.ResourceAdded, s.aboutPolicy(), "")); slices.Contains(others, events.TemplateContested) {
				t.Errorf("it contests: %v", others)
			}
			p := s.hub.LivePolicy(key)
			status := p.Status
			status.Templates.Claimed++
			if err := s.hub.CommitPolicyStatus(s.Context(), p, status); err != nil {
				t.Fatal(err)
			}
			writes := s.writes()
			for range 3 { // as the source tells of a status
				if out := s.hear(events.ResourceUpdated, s.aboutPolicy(), ""); len(out) > 0 {
					t.Errorf("it tells again %v", out)
				}
			}
			for range 3 { // as a process that has started
				if others := s.touched(s.hear(events.ResourceAdded, s.aboutPolicy(), "")); slices.Contains(others, events.TemplateContested) {
					t.Errorf("it contests: %v", others)
				}
			}
			if len(*writes)+len(recorded) > 0 {
				t.Errorf("it writes %q, and records %q", *writes, recorded)
			}
			if holder := s.hub.Live(s.template).Claim.Policy; holder != of {
				t.Errorf("%s holds the template, and not %s", holder, of)
			}
		})
	}
}
