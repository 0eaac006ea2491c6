// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package textdiff_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice.dev/pkg/cli/textdiff"
)

func TestUnified(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after string
		context       int
		want          string
	}{
		"equal texts have no diff":           {before: "a\nb\n", after: "a\nb\n", context: 3},
		"a changed line":                     {before: "a\nb\nc\n", after: "a\nx\nc\n", context: 3, want: "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
		"an added line":                      {before: "a\nc\n", after: "a\nb\nc\n", context: 3, want: "@@ -1,2 +1,3 @@\n a\n+b\n c\n"},
		"a new text":                         {after: "a\n", context: 3, want: "@@ -0,0 +1,1 @@\n+a\n"},
		"a text that is gone":                {before: "a\n", context: 3, want: "@@ -1,1 +0,0 @@\n-a\n"},
		"what is far from a change is cut":   {before: "1\n2\n3\n4\n5\n", after: "1\n2\n3\n4\nx\n", context: 1, want: "@@ -4,2 +4,2 @@\n 4\n-5\n+x\n"},
		"changes far apart are two hunks":    {before: "a\n1\n2\n3\nb\n", after: "A\n1\n2\n3\nB\n", context: 1, want: "@@ -1,2 +1,2 @@\n-a\n+A\n 1\n@@ -4,2 +4,2 @@\n 3\n-b\n+B\n"},
		"without context only changes stand": {before: "a\nb\n", after: "a\n", want: "@@ -2,1 +1,0 @@\n-b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, textdiff.Unified(tc.before, tc.after, tc.context)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheDiffLeadsFromOneTextToTheOther(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "d\n"}), 0, 12).Draw(t, "lines"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		var left, right strings.Builder
		for line := range strings.Lines(textdiff.Unified(before, after, 100)) {
			switch line[0] {
			case ' ':
				left.WriteString(line[1:])
				right.WriteString(line[1:])
			case '-':
				left.WriteString(line[1:])
			case '+':
				right.WriteString(line[1:])
			}
		}
		if before == after {
			return
		}
		if left.String() != before || right.String() != after {
			t.Errorf("the diff of %q and %q leads from %q to %q", before, after, left.String(), right.String())
		}
	})
}
