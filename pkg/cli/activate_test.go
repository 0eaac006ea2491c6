// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest/fixture"
)

// pendingShop has a lazy policy that changed: three templates wait, one of them
// was never propagated, and a fourth follows its policy.
func pendingShop(t *testing.T) (hub *api, now fixture.PolicyBuilder) {
	hub = serve(t, "hub").shop()
	old := fixture.Policy("web").Kind().Lazy().To("member1")
	now = old.To("member2").Generation(2)
	hub.policy(now)
	other := fixture.ClusterPolicy("all").To("member3")
	hub.policy(other)
	hub.propagated(fixture.Deployment("a"), old)
	hub.propagated(fixture.Deployment("b").Label("tier", "web"), old)
	hub.template(fixture.Deployment("c").ClaimedBy(now).Baseline())
	hub.propagated(fixture.ClusterRole("role"), other)
	return hub, now
}

func TestActivateDryRun(t *testing.T) {
	const all = `
		NAMESPACE TEMPLATE POLICY WOULD
		shop deployment/a pp/web leaves member1; joins member2
		shop deployment/b pp/web leaves member1; joins member2
		shop deployment/c pp/web joins member2`
	const b = `
		NAMESPACE TEMPLATE POLICY WOULD
		shop deployment/b pp/web leaves member1; joins member2`
	for args, want := range map[string]string{
		"--policy pp/web":          all,
		"-l tier=web":              b,
		"deploy/b":                 b,
		"deploy b":                 b,
		"-l tier=web -A":           b,
		"all":                      all,
		"--policy cpp/all":         "Nothing waits.",
		"-l tier=web -n elsewhere": "Nothing waits.",
		"all -l propagationpolicy.karmada.io/name=web":          all,
		"-l propagationpolicy.karmada.io/name=web,tier=web":     b,
		"all -l clusterpropagationpolicy.karmada.io/name=all":   "Nothing waits.",
		"all -l tier=web,propagationpolicy.karmada.io/name=web": b,
	} {
		for _, command := range []string{"activate", "reconcile"} {
			t.Run(command+" "+args, func(t *testing.T) {
				hub, _ := pendingShop(t)
				before := hub.version
				a := run(t, hub, append([]string{command, "--dry-run"}, strings.Fields(args)...)...)
				a.wants(t, "")
				wantText(t, want, a.out)
				if hub.version != before {
					t.Error("something was written")
				}
			})
		}
	}
}

func TestActivate(t *testing.T) {
	hub, now := pendingShop(t)
	hub.gate(now)
	a := run(t, hub, "activate", "--policy", "pp/web", "--wait", "--timeout", "20s")
	a.wants(t, "")
	want := `[========                ] 1/3 deployment/a in shop: leaves member1; joins member2
[================        ] 2/3 deployment/b in shop: leaves member1; joins member2
[========================] 3/3 deployment/c in shop: joins member2
`
	if diff := cmp.Diff(want, a.out); diff != "" {
		t.Error(diff)
	}
	a = run(t, hub, "activate", "--policy", "pp/web", "--wait", "--timeout", "20s")
	a.wants(t, "")
	if a.out != "Nothing waits: 3 templates are as their policies say\n" {
		t.Errorf("the second time it says %q", a.out)
	}
}

func TestActivateOfWhatNobodyHolds(t *testing.T) {
	hub := serve(t, "hub").shop()
	hub.template(fixture.Deployment("free"))
	a := run(t, hub, "activate", "deploy/free", "--timeout", "20s")
	a.wants(t, "")
	if a.out != "Nothing waits, and no policy holds it.\n" {
		t.Errorf("it says %q", a.out)
	}
}

