// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest/fixture"
)

// explainShop has a lazy policy that changed after it had acted.
func explainShop(t *testing.T) *api {
	hub := serve(t, "hub").shop()
	p := fixture.Policy("web").Kind().Lazy().To("member1")
	hub.policy(p.To("member2").Generation(2))
	hub.policy(fixture.ClusterPolicy("all").Priority(9))
	hub.policy(fixture.Policy("db").Labelled("tier", "db"))
	hub.policy(fixture.ClusterPolicy("roles").Selecting())
	b := hub.propagated(fixture.Deployment("nginx"), p)
	hub.work(b, "member1", "False")
	return hub
}

func TestExplain(t *testing.T) {
	a := run(t, explainShop(t), "explain", "deploy/nginx")
	a.wants(t, "")
	wantText(t, `
		deployment/nginx in shop
		Held by pp/web
		In force pp/web, generation 1; content revision 1 (HASH)
		Gate closed, WaitingForTemplateChange: policy shop/web, generation 2, waits until the template changes; in force is policy shop/web, generation 1

		Policies
		RANK POLICY PRIORITY SELECTS TRAITS NOTE
		1 pp/web 0 by kind lazy holds it
		2 cpp/all 9 by name - policy shop/web comes first: a namespaced policy comes before a cluster policy
		- pp/db 0 - - the labels do not match its labelSelector
		1 policy selects other kinds or namespaces (-o wide lists them)

		Pending
		of the policy:
		@@ -1,4 +1,4 @@
		placement:
		clusterAffinity:
		clusterNames:
		- - member1
		+ - member2
		Released now, it leaves member1; joins member2: 'kubectl sluice activate deployment/nginx -n shop'

		Clusters
		Binding has been scheduled successfully.
		CLUSTER REPLICAS STATE HEALTH WHY
		member1 2 Failed Healthy RefusedByMember: quota exceeded
		member2 - NotChosen - is not in clusterNames
		member3 - NotChosen - is not in clusterNames`, a.out)
}

// A policy sets what nobody acts on, and somebody else does, by hand, on a binding.
func TestExplainSaysWhatIsIgnored(t *testing.T) {
	hub := serve(t, "hub").shop()
	p := fixture.Policy("web").Kind().To("member1")
	hub.policy(p.Failover())
	b := hub.propagated(fixture.Deployment("nginx"), p)
	b.Spec.RescheduleTriggeredAt = new(metav1.Now())
	hub.binding(b)
	a := run(t, hub, "explain", "deploy/nginx")
	a.wants(t, "")
	for _, want := range []string{
		"of pp/web, stored and not acted on yet: spec.failover\n", "of the binding, stored and not acted on yet: spec.rescheduleTriggeredAt\n",
	} {
		if !strings.Contains(a.out, want) {
			t.Errorf("no %q in\n%s", want, a.out)
		}
	}
}

func TestExplainForMachines(t *testing.T) {
	a := run(t, explainShop(t), "explain", "deploy/nginx", "-o", "json")
	a.wants(t, "")
	var r explaining.Report
	if err := json.Unmarshal([]byte(a.out), &r); err != nil {
		t.Fatal(err)
	}
	if !r.Gate.PolicyPending || r.Gate.ContentPending || r.Pending.Moves.Join[0] != "member2" || len(r.Policies) != 4 {
		t.Errorf("got %s", a.out)
	}
}

func TestExplainWhatNobodyHolds(t *testing.T) {
	hub := explainShop(t)
	hub.template(fixture.ClusterRole("admin"))
	a := run(t, hub, "explain", "clusterrole", "admin")
	a.wants(t, "")
	wantText(t, `
		clusterrole/admin
		Held by nobody: no policy selects the template
		In force nothing was ever propagated
		Gate NoPolicy

		Policies
		4 policies select other kinds or namespaces (-o wide lists them)`, a.out)
}

