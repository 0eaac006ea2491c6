// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/test/redistest"
)

func candidate(policy string, since, version uint64) claims.Candidate {
	return claims.Candidate{Policy: policyKey(policy), Since: since, Version: version}
}

type lookRow struct {
	given []step
	look  string
	want  claims.View
}

var lookRows = map[string]lookRow{
	"nothing is known of a new template": {
		look: "Deployment shop/nginx",
	},
	"a policy is found by the name it selects": {
		given: []step{indexed(policy("shop/web", 5, "Deployment nginx"))},
		look:  "Deployment shop/nginx",
		want:  claims.View{Candidates: []claims.Candidate{candidate("shop/web", 5, 5)}},
	},
	"a policy is not found by another name": {
		given: []step{indexed(policy("shop/web", 5, "Deployment nginx"))},
		look:  "Deployment shop/redis",
	},
	"a policy is not found in another namespace": {
		given: []step{indexed(policy("shop/web", 5, "Deployment nginx", "Deployment"))},
		look:  "Deployment bank/nginx",
	},
	"a policy is not found for another kind": {
		given: []step{indexed(policy("shop/web", 5, "Deployment"))},
		look:  "ConfigMap shop/nginx",
	},
	"a policy that selects by label is found whatever the labels": {
		given: []step{indexed(policy("shop/web", 5, "Deployment app=web"))},
		look:  "Deployment shop/nginx",
		want:  claims.View{Candidates: []claims.Candidate{candidate("shop/web", 5, 5)}},
	},
	"a policy is found once, however many of its selectors select": {
		given: []step{indexed(policy("web", 5, "Deployment", "Deployment shop/nginx", "Deployment nginx", "Deployment shop/"))},
		look:  "Deployment shop/nginx",
		want:  claims.View{Candidates: []claims.Candidate{candidate("web", 5, 5)}},
	},
	"policies of both scopes are found": {
		given: []step{indexed(policy("web", 5, "Deployment")), indexed(policy("shop/web", 6, "Deployment"))},
		look:  "Deployment shop/nginx",
		want:  claims.View{Candidates: []claims.Candidate{candidate("web", 5, 5), candidate("shop/web", 6, 6)}},
	},
	"a policy of cluster scope is found for a template without namespace": {
		given: []step{indexed(policy("web", 5, "Namespace shop")), indexed(policy("shop/web", 6, "Namespace shop"))},
		look:  "Namespace shop",
		want:  claims.View{Candidates: []claims.Candidate{candidate("web", 5, 5)}},
	},
	"a policy that changed is found by its new selectors only": {
		given: []step{indexed(policy("shop/web", 5, "Deployment nginx")), indexed(policy("shop/web", 6, "Deployment redis"))},
		look:  "Deployment shop/nginx",
	},
	"a policy that changed otherwise selects since its old version": {
		given: []step{indexed(policy("shop/web", 5, "Deployment")), indexed(policy("shop/web", 6, "Deployment"))},
		look:  "Deployment shop/nginx",
		want:  claims.View{Candidates: []claims.Candidate{candidate("shop/web", 5, 6)}},
	},
	"a removed policy is not found": {
		given: []step{indexed(policy("shop/web", 5, "Deployment nginx", "Deployment")), removed("shop/web")},
		look:  "Deployment shop/nginx",
	},
	"a selector that imitates another's entry finds nobody": {
		given: []step{indexed(imitating(policy("shop/web", 5, "Deployment"), "nginx\nNamespaced/shop/api")), indexed(policy("shop/api", 6, "ConfigMap"))},
		look:  "Deployment shop/nginx",
	},
	"a claim is recorded": {
		given: []step{recorded("Deployment shop/nginx", "shop/web")},
		look:  "Deployment shop/nginx",
		want:  claims.View{Holder: claimOf("shop/web")},
	},
	"a parked template waits": {
		given: []step{parked("Deployment shop/nginx")},
		look:  "Deployment shop/nginx",
		want:  claims.View{Parked: true},
	},
	"a claimed template does not wait any more": {
		given: []step{parked("Deployment shop/nginx", "app=web"), recorded("Deployment shop/nginx", "web")},
		look:  "Deployment shop/nginx",
		want:  claims.View{Holder: claimOf("web")},
	},
	"a parked template is nobody's": {
		given: []step{recorded("Deployment shop/nginx", "web"), parked("Deployment shop/nginx", "app=web")},
		look:  "Deployment shop/nginx",
		want:  claims.View{Parked: true},
	},
	"when a template's content was first seen is kept": {
		given: []step{seen("Deployment shop/nginx", propagation.Sighting{Content: "uid/hash", Version: 7, Written: 1})},
		look:  "Deployment shop/nginx",
		want:  claims.View{Parked: true, Seen: propagation.Sighting{Content: "uid/hash", Version: 7, Written: 1}},
	},
	"a dropped template is unknown": {
		given: []step{recorded("Deployment shop/nginx", "web"), dropped("Deployment shop/nginx")},
		look:  "Deployment shop/nginx",
	},
}

