// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package conditions_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/pkg/core/conditions"
)

func TestZ29Message(t *testing.T) {
	for sentence, tc := range map[string]struct{ message, wantEnd string }{
		"a short one stays as it is":         {"no such kind", "no such kind"},
		"one of just that length, too":       {strings.Repeat("a", conditions.MaxMessage), "aaa"},
		"a long one says what it leaves out": {strings.Repeat("a", 5000), " … and 4000 bytes more"},
		"one of long letters is cut between": {strings.Repeat("é", 5000), " bytes more"},
		"what is no text becomes some":       {"a\xff", "a?"},
		"a long one that is no text":         {strings.Repeat("\xff", 5000), " bytes more"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := conditions.Message(tc.message)
			if len(got) > conditions.MaxMessage || !utf8.ValidString(got) || !strings.HasSuffix(got, tc.wantEnd) {
				t.Errorf("%d bytes, ends in %q", len(got), got[max(0, len(got)-40):])
			}
			if again := conditions.Message(got); again != got {
				t.Errorf("cut once more: %q", again)
			}
		})
	}
}

func TestZ29List(t *testing.T) {
	failures := func(n int, of string) []string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("member%d: %s", i, of))
		}
		return all
	}
	for sentence, tc := range map[string]struct {
		all     []string
		wantEnd string
	}{
		"nothing":                        {nil, ""},
		"a few are all there":            {[]string{"a", "b"}, "a; b"},
		"of many the rest is counted":    {failures(250, "override x: path /spec: there is none"), "; and 230 more"},
		"a first that is too long":       {failures(3, strings.Repeat("x", 2000)), " bytes more"},
		"a second that is too long":      {[]string{"a", strings.Repeat("x", 2000)}, "; and 1 more"},
		"many that together just do fit": {failures(40, "wrong"), "member39: wrong"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := conditions.List(tc.all)
			if len(got) > conditions.MaxMessage || !strings.HasSuffix(got, tc.wantEnd) {
				t.Errorf("%d bytes: %q", len(got), got)
			}
		})
	}
}

func TestZ29Budget(t *testing.T) {
	var b conditions.Budget
	total := 0
	for range 100 {
		total += len(b.Say(strings.Repeat("a", 3000)))
	}
	if total > conditions.MaxMessages || b.Omitted != 100-total/conditions.MaxMessage {
		t.Errorf("%d bytes said, %d messages omitted", total, b.Omitted)
	}
}

func TestZ29ConditionIsCutOnce(t *testing.T) {
	c := metav1.Condition{Type: "Rendered", Status: metav1.ConditionFalse, Reason: "OverrideFailed", Message: strings.Repeat("x", 40000)}
	list, changed := conditions.Set(nil, c, time.Unix(0, 0))
	if !changed || len(list[0].Message) > conditions.MaxMessage {
		t.Fatalf("changed %t, %d bytes", changed, len(list[0].Message))
	}
	if _, changed = conditions.Set(list, c, time.Unix(1, 0)); changed {
		t.Error("the same is written again")
	}
}
