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
	// Budget is RemovalBudget.
	Budget RemovalBudget
}

// RemovalBudget says which removals from a member have a budget.
type RemovalBudget string

// The budgets. The zero one is that of a gate that nobody set.
const (
	// BudgetIndirect: those that nobody asked for by name.
	BudgetIndirect RemovalBudget = ""
	// BudgetAll: those, too, that follow from an edit of what places a template.
	BudgetAll RemovalBudget = "all"
	// BudgetOff: none.
	BudgetOff RemovalBudget = "off"
)

// The ConfigMap of the gates and its keys.
const (
	FeaturesName      = "config-features"
	FeaturePreemption = "PropagationPolicyPreemption"
	FeatureStatic     = "StaticPolicy"
	FeatureFailover   = "Failover"
	FeatureBudget     = "RemovalBudget"
)

// FeaturesFrom reads the gates; a key that is absent, or says what there is not,
// has its default; in the latter case its name is among the bad ones.
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
	switch v := RemovalBudget(data[FeatureBudget]); v {
	case BudgetAll, BudgetOff:
		f.Budget = v
	case BudgetIndirect, "indirect":
	default:
		bad = append(bad, FeatureBudget)
	}
	return f, bad
}
