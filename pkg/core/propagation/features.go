// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Features are the feature gates: keys of the ConfigMap config-features in
// SystemNamespace, read live. The zero value has the defaults, as a ConfigMap without
// keys does.
type Features struct {
	// Preemption is PropagationPolicyPreemption.
	Preemption bool
	// Static is StaticPolicy.
	Static bool
	// Failover is Failover.
	Failover bool
	// Budget is RemovalBudget.
	Budget RemovalBudget
	// Missing: the ConfigMap does not exist, so that it is not known what was set.
	Missing bool `json:",omitempty"`
}

// RemovalBudget says which removals from a member the budget limits.
type RemovalBudget string

// The values of RemovalBudget. The zero value is the default.
const (
	// BudgetIndirect: removals that nobody asked for by name.
	BudgetIndirect RemovalBudget = ""
	// BudgetAll: these, and removals that follow from editing what places a template.
	BudgetAll RemovalBudget = "all"
	// BudgetOff: none.
	BudgetOff RemovalBudget = "off"
)

// The ConfigMap of the feature gates and its keys.
const (
	FeaturesName      = "config-features"
	FeaturePreemption = "PropagationPolicyPreemption"
	FeatureStatic     = "StaticPolicy"
	FeatureFailover   = "Failover"
	FeatureBudget     = "RemovalBudget"
)

// FeaturesKey is the key of the ConfigMap of the feature gates.
func FeaturesKey() TemplateKey {
	return TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: SystemNamespace, Name: FeaturesName}
}

// values are the valid values of each gate.
var values = map[string][]string{
	FeaturePreemption: {"true", "false"},
	FeatureStatic:     {"true", "false"},
	FeatureFailover:   {"true", "false"},
	FeatureBudget:     {"indirect", string(BudgetAll), string(BudgetOff)},
}

// cautious is the value assumed for a gate whose value is not known: the one with which
// the fewest changes happen. So neither a misspelled value nor the deletion of the
// ConfigMap switches off what holds changes back.
var cautious = map[string]string{
	FeaturePreemption: "false",
	FeatureStatic:     "true",
	FeatureFailover:   "false",
	FeatureBudget:     string(BudgetAll),
}

// FeaturesFrom reads the gates. An absent key has its default, and a key with an
// invalid value counts as cautious says. unknown lists, for people, the unknown keys
// and the invalid values, sorted. Keys that begin with an underscore are ignored.
func FeaturesFrom(data map[string]string) (f Features, unknown []string) {
	said := maps.Clone(data)
	for key, value := range data {
		may, known := values[key]
		switch {
		case strings.HasPrefix(key, "_"):
		case !known:
			unknown = append(unknown, fmt.Sprintf("%q is no gate; there are %s", key, strings.Join(slices.Sorted(maps.Keys(values)), ", ")))
		case value != "" && !slices.Contains(may, value):
			said[key] = cautious[key]
			unknown = append(unknown, fmt.Sprintf("%s is %q, and may be %q: it is %q until it is mended", key, value, may, said[key]))
		}
	}
	slices.Sort(unknown)
	for key, gate := range map[string]*bool{FeaturePreemption: &f.Preemption, FeatureStatic: &f.Static, FeatureFailover: &f.Failover} {
		*gate = said[key] == "true"
	}
	if b := RemovalBudget(said[FeatureBudget]); b == BudgetAll || b == BudgetOff {
		f.Budget = b
	}
	return f, unknown
}

// FeaturesMissing says in a few words that the ConfigMap is missing, for messages about
// what waits because of that.
const FeaturesMissing = "while ConfigMap " + SystemNamespace + "/" + FeaturesName + " is missing, StaticPolicy counts as on"

// missing tells people that the hub has no such ConfigMap, and how to fix that.
func missing() string {
	said := make([]string, 0, len(cautious))
	for _, key := range slices.Sorted(maps.Keys(cautious)) {
		said = append(said, fmt.Sprintf("%s is %q", key, cautious[key]))
	}
	return fmt.Sprintf("ConfigMap %s/%s is missing: until it is back, nothing moves that the strictest gates hold back: %s; "+
		"make it anew with the gates that were set, or with the defaults: 'kubectl apply -f config/400-config/features.yaml'",
		SystemNamespace, FeaturesName, strings.Join(said, ", "))
}

// FeaturesOf reads the gates from their ConfigMap. If that does not exist, t is nil and
// each gate counts as cautious says: somebody deleted the ConfigMap, and what it said
// is not known.
func FeaturesOf(t *Template) (f Features, unknown []string) {
	if t == nil {
		f, _ = FeaturesFrom(cautious)
		f.Missing = true
		return f, []string{missing()}
	}
	data, _ := t.Object["data"].(map[string]any)
	said := make(map[string]string, len(data))
	for key, value := range data {
		said[key], _ = value.(string)
	}
	return FeaturesFrom(said)
}
