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
	// ID is the permanent id: the policy's label, or its UID if it has no such label.
	ID      string
	Created time.Time
	// LastUserWrite is when somebody other than Sluice last wrote anything but the
	// status and the system's labels and annotations, from managedFields, in whole
	// seconds.
	LastUserWrite time.Time
	Deleting      bool
	Spec          policyv1alpha1.PropagationSpec
	// NotServed are the kinds that the selectors name and the hub did not serve, in
	// that group, version and spelling, when the policy was read.
	NotServed []schema.GroupVersionKind
	// NoNamespace are the kinds that the selectors of a namespaced policy name and whose
	// objects have no namespace, when the policy was read: it selects none of them.
	NoNamespace []schema.GroupVersionKind
	// Status as it was last written. No decision depends on it.
	Status policyv1alpha1.PropagationStatus
}

// Lazy reports whether the policy's changes wait for the template to change.
func (p *Policy) Lazy() bool { return p.Spec.ActivationPreference == policyv1alpha1.LazyActivation }

// Preempts reports whether the policy may take a template from another one.
func (p *Policy) Preempts() bool { return p.Spec.Preemption == policyv1alpha1.PreemptAlways }

// Priority returns the explicit priority; 0 if none is set.
func (p *Policy) Priority() int32 {
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}

// Claim returns the claim that this policy has on a template that it holds.
func (p *Policy) Claim() Claim { return Claim{Policy: p.Key, ID: p.ID} }
