// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import workv1alpha1 "sluice.dev/apis/work/v1alpha1"

// data does its job as soon as it is there.
var data = Kind{health: isThere}

func isThere(map[string]any) Health { return workv1alpha1.ResourceHealthy }

var quota = Kind{reports: []string{"hard", "used"}, health: isThere}

var secret = Kind{health: isThere, prune: pruneSecret}

// pruneSecret takes the token out of a service account's secret: it opens the hub, and
// each member makes its own.
func pruneSecret(obj map[string]any) {
	if obj["type"] != "kubernetes.io/service-account-token" {
		return
	}
	delete(obj, "data")
	drop(child(obj, "metadata"), "annotations", "kubernetes.io/service-account.uid")
}

var serviceAccount = Kind{health: isThere, prune: func(obj map[string]any) { delete(obj, "secrets") }}

// The hub serves these itself, and has a status of its own: they have no total.
var (
	namespace = Kind{
		prune:   func(obj map[string]any) { drop(obj, "spec", "finalizers") },
		reports: []string{"phase"}, health: inPhase("Active"),
	}
	definition = Kind{reports: []string{"conditions"}, health: hasConditions("Established", "NamesAccepted")}
	apiService = Kind{reports: []string{"conditions"}, health: hasConditions("Available"), unawaited: always}
)