// A policy whose selectors changed since it was indexed selects what it selects
// since then, not since its former selectors (simulation seed 830).
func TestSinceIsThatOfTheIndexedSelectors(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := fresh(t, s.Client(t), indexed(policy("shop/web", 5, "Deployment nginx")))
		c := look(t, m, template("Deployment shop/nginx")).Candidates[0]
		if since := c.SinceOf(policy("shop/web", 7, "Deployment nginx")); since != 5 {
			t.Errorf("with the same selectors: since %d, want 5", since)
		}
		if since := c.SinceOf(policy("shop/web", 7, "Deployment")); since != 0 {
			t.Errorf("with other selectors: since %d, want 0: not known", since)
		}
	})
}

func TestLook(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		for name, tc := range lookRows {
			t.Run(name, func(t *testing.T) {
				got := look(t, fresh(t, rdb, tc.given...), template(tc.look))
				if d := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(claims.View{}, "Epoch", "Revision"), cmpopts.IgnoreUnexported(claims.Candidate{})); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
			})
		}
	})
}

func imitating(p *propagation.Policy, name string) *propagation.Policy {
	p.Spec.ResourceSelectors[0].Name = name
	return p
}

func madeAnew(p *propagation.Policy) *propagation.Policy {
	p.ID = "another"
	return p
}

type indexRow struct {
	given                  []step
	index                  *propagation.Policy
	wantSince              uint64
	wantChanged, wantMoved bool
}

var indexRows = map[string]indexRow{
	"a new policy changes the index": {
		index: policy("shop/web", 5, "Deployment nginx"), wantSince: 5, wantChanged: true, wantMoved: true,
	},
	"the same policy again changes nothing": {
		given: []step{indexed(policy("shop/web", 5, "Deployment nginx"))},
		index: policy("shop/web", 5, "Deployment nginx"), wantSince: 5,
	},
	"a change of something else changes nothing": {
		given: []step{indexed(policy("shop/web", 5, "Deployment nginx"))},
		index: policy("shop/web", 8, "Deployment nginx"), wantSince: 5,
	},
	"the same selectors in another order change nothing": {
		given: []step{indexed(policy("shop/web", 5, "Deployment nginx", "ConfigMap"))},
		index: policy("shop/web", 8, "ConfigMap", "Deployment nginx"), wantSince: 5,
	},
	"another name changes the index": {
		given: []step{indexed(policy("shop/web", 5, "Deployment nginx"))},
		index: policy("shop/web", 8, "Deployment redis"), wantSince: 8, wantChanged: true, wantMoved: true,
	},
	"another label changes the index": {
		given: []step{indexed(policy("shop/web", 5, "Deployment app=web"))},
		index: policy("shop/web", 8, "Deployment app=api"), wantSince: 8, wantChanged: true, wantMoved: true,
	},
	"an older version is ignored": {
		given: []step{indexed(policy("shop/web", 8, "Deployment nginx"))},
		index: policy("shop/web", 5, "Deployment redis"), wantSince: 8,
	},
	"an older version is ignored also where a newer one changed nothing": {
		given: []step{indexed(policy("shop/web", 5, "Deployment nginx")), indexed(policy("shop/web", 8, "Deployment nginx"))},
		index: policy("shop/web", 7, "Deployment redis"), wantSince: 5,
	},
	"versions are compared as numbers": {
		given: []step{indexed(policy("shop/web", 99, "Deployment nginx"))},
		index: policy("shop/web", 100, "Deployment redis"), wantSince: 100, wantChanged: true, wantMoved: true,
	},
	"a policy made anew with the same selectors changes the index": {
		given: []step{indexed(policy("shop/web", 5, "Deployment nginx"))},
		index: madeAnew(policy("shop/web", 9, "Deployment nginx")), wantSince: 9, wantChanged: true, wantMoved: true,
	},
	"a policy that was removed is new": {
		given: []step{indexed(policy("shop/web", 5, "Deployment nginx")), removed("shop/web")},
		index: policy("shop/web", 6, "Deployment nginx"), wantSince: 6, wantChanged: true, wantMoved: true,
	},
}