func TestExplainPolicy(t *testing.T) {
	hub := explainShop(t)
	hub.template(fixture.Deployment("late").ClaimedBy(fixture.Policy("web")).Baseline())
	a := run(t, hub, "explain", "pp/web")
	a.wants(t, "")
	wantText(t, `
		policy shop/web
		generation 2, priority 0, lazy
		2 templates: 2 pending

		NAMESPACE TEMPLATE STATE WHY
		shop deployment/late pending policy shop/web, generation 2, waits until the template changes; nothing is in force
		shop deployment/nginx pending policy shop/web, generation 2, waits until the template changes; in force is policy shop/web, generation 1`, a.out)

	a = run(t, hub, "explain", "cpp/all")
	a.wants(t, "")
	wantText(t, `
		cluster policy all
		generation 1, priority 9
		1 template: 1 held by another

		NAMESPACE TEMPLATE STATE WHY
		shop deployment/nginx held by pp/web a namespaced policy comes before a cluster policy`, a.out)
}

// Z14: a claim outlives its version: the hub serves apps/v1 only, by now.
func TestZ14ExplainAPolicyOfAVersionThatIsNotServedAnyMore(t *testing.T) {
	hub := serve(t, "hub").shop()
	p := fixture.Policy("web").Kind().To("member1")
	b := hub.propagated(fixture.Deployment("nginx"), p)
	hub.policy(p.Selecting(policyv1alpha1.ResourceSelector{APIVersion: "apps/v1beta1", Kind: "Deployment"}))
	b.Spec.Resource.APIVersion = "apps/v1beta1"
	hub.binding(b)
	a := run(t, hub, "explain", "pp/web")
	a.wants(t, "")
	if !strings.Contains(a.out, "KindNotServed: ") || !strings.Contains(a.out, "1 template: ") || !strings.Contains(a.out, "deployment.apps/nginx") && !strings.Contains(a.out, "deployment/nginx") {
		t.Error(a.out)
	}
}

func TestExplainOfWhatIsNeverATemplate(t *testing.T) {
	a := run(t, serve(t, "hub").shop(), "explain", "ns/kube-system")
	a.wants(t, "")
	if out := strings.Join(strings.Fields(a.out), " "); !strings.Contains(out, "Gate NeverTemplate") || strings.Contains(out, "NoPolicy") {
		t.Error(a.out)
	}
}

