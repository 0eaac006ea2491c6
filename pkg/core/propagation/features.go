// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

// Features are the gates: keys of the ConfigMap config-features in
// SystemNamespace, read live. The zero value is the default.
type Features struct {
	// Preemption is PropagationPolicyPreemption.
	Preemption bool
	// Static is StaticPolicy.
	Static bool
	// Failover is Failover.
	Failover bool
}

// The ConfigMap of the gates and its keys.
const (
	FeaturesName      = "config-features"
	FeaturePreemption = "PropagationPolicyPreemption"
	FeatureStatic     = "StaticPolicy"
	FeatureFailover   = "Failover"
)

// FeaturesFrom reads the gates; a key that is absent, or is no boolean, has its
// default, and its name is among the bad ones.
func FeaturesFrom(data map[string]string) (f Features, bad []string) {
	for key, gate := range map[string]*bool{FeaturePreemption: &f.Preemption, FeatureStatic: &f.Static, FeatureFailover: &f.Failover} {
		switch data[key] {
		case "true":
			*gate = true
		case "false", "":
		default:
			bad = append(bad, key)
		}
	}
	return f, bad
}
