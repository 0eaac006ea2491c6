// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"maps"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
)

// context is how many lines are shown around each change.
const context = 3

// notThePolicys are the fields of a binding's spec that do not come from the policy.
var notThePolicys = []string{"resource", "replicas", "replicaRequirements", "components", "clusters", "gracefulEvictionTasks", "requiredBy", "rescheduleTriggeredAt", "suspension", "schedulePriority"}

// policyDiff compares the policy's fields in two versions of a binding.
func policyDiff(b, next *propagation.Binding) string {
	before := ""
	if b != nil && b.ActedHash() != "" {
		before = policyText(&b.Spec)
	}
	return unified(before, policyText(&next.Spec))
}

// unified returns the unified diff of two texts without a file header; empty if they
// are equal.
func unified(before, after string) string {
	out, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: lines(before), B: lines(after), Context: context})
	if err != nil { // it writes to memory
		return err.Error()
	}
	return out
}

// lines returns the lines of a text, each with its line break.
func lines(text string) []string { return slices.Collect(strings.Lines(text)) }

func policyText(s *workv1alpha2.ResourceBindingSpec) string {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		return err.Error()
	}
	maps.DeleteFunc(m, func(k string, _ any) bool { return slices.Contains(notThePolicys, k) })
	return text(m)
}

// SpecDiff compares two specs of a policy.
func SpecDiff(before, after map[string]any) string { return unified(text(before), text(after)) }

// contentDiff compares two contents of a template.
func contentDiff(k propagation.TemplateKey, before, after map[string]any) string {
	if k.APIVersion == "v1" && k.Kind == "Secret" {
		before, after = masked(before, after)
	}
	return unified(text(before), text(after))
}

// masked hides the values of Secrets, and shows which keys differ.
func masked(before, after map[string]any) (map[string]any, map[string]any) {
	before, after = maps.Clone(before), maps.Clone(after)
	for _, field := range []string{"data", "stringData"} {
		was, _ := before[field].(map[string]any)
		is, _ := after[field].(map[string]any)
		before[field], after[field] = mask(was, is, "before"), mask(is, was, "after")
	}
	return before, after
}

func mask(m, other map[string]any, when string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = "***"
		if o, ok := other[k]; ok && o != v {
			out[k] = "*** (" + when + ")"
		}
	}
	return out
}

func text(m map[string]any) string {
	raw, err := yaml.Marshal(m)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
