// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	admissionv1 "k8s.io/api/admission/v1"

	configv1alpha1 "sluice.dev/apis/config/v1alpha1"
	"sluice.dev/pkg/core/admission"
	"sluice.dev/pkg/core/kinds/rules"
)

// validateInterpreter refuses rules that cannot work. An object that was once accepted
// may still be labelled and deleted.
func validateInterpreter(req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	sent, err := decode[configv1alpha1.ResourceInterpreterSpec](req.Object.Raw)
	switch {
	case err != nil:
		return judge(req, unreadable(err))
	case sent.Metadata.DeletionTimestamp != nil:
		return allow()
	case req.Operation == admissionv1.Update:
		if changed, err := anotherSpec(req); err == nil && !changed {
			return allow()
		}
	}
	_, wrong := rules.Compile(sent.Spec)
	faults := make([]admission.Fault, len(wrong))
	for i, f := range wrong {
		faults[i] = admission.Fault(f)
	}
	return judge(req, faults)
}
