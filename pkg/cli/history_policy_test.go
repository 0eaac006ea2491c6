// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"testing"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/test/pipelinetest/fixture"
)

func policyPath(p *propagation.Policy) string {
	about := hub.AboutPolicy(p)
	return about.APIVersion + "/" + about.Kind + "/" + strings.TrimPrefix(p.Key.Namespace+"/", "/") + p.Key.Name
}

// said stores a revision of the policy, with that number.
func (a *api) said(b fixture.PolicyBuilder, number int64) *propagation.PolicyRevision {
	p := b.Policy()
	r := p.Revision()
	r.Number = number
	a.saidBy(p, r)
	return r
}

func (a *api) saidBy(p *propagation.Policy, r *propagation.PolicyRevision) {
	a.put("apps/v1/ControllerRevision/"+r.Namespace+"/"+r.Name, map[string]any{
		"metadata": map[string]any{"labels": map[string]any{propagation.LabelPolicyUID: string(p.UID)}, "creationTimestamp": "2026-01-01T12:00:00Z"},
		"revision": r.Number, "data": map[string]any{"spec": r.Spec},
	})
}

func TestHistoryAndRollbackOfPolicies(t *testing.T) {
	for name, tc := range map[string]struct {
		policy fixture.PolicyBuilder
		ref    string
		header string
	}{
		"a policy":         {fixture.Policy("web").Kind(), "pp/web", "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\nmetadata:\nname: web\nnamespace: shop\nspec:\n"},
		"a cluster policy": {fixture.ClusterPolicy("web"), "cpp/web", "apiVersion: policy.karmada.io/v1alpha1\nkind: ClusterPropagationPolicy\nmetadata:\nname: web\nspec:\n"},
	} {
		t.Run(name, func(t *testing.T) {
			hub := serve(t, "hub").shop()
			old, now := tc.policy.To("member1"), tc.policy.To("member2")
			hub.policy(now)
			run(t, hub, "rollback", tc.ref, "--to-revision", "1").wants(t, tc.ref+" has no revision 1: there are none")
			first := hub.said(old, 1)
			second := hub.said(now, 2)
			forged := *first
			forged.Name, forged.Number = "forged", 3
			hub.saidBy(now.Policy(), &forged)

			a := run(t, hub, "history", tc.ref)
			a.wants(t, "")
			short := func(r *propagation.PolicyRevision) string { return propagation.HashJSON(r.Spec)[:10] }
			wantText(t, "REVISION HASH AGE PRESENT\n2 NOW AGE yes\n1 OLD AGE", strings.NewReplacer(short(first), "OLD", short(second), "NOW").Replace(a.out))
			a = run(t, hub, "history", tc.ref, "--revision", "1")
			a.wants(t, "")
			if shown := compact(a.out); !strings.HasPrefix(shown, tc.header) || !strings.Contains(shown, "- member1") {
				t.Errorf("revision 1 is shown as\n%s", a.out)
			}
			run(t, hub, "history", tc.ref, "--revision", "7").wants(t, tc.ref+" has no revision 7: there are 2, 1 ('kubectl sluice history")
			run(t, hub, "rollback", tc.ref, "--to-revision", "3").wants(t, "has no revision 3")
			run(t, hub, "rollback", tc.ref).wants(t, "is rolled back with --to-revision")

			a = run(t, hub, "rollback", tc.ref, "--to-revision", "1")
			a.wants(t, "")
			for _, want := range []string{"- - member2", "+ - member1", "0 templates change now, 0 later", tc.ref + " says again what revision 1 says"} {
				if !strings.Contains(compact(a.out), want) {
					t.Errorf("it does not say %q:\n%s", want, a.out)
				}
			}
			live := hub.get(policyPath(now.Policy()))
			if got := fmt.Sprint(live.Object["spec"]); got != fmt.Sprint(first.Spec) {
				t.Errorf("the policy says %s, want %s", got, fmt.Sprint(first.Spec))
			}
			a = run(t, hub, "rollback", tc.ref, "--to-revision", "1")
			a.wants(t, "")
			if a.out != tc.ref+" says already what revision 1 says\n" {
				t.Errorf("it says %q", a.out)
			}
		})
	}
}

// compact is a text without indentation.
func compact(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(out, "\n")
}

// Of two revisions with one number one is somebody else's: nothing is written.
func TestRollbackToANumberThatTwoHave(t *testing.T) {
	hub := serve(t, "hub").shop()
	p := fixture.Policy("web").Kind()
	hub.policy(p.To("member2"))
	hub.said(p.To("member1"), 1)
	hub.said(p.To("member3"), 1)
	before := hub.get(policyPath(p.Policy())).GetResourceVersion()
	run(t, hub, "rollback", "pp/web", "--to-revision", "1").wants(t, "there are two revisions 1 of pp/web")
	if now := hub.get(policyPath(p.Policy())).GetResourceVersion(); now != before {
		t.Error("the policy was written")
	}
}
