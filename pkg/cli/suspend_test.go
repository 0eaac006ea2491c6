// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/test/pipelinetest/fixture"
)

// What would hold nothing back, or let nothing go, is not said to have done so.
func TestWordsThatNameNothingChangeNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a cluster that has not joined, of a template":   {[]string{"suspend", "deploy/nginx", "--cluster", "membr1"}, "cluster membr1 has not joined"},
		"a cluster that has not joined, of a placement":  {[]string{"suspend", "crp/shop", "--cluster", "membr1"}, "cluster membr1 has not joined"},
		"a Cluster is held back by nobody":               {[]string{"suspend", "clusters.cluster.karmada.io/member1"}, "is no template, so nothing of it is held back"},
		"a policy is resumed by who edits it":            {[]string{"resume", "pp/web"}, "edit its spec.suspension"},
		"a cluster that has not joined, of what is held": {[]string{"approve", "membr1"}, "cluster membr1 has not joined"},
		"what is explained has to be named":              {[]string{"explain"}, "KIND/NAME is missing"},
		"the kind that is granted has to be named":       {[]string{"grant"}, "KIND is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			hub, _ := joined(t)
			hub.policy(fixture.Policy("web").Kind())
			before := hub.get("cluster.karmada.io/v1alpha1/Cluster/member1")
			run(t, hub, tc.args...).wants(t, tc.want)
			if d := cmp.Diff(before, hub.get("cluster.karmada.io/v1alpha1/Cluster/member1")); d != "" {
				t.Errorf("the Cluster changed: %s", d)
			}
		})
	}
}

// Of a template that no policy holds, it is not said what its policy does.
func TestWordsOfATemplateWithoutPolicy(t *testing.T) {
	p := fixture.Policy("web").Kind().To("member1").Suspending("member1")
	suspended := func() *api {
		hub := serve(t, "hub").shop()
		hub.propagated(fixture.Deployment("nginx"), p)
		return hub
	}
	free := serve(t, "hub").shop()
	free.propagated(fixture.Deployment("nginx"), fixture.Policy("web").Kind().To("member1"))
	follows := serve(t, "hub").shop()
	b := follows.propagated(fixture.Deployment("nginx"), fixture.Policy("web").Kind().To("member1"))
	b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: "shop", Name: "other"}}
	follows.binding(b)
	held := suspended()
	held.policy(p)
	for name, tc := range map[string]struct {
		hub               *api
		args, says, fails string
	}{
		"rolled back":                           {free, "rollback deploy/nginx --to-revision 1", "deployment/nginx says again what revision 1 says: NoPolicy: no policy holds it, so members keep what they have until one does\n", ""},
		"rolled back, and others refer to it":   {follows, "rollback deploy/nginx --to-revision 1", "deployment/nginx says again what revision 1 says: it follows the templates that refer to it\n", ""},
		"rolled back, with a policy":            {held, "rollback deploy/nginx --to-revision 1", "deployment/nginx says again what revision 1 says: it is let through as its policy says\n", ""},
		"resumed somewhere, and not suspended":  {free, "resume deploy/nginx --cluster member1", "deployment/nginx is not suspended\n", ""},
		"resumed where its policy suspended it": {suspended(), "resume deploy/nginx --cluster member1", "", "a policy that holds deployment/nginx no longer suspended it in member1: without --cluster, all of that is resumed"},
		"resumed where its policy suspends it":  {held, "resume deploy/nginx --cluster member1", "", "its policy says itself where its templates are suspended"},
	} {
		t.Run(name, func(t *testing.T) {
			a := run(t, tc.hub, strings.Fields(tc.args)...)
			a.wants(t, tc.fails)
			if a.out != tc.says {
				t.Errorf("it says %q, want %q", a.out, tc.says)
			}
		})
	}
}
