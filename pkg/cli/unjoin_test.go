// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest/fixture"
)

// joined is a hub with a member that got two Deployments and a ClusterRole.
func joined(t *testing.T) (hub, member *api) {
	hub, member = serve(t, "hub"), serve(t, "one")
	hub.ready()
	run(t, hub, "join", "member1", "--cluster-kubeconfig", member.kubeconfig()).wants(t, "")
	p := fixture.Policy("web").Kind().To("member1")
	for _, b := range []*propagation.Binding{
		hub.propagated(fixture.Deployment("nginx"), p), hub.propagated(fixture.Deployment("web"), p),
		hub.propagated(fixture.ClusterRole("shop"), fixture.ClusterPolicy("all").To("member1")),
	} {
		k := b.Template()
		ref := strings.ReplaceAll(k.APIVersion+"/"+k.Kind+"/"+k.Namespace+"/"+k.Name, "//", "/")
		member.put(ref, map[string]any{"metadata": map[string]any{"labels": map[string]any{propagation.LabelMemberWork: propagation.WorkName(b.Key)}}})
		if b.Spec.Clusters == nil {
			hub.work(b, "member1", "True")
		}
	}
	hub.after = nil
	return hub, member
}

// letGo plays the sweeper: it lets go of the Works when the Cluster is gone.
func (a *api) letGo() {
	a.after = func(r *http.Request) {
		if r.Method != http.MethodDelete || !strings.HasSuffix(r.URL.Path, "/clusters/member1") {
			return
		}
		for _, ref := range a.works() {
			a.remove(ref)
		}
	}
}

func (a *api) works() []string {
	var out []string
	for _, ref := range a.refs() {
		if strings.Contains(ref, "/Work/") {
			out = append(out, ref)
		}
	}
	return out
}

// left is what of the cluster is on the hub.
func (a *api) left() []string {
	var out []string
	for _, ref := range a.refs() {
		if strings.Contains(ref, "member1") {
			out = append(out, ref)
		}
	}
	return out
}

func TestUnjoinLeavesTheObjects(t *testing.T) {
	hub, member := joined(t)
	hub.letGo()
	before := member.refs()
	a := run(t, hub, "unjoin", "member1")
	a.wants(t, "")
	want := `member1 is unjoined
3 objects stay in it, with the label sluice.dev/work:
  deployment/nginx in shop
  deployment/web in shop
  clusterrole/shop
`
	if diff := cmp.Diff(want, a.out); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, member.refs()); diff != "" {
		t.Errorf("the member changed: %s", diff)
	}
	if left := hub.left(); len(left) > 0 {
		t.Errorf("left on the hub: %v", left)
	}
	run(t, hub, "unjoin", "member1").wants(t, "member1 is not joined")
}

func TestUnjoinPurgesWhatIsOurs(t *testing.T) {
	hub, member := joined(t)
	hub.letGo()
	const theirs = "apps/v1/Deployment/shop/web"
	member.put(theirs, map[string]any{"metadata": map[string]any{"labels": map[string]any{propagation.LabelMemberWork: "another"}}})
	const unlisted = "apps/v1/Deployment/shop/unlisted"
	member.put(unlisted, map[string]any{"metadata": map[string]any{"labels": map[string]any{propagation.LabelMemberWork: "nginx"}}})
	// Z34: what came by its Work's former name is ours as well.
	nginx := propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"}
	former := propagation.FormerWorkName(propagation.BindingOf(nginx))
	member.put("apps/v1/Deployment/shop/nginx", map[string]any{"metadata": map[string]any{"labels": map[string]any{propagation.LabelMemberWork: former}}})
	a := run(t, hub, "unjoin", "member1", "--purge")
	a.wants(t, "")
	if diff := cmp.Diff("deployment/nginx in shop deleted from member1\nclusterrole/shop deleted from member1\nmember1 is unjoined\n", a.out); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{unlisted, theirs}, member.refs()); diff != "" {
		t.Error(diff)
	}
	if left := hub.left(); len(left) > 0 {
		t.Errorf("left on the hub: %v", left)
	}
}

