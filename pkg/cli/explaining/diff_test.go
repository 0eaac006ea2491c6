// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnified(t *testing.T) {
	for name, tc := range map[string]struct{ before, after, want string }{
		"equal texts have no diff":   {before: "a\n", after: "a\n"},
		"a changed line":             {before: "a\nb\nc\n", after: "a\nx\nc\n", want: "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
		"a new text":                 {after: "a\nb\n", want: "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		"a text that is gone":        {before: "a\nb\n", want: "@@ -1,2 +0,0 @@\n-a\n-b\n"},
		"what is far from it is cut": {before: "1\n2\n3\n4\n5\n", after: "1\n2\n3\n4\nx\n", want: "@@ -2,4 +2,4 @@\n 2\n 3\n 4\n-5\n+x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, unified(tc.before, tc.after)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}
