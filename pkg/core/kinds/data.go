// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import workv1alpha1 "sluice.dev/apis/work/v1alpha1"

// data is the kinds whose objects are healthy as soon as they exist.
var data = Kind{health: isThere}

func isThere(map[string]any) Health { return workv1alpha1.ResourceHealthy }

var quota = Kind{reports: []string{"hard", "used"}, health: isThere}

var secret = Kind{health: isThere, prune: pruneSecret}

// pruneSecret removes the token from a service account's Secret: it gives access to the
// hub, and each member issues its own.
func pruneSecret(obj map[string]any) {
	if obj["type"] != "kubernetes.io/service-account-token" {
		return
	}
	delete(obj, "data")
	drop(child(obj, "metadata"), "annotations", "kubernetes.io/service-account.uid")
}

var serviceAccount = Kind{health: isThere, prune: func(obj map[string]any) { delete(obj, "secrets") }}

// The hub acts on these objects itself and writes their status, so they have no total.
var (
	namespace = Kind{
		prune:   func(obj map[string]any) { drop(obj, "spec", "finalizers") },
		reports: []string{"phase"}, health: inPhase("Active"),
	}
	definition = Kind{reports: []string{"conditions"}, health: hasConditions("Established", "NamesAccepted")}
	apiService = Kind{reports: []string{"conditions"}, health: hasConditions("Available"), unawaited: always}
)