func TestIndexPolicy(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		for name, tc := range indexRows {
			t.Run(name, func(t *testing.T) {
				m := fresh(t, rdb, tc.given...)
				before := look(t, m, template("Deployment shop/nginx")).Revision
				since, changed, err := m.IndexPolicy(t.Context(), tc.index, claims.SelectorsOf(tc.index))
				if err != nil {
					t.Fatal(err)
				}
				diff(t, tc.wantSince, since)
				diff(t, tc.wantChanged, changed)
				diff(t, tc.wantMoved, look(t, m, template("Deployment shop/nginx")).Revision > before)
			})
		}
	})
}

type staleRow struct {
	given     []step
	meanwhile []step
	lost      bool
	want      error
}

var staleRows = map[string]staleRow{
	"nothing changed": {},
	"a policy was indexed": {
		meanwhile: []step{indexed(policy("bank/web", 5, "ConfigMap"))}, want: claims.ErrStale,
	},
	"a policy was indexed that is known": {
		given: []step{indexed(policy("shop/web", 5, "Deployment"))}, meanwhile: []step{indexed(policy("shop/web", 6, "Deployment"))},
	},
	"a policy was removed": {
		given: []step{indexed(policy("shop/web", 5, "Deployment"))}, meanwhile: []step{removed("shop/web")}, want: claims.ErrStale,
	},
	"a policy was removed that is unknown": {
		meanwhile: []step{removed("shop/web")},
	},
	"another claimed the template": {
		meanwhile: []step{recorded("Deployment shop/nginx", "other")}, want: claims.ErrStale,
	},
	"another parked the template with other labels": {
		meanwhile: []step{parked("Deployment shop/nginx", "app=web")}, want: claims.ErrStale,
	},
	"another parked the template again with the same labels": {
		given: []step{parked("Deployment shop/nginx", "app=web")}, meanwhile: []step{parked("Deployment shop/nginx", "app=web")}, want: claims.ErrStale,
	},
	"another claimed the template and it is as before": {
		given:     []step{recorded("Deployment shop/nginx", "other")},
		meanwhile: []step{parked("Deployment shop/nginx"), recorded("Deployment shop/nginx", "other")}, want: claims.ErrStale,
	},
	"another template was claimed": {
		meanwhile: []step{recorded("Deployment shop/redis", "web")},
	},
	"redis was lost and built again": {
		lost: true, want: claims.ErrStale,
	},
}

