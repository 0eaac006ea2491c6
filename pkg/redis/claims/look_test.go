// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/test/redistest"
)

// A View is of one moment, whatever changes while it is read: what the revision belongs
// to is what the candidates were.
func TestLookIsOfOneMoment(t *testing.T) {
	for name, tc := range map[string]struct {
		meanwhile []step
		want      []string // policy, since and version of each candidate
		flushed   bool
	}{
		"nothing changes":                             {want: []string{"policy shop/web 5 5"}},
		"the policy selects otherwise, and still":     {meanwhile: []step{indexed(policy("shop/web", 9, "Deployment nginx"))}, want: []string{"policy shop/web 9 9"}},
		"the policy selects it no longer":             {meanwhile: []step{indexed(policy("shop/web", 9, "Job"))}},
		"the policy goes":                             {meanwhile: []step{removed("shop/web")}},
		"another policy comes":                        {meanwhile: []step{indexed(policy("all", 9, "Deployment"))}, want: []string{"cluster policy all 9 9", "policy shop/web 5 5"}},
		"another policy takes its place":              {meanwhile: []step{removed("shop/web"), indexed(policy("all", 9, "Deployment"))}, want: []string{"cluster policy all 9 9"}},
		"the policy changes in what is not looked at": {meanwhile: []step{indexed(policy("shop/web", 9, "Deployment"))}, want: []string{"policy shop/web 5 9"}},
		"other templates are claimed":                 {meanwhile: []step{recorded("Job shop/a", "shop/web"), parked("Job shop/b")}, want: []string{"policy shop/web 5 5"}},
		"Redis loses everything":                      {flushed: true},
	} {
		t.Run(name, func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				rdb := s.Client(t)
				m := fresh(t, rdb, indexed(policy("shop/web", 5, "Deployment")))
				asks := s.Client(t)
				redistest.After(asks, func() {
					for _, do := range tc.meanwhile {
						do(t, m)
					}
					if tc.flushed {
						rdb.FlushAll(t.Context())
					}
				})
				v, err := claims.New(asks).Look(t.Context(), template("Deployment shop/nginx"))
				if tc.flushed != errors.Is(err, outcome.ErrNotBuilt) || !tc.flushed && err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, c := range v.Candidates {
					got = append(got, fmt.Sprintf("%s %d %d", c.Policy, c.Since, c.Version))
				}
				slices.Sort(got)
				diff(t, tc.want, got)
			})
		})
	}
}
