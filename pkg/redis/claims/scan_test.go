// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/test/redistest"
)

// templatesOf are the ids that the pages have, and how many pages there are.
func templatesOf(t *testing.T, m *claims.Map, kind schema.GroupKind, n int) (ids []string, pages int) {
	t.Helper()
	all := map[string]bool{}
	for cursor := ""; ; {
		page, next, err := m.Templates(t.Context(), kind, cursor, n)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range page {
			all[k.APIVersion+" "+k.String()] = true
		}
		pages++
		if cursor = next; cursor == "" {
			return slices.Sorted(maps.Keys(all)), pages
		}
	}
}

func TestTemplatesOfAKind(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := fresh(t, s.Client(t),
			indexed(policy("shop/web", 5, "Deployment nginx")), recorded("Deployment shop/nginx", "shop/web"),
			parked("Deployment shop/api", "app=api"), parked("Deployment bank/api"), dropped("Deployment bank/api"),
			parked("ConfigMap shop/api"), parked("Namespace shop"))
		for name, tc := range map[string]struct {
			kind schema.GroupKind
			want []string
		}{
			"held or waiting, and not those that were dropped": {schema.GroupKind{Group: "apps", Kind: "Deployment"}, []string{"apps/v1 Deployment shop/api", "apps/v1 Deployment shop/nginx"}},
			"of the core group":                        {schema.GroupKind{Kind: "ConfigMap"}, []string{"v1 ConfigMap shop/api"}},
			"without a namespace":                      {schema.GroupKind{Kind: "Namespace"}, []string{"v1 Namespace shop"}},
			"a kind whose name another begins with":    {schema.GroupKind{Group: "apps", Kind: "Deploy"}, nil},
			"a kind of that name, and another's group": {schema.GroupKind{Group: "example.com", Kind: "Deployment"}, nil},
		} {
			t.Run(name, func(t *testing.T) {
				got, _ := templatesOf(t, m, tc.kind, 100)
				diff(t, tc.want, got)
			})
		}
	})
}

// Of a few hundred, several pages have each.
func TestTemplatesOfAKindComeInPages(t *testing.T) {
	const many = 700 // a real Redis keeps few in a list, which it hands out whole
	m := fresh(t, redistest.Real(t).Client(t))
	var want []string
	for i := range many {
		name := fmt.Sprintf("shop/c-%03d", i)
		parked("ConfigMap "+name)(t, m)
		want = append(want, "v1 ConfigMap "+name)
	}
	got, pages := templatesOf(t, m, schema.GroupKind{Kind: "ConfigMap"}, 50)
	diff(t, want, got)
	if pages < many/100 {
		t.Errorf("%d pages", pages)
	}
}

func TestTemplatesOfAKindWhereNothingIsBuilt(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		if err := rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := claims.New(rdb).Templates(t.Context(), schema.GroupKind{Kind: "ConfigMap"}, "", 10); !errors.Is(err, outcome.ErrNotBuilt) {
			t.Errorf("got %v", err)
		}
	})
}
