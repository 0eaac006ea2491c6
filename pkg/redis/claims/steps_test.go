// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/redis/claims"
)

// template is "Deployment shop/nginx" or "Namespace shop" as a key.
func template(s string) propagation.TemplateKey {
	kind, name, _ := strings.Cut(s, " ")
	k := propagation.TemplateKey{APIVersion: "v1", Kind: kind, Name: name}
	if kind == "Deployment" {
		k.APIVersion = "apps/v1"
	}
	if ns, n, ok := strings.Cut(name, "/"); ok {
		k.Namespace, k.Name = ns, n
	}
	return k
}

// policyKey is "shop/web", or "web" of cluster scope, as a key.
func policyKey(s string) propagation.PolicyKey {
	if ns, name, ok := strings.Cut(s, "/"); ok {
		return propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: ns, Name: name}
	}
	return propagation.PolicyKey{Scope: propagation.Cluster, Name: s}
}

// policy is a policy with selectors such as "Deployment", "Deployment app=web",
// "Deployment shop/", "Deployment nginx" and "Deployment shop/nginx".
func policy(name string, version int, selectors ...string) *propagation.Policy {
	p := &propagation.Policy{Key: policyKey(name), ID: "id-" + name, ResourceVersion: strconv.Itoa(version)}
	for _, s := range selectors {
		kind, rest, _ := strings.Cut(s, " ")
		k := template(kind + " " + rest)
		rs := policyv1alpha1.ResourceSelector{APIVersion: k.APIVersion, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name}
		if label, value, ok := strings.Cut(rest, "="); ok {
			rs.Name = ""
			rs.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{label: value}}
		}
		p.Spec.ResourceSelectors = append(p.Spec.ResourceSelectors, rs)
	}
	return p
}

// A step changes what the map knows. It fails the test where it cannot.
type step func(t *testing.T, m *claims.Map)

func indexed(p *propagation.Policy) step {
	return func(t *testing.T, m *claims.Map) {
		t.Helper()
		if _, _, err := m.IndexPolicy(t.Context(), p, claims.SelectorsOf(p)); err != nil {
			t.Fatal(err)
		}
	}
}

func removed(key string) step {
	return func(t *testing.T, m *claims.Map) {
		t.Helper()
		if err := m.RemovePolicy(t.Context(), policyKey(key)); err != nil {
			t.Fatal(err)
		}
	}
}

func recorded(tmpl, by string) step {
	return func(t *testing.T, m *claims.Map) {
		t.Helper()
		if err := m.Record(t.Context(), template(tmpl), claimOf(by), propagation.Sighting{}, look(t, m, template(tmpl)).Revision); err != nil {
			t.Fatal(err)
		}
	}
}

func parked(tmpl string, labels ...string) step {
	return func(t *testing.T, m *claims.Map) {
		t.Helper()
		if err := m.Park(t.Context(), template(tmpl), labelled(labels...), propagation.Sighting{}, look(t, m, template(tmpl)).Revision); err != nil {
			t.Fatal(err)
		}
	}
}

// seen parks a template whose content was first seen so.
func seen(tmpl string, s propagation.Sighting) step {
	return func(t *testing.T, m *claims.Map) {
		t.Helper()
		if err := m.Park(t.Context(), template(tmpl), nil, s, look(t, m, template(tmpl)).Revision); err != nil {
			t.Fatal(err)
		}
	}
}

func dropped(tmpl string) step {
	return func(t *testing.T, m *claims.Map) {
		t.Helper()
		if err := m.Drop(t.Context(), template(tmpl)); err != nil {
			t.Fatal(err)
		}
	}
}

func claimOf(policy string) propagation.Claim {
	return propagation.Claim{Policy: policyKey(policy), ID: "id-" + policy}
}

func labelled(labels ...string) map[string]string {
	m := map[string]string{}
	for _, l := range labels {
		k, v, _ := strings.Cut(l, "=")
		m[k] = v
	}
	return m
}

func look(t *testing.T, m *claims.Map, key propagation.TemplateKey) claims.View {
	t.Helper()
	v, err := m.Look(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(v.Candidates, func(a, b claims.Candidate) int { return strings.Compare(a.Policy.ID(), b.Policy.ID()) })
	return v
}

// held pages through what a policy holds, n at once.
func held(t *testing.T, m *claims.Map, key string, n int) []string {
	t.Helper()
	var all []string
	for cursor := ""; ; {
		page, next, err := m.Held(t.Context(), policyKey(key), cursor, n)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > n || (next != "" && len(page) < n) {
			t.Errorf("a page of %d has %d templates, and cursor %q follows", n, len(page), next)
		}
		for _, k := range page {
			all = append(all, k.String())
		}
		if cursor = next; cursor == "" {
			return all
		}
	}
}

// waiting pages through what waits for a policy, n at once.
func waiting(t *testing.T, m *claims.Map, p *propagation.Policy, n int) []string {
	t.Helper()
	var all []string
	for cursor := ""; ; {
		page, next, err := m.Waiting(t.Context(), claims.SelectorsOf(p), selects(p), cursor, n)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > n {
			t.Errorf("a page of %d has %d templates", n, len(page))
		}
		for _, k := range page {
			all = append(all, k.String())
		}
		if cursor = next; cursor == "" {
			return all
		}
	}
}

// selects matches as the hub's policy does.
func selects(p *propagation.Policy) func(propagation.TemplateKey, map[string]string) bool {
	return func(t propagation.TemplateKey, labels map[string]string) bool {
		for i, s := range claims.SelectorsOf(p) {
			named := s.Name == "" || s.Name == t.Name
			placed := s.Namespace == "" || s.Namespace == t.Namespace
			if s.APIVersion != t.APIVersion || s.Kind != t.Kind || !named || !placed {
				continue
			}
			if ls := p.Spec.ResourceSelectors[i].LabelSelector; ls == nil || ls.MatchLabels["app"] == labels["app"] {
				return true
			}
		}
		return false
	}
}

// fresh is a map that was just built from an empty hub.
func fresh(t *testing.T, rdb redis.UniversalClient, given ...step) *claims.Map {
	t.Helper()
	if err := rdb.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	m := claims.New(rdb)
	if err := m.Rebuild(t.Context(), func(context.Context, *claims.Rebuild) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for _, do := range given {
		do(t, m)
	}
	return m
}

func diff(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(claims.Candidate{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
