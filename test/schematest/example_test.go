// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package schematest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestTheExamplesOfTheWireFormatAreAccepted(t *testing.T) {
	s := load(t)
	files, err := filepath.Glob("../wiretest/testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, errs := s.Create(string(raw)); len(errs) > 0 {
				t.Error(errs.ToAggregate())
			}
		})
	}
}

func TestThePlacementThatIsShownIsAccepted(t *testing.T) {
	raw, err := os.ReadFile("../../examples/placement/placement.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, errs := load(t).Create(string(raw)); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
}

// seeds holds the design documents, next to a checkout.
const seeds = "../../../shared/seeds"

func TestThePoliciesOfTheSeedsAreAccepted(t *testing.T) {
	if _, err := os.Stat(seeds); err != nil {
		t.Skipf("the design documents are not here: %v", err)
	}
	s := load(t)
	for document, wantPolicies := range map[string]int{
		"dispatch-suspension.txt":     3,
		"lazy-activation.txt":         1,
		"policy-statization.txt":      3,
		"priority-and-preemption.txt": 6,
	} {
		t.Run(document, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join(seeds, document))
			if err != nil {
				t.Fatal(err)
			}
			found := policies(string(raw))
			if len(found) != wantPolicies {
				t.Errorf("found %d policies, want %d", len(found), wantPolicies)
			}
			for _, text := range found {
				if _, errs := s.Create(text); len(errs) > 0 {
					t.Errorf("rejected: %v\n%s", errs.ToAggregate(), text)
				}
			}
		})
	}
}

// policies finds the propagation policies in a document that holds YAML among
// its text.
func policies(document string) []string {
	var found []string
	lines := strings.Split(document, "\n")
	for i, line := range lines {
		if line != "apiVersion: policy.karmada.io/v1alpha1" || !strings.HasSuffix(lines[i+1], "PropagationPolicy") {
			continue
		}
		block := lines[i : i+1+slices.IndexFunc(append(lines[i+1:], ""), outsideYAML)]
		if block[3] == "name: policy-delay" {
			block = indented(block)
		}
		found = append(found, strings.Join(block, "\n"))
	}
	return found
}

// outsideYAML reports whether a line ends a policy: it is neither indented nor
// a key or an item, as they stand in a document that lost its indentation.
func outsideYAML(line string) bool {
	if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "- ") {
		return false
	}
	key, _, ok := strings.Cut(line, ":")
	return !ok || key == "" || strings.ContainsAny(key, " /") || strings.HasPrefix(line, "apiVersion: ") && line != "apiVersion: policy.karmada.io/v1alpha1"
}

// indented gives the Lazy example back the indentation that its document lost.
// The words are the document's.
func indented(block []string) []string {
	depths := []int{0, 0, 0, 2, 0, 2, 2, 2, 4, 2, 4, 6, 6, 6}
	out := make([]string, 0, len(block))
	for i, line := range block {
		if i < len(depths) {
			line = strings.Repeat(" ", depths[i]) + line
		}
		out = append(out, line)
	}
	return out
}

func TestTheIndentedExampleIsLazy(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(seeds, "lazy-activation.txt"))
	if err != nil {
		t.Skipf("the design document is not here: %v", err)
	}
	var policy struct {
		Spec struct {
			ActivationPreference string
			Placement            struct {
				ClusterAffinity struct{ ClusterNames []string }
			}
		}
	}
	found := policies(string(raw))
	if len(found) != 1 {
		t.Fatalf("found %d policies, want 1", len(found))
	}
	if err := yaml.Unmarshal([]byte(found[0]), &policy); err != nil {
		t.Fatal(err)
	}
	if policy.Spec.ActivationPreference != "Lazy" || !slices.Equal(policy.Spec.Placement.ClusterAffinity.ClusterNames, []string{"member1", "member2"}) {
		t.Errorf("read %+v from\n%s", policy, found[0])
	}
}

func TestTheInterpreterThatIsShownIsAccepted(t *testing.T) {
	raw, err := os.ReadFile("../../examples/interpreter/interpreter.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, errs := load(t).Create(string(raw)); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
}
