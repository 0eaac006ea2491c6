// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"testing"

	"sluice.dev/test/redistest"
)

func TestSaysWhatAPolicySelects(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		for sentence, tc := range map[string]struct {
			given []step
			want  bool
		}{
			"the policy was never indexed":                       {},
			"it was, as it is":                                   {given: []step{indexed(policy("shop/web", 7, "Deployment nginx"))}, want: true},
			"it was in an older version, which selects the same": {given: []step{indexed(policy("shop/web", 5, "Deployment nginx"))}, want: true},
			"it was with other selectors":                        {given: []step{indexed(policy("shop/web", 5, "Deployment"))}},
			"it was, and was removed":                            {given: []step{indexed(policy("shop/web", 7, "Deployment nginx")), removed("shop/web")}},
			"another was":                                        {given: []step{indexed(policy("shop/other", 7, "Deployment nginx"))}},
		} {
			t.Run(sentence, func(t *testing.T) {
				says, err := fresh(t, rdb, tc.given...).Says(t.Context(), policy("shop/web", 7, "Deployment nginx"))
				if err != nil {
					t.Fatal(err)
				}
				diff(t, tc.want, says)
			})
		}
	})
}
