// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package detector_test

import (
	"strings"
	"testing"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

func TestZ12GatesThatNobodyUnderstandsAreTold(t *testing.T) {
	gates := propagation.FeaturesKey()
	for name, tc := range map[string]struct {
		data map[string]any
		want []string
	}{
		"nothing is told of gates that are understood": {data: map[string]any{"StaticPolicy": "false", "_example": "StaticPolicy: yes"}},
		"a word that nobody knows is told, and the words that there are": {
			data: map[string]any{"RemovalBudget": "none", "StaticPolicy": "on"},
			want: []string{`RemovalBudget is "none"`, `"indirect" "all" "off"`, `StaticPolicy is "on"`},
		},
		"a gate that there is not is told":                     {data: map[string]any{"StaticPolicies": "true"}, want: []string{`"StaticPolicies" is no gate`}},
		"that there is no such ConfigMap is told, by its name": {want: []string{"sluice-system/config-features is missing", "kubectl apply -f"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			var told []string
			s.hub.Recorded = func(about hub.About, reason, message string) {
				if about.Name != gates.Name || about.Namespace != gates.Namespace || (about.UID == "") != (tc.data == nil) || reason != "GateNotUnderstood" {
					t.Errorf("told of %v: %s", about, reason)
				}
				told = append(told, message)
			}
			if tc.data != nil {
				s.hub.Apply(gates, func(obj map[string]any) { obj["data"] = tc.data })
			}
			if out := s.hear(events.ResourceUpdated, gates, ""); len(out) != 1 || out[0].Type() != events.GatesChanged {
				t.Errorf("it emits %v", out)
			}
			said := strings.Join(told, "\n")
			if (said == "") != (len(tc.want) == 0) {
				t.Errorf("it says %q", said)
			}
			for _, w := range tc.want {
				if !strings.Contains(said, w) {
					t.Errorf("it says %q, and not %s", said, w)
				}
			}
		})
	}
}
