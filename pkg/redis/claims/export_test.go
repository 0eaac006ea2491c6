// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claims

import "time"

// SetLease makes a rebuild's lock short-lived.
func (m *Map) SetLease(d time.Duration) { m.lease = d }
