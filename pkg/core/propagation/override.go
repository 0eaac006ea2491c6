// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"time"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
)

// Override is an override policy of either scope, as it was read.
type Override struct {
	// Key of scope Cluster or Namespaced, as a policy's.
	Key  PolicyKey
	Spec policyv1alpha1.OverrideSpec
	// Created is when it was made; zero: that is not known.
	Created time.Time
}
