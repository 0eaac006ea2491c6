// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/budget"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest/fixture"
)

// heldShop has n templates that go where the label is that member1 lost, and are held
// there.
func heldShop(t *testing.T, n int) *api {
	hub := serve(t, "hub").shop()
	p := fixture.Policy("web").Kind().To("member1", "member2")
	hub.policy(p)
	for i := range n {
		b := hub.propagated(fixture.Deployment(fmt.Sprintf("app%02d", i)), p)
		b.Spec.Placement = &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"member2"}}}
		hub.binding(b.WithRemovals(map[string]propagation.Removal{"member1": {Held: fixture.Start}}))
	}
	return hub
}

func TestZ12GetRemovals(t *testing.T) {
	a := run(t, heldShop(t, 2), "get", "removals")
	a.wants(t, "")
	wantText(t, `
		CLUSTER NAMESPACE TEMPLATE POLICY SINCE WHY
		member1 shop deployment/app00 pp/web AGE the cluster is not in clusterNames
		member1 shop deployment/app01 pp/web AGE the cluster is not in clusterNames`, a.out)
	a = run(t, heldShop(t, 2), "get", "removals", "member2")
	a.wants(t, "")
	if a.out != "" {
		t.Errorf("of another cluster it says %s", a.out)
	}
	run(t, heldShop(t, 2), "get", "removals", "no-such-member").wants(t, "no-such-member")
	a = run(t, heldShop(t, 0), "get", "removals")
	a.wants(t, "")
	if !strings.Contains(a.err, "No removal is held") {
		t.Errorf("said %q", a.err)
	}
}

func TestZ12Approve(t *testing.T) {
	hub := heldShop(t, 2)
	before := hub.version
	run(t, hub, "approve").wants(t, "name the clusters")
	a := run(t, hub, "approve", "member2")
	a.wants(t, "")
	wantText(t, "Nothing is held there.", a.out)
	a = run(t, hub, "approve", "member1", "--dry-run")
	a.wants(t, "")
	if strings.Count(a.out, "member1") != 2 || hub.version != before {
		t.Errorf("wrote %t, said\n%s", hub.version != before, a.out)
	}
	a = run(t, hub, "approve", "member1")
	a.wants(t, "")
	wantText(t, "2 removals are approved: the templates leave now.", a.out)
	for i := range 2 {
		b := propagation.Binding{Annotations: hub.get(bindingRef(propagation.BindingOf(fixture.Deployment(fmt.Sprintf("app%02d", i)).Template().Key))).GetAnnotations()}
		if r := b.Removals()["member1"]; !r.Goes() || !r.Approved || !r.Held.Equal(fixture.Start) {
			t.Errorf("binding %d says %v", i, r)
		}
	}
	a = run(t, hub, "approve", "--all")
	a.wants(t, "")
	wantText(t, "Nothing is held there.", a.out)
}

// What was held anew since a person looked stays.
func TestZ12ApproveIsForWhatWasSeen(t *testing.T) {
	held := func(when time.Time) *propagation.Binding {
		return (&propagation.Binding{}).WithRemovals(map[string]propagation.Removal{"member1": {Held: when}})
	}
	if b := approved(held(fixture.Start.Add(time.Minute)), held(fixture.Start), []string{"member1"}); !b.HoldsRemoval("member1") {
		t.Error("it goes")
	}
	if b := approved(held(fixture.Start), held(fixture.Start), []string{"member1"}); b.HoldsRemoval("member1") {
		t.Error("it stays")
	}
}

func TestZ12ExplainSaysWhatIsHeld(t *testing.T) {
	a := run(t, heldShop(t, 1), "explain", "deployment/app00")
	a.wants(t, "")
	if !strings.Contains(a.out, "the removal is held") || !strings.Contains(a.out, "kubectl sluice get removals") {
		t.Error(a.out)
	}
}

// What a label of a Cluster costs is said before it is taken off.
func TestZ12DiffOfACluster(t *testing.T) {
	for name, tc := range map[string]struct {
		n    int
		file string
		want []string
		not  string
	}{
		"more than the budget":  {n: 12, file: "metadata: {name: member1}", want: []string{"deployment/app11", "12 would leave member1 and are held: 10 may leave within ten minutes.", "kubectl sluice approve member1"}},
		"less":                  {n: 3, file: "metadata: {name: member1}", want: []string{"deployment/app02", "3 would leave member1."}, not: "approve"},
		"a label that is there": {n: 12, file: "metadata: {name: member1, labels: {tier: web}}", want: []string{"No template would leave a cluster."}, not: "approve"},
		"a cluster that is not": {n: 0, file: "metadata: {name: nobody}", want: []string{"only clusters that are joined can be compared"}},
	} {
		t.Run(name, func(t *testing.T) {
			hub := serve(t, "hub").shop()
			p := fixture.Policy("web").Kind()
			hub.policy(p)
			for _, m := range fleet[:2] {
				c := cluster("https://"+m, m)
				c.Labels = map[string]string{"tier": "web"}
				hub.put("cluster.karmada.io/v1alpha1/Cluster/"+m, c)
			}
			joined := clusters()[:2]
			for _, c := range joined {
				c.Labels = map[string]string{"tier": "web"}
			}
			for i := range tc.n {
				b := hub.propagated(fixture.Deployment(fmt.Sprintf("app%02d", i)), fixture.Policy("web").Kind().To("member1", "member2"))
				b.Spec.Placement = onLabel("tier", "web")
				b.Spec.Clusters = nil
				b, _ = budget.Of(b, joined).Schedule(propagation.BudgetIndirect, fixture.Start)
				hub.binding(b)
			}
			before := hub.version
			a := runWith(t, hub, "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\n"+tc.file, "diff", "-f", "-")
			for _, w := range tc.want {
				if !strings.Contains(a.out+a.err, w) {
					t.Errorf("it does not say %q:\n%s%s", w, a.out, a.err)
				}
			}
			if tc.not != "" && strings.Contains(a.out, tc.not) || hub.version != before {
				t.Errorf("wrote %t, said\n%s", hub.version != before, a.out)
			}
		})
	}
}

func onLabel(key, value string) *policyv1alpha1.Placement {
	return &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}}}
}
