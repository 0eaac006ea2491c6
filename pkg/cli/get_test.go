// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	stdcmp "cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/test/pipelinetest/fixture"
)

// ages differ from day to day, and hashes say nothing to a reader.
var (
	ages   = regexp.MustCompile(`\b\d+(d|y|h|m|s)(\d+(d|h|m|s))?\b`)
	hashes = regexp.MustCompile(`\b([0-9a-f]{10}|[0-9a-f]{32})\b`)
)

// wantText compares what was said, but for ages and for the blanks that depend
// on them.
func wantText(t *testing.T, want, got string) {
	t.Helper()
	clean := func(s string) string {
		var out []string
		for line := range strings.Lines(hashes.ReplaceAllString(ages.ReplaceAllString(strings.TrimSpace(s), "AGE"), "HASH")) {
			out = append(out, strings.Join(strings.Fields(line), " "))
		}
		return strings.Join(out, "\n")
	}
	if diff := cmp.Diff(clean(want), clean(got)); diff != "" {
		t.Errorf("%s\n%s", diff, got)
	}
}

// shopInEachState has one template in each state.
func shopInEachState(t *testing.T) *api {
	hub := serve(t, "hub").shop()
	p := fixture.Policy("web").Kind().Lazy().To("member1", "member2")
	all := fixture.ClusterPolicy("all").To("member1")
	hub.policy(p)
	hub.policy(all)
	hub.propagated(fixture.Deployment("fine"), p)
	hub.propagated(fixture.ClusterRole("shop"), all)

	waits := hub.propagated(fixture.Deployment("waits"), p)
	waits.Status.Conditions = []metav1.Condition{{Type: gating.ConditionActive, Status: metav1.ConditionFalse, Reason: "WaitingForTemplateChange", Message: "waits"}}
	yes := true
	waits.Spec.Suspension = &workv1alpha2.Suspension{Dispatching: &yes}
	hub.binding(waits)

	broken := hub.propagated(fixture.Deployment("broken"), p)
	broken.Status.AggregatedStatus[1] = workv1alpha2.AggregatedStatusItem{ClusterName: "member2", AppliedMessage: "quota exceeded"}
	hub.binding(broken)

	hub.template(fixture.Deployment("late").ClaimedBy(p).Baseline())
	hub.template(fixture.Deployment("nobody"))
	return hub
}

func TestGet(t *testing.T) {
	for name, tc := range map[string]struct{ args, want string }{
		"a namespace": {args: "get", want: `
			KIND NAME POLICY CLUSTERS APPLIED AVAILABLE PENDING SUSPENDED AGE
			Deployment broken pp/web member1,member2 1/2 1/2 - - AGE
			Deployment fine pp/web member1,member2 2/2 2/2 - - AGE
			Deployment waits pp/web member1,member2 2/2 2/2 WaitingForTemplateChange all AGE
			Deployment late pp/web - 0/0 0/0 WaitingForTemplateChange - -`},
		"all namespaces, and what has none": {args: "get -A", want: `
			NAMESPACE KIND NAME POLICY CLUSTERS APPLIED AVAILABLE PENDING SUSPENDED AGE
			shop Deployment broken pp/web member1,member2 1/2 1/2 - - AGE
			shop Deployment fine pp/web member1,member2 2/2 2/2 - - AGE
			shop Deployment waits pp/web member1,member2 2/2 2/2 WaitingForTemplateChange all AGE
			- ClusterRole shop cpp/all member1 1/1 1/1 - - AGE
			shop Deployment late pp/web - 0/0 0/0 WaitingForTemplateChange - -`},
		"a kind shows what was never propagated": {args: "get deploy", want: `
			KIND NAME POLICY CLUSTERS APPLIED AVAILABLE PENDING SUSPENDED AGE
			Deployment broken pp/web member1,member2 1/2 1/2 - - AGE
			Deployment fine pp/web member1,member2 2/2 2/2 - - AGE
			Deployment waits pp/web member1,member2 2/2 2/2 WaitingForTemplateChange all AGE
			Deployment late pp/web - 0/0 0/0 WaitingForTemplateChange - -`},
		"a kind without namespace": {args: "get clusterroles", want: `
			KIND NAME POLICY CLUSTERS APPLIED AVAILABLE PENDING SUSPENDED AGE
			ClusterRole shop cpp/all member1 1/1 1/1 - - AGE`},
		"one that no policy holds": {args: "get deployments.apps nobody", want: `
			KIND NAME POLICY CLUSTERS APPLIED AVAILABLE PENDING SUSPENDED AGE
			Deployment nobody <none> - 0/0 0/0 - - -`},
		"wide": {args: "get deploy/broken -o wide", want: `
			KIND NAME POLICY CLUSTERS APPLIED AVAILABLE PENDING SUSPENDED AGE REVISION GENERATION MESSAGE
			Deployment broken pp/web member1,member2 1/2 1/2 - - AGE broken-deployment-HASH 1 member2: quota exceeded`},
		"names":                   {args: "get deploy -o name", want: "deployment.apps/broken\ndeployment.apps/fine\ndeployment.apps/waits\ndeployment.apps/late"},
		"nothing, and what to do": {args: "get -n empty", want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			hub := shopInEachState(t)
			hub.put("v1/Namespace/empty", map[string]any{})
			a := run(t, hub, strings.Fields(tc.args)...)
			a.wants(t, "")
			wantText(t, tc.want, a.out)
			if tc.want == "" && !strings.Contains(a.err, "Nothing is propagated in namespace empty. -A shows every namespace") {
				t.Errorf("said %q", a.err)
			}
		})
	}
}

