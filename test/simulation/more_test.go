// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// What only the histories of the second family draw, each by itself: the model agrees
// with the outcome, and the outcome is what a reader expects.
func TestMore(t *testing.T) {
	everything := op{verb: deliver}
	adds := func(value string, clusters ...string) over {
		return over{rules: []overRule{{clusters: clusters, operator: policyv1alpha1.OverriderOpAdd, value: value}}}
	}
	overriding := func(key propagation.PolicyKey, o over) op { return op{verb: putOverride, policy: key, over: o} }
	divided := func(s *policyv1alpha1.PropagationSpec) {
		weight := func(n int64, c string) policyv1alpha1.StaticClusterWeight {
			return policyv1alpha1.StaticClusterWeight{TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{c}}, Weight: n}
		}
		s.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{
			ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceWeighted,
			WeightPreference: &policyv1alpha1.ClusterPreferences{StaticWeightList: []policyv1alpha1.StaticClusterWeight{weight(2, "m1"), weight(1, "m2")}},
		}
	}
	repel := slices.Index(effects, corev1.TaintEffectNoSchedule)
	policy := namespaced("a")
	for name, tc := range map[string]struct {
		history []op
		// want is what members have: of each what it says, if anything, and its replicas.
		want string
	}{
		"an override of the namespace has the last word":      {[]op{said(policy, "m1+m2"), alone(1), overriding(clusterWide("over-z"), adds("one")), overriding(namespaced("over-a"), adds("two", "m2"))}, "m1:one:2 m2:two:2"},
		"an override that is deleted says nothing any more":   {[]op{said(policy, "m1"), alone(1), overriding(clusterWide("over-x"), adds("one")), {verb: rest}, {verb: dropOverride, policy: clusterWide("over-x")}}, "m1::2"},
		"replicas are shared by weight":                       {[]op{said(policy, "m1+m2", divided), alone(1), {verb: putTemplate, key: nginx, content: content{image: 1, replicas: 6, tier: "front"}}}, "m1::4 m2::2"},
		"what a member has that left stays there":             {[]op{said(policy, "m1+m2"), alone(1), everything, {verb: unjoin, cluster: "m1"}, everything, {verb: dropTemplate, key: nginx}}, "m1::2"},
		"a member that comes back has what is wanted there":   {[]op{said(policy, "m1+m2"), alone(1), everything, {verb: unjoin, cluster: "m1"}, everything, {verb: putTemplate, key: nginx, content: content{image: 2, replicas: 3, tier: "front"}}, everything, {verb: rejoin, cluster: "m1"}}, "m1::3 m2::3"},
		"nothing goes anew to a cluster with a taint":         {[]op{{verb: taint, cluster: "m2", n: repel}, everything, said(policy, "m1+m2"), alone(1)}, "m1::2"},
		"who is there when a taint comes stays":               {[]op{said(policy, "m1+m2"), alone(1), everything, {verb: taint, cluster: "m2", n: repel}}, "m1::2 m2::2"},
		"what a kind brought stays while it is not served":    {[]op{said(policy, "m1"), alone(1), everything, {verb: unserve, key: nginx}, {verb: dropPolicy, policy: policy}, {verb: dropBinding, key: nginx}, everything}, "m1::2"},
		"without a right nothing is lost":                     {[]op{said(policy, "m1"), alone(1), everything, {verb: revoke, n: slices.Index(refusable, "Deployment")}, said(policy, "m2"), everything}, "m2::2"},
		"a member that goes back gets what it lost":           {[]op{said(policy, "m1"), {verb: keepMember, cluster: "m1"}, alone(1), everything, {verb: restoreMember, cluster: "m1"}}, "m1::2"},
		"a member that goes back may have what nobody wants":  {[]op{said(policy, "m1"), alone(1), everything, {verb: keepMember, cluster: "m1"}, {verb: dropTemplate, key: nginx}, everything, {verb: restoreMember, cluster: "m1"}}, "m1::2"},
		"a hub that goes back takes nothing out of members":   {[]op{said(policy, "m1"), {verb: rest}, {verb: keepHub}, alone(1), everything, {verb: restoreHub}}, "m1::2"},
		"a hub that goes back wants again what it had wanted": {[]op{said(policy, "m1"), alone(1), {verb: rest}, {verb: keepHub}, said(policy, "m2"), everything, {verb: restoreHub}}, "m1::2 m2::2"},
		"a backup may be younger than the last sweep":         {[]op{said(policy, "m1"), alone(1), {verb: rest}, {verb: keepHub}, said(policy, "m2"), everything, {verb: restoreHub, n: young}}, "m1::2 m2::2"},
		"and its policy changes then":                         {[]op{said(policy, "m1"), alone(1), {verb: rest}, {verb: keepHub}, said(policy, "m2"), everything, {verb: restoreHub, n: young}, said(policy, "m3")}, "m2::2 m3::2"},
		"a name that is nobody's takes nothing from another":  {[]op{said(policy, "m1+m2"), alone(1), everything, said(policy, "m1+m4")}, "m1::2 m2::2"},
		"corrected, it acts":                                  {[]op{said(policy, "m1+m2"), alone(1), everything, said(policy, "m1+m4"), everything, said(policy, "m1+m3")}, "m1::2 m3::2"},
		"a name beside that of each is nobody's":              {[]op{said(policy, "m1+m2"), alone(1), everything, said(policy, "m1+m2+m4")}, "m1::2 m2::2"},
		"of a forged event nothing comes":                     {[]op{said(policy, "m1"), alone(1), everything, {verb: forgeEvent, n: slices.Index(forgeries, events.WorkRemoved), key: nginx, cluster: "m1"}, {verb: forgeEvent, n: slices.Index(forgeries, events.BindingRemoved), key: nginx, cluster: "m1"}}, "m1::2"},
	} {
		for climate, c := range map[string]climate{"one process": {lag: true, lanes: true, follow: true, flights: 1}, "many": {keeps: true, flights: 1}} {
			t.Run(name+", "+climate, func(t *testing.T) {
				w := newLab(t).start(c)
				if err := w.run(tc.history); err != nil {
					t.Fatal(err)
				}
				var has []string
				for _, name := range clusters {
					if o := w.members[name].Object(nginx); o != nil {
						has = append(has, sprintf("%s:%s:%v", name, saysOf(o.Content), o.Content["spec"].(map[string]any)["replicas"]))
					}
				}
				if got := strings.Join(has, " "); got != tc.want {
					t.Errorf("members have %s, want %s", got, tc.want)
				}
			})
		}
	}
}