func TestHistory(t *testing.T) {
	hub := explainShop(t)
	p := fixture.Policy("web").Kind().Lazy().To("member1")
	b := hub.propagated(fixture.Deployment("nginx"), p)
	older := fixture.Deployment("nginx").Replicas(1).Template()
	hub.revision(b, older, 0)
	a := run(t, hub, "history", "deploy/nginx")
	a.wants(t, "")
	wantText(t, "REVISION HASH AGE IN FORCE\n1 HASH AGE yes\n0 HASH AGE", strings.ReplaceAll(a.out, older.Hash[:10], "HASH"))

	a = run(t, hub, "history", "deploy/nginx", "--revision", "1")
	a.wants(t, "")
	wantText(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata:\nname: nginx\nnamespace: shop\nspec:\nreplicas: 2", a.out)
	run(t, hub, "history", "deploy/nginx", "--revision", "7").wants(t, "revision 7 is not kept: there are 1, 0")
}

func TestResume(t *testing.T) {
	p := fixture.Policy("web").Kind().To("member1").Suspending("member1")
	for name, tc := range map[string]struct {
		given  func(hub *api)
		out    string
		want   string
		stands bool
	}{
		"the policy is gone":               {given: func(*api) {}, out: "deployment/nginx is resumed: what was held back in member1 goes on\n"},
		"a policy of that name made anew":  {given: func(hub *api) { other := p; hub.policy(other.Kind()); hub.rename("PropagationPolicy/shop/web") }, out: "deployment/nginx is resumed: what was held back in member1 goes on\n"},
		"the policy still suspends it":     {given: func(hub *api) { hub.policy(p) }, want: "edit spec.suspension there, 'kubectl edit pp/web -n shop'", stands: true},
		"the policy suspends it no longer": {given: func(hub *api) { hub.policy(fixture.Policy("web").Kind()) }, want: "Sluice is about to lift the suspension", stands: true},
	} {
		t.Run(name, func(t *testing.T) {
			hub := serve(t, "hub").shop()
			b := hub.propagated(fixture.Deployment("nginx"), p)
			yes := true
			b.Spec.Suspension.Scheduling = &yes
			hub.binding(b)
			tc.given(hub)
			a := run(t, hub, "resume", "deploy/nginx")
			a.wants(t, tc.want)
			if a.out != tc.out {
				t.Errorf("said %q", a.out)
			}
			spec, _ := hub.get(bindingRef(b.Key)).Object["spec"].(map[string]any)
			suspension, _ := spec["suspension"].(map[string]any)
			if _, stands := suspension["dispatchingOnClusters"]; stands != tc.stands {
				t.Errorf("the suspension is %v", suspension)
			}
			if suspension["scheduling"] != true {
				t.Error("what others hold back was lifted too")
			}
		})
	}
	hub := serve(t, "hub").shop()
	hub.propagated(fixture.Deployment("nginx"), fixture.Policy("web"))
	if a := run(t, hub, "resume", "deploy/nginx"); a.code != 0 || a.out != "deployment/nginx is not suspended\n" {
		t.Errorf("said %+v", a)
	}
}

// rename gives a policy another permanent id.
func (a *api) rename(ref string) {
	ref = "policy.karmada.io/v1alpha1/" + ref
	u := a.get(ref)
	u.SetLabels(map[string]string{propagation.ClaimLabelNamespaced: "another"})
	a.put(ref, u.Object)
}

// TestExplainRoom: where replicas are divided by it, explain says what each cluster has
// room for, or that nobody can tell.
func TestExplainRoom(t *testing.T) {
	hub := serve(t, "hub").shop()
	container := map[string]any{"name": "nginx", "resources": map[string]any{"requests": map[string]any{"cpu": "1"}}}
	nginx := fixture.Deployment("nginx").Spec("template", map[string]any{"spec": map[string]any{"containers": []any{container}}})
	hub.propagated(nginx, fixture.Policy("web").To("member1", "member2").Dividing(policyv1alpha1.ReplicaSchedulingStrategy{
		ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceAggregated,
	}))
	left := func(name, cpu string) {
		c := cluster("https://"+name, name)
		c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}, Allocated: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
		}
		hub.put("cluster.karmada.io/v1alpha1/Cluster/"+name, c)
	}
	says := func(want ...string) {
		t.Helper()
		a := run(t, hub, "explain", "deploy/nginx")
		a.wants(t, "")
		for _, line := range want {
			if !strings.Contains(a.out, "\n  "+line+"\n") {
				t.Errorf("it does not say %q:\n%s", line, a.out)
			}
		}
	}
	left("member1", "5")
	says("More replicas are divided as if all clusters had room:", "  member1 has room for 4, by its cpu", "  nobody can tell of member2: its nodes were not measured")
	left("member2", "3")
	says("More replicas go where there is room:", "  member1 has room for 4, by its cpu", "  member2 has room for 2, by its cpu")
}

// TestExplainNamespaceOfWorksDeleted: where no Work can be created, explain says why.
func TestExplainNamespaceOfWorksDeleted(t *testing.T) {
	hub := serve(t, "hub").shop()
	hub.propagated(fixture.Deployment("nginx"), fixture.Policy("web").To("member1", "member2"))
	for _, ref := range hub.works() {
		hub.remove(ref)
	}
	for name, deleted := range map[string]any{"karmada-es-member1": "2026-03-01T12:00:00Z", "karmada-es-member2": nil} {
		hub.put("v1/Namespace/"+name, map[string]any{"metadata": map[string]any{"deletionTimestamp": deleted}})
	}
	a := run(t, hub, "explain", "deploy/nginx")
	a.wants(t, "")
	for _, line := range []string{
		"member1 2 Rendering - namespace karmada-es-member1 is being deleted: it is created again when the Works in it are gone",
		"member2 2 Rendering - -",
	} {
		if !strings.Contains(strings.Join(strings.Fields(a.out), " "), line) {
			t.Errorf("it does not say %q:\n%s", line, a.out)
		}
	}
}
