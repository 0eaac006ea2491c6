// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OwnWrite reports whether the last write of an object was certainly Sluice's own, on
// the hub or in a member. Managed fields have times in whole seconds, so if somebody
// else wrote in the same second, it is not certain; and they do not say who asked for a
// deletion.
func OwnWrite(m *metav1.ObjectMeta) bool {
	if m.DeletionTimestamp != nil {
		return false
	}
	var own, others time.Time
	for _, f := range m.ManagedFields {
		if f.Time == nil {
			continue
		}
		if f.Manager == FieldManager {
			own = later(own, f.Time.Time)
		} else {
			others = later(others, f.Time.Time)
		}
	}
	return own.After(others)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
