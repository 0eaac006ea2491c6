// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/scheduling/affinity"
)

// Overridden returns what a Work records of the overrides that its manifest was made with:
// those that select the template and have a rule for the cluster; empty: none.
func Overridden(overrides []propagation.Override, template propagation.TemplateKey, labels map[string]string, cluster *clusterv1alpha1.Cluster) string {
	made := map[string]time.Time{}
	for _, o := range inForce(overrides, template, labels) {
		for _, r := range rules(o.Spec) {
			if affinity.Matches(r.TargetCluster, cluster) {
				made[o.Key.ID()] = o.Created.UTC()
			}
		}
	}
	if len(made) == 0 {
		return ""
	}
	raw, err := json.Marshal(made)
	if err != nil {
		return ""
	}
	return string(raw)
}

// Missing returns the overrides, with when each was made, that the Work's manifest was made
// with, and that are not among those that the hub has. Whether somebody deleted one, or it
// went with the definition of its kind, that definition tells (Undefined).
func Missing(w *propagation.Work, overrides []propagation.Override) map[propagation.PolicyKey]time.Time {
	var made map[string]time.Time
	if err := json.Unmarshal([]byte(w.Annotations[propagation.AnnotationOverrides]), &made); err != nil {
		return nil // it has none, or somebody edited that
	}
	missing := map[propagation.PolicyKey]time.Time{}
	for id, at := range made {
		key, err := propagation.ParsePolicyID(id)
		if err == nil && !slices.ContainsFunc(overrides, func(o propagation.Override) bool { return o.Key == key }) {
			missing[key] = at
		}
	}
	return missing
}

// Undefined is the error about an override that nobody deleted: it went with the definition
// of its kind.
func Undefined(override propagation.PolicyKey) error {
	return &OverrideError{Override: override, Err: errors.New("it went with the definition of its kind, and nobody deleted it: the member keeps what it has; apply it again, or apply it and delete it")}
}
