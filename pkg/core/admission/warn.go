// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
)

const notYet = " is stored and not acted on yet"

// Warn returns warnings about what p asks for and does not get.
func Warn(p Policy, f propagation.Features) []string {
	if p.Deleting {
		return nil
	}
	s := &p.Spec
	var warnings []string
	warn := func(vain bool, text string) {
		if vain {
			warnings = append(warnings, text)
		}
	}
	always := s.Preemption == policyv1alpha1.PreemptAlways
	warn(always && f.Static, "spec.preemption is ignored: the feature gate "+propagation.FeatureStatic+" is on")
	warn(always && !f.Static && !f.Preemption, "spec.preemption has no effect: the feature gate "+propagation.FeaturePreemption+" is off")
	warn(s.Association, "spec.association is deprecated: use spec.propagateDeps")
	for _, f := range propagation.Ignored(propagation.PolicyFields, s) {
		text := f.Name() + notYet
		if f.Instead != "" {
			text += ": " + f.Instead
		}
		warnings = append(warnings, text)
	}
	for i := range s.ResourceSelectors {
		why := exempt(p.Key, &s.ResourceSelectors[i])
		warn(why != "", selector(i, "kind")+" selects nothing: "+why)
	}
	return warnings
}

// exempt says why nothing that the selector selects is ever a template.
func exempt(key propagation.PolicyKey, s *policyv1alpha1.ResourceSelector) string {
	return matching.Exempt(propagation.TemplateKey{
		APIVersion: s.APIVersion, Kind: s.Kind, Namespace: cmp.Or(s.Namespace, key.Namespace), Name: s.Name,
	})
}
