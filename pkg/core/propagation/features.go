// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Features are the gates: keys of the ConfigMap config-features in
// SystemNamespace, read live. The zero value is the default, of a ConfigMap without keys.
type Features struct {
	// Preemption is PropagationPolicyPreemption.
	Preemption bool
	// Static is StaticPolicy.
	Static bool
	// Failover is Failover.
	Failover bool
	// Budget is RemovalBudget.
	Budget RemovalBudget
	// Missing: there is no ConfigMap, so that nobody knows what was set.
	Missing bool `json:",omitempty"`
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

// FeaturesKey names the ConfigMap of the gates.
func FeaturesKey() TemplateKey {
	return TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: SystemNamespace, Name: FeaturesName}
}

// values are what each gate may say.
var values = map[string][]string{
	FeaturePreemption: {"true", "false"},
	FeatureStatic:     {"true", "false"},
	FeatureFailover:   {"true", "false"},
	FeatureBudget:     {"indirect", string(BudgetAll), string(BudgetOff)},
}

// cautious is what each gate is taken to say while its value is not known: that by which
// nothing moves, acts or leaves. A misspelled word switches nothing off that holds back,
// nor does the deletion of the ConfigMap.
var cautious = map[string]string{
	FeaturePreemption: "false",
	FeatureStatic:     "true",
	FeatureFailover:   "false",
	FeatureBudget:     string(BudgetAll),
}

// FeaturesFrom reads the gates. A key that is absent has its default, one with a value
// that is not known holds back what it can. unknown says, for people, which keys and
// values are not known, sorted; keys that begin with an underscore are ignored.
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

// FeaturesMissing says so in a few words, where something waits because of it.
const FeaturesMissing = "while ConfigMap " + SystemNamespace + "/" + FeaturesName + " is missing, StaticPolicy counts as on"

// missing tells people of a hub without the ConfigMap, and how that is mended.
func missing() string {
	said := make([]string, 0, len(cautious))
	for _, key := range slices.Sorted(maps.Keys(cautious)) {
		said = append(said, fmt.Sprintf("%s is %q", key, cautious[key]))
	}
	return fmt.Sprintf("ConfigMap %s/%s is missing: until it is back, nothing moves that the strictest gates hold back: %s; "+
		"make it anew with the gates that were set, or with the defaults: 'kubectl apply -f config/400-config/features.yaml'",
		SystemNamespace, FeaturesName, strings.Join(said, ", "))
}

// FeaturesOf reads the gates of their ConfigMap. Without one, t is nil, and all gates hold
// back what they can: somebody deleted it, and what it said nobody knows.
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