func TestDecisionsOnAnOldIndexAreRefused(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		for name, tc := range staleRows {
			t.Run(name, func(t *testing.T) {
				for verb, decide := range map[string]func(m *claims.Map, v claims.View) error{
					"record": func(m *claims.Map, v claims.View) error {
						return m.Record(t.Context(), template("Deployment shop/nginx"), claimOf("web"), propagation.Sighting{}, v.Revision)
					},
					"park": func(m *claims.Map, v claims.View) error {
						return m.Park(t.Context(), template("Deployment shop/nginx"), nil, propagation.Sighting{}, v.Revision)
					},
				} {
					m := fresh(t, rdb, tc.given...)
					v := look(t, m, template("Deployment shop/nginx"))
					for _, do := range tc.meanwhile {
						do(t, m)
					}
					if tc.lost {
						m = fresh(t, rdb)
					}
					before := look(t, m, template("Deployment shop/nginx"))
					err := decide(m, v)
					if !errors.Is(err, tc.want) || outcome.IsConflict(err) != (tc.want != nil) {
						t.Errorf("%s: %v, want %v", verb, err, tc.want)
					}
					after := look(t, m, template("Deployment shop/nginx"))
					if same := cmp.Equal(before, after, cmpopts.IgnoreUnexported(claims.Candidate{})); same != (tc.want != nil) {
						t.Errorf("%s: answered %v, and made of %+v %+v", verb, err, before, after)
					}
				}
			})
		}
	})
}

func TestRecordNeedsAClaim(t *testing.T) {
	m := fresh(t, redistest.Embedded(t).Client(t))
	if err := m.Record(t.Context(), template("Deployment shop/nginx"), propagation.Claim{}, propagation.Sighting{}, 0); !outcome.IsTerminal(err) {
		t.Errorf("recording nobody's claim: %v, want a terminal error", err)
	}
}

type heldRow struct {
	given []step
	want  []string
}

var heldRows = map[string]heldRow{
	"a policy holds nothing at first": {},
	"what a policy holds is listed in order": {
		given: []step{
			recorded("Deployment shop/b", "shop/web"), recorded("Deployment shop/a", "shop/web"), recorded("ConfigMap shop/c", "shop/web"),
		},
		want: []string{"ConfigMap shop/c", "Deployment shop/a", "Deployment shop/b"},
	},
	"what others hold is not listed": {
		given: []step{
			recorded("Deployment shop/a", "shop/web"), recorded("Deployment shop/b", "web"),
			recorded("Deployment shop/c", "shop/web2"), recorded("Deployment shop/d", "shop/we"),
		},
		want: []string{"Deployment shop/a"},
	},
	"what another policy took is not listed any more": {
		given: []step{recorded("Deployment shop/a", "shop/web"), recorded("Deployment shop/a", "web")},
	},
	"what was taken and came back is listed once": {
		given: []step{
			recorded("Deployment shop/a", "shop/web"), recorded("Deployment shop/a", "web"), recorded("Deployment shop/a", "shop/web"),
		},
		want: []string{"Deployment shop/a"},
	},
	"what was parked is not listed any more": {
		given: []step{recorded("Deployment shop/a", "shop/web"), parked("Deployment shop/a")},
	},
	"what was dropped is not listed any more": {
		given: []step{recorded("Deployment shop/a", "shop/web"), dropped("Deployment shop/a")},
	},
	"what a removed policy holds stays listed": {
		given: []step{
			indexed(policy("shop/web", 5, "Deployment")), recorded("Deployment shop/a", "shop/web"), removed("shop/web"),
		},
		want: []string{"Deployment shop/a"},
	},
}

func TestHeld(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		for name, tc := range heldRows {
			t.Run(name, func(t *testing.T) {
				m := fresh(t, rdb, tc.given...)
				for _, n := range []int{1, 2, 3, 100} {
					diff(t, tc.want, held(t, m, "shop/web", n))
				}
				count, err := m.HeldCount(t.Context(), policyKey("shop/web"))
				if err != nil {
					t.Fatal(err)
				}
				diff(t, int64(len(tc.want)), count)
			})
		}
	})
}

var someWait = []step{
	parked("Deployment shop/nginx", "app=web"), parked("Deployment shop/redis", "app=db"), parked("Deployment bank/nginx", "app=web"),
	parked("ConfigMap shop/nginx"), parked("Namespace shop"), recorded("Deployment shop/taken", "web"),
	parked("Deployment shop/gone"), dropped("Deployment shop/gone"),
}

type waitingRow struct {
	given  []step
	policy *propagation.Policy
	want   []string
}