// An override that fails leaves members with what they have, which is not all there is
// to say.
func TestGetAndExplainNameAFailedOverride(t *testing.T) {
	hub := shopInEachState(t)
	b := hub.propagated(fixture.Deployment("fine"), fixture.Policy("web").Kind().Lazy().To("member1", "member2"))
	why := "member1: override shop/extra: no such field"
	b.Status.Conditions = append(b.Status.Conditions, metav1.Condition{Type: rendering.ConditionRendered, Status: metav1.ConditionFalse, Reason: rendering.ReasonOverrideFailed, Message: why})
	hub.binding(b)
	a := run(t, hub, "get", "deploy/fine", "-o", "wide")
	a.wants(t, "")
	if line := strings.Join(strings.Fields(a.out), " "); !strings.Contains(line, "2/2 2/2 OverrideFailed") || !strings.Contains(line, why) {
		t.Errorf("get says\n%s", a.out)
	}
	a = run(t, hub, "explain", "deploy/fine")
	a.wants(t, "")
	if lines := strings.Join(strings.Fields(a.out), " "); !strings.Contains(lines, "member1 2 Applied Healthy OverrideFailed: "+why+" member2 2 Applied Healthy -") {
		t.Errorf("explain says\n%s", a.out)
	}
}

func TestGetForMachines(t *testing.T) {
	a := run(t, shopInEachState(t), "get", "deploy/waits", "-o", "json")
	a.wants(t, "")
	var got map[string]any
	if err := json.Unmarshal([]byte(a.out), &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "revision")
	want := map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "waits",
		"policy": "pp/web", "policyGeneration": "1", "clusters": []any{"member1", "member2"}, "applied": 2.0, "available": 2.0,
		"pending": "WaitingForTemplateChange", "message": "waits", "suspended": "all", "created": "2026-01-01T12:00:00Z",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestGetRefuses(t *testing.T) {
	hub := shopInEachState(t)
	for args, want := range map[string]string{
		"get deploy/none":                        "deployment/none not found in namespace shop: name another namespace with -n",
		"activate --policy pp/no":                "pp/no not found: 'kubectl get pp -n shop' lists them",
		"explain op/extra":                       "overridepolicy.policy.karmada.io/extra is an override and no template: 'kubectl sluice render KIND/NAME --cluster MEMBER' shows",
		"explain clusterresourceoverrides/extra": "is an override and no template: 'kubectl sluice render crp/NAME --cluster MEMBER' shows",
		"explain clusters/member1":               "cluster.cluster.karmada.io/member1 is a member and no template: 'kubectl sluice get clusters' tells how it is",
		"get gadgets":                            `the hub serves no kind "gadgets"`,
		"get deploy/fine -A":                     "an object has one namespace",
		"get -o xml":                             "want one of wide, name, json, yaml",
		"history deploy/late":                    "deployment/late has no binding, and so no history: 'kubectl sluice explain deployment/late -n shop' says more",
		"explain fine":                           `"fine" names no object: want KIND/NAME, as in deployment/nginx`,
		"explain pp/none":                        "pp/none not found: 'kubectl get pp -n shop' lists them",
		"activate":                               "nothing is chosen",
		"activate deploy/x -l a":                 "not by both",
		"activate --policy cm/x":                 `"cm/x" names no policy: want pp/NAME or cpp/NAME`,
		"activate all --rate ten":                "--rate ten: want a number a second, minute or hour, as in 10/m",
		"activate all -o json":                   "-o json goes with --dry-run",
	} {
		t.Run(args, func(t *testing.T) { run(t, hub, strings.Fields(args)...).wants(t, want) })
	}
}

func TestGetOfWhoSeesOneNamespace(t *testing.T) {
	hub := shopInEachState(t)
	all, scope := failing("/v1alpha2/resourcebindings", 403), failing("/clusterresourcebindings", 403)
	hub.refuse = func(r *http.Request) *apierrors.StatusError { return stdcmp.Or(all(r), scope(r)) }
	a := run(t, hub, "get", "-o", "name")
	a.wants(t, "")
	wantText(t, "deployment.apps/broken\ndeployment.apps/fine\ndeployment.apps/waits\ndeployment.apps/late", a.out)
	run(t, hub, "get", "-A").wants(t, "refused by the test")
	policies := failing("policies", 403)
	hub.refuse = func(r *http.Request) *apierrors.StatusError { return stdcmp.Or(all(r), scope(r), policies(r)) }
	a = run(t, hub, "get", "deploy/late", "-o", "wide")
	a.wants(t, "")
	if !strings.Contains(a.out, "Unknown") || !strings.Contains(a.out, "only who may read the policies is told why") {
		t.Errorf("who may not read policies is told:\n%s", a.out)
	}
}

func TestWithoutSluicesKinds(t *testing.T) {
	hub := serve(t, "hub")
	hub.refuse = failing("bindings", 404)
	run(t, hub, "get").wants(t, "install them with 'kubectl apply -f config/300-crds'")
}

func TestGetOfNoNamespace(t *testing.T) {
	hub := shopInEachState(t)
	for _, args := range []string{"get -n nope", "get deploy -n nope"} {
		a := run(t, hub, strings.Fields(args)...)
		a.wants(t, "")
		if a.out != "" || a.err != "There is no namespace nope: 'kubectl get namespaces' lists them.\n" {
			t.Errorf("%s says %q, %q", args, a.out, a.err)
		}
	}
}

func TestGetSaysWhatTheGateSays(t *testing.T) {
	p := fixture.Policy("web").Kind().To("member1")
	for name, tc := range map[string]struct {
		template fixture.TemplateBuilder
		want     string
	}{
		"what is too large":                     {template: fixture.Deployment("odd").Holding("big", strings.Repeat("x", 2<<20)), want: "TooLarge"},
		"what is being deleted":                 {template: fixture.Deployment("odd").Annotation("x", "y").Deleting(), want: "TemplateDeleting"},
		"what is just about to be propagated":   {template: fixture.Deployment("odd"), want: "FirstPropagation"},
		"what a Lazy policy found when it came": {template: fixture.Deployment("odd").Baseline(), want: "WaitingForTemplateChange"},
	} {
		t.Run(name, func(t *testing.T) {
			hub, p := serve(t, "hub").shop(), p
			if tc.want == "WaitingForTemplateChange" {
				p = p.Lazy()
			}
			hub.policy(p)
			hub.template(tc.template.ClaimedBy(p))
			if tc.template.Template().Deleting {
				u := hub.get("apps/v1/Deployment/shop/odd")
				u.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
				hub.put("apps/v1/Deployment/shop/odd", u.Object)
			}
			for _, args := range []string{"get deploy", "get deploy/odd"} {
				a := run(t, hub, strings.Fields(args)...)
				a.wants(t, "")
				if !strings.Contains(strings.Join(strings.Fields(a.out), " "), "Deployment odd pp/web - 0/0 0/0 "+tc.want+" ") {
					t.Errorf("%s, want %s:\n%s", args, tc.want, a.out)
				}
			}
		})
	}
}
