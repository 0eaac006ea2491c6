// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest/fixture"
)

func TestZ21GetOrphans(t *testing.T) {
	hub, member := joined(t)
	mark := func(ref, work, of string) {
		member.put(ref, map[string]any{"metadata": map[string]any{
			"uid":         "uid of " + ref,
			"labels":      map[string]any{propagation.LabelMemberWork: work},
			"annotations": map[string]any{applying.AnnotationHub: of},
		}})
	}
	mark("v1/ConfigMap/shop/young", "young", "hub")
	mark("v1/ConfigMap/shop/theirs", "theirs", "another hub")
	mark("apps/v1/Deployment/shop/known", hub.get(hub.works()[0]).GetName(), "hub")
	nginx := propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"}
	mark("apps/v1/Deployment/shop/formerly", propagation.FormerWorkName(propagation.BindingOf(nginx)), "hub") // Z34: the hub knows its Work by both names
	before := member.refs()

	a := run(t, hub, "get", "orphans", "-o", "name")
	a.wants(t, "")
	if diff := cmp.Diff("member1 configmap/young\n", a.out); diff != "" {
		t.Error(diff)
	}
	run(t, hub, "get", "orphans", "no-such-member").wants(t, "no-such-member")
	if diff := cmp.Diff(before, member.refs()); diff != "" {
		t.Errorf("the member changed: %s", diff)
	}
	member.remove("v1/ConfigMap/shop/young")
	a = run(t, hub, "get", "orphans")
	a.wants(t, "")
	if a.out != "" {
		t.Errorf("nothing is orphaned, and it says %s", a.out)
	}
}

// What went with a former definition of its kind is listed by what its Work says, and
// explained, though there is no such template.
func TestZ11WhatIsKeptIsAnOrphanAndExplained(t *testing.T) {
	hub, member := joined(t)
	b := hub.propagated(fixture.Deployment("one"), fixture.Policy("web").Kind().To("member1"))
	work := "work.karmada.io/v1alpha1/Work/karmada-es-member1/" + propagation.WorkName(b.Key)
	member.put("apps/v1/Deployment/shop/one", map[string]any{"metadata": map[string]any{
		"uid":         "uid of one",
		"labels":      map[string]any{propagation.LabelMemberWork: propagation.WorkName(b.Key)},
		"annotations": map[string]any{applying.AnnotationHub: "hub"},
	}})
	run(t, hub, "get", "orphans", "-o", "name").wants(t, "")

	hub.remove("apps/v1/Deployment/shop/one")
	hub.remove(bindingRef(b.Key))
	run(t, hub, "explain", "deploy/one").wants(t, "not found")
	conditions := applying.Keeping(&propagation.Work{}, true, time.Now())
	w := hub.get(work).Object
	w["status"].(map[string]any)["conditions"] = append(w["status"].(map[string]any)["conditions"].([]any), asAny(t, conditions[0]))
	hub.put(work, w)

	a := run(t, hub, "get", "orphans")
	a.wants(t, "")
	if !strings.Contains(a.out, "deployment/one") || !strings.Contains(a.out, propagation.WorkName(b.Key)) || !strings.Contains(a.out, "its kind was defined anew") {
		t.Errorf("it lists\n%s", a.out)
	}
	a = run(t, hub, "get", "orphans", "-o", "json")
	a.wants(t, "")
	if !strings.Contains(a.out, conditions[0].Message) || strings.Count(a.out, `"work"`) != 1 {
		t.Errorf("it lists\n%s", a.out)
	}
	a = run(t, hub, "explain", "deploy/one")
	a.wants(t, "")
	wantText(t, `
		deployment/one in shop
		In force it does not exist on the hub
		Kept CannotTell: `+conditions[0].Message+`

		Clusters
		CLUSTER STATE HEALTH WHY
		member1 Kept Healthy -`, a.out)
	a = run(t, hub, "explain", "deploy/one", "-o", "json")
	a.wants(t, "")
	if !strings.Contains(a.out, `"Kept"`) {
		t.Errorf("it says\n%s", a.out)
	}
}

// asAny is what the API server has of a value.
func asAny(t *testing.T, v any) (out any) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// What a member does not accept is not said of the hub.
func TestAMemberThatKnowsNobodyIsNotTheHub(t *testing.T) {
	for _, args := range []string{"get orphans", "unjoin member1 --purge", "join member2 --cluster-kubeconfig FILE"} {
		t.Run(args, func(t *testing.T) {
			hub, member := joined(t)
			member.refuse = failing("/", 401)
			a := run(t, hub, strings.Fields(strings.Replace(args, "FILE", member.kubeconfig(), 1))...)
			a.wants(t, "the member at "+member.url+" does not accept the credentials of ")
			if strings.Contains(a.err, "The hub does not accept") || strings.Contains(a.err, "none has anything") || strings.Contains(a.err, "No member has anything") {
				t.Errorf("it says\n%s", a.err)
			}
		})
	}
	hub, _ := joined(t)
	other := serve(t, "two")
	run(t, hub, "join", "member2", "--cluster-kubeconfig", other.kubeconfig(), "--wait=false").wants(t, "")
	other.refuse = failing("/", 401)
	run(t, hub, "get", "orphans").wants(t, "Of the members that answered, none has anything that this hub has no template for.\nerror: member2: the member at "+other.url)
}

func TestZ11AnObjectThatItsPlacementsWorkDoesNotHaveIsAnOrphan(t *testing.T) {
	key := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "app"}
	work := func(form propagation.Form, manifests ...string) *propagation.Work {
		w := &propagation.Work{Key: propagation.WorkKey{Cluster: "member1", Name: "crp-work", Form: form}}
		for _, m := range manifests {
			w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(m)}})
		}
		return w
	}
	has := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"shop","name":"app"}}`
	other := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"shop","name":"other"}}`
	for name, tc := range map[string]struct {
		works []*propagation.Work
		why   string
	}{
		"there is no Work":                             {nil, "the hub has no Work for it"},
		"a policy's Work is of one template":           {[]*propagation.Work{work(propagation.PolicyForm)}, ""},
		"a placement's Work has it":                    {[]*propagation.Work{work(propagation.PlacementForm, other, has)}, ""},
		"a placement's Work has other objects":         {[]*propagation.Work{work(propagation.PlacementForm, other)}, "the hub's Work of that name does not have it"},
		"one of the Works of that name has the object": {[]*propagation.Work{work(propagation.PlacementForm, other), work(propagation.PlacementForm, has)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			one := orphan{TemplateKey: key}
			if is := one.judge(tc.works); is != (tc.why != "") || one.Why != tc.why {
				t.Errorf("an orphan: %t, %q; want %q", is, one.Why, tc.why)
			}
		})
	}
}