func TestUnjoinRefusesAPurgeThatCannotSucceed(t *testing.T) {
	for name, given := range map[string]func(hub, member *api){
		"the member does not answer":    func(_, member *api) { member.refuse = failing("/readyz", 500) },
		"the credentials are not there": func(hub, _ *api) { hub.remove("v1/Secret/sluice-system/member1") },
		"the member has another name, too": func(hub, _ *api) {
			hub.put("cluster.karmada.io/v1alpha1/Cluster/prod-1", hub.get("cluster.karmada.io/v1alpha1/Cluster/member1").Object)
		},
	} {
		t.Run(name, func(t *testing.T) {
			hub, member := joined(t)
			given(hub, member)
			before := hub.refs()
			run(t, hub, "unjoin", "member1", "--purge").wants(t, "nothing was changed. Without --purge the cluster can be unjoined all the same")
			if diff := cmp.Diff(before, hub.refs()); diff != "" {
				t.Error(diff)
			}
			if got := len(member.refs()); got != 3 {
				t.Errorf("%d objects are left in the member", got)
			}
		})
	}
}

func TestUnjoinGoesOn(t *testing.T) {
	hub, member := joined(t)
	run(t, hub, "unjoin", "member1", "--timeout", "50ms").wants(t, "3 Works are left of member1 after 50ms: run this command again")
	if hub.get(member1) != nil || hub.get("v1/Secret/sluice-system/member1") == nil {
		t.Error("want the Cluster gone and the Secret kept")
	}
	for _, ref := range hub.works()[1:] {
		hub.remove(ref)
	}
	before := len(member.refs())
	// A request of the first command, which was over, may come later than this.
	var second atomic.Bool
	hub.then(func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/secrets/member1") {
			second.Store(true)
		}
		if second.Load() && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/works") {
			for _, ref := range hub.works() {
				hub.remove(ref)
			}
		}
	})
	run(t, hub, "unjoin", "member1", "--purge").wants(t, "")
	if got := before - len(member.refs()); got != 1 {
		t.Errorf("%d objects were purged, want the one that was still listed", got)
	}
	if left := hub.left(); len(left) > 0 {
		t.Errorf("left on the hub: %v", left)
	}
}

func TestUnjoinWorksWithoutSluice(t *testing.T) {
	t.Parallel() // it takes as long as Sluice is given
	hub, member := joined(t)
	before := member.refs()
	a := run(t, hub, "unjoin", "member1", "--timeout", "30s")
	a.wants(t, "")
	if left := hub.left(); len(left) > 0 {
		t.Errorf("left on the hub: %v", left)
	}
	if diff := cmp.Diff(before, member.refs()); diff != "" {
		t.Errorf("the member changed: %s", diff)
	}
}

// Where Sluice is busy, or goes next, nobody else lets go of the MemberCluster, and its kind
// could not be taken off the hub.
func TestUnjoinLetsGoOfTheMemberCluster(t *testing.T) {
	const mirror = "cluster.kubernetes-fleet.io/v1/MemberCluster/member1"
	for sentence, tc := range map[string]struct {
		boundTo string // by a placement
		held    int    // finalizers that it has in the end
	}{
		"no placement is bound to it":      {"member2", 0},
		"a placement is still bound to it": {"member1", 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel() // it takes as long as Sluice is given
			hub, _ := joined(t)
			hub.letGo()
			finalizer := []any{"kubernetes-fleet.io/membercluster-finalizer"}
			hub.put(mirror, map[string]any{"metadata": map[string]any{"finalizers": finalizer}})
			hub.put("placement.kubernetes-fleet.io/v1/ClusterResourceBinding/shop", map[string]any{"spec": map[string]any{"targetCluster": tc.boundTo}})
			letGo := hub.after
			hub.after = func(r *http.Request) {
				letGo(r)
				if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/memberclusters/member1") { // which its finalizer holds
					hub.put(mirror, map[string]any{"metadata": map[string]any{"finalizers": finalizer, "deletionTimestamp": "2026-11-25T08:31:11Z"}})
				}
			}
			run(t, hub, "unjoin", "member1").wants(t, "")
			if got := len(hub.get(mirror).GetFinalizers()); got != tc.held {
				t.Errorf("it has %d finalizers, want %d", got, tc.held)
			}
		})
	}
}