func TestActivateWritesTheWishAndNothingElse(t *testing.T) {
	hub, _ := pendingShop(t)
	ref := bindingRef(propagation.BindingOf(fixture.Deployment("a").Template().Key))
	before, template := hub.get(ref), hub.get("apps/v1/Deployment/shop/a")
	run(t, hub, "activate", "deploy/a", "--timeout", "50ms").wants(t, "not done after 50ms: is Sluice running?")
	after := hub.get(ref)
	annotations := before.GetAnnotations()
	annotations[propagation.AnnotationActivate] = "id-web/2"
	before.SetAnnotations(annotations)
	labels := before.GetLabels()
	labels[propagation.LabelAsked] = "true" // by which sources hear of it
	before.SetLabels(labels)
	before.SetResourceVersion(after.GetResourceVersion())
	before.SetGeneration(after.GetGeneration())
	before.SetOwnerReferences(after.GetOwnerReferences())
	if diff := cmp.Diff(before.Object, after.Object); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(template, hub.get("apps/v1/Deployment/shop/a")); diff != "" {
		t.Error(diff)
	}
	// Run again, it does not write again, and goes on waiting.
	version := hub.version
	run(t, hub, "activate", "deploy/a", "--timeout", "50ms").wants(t, "not done after 50ms")
	if hub.version != version {
		t.Error("the request was written twice")
	}
}

func TestActivateOfWhatHasNoBindingSaysSo(t *testing.T) {
	hub, _ := pendingShop(t)
	hub.after = func(r *http.Request) {
		if r.Method != http.MethodGet && strings.Contains(r.URL.Path, "bindings") {
			hub.remove(bindingRef(propagation.BindingOf(fixture.Deployment("a").Template().Key)))
		}
	}
	run(t, hub, "activate", "deploy/a", "--timeout", "20s").wants(t, "it has no binding, so the request is lost: run the command again")
}

func TestActivateStopsOrGoesOn(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
		done []string
	}{
		"at the first failure":   {args: []string{"all"}, want: "1 of 3 are released; the same command goes on with what waits", done: []string{"a"}},
		"past it, if so wanted":  {args: []string{"all", "--keep-going"}, want: "1 of 3 templates failed: the same command tries them again", done: []string{"a", "c"}},
		"past what is not there": {args: []string{"deploy/a", "deploy/none", "--keep-going"}, want: "1 of 2 templates failed: the same command tries them again", done: []string{"a"}},
		"alone without a lesson": {args: []string{"deploy/b"}, want: "deployment/b in shop: patch"},
	} {
		t.Run(name, func(t *testing.T) {
			hub, now := pendingShop(t)
			hub.gate(now)
			hub.refuse = failing("/b-deployment", 403, http.MethodPatch)
			a := run(t, hub, append([]string{"activate"}, tc.args...)...)
			a.wants(t, tc.want)
			for _, n := range []string{"a", "c"} {
				want := slices.Contains(tc.done, n)
				if got := strings.Contains(a.out, "deployment/"+n+" in shop"); got != want {
					t.Errorf("%s done: %v\n%s", n, got, a.out)
				}
			}
		})
	}
}

func TestActivateNoticesThatThePolicyChanged(t *testing.T) {
	hub, now := pendingShop(t)
	hub.after = func(r *http.Request) {
		if r.Method == http.MethodPatch {
			hub.policy(now.Generation(3))
		}
	}
	run(t, hub, "activate", "deploy/a", "--timeout", "20s").wants(t, "the policy changed meanwhile, which voids the request: run the command again")
}

func TestActivateRefusesWhatNoPolicyHolds(t *testing.T) {
	hub := serve(t, "hub").shop()
	gone := fixture.Policy("gone").Kind().Lazy().To("member1")
	hub.propagated(fixture.Deployment("a"), gone)
	hub.template(fixture.Deployment("a").Replicas(7))
	run(t, hub, "activate", "deploy/a").wants(t, "deployment/a in shop: no policy holds it: make one that selects it")
	a := run(t, hub, "activate", "deploy/a", "--dry-run")
	a.wants(t, "")
	wantText(t, "NAMESPACE TEMPLATE POLICY WOULD\nshop deployment/a - cannot be released: no policy holds it: make one that selects it", a.out)
}

func TestActivateAtItsPace(t *testing.T) {
	for rate, want := range map[string]time.Duration{"": 0, "1/s": time.Second, "10/m": 6 * time.Second, "100/h": 36 * time.Second} {
		got, err := parseRate(rate)
		if err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", rate, got, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sleepUntil(ctx, time.Now().Add(time.Hour)); err == nil {
		t.Error("an interrupted pause is no error")
	}
}

const planned = `
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata:
  name: web
spec:
  activationPreference: Lazy
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment}
  placement: {clusterAffinity: {clusterNames: [member3]}}
`

