// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
)

// Policy is a propagation policy of either scope, as it was read.
type Policy struct {
	Key             PolicyKey
	UID             types.UID
	ResourceVersion string
	Generation      int64
	// ID is the permanent id: the policy's label, and its UID where it has none.
	ID      string
	Created time.Time
	// LastUserWrite is when somebody other than Sluice last wrote anything but
	// the status (one second's resolution, from managedFields).
	LastUserWrite time.Time
	Deleting      bool
	Spec          policyv1alpha1.PropagationSpec
	// NotServed are the kinds that the selectors name and that the hub does not
	// serve, in that group, version and spelling, as it was when this was read.
	NotServed []schema.GroupVersionKind
	// Status as it was written last. No decision depends on it.
	Status policyv1alpha1.PropagationStatus
}

// Lazy tells whether the policy's changes wait for the template's.
func (p *Policy) Lazy() bool { return p.Spec.ActivationPreference == policyv1alpha1.LazyActivation }

// Preempts tells whether the policy may take a template from another one.
func (p *Policy) Preempts() bool { return p.Spec.Preemption == policyv1alpha1.PreemptAlways }

// Priority is the explicit priority; 0 where none is set.
func (p *Policy) Priority() int32 {
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}

// Claim is the claim of a template that this policy holds.
func (p *Policy) Claim() Claim { return Claim{Policy: p.Key, ID: p.ID} }