var waitingRows = map[string]waitingRow{
	"nothing waits at first": {
		policy: policy("web", 5, "Deployment"),
	},
	"a policy without selectors finds nothing": {
		given: someWait, policy: policy("web", 5),
	},
	"a name is looked up in the policy's namespace": {
		given: someWait, policy: policy("shop/web", 5, "Deployment nginx"), want: []string{"Deployment shop/nginx"},
	},
	"a name that does not wait is not found": {
		given: someWait, policy: policy("shop/web", 5, "Deployment taken", "Deployment gone", "Deployment none"),
	},
	"a name is found in every namespace": {
		given: someWait, policy: policy("web", 5, "Deployment nginx"), want: []string{"Deployment bank/nginx", "Deployment shop/nginx"},
	},
	"a template without namespace is found by its name": {
		given: someWait, policy: policy("web", 5, "Namespace shop"), want: []string{"Namespace shop"},
	},
	"a kind is found in every namespace": {
		given: someWait, policy: policy("web", 5, "Deployment"),
		want: []string{"Deployment bank/nginx", "Deployment shop/nginx", "Deployment shop/redis"},
	},
	"a kind is found in one namespace": {
		given: someWait, policy: policy("shop/web", 5, "Deployment"), want: []string{"Deployment shop/nginx", "Deployment shop/redis"},
	},
	"labels are matched": {
		given: someWait, policy: policy("web", 5, "Deployment app=web"), want: []string{"Deployment bank/nginx", "Deployment shop/nginx"},
	},
	"the labels last parked with count": {
		given:  append(slices.Clone(someWait), parked("Deployment shop/redis", "app=web")),
		policy: policy("shop/web", 5, "Deployment app=web"), want: []string{"Deployment shop/nginx", "Deployment shop/redis"},
	},
	"a template that a name and a kind select comes once": {
		given: someWait, policy: policy("shop/web", 5, "Deployment", "Deployment nginx", "ConfigMap nginx"),
		want: []string{"ConfigMap shop/nginx", "Deployment shop/nginx", "Deployment shop/redis"},
	},
}

func TestWaiting(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		for name, tc := range waitingRows {
			t.Run(name, func(t *testing.T) {
				m := fresh(t, rdb, tc.given...)
				for _, n := range []int{1, 2, 3, 100} {
					diff(t, tc.want, waiting(t, m, tc.policy, n))
				}
			})
		}
	})
}

func TestWaitingReadsBeyondItsChunk(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m, want := fresh(t, s.Client(t)), []string(nil)
		for i := range 1200 {
			name, label := fmt.Sprintf("Deployment shop/d%04d", i), "app=db"
			if i%300 == 299 {
				label, want = "app=web", append(want, name)
			}
			parked(name, label)(t, m)
		}
		for _, n := range []int{1, 3, 100} {
			diff(t, want, waiting(t, m, policy("web", 5, "Deployment app=web"), n))
		}
	})
}

func TestKeysComeBackWhole(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		k := propagation.TemplateKey{APIVersion: "rbac.example.org/v1beta2", Kind: "Role", Namespace: "shop", Name: "system:role-é"}
		p := &propagation.Policy{Key: policyKey("shop/web"), ID: "id", ResourceVersion: "5"}
		sel := []claims.Selector{{APIVersion: k.APIVersion, Kind: k.Kind, Namespace: "shop"}}
		m := fresh(t, s.Client(t))
		labels := map[string]string{"a": "b\n\"c", "": ""}
		if err := m.Park(t.Context(), k, labels, propagation.Sighting{}, look(t, m, k).Revision); err != nil {
			t.Fatal(err)
		}
		found, _, err := m.Waiting(t.Context(), sel, func(got propagation.TemplateKey, l map[string]string) bool {
			diff(t, k, got)
			diff(t, labels, l)
			return true
		}, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, []propagation.TemplateKey{k}, found)
		if err := m.Record(t.Context(), k, p.Claim(), propagation.Sighting{}, look(t, m, k).Revision); err != nil {
			t.Fatal(err)
		}
		list, _, err := m.Held(t.Context(), p.Key, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, []propagation.TemplateKey{k}, list)
	})
}