func TestDiff(t *testing.T) {
	for name, tc := range map[string]struct{ file, want string }{
		"a lazy policy acts later": {file: planned, want: `
			NAMESPACE TEMPLATE HELD BY NOW LATER
			shop deployment/a pp/web - leaves member1; joins member3
			shop deployment/b pp/web - leaves member1; joins member3
			shop deployment/c pp/web - joins member3

			0 templates change now, 3 later; 0 others stay as they are.
			Later: when the template changes, or with 'kubectl sluice activate'.`},
		"an eager one at once, but for what is suspended": {
			file: strings.Replace(planned, "activationPreference: Lazy", "suspension: {dispatching: true}", 1), want: `
			NAMESPACE TEMPLATE HELD BY NOW LATER
			shop deployment/a pp/web leaves member1; joins member3; held back in member1, member3; suspended: none → all -
			shop deployment/b pp/web leaves member1; joins member3; held back in member1, member3; suspended: none → all -
			shop deployment/c pp/web joins member3; held back in member3; suspended: none → all -

			3 templates change now, 0 later; 0 others stay as they are.`},
		"one that selects less lets go": {file: strings.Replace(planned, "kind: Deployment}", "kind: Deployment, name: a}", 1), want: `
			NAMESPACE TEMPLATE HELD BY NOW LATER
			shop deployment/a pp/web - leaves member1; joins member3
			shop deployment/b pp/web → nobody - -
			shop deployment/c pp/web → nobody - -

			0 templates change now, 1 later; 0 others stay as they are.
			Later: when the template changes, or with 'kubectl sluice activate'.`},
		"one that says the same changes nothing": {file: strings.Replace(planned, "member3", "member2", 1), want: "0 templates change now, 0 later; 3 others stay as they are."},
		"a new one that comes second changes nothing": {
			file: strings.NewReplacer("name: web", "name: zzz").Replace(planned), want: "0 templates change now, 0 later; 3 others stay as they are."},
	} {
		t.Run(name, func(t *testing.T) {
			hub, _ := pendingShop(t)
			before := hub.version
			a := runWith(t, hub, tc.file, "diff", "-f", "-")
			a.wants(t, "")
			wantText(t, tc.want, a.out)
			if hub.version != before {
				t.Error("something was written")
			}
		})
	}
}

func TestDiffRefuses(t *testing.T) {
	hub, _ := pendingShop(t)
	for name, tc := range map[string]struct{ file, want string }{
		"what has no name":         {file: "apiVersion: v1\nkind: ConfigMap", want: `holds a ConfigMap "": only objects with a kind and a name can be compared`},
		"what has no kind":         {file: "metadata: {name: a}", want: `holds a document without kind "a": only objects with a kind`},
		"what is never a template": {file: "apiVersion: work.karmada.io/v1alpha1\nkind: Work\nmetadata: {name: a}", want: `holds a Work "a", which is never carried`},
		"an empty file":            {file: "---\n", want: "there is no object in -"},
		"no YAML":                  {file: "a: b: c", want: "read -"},
	} {
		t.Run(name, func(t *testing.T) { runWith(t, hub, tc.file, "diff", "-f", "-").wants(t, tc.want) })
	}
	hub.refuse = failing("/web", 422, http.MethodPut)
	runWith(t, hub, planned, "diff", "-f", "-").wants(t, "the hub would refuse pp/web")
}

func TestDiffWhileSomebodyWritesThePolicy(t *testing.T) {
	hub, _ := pendingShop(t)
	asked, conflict := 0, failing("/web", http.StatusConflict, http.MethodPut)
	hub.refuse = func(r *http.Request) *apierrors.StatusError {
		err := conflict(r)
		if err != nil {
			asked++
		}
		if asked > 2 {
			return nil
		}
		return err
	}
	runWith(t, hub, planned, "diff", "-f", "-").wants(t, "")
	if asked != 3 {
		t.Errorf("the hub was asked %d times, want 3", asked)
	}
}

func TestDiffForMachines(t *testing.T) {
	hub, _ := pendingShop(t)
	a := runWith(t, hub, planned, "diff", "-f", "-", "-o", "json")
	a.wants(t, "")
	var got struct {
		Items []struct{ PolicyDiff string }
	}
	if err := json.Unmarshal([]byte(a.out), &got); err != nil || len(got.Items) != 3 || !strings.Contains(got.Items[0].PolicyDiff, "+    - member3") {
		t.Errorf("%v in\n%s", err, a.out)
	}
}
