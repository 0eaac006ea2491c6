// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"sluice.dev/pkg/core/propagation"
)

// bounds are the admission policies that are about accounts.
func bounds(t *testing.T) (policies []admissionv1.ValidatingAdmissionPolicy) {
	t.Helper()
	bound := map[string]bool{}
	for _, d := range documents(t) {
		switch d.Kind {
		case "ValidatingAdmissionPolicyBinding":
			var b admissionv1.ValidatingAdmissionPolicyBinding
			d.into(t, &b)
			bound[b.Spec.PolicyName] = slices.Equal(b.Spec.ValidationActions, []admissionv1.ValidationAction{admissionv1.Deny})
		case "ValidatingAdmissionPolicy":
			var p admissionv1.ValidatingAdmissionPolicy
			d.into(t, &p)
			if len(p.Spec.MatchConditions) > 0 {
				policies = append(policies, p)
			}
		}
	}
	for _, p := range policies {
		if !bound[p.Name] {
			t.Errorf("%s: no binding has it deny", p.Name)
		}
	}
	return policies
}

var account = regexp.MustCompile(`system:serviceaccount:sluice-system:([a-z]+)`)

// about are the accounts that a policy is about.
func about(p admissionv1.ValidatingAdmissionPolicy) (names []string) {
	for _, m := range account.FindAllStringSubmatch(p.Spec.MatchConditions[0].Expression, -1) {
		names = append(names, m[1])
	}
	if names == nil { // it names them apart
		for _, m := range regexp.MustCompile(`'([a-z]+)'`).FindAllStringSubmatch(p.Spec.MatchConditions[0].Expression, -1) {
			names = append(names, m[1])
		}
	}
	return names
}

// judges tells whether a policy is asked about a resource.
func judges(p admissionv1.ValidatingAdmissionPolicy, group, resource string) bool {
	return within(p.Spec.MatchConstraints.ResourceRules, group, resource) && !within(p.Spec.MatchConstraints.ExcludeResourceRules, group, resource)
}

func within(rules []admissionv1.NamedRuleWithOperations, group, resource string) bool {
	return slices.ContainsFunc(rules, func(r admissionv1.NamedRuleWithOperations) bool {
		return (slices.Contains(r.APIGroups, group) || slices.Contains(r.APIGroups, "*")) &&
			(slices.Contains(r.Resources, resource) || slices.Contains(r.Resources, "*") && !strings.Contains(resource, "/"))
	})
}

// unbounded are the kinds, besides Sluice's own, of which a role says enough: what
// people are told, questions, and statuses, which are all that can be written there.
func unbounded(group, resource string) bool {
	return strings.HasSuffix(group, ".karmada.io") || strings.HasSuffix(group, ".kubernetes-fleet.io") ||
		strings.HasSuffix(resource, "/status") || resource == "events" || resource == "subjectaccessreviews"
}

func TestZ36EachRightToWriteWhatIsNotSluicesHasABound(t *testing.T) {
	policies := bounds(t)
	judged := map[string]bool{}
	for _, r := range rights(t) {
		if !regexp.MustCompile(`create|update|patch|delete`).MatchString(r.verbs) {
			continue
		}
		resource, _, _ := strings.Cut(r.resource, " ")
		resource, group, _ := strings.Cut(resource, ".")
		if unbounded(group, resource) {
			continue
		}
		found := false
		for _, p := range policies {
			if slices.Contains(about(p), r.account) && judges(p, group, resource) {
				found, judged[p.Name] = true, true
			}
		}
		if !found {
			t.Errorf("%s: no admission policy says how far that goes", r)
		}
	}
	for _, p := range policies {
		if !judged[p.Name] {
			t.Errorf("%s is about no right that anybody has", p.Name)
		}
	}
}

func TestZ36BoundsAreOfAccountsThatExist(t *testing.T) {
	accounts := deployed(t)
	for _, p := range bounds(t) {
		of := about(p)
		if len(of) == 0 {
			t.Errorf("%s: the first that it asks is not who", p.Name)
		}
		for _, name := range of {
			if !slices.Contains(accounts, name) {
				t.Errorf("%s: there is no account %s", p.Name, name)
			}
		}
		if p.Name == "sluice-secrets" && len(of) != len(accounts) {
			t.Errorf("%s is about %v, want all of %v", p.Name, of, accounts)
		}
		for _, v := range p.Spec.Validations {
			if v.Message == "" || v.Reason == nil || *v.Reason != "Forbidden" { // any other ends the event's way
				t.Errorf("%s: %s: message %q and reason %v, want a message, and Forbidden", p.Name, v.Expression, v.Message, v.Reason)
			}
		}
	}
}

func TestZ36AClaimMayBeWritten(t *testing.T) {
	labels, annotations := propagation.Claim{}.Metadata()
	want := append(slices.Collect(maps.Keys(labels)), slices.Collect(maps.Keys(annotations))...)
	want = append(want, propagation.AnnotationBaseline)
	slices.Sort(want)
	found := 0
	for _, p := range bounds(t) {
		for _, v := range p.Spec.Variables {
			if v.Name != "claim" {
				continue
			}
			found++
			var got []string
			for _, m := range regexp.MustCompile(`'([^']+)'`).FindAllStringSubmatch(v.Expression, -1) {
				got = append(got, m[1])
			}
			slices.Sort(got)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: the claim (-code +policy)\n%s", p.Name, d)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d policies say what a claim is, want 2", found)
	}
}
