// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
)

func TestZ29Rendered(t *testing.T) {
	everywhere := func(n int, err error) []Failure {
		var all []Failure
		for i := range n {
			all = append(all, Failure{fmt.Sprintf("member%d", i), err})
		}
		return all
	}
	var each []Failure
	for i := range 250 {
		each = append(each, Failure{fmt.Sprintf("member%d", i), fmt.Errorf("override shop/over: path /spec/%d: there is none", i)})
	}
	for sentence, tc := range map[string]struct {
		failures           []Failure
		wantReason, wantIn string
	}{
		"nothing failed":                            {nil, "Rendered", "every cluster's manifest is made"},
		"on one cluster":                            {everywhere(1, errors.New("no")), "OverrideFailed", "member0: no"},
		"the same on all clusters is said once":     {everywhere(250, errors.New("no")), "OverrideFailed", "member0, member1, member2, member3, member4 and 245 more: no"},
		"another on each is counted":                {each, "OverrideFailed", " more"},
		"a long one is cut":                         {everywhere(3, errors.New(strings.Repeat("x", 40000))), "OverrideFailed", "bytes more"},
		"too large for a Work, which is told apart": {everywhere(2, &TooLarge{2 << 20, propagation.MaxManifest}), "TooLarge", "member0, member1: the manifest has 2097152 bytes"},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := Rendered(tc.failures)
			if c.Reason != tc.wantReason || !strings.Contains(c.Message, tc.wantIn) || len(c.Message) > conditions.MaxMessage {
				t.Errorf("%s: %d bytes: %s", c.Reason, len(c.Message), c.Message)
			}
			if failed := c.Status == metav1.ConditionFalse; failed != (tc.failures != nil) {
				t.Errorf("status %s", c.Status)
			}
		})
	}
}

func TestZ29WorkTooLarge(t *testing.T) {
	b := &propagation.Binding{Key: propagation.BindingKey{Namespace: "shop", Name: "settings-configmap"}}
	manifest := map[string]any{"data": map[string]any{"value": strings.Repeat("x", 1500<<10)}}
	_, err := Work(b, "member1", manifest)
	if tooLarge := (*TooLarge)(nil); !errors.As(err, &tooLarge) {
		t.Errorf("%v", err)
	}
}

func TestConcerns(t *testing.T) {
	two := Rendered([]Failure{{"member1", &NameTaken{}}, {"member3", &NameTaken{}}, {"member4", &TooLarge{Bytes: 2, May: 1}}})
	for cluster, want := range map[string]bool{"member1": true, "member2": false, "member3": true, "member4": true, "member": false} {
		if got := Concerns(two, cluster); got != want {
			t.Errorf("%q is about %s: %t, want %t", two.Message, cluster, got, want)
		}
	}
	var many []Failure
	for i := range 9 {
		many = append(many, Failure{fmt.Sprintf("other%d", i), &NameTaken{}})
	}
	if !Concerns(Rendered(many), "member1") {
		t.Error("it may be one of those that are not named")
	}
}
