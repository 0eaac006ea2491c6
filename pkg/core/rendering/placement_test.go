// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

const (
	shopNamespace = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`
	settings      = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"shop"},"data":{"where":"here"}}`
)

func part(name string, annotations map[string]string, objects ...string) *placementv1.ClusterResourceSnapshot {
	s := &placementv1.ClusterResourceSnapshot{}
	s.Name, s.Annotations, s.Labels = name, annotations, map[string]string{placementv1.LabelResourceIndex: "4"}
	for _, o := range objects {
		s.Spec.SelectedResources = append(s.Spec.SelectedResources, placementv1.ResourceContent{RawExtension: runtime.RawExtension{Raw: []byte(o)}})
	}
	return s
}

func first(n string) map[string]string {
	return map[string]string{placementv1.AnnotationNumberOfResourceSnapshots: n}
}

func placed(parts ...*placementv1.ClusterResourceSnapshot) Placed {
	b := &placementv1.ClusterResourceBinding{}
	b.Name, b.UID = "crp-1-member1", "u1"
	b.Spec.TargetCluster, b.Spec.ResourceSnapshotName = "member1", "crp-1-4-snapshot"
	return Placed{Placement: "crp-1", Binding: b, Parts: parts, Labels: map[string]string{"env": "prod"}}
}

func envelopeOf(data string) string {
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"parcel","namespace":"shop","annotations":{"kubernetes-fleet.io/envelope-configmap":"true"}},"data":` + data + `}`
}

func clusterOverride(kind, name string, rules ...placementv1.OverrideRule) *placementv1.ClusterResourceOverrideSnapshot {
	o := &placementv1.ClusterResourceOverrideSnapshot{}
	o.Name = "cro-1-0"
	o.Spec.OverrideSpec.ClusterResourceSelectors = []placementv1.ClusterResourceSelector{{Version: "v1", Kind: kind, Name: name}}
	o.Spec.OverrideSpec.Policy = &placementv1.OverridePolicy{OverrideRules: rules}
	return o
}

func inEnv(env string) *placementv1.ClusterSelector {
	return &placementv1.ClusterSelector{ClusterSelectorTerms: []placementv1.ClusterSelectorTerm{{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": env}}}}}
}

func setting(op, path, value string) placementv1.JSONPatchOverride {
	return placementv1.JSONPatchOverride{Operator: placementv1.JSONPatchOverrideOperator(op), Path: path, Value: &apiextensionsv1.JSON{Raw: []byte(value)}}
}

var everywhere = &placementv1.ClusterSelector{}

// manifestsOf are the Works' manifests, by name.
func manifestsOf(t *testing.T, in Placed) map[string][]string {
	t.Helper()
	works, err := PlacementWorks(in)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, w := range works {
		out[w.Key.Name] = []string{}
		for _, m := range w.Spec.Workload.Manifests {
			out[w.Key.Name] = append(out[w.Key.Name], string(m.Raw))
		}
	}
	return out
}

func TestPlacementWorks(t *testing.T) {
	parcel := propagation.EnvelopeWorkName("crp-1", "shop", "parcel")
	quota := `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q","namespace":"shop"}}`
	for name, tc := range map[string]struct {
		in   Placed
		want map[string][]string
	}{
		"C72: what is one snapshot is one Work": {placed(part("crp-1-4-snapshot", first("1"), shopNamespace, settings)), map[string][]string{"crp-1-work": {shopNamespace, settings}}},
		"C72: each further part has its own": {
			placed(part("crp-1-4-0", map[string]string{placementv1.AnnotationSubindex: "0"}, settings), part("crp-1-4-snapshot", first("2"), shopNamespace)),
			map[string][]string{"crp-1-work": {shopNamespace}, "crp-1-0": {settings}},
		},
		"C86, C87: an envelope is carried without itself": {
			placed(part("crp-1-4-snapshot", first("1"), shopNamespace, envelopeOf(`{"q.yaml":"apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: shop}\n"}`))),
			map[string][]string{"crp-1-work": {shopNamespace}, parcel: {quota}},
		},
		"C70: a rule for the member's label changes what it gets": {
			in(clusterOverride("Namespace", "shop", placementv1.OverrideRule{ClusterSelector: inEnv("prod"), JSONPatchOverrides: []placementv1.JSONPatchOverride{setting("replace", "/data/where", `"${MEMBER-CLUSTER-NAME} ${MEMBER-CLUSTER-LABEL-KEY-env}"`)}}), settings),
			map[string][]string{"crp-1-work": {strings.Replace(settings, `"here"`, `"member1 prod"`, 1)}},
		},
		"C70: a rule for other members does not":      {in(clusterOverride("Namespace", "shop", placementv1.OverrideRule{ClusterSelector: inEnv("test"), OverrideType: placementv1.DeleteOverrideType}), settings), map[string][]string{"crp-1-work": {settings}}},
		"C70: a rule without a selector is for none":  {in(clusterOverride("Namespace", "shop", placementv1.OverrideRule{OverrideType: placementv1.DeleteOverrideType}), settings), map[string][]string{"crp-1-work": {settings}}},
		"C70: Delete keeps an object from the member": {in(clusterOverride("Namespace", "shop", placementv1.OverrideRule{ClusterSelector: everywhere, OverrideType: placementv1.DeleteOverrideType}), shopNamespace, settings), map[string][]string{"crp-1-work": {}}},
		"C87: separators around a manifest": {
			placed(part("crp-1-4-snapshot", first("1"), shopNamespace, envelopeOf(`{"q.yaml":"---\n# a quota\n---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: shop}\n---\n"}`))),
			map[string][]string{"crp-1-work": {shopNamespace}, parcel: {quota}},
		},
		"C91: an override concerns what is in envelopes": {in(clusterOverride("Namespace", "shop", placementv1.OverrideRule{ClusterSelector: everywhere, JSONPatchOverrides: []placementv1.JSONPatchOverride{setting("add", "/metadata/labels", `{"a":"b"}`)}}), envelopeOf(`{"q":`+quotedJSON(quota)+`}`)), map[string][]string{"crp-1-work": {}, parcel: {`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"labels":{"a":"b"},"name":"q","namespace":"shop"}}`}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := manifestsOf(t, tc.in)
			for name, manifests := range got {
				for i, m := range manifests {
					got[name][i] = canonical(t, m)
				}
			}
			for name, manifests := range tc.want {
				for i, m := range manifests {
					tc.want[name][i] = canonical(t, m)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func in(o *placementv1.ClusterResourceOverrideSnapshot, objects ...string) Placed {
	p := placed(part("crp-1-4-snapshot", first("1"), objects...))
	p.ClusterOverrides = []*placementv1.ClusterResourceOverrideSnapshot{o}
	return p
}

func quotedJSON(s string) string { return `"` + quoted(s) + `"` }

func canonical(t *testing.T, manifest string) string {
	t.Helper()
	obj, err := enveloped("shop", manifest)
	if err != nil {
		t.Fatal(err)
	}
	return propagation.HashJSON(obj) + " " + text(obj["kind"])
}

// manyIn is the data of an envelope of so many manifests.
func manyIn(n int) string {
	data := map[string]string{}
	for i := range n {
		data[fmt.Sprintf("cm-%03d", i)] = fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cm-%03d"}}`, i)
	}
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// secretOf is a Secret of that name with so much data.
func secretOf(name string, size int) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":%q,"namespace":"shop"},"data":{"x":%q}}`, name, strings.Repeat("A", size))
}

func TestPlacementWorksThatCannotBeMade(t *testing.T) {
	for name, tc := range map[string]struct {
		in      Placed
		reason  string
		message string
	}{
		"C89: what is no manifest is named by its key":                   {placed(part("crp-1-4-snapshot", first("1"), envelopeOf(`{"bad.yaml":"{"}`))), placementv1.ReasonSyncWorkFailed, "under the key bad.yaml"},
		"C73: more manifests than a Work has":                            {placed(part("crp-1-4-snapshot", first("1"), envelopeOf(manyIn(propagation.MaxManifests+1)))), placementv1.ReasonSyncWorkFailed, "shop/parcel has 501 manifests, of which a Work can carry 500"},
		"C89: a manifest without a kind":                                 {placed(part("crp-1-4-snapshot", first("1"), envelopeOf(`{"k":"apiVersion: v1"}`))), placementv1.ReasonSyncWorkFailed, "under the key k: it lacks apiVersion or kind"},
		"C87: of two manifests under a key one would be lost":            {placed(part("crp-1-4-snapshot", first("1"), envelopeOf(`{"k":"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: t}\n"}`))), placementv1.ReasonSyncWorkFailed, "under the key k: it holds more than one manifest"},
		"C89: a separator alone is no manifest":                          {placed(part("crp-1-4-snapshot", first("1"), envelopeOf(`{"k":"---\n# nothing\n---\n"}`))), placementv1.ReasonSyncWorkFailed, "under the key k: it is no object"},
		"C90: an object of another namespace than the envelope":          {placed(part("crp-1-4-snapshot", first("1"), envelopeOf(`{"k":"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\",\"namespace\":\"kube-system\"}}"}`))), placementv1.ReasonSyncWorkFailed, "namespace kube-system"},
		"C73: a Secret that no Work can carry is named, with what to do": {placed(part("crp-1-4-snapshot", first("1"), secretOf("small", 9), secretOf("big", 1<<20))), placementv1.ReasonTooLarge, "Secret shop/big has 1048672 bytes, with data in base64, of which a Work can carry 1048576: make it smaller"},
		"C73: of many Secrets the largest is named":                      {placed(part("crp-1-4-snapshot", first("1"), secretOf("a", 400<<10), secretOf("b", 500<<10), secretOf("c", 400<<10))), placementv1.ReasonTooLarge, "3 Secrets have 1331482 bytes, the largest is shop/b with 512094, with data in base64"},
		"C71: a path that is not there":                                  {in(clusterOverride("Namespace", "shop", placementv1.OverrideRule{ClusterSelector: everywhere, JSONPatchOverrides: []placementv1.JSONPatchOverride{setting("replace", "/spec/x", `1`)}}), settings), placementv1.ReasonOverriddenFailed, "cro-1-0 to ConfigMap shop/settings: path /spec/x"},
		"C71: another object":                                            {in(clusterOverride("Namespace", "shop", placementv1.OverrideRule{ClusterSelector: everywhere, JSONPatchOverrides: []placementv1.JSONPatchOverride{setting("replace", "/metadata/name", `"x"`)}}), settings), placementv1.ReasonOverriddenFailed, "changes the name"},
		"C71: a label that the member does not have":                     {in(clusterOverride("Namespace", "shop", placementv1.OverrideRule{ClusterSelector: everywhere, JSONPatchOverrides: []placementv1.JSONPatchOverride{setting("replace", "/data/where", `"${MEMBER-CLUSTER-LABEL-KEY-zone}"`)}}), settings), placementv1.ReasonOverriddenFailed, "has no label zone"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := PlacementWorks(tc.in)
			var failure *PlacementError
			if !errors.As(err, &failure) || failure.Reason != tc.reason || !strings.Contains(failure.Message, tc.message) {
				t.Errorf("got %v, want %s with %q", err, tc.reason, tc.message)
			}
		})
	}
}

func TestPlacementWorkSaysWhatItIsMadeOf(t *testing.T) {
	in := placed(part("crp-1-4-snapshot", first("1"), shopNamespace))
	in.Suspended = true
	in.Binding.Spec.DeleteStrategy = &placementv1.DeleteStrategy{PropagationPolicy: placementv1.DeletePropagationPolicyAbandon}
	works, err := PlacementWorks(in)
	if err != nil {
		t.Fatal(err)
	}
	w := works[0]
	if w.Key.Namespace() != "fleet-member-member1" || w.Placement() != "crp-1" || w.Labels[placementv1.LabelParentSnapshotIndex] != "4" || w.Labels[placementv1.LabelParentBinding] != "crp-1-member1" {
		t.Errorf("got %v in %s with %v", w.Key, w.Key.Namespace(), w.Labels)
	}
	if !w.Suspended() || !yes(w.Spec.PreserveResourcesOnDeletion) {
		t.Error("it says neither that it is suspended nor that its objects are to be preserved")
	}
	if !WholeSnapshot(in.Binding, in.Parts) || WholeSnapshot(in.Binding, nil) {
		t.Error("whether the snapshot is whole")
	}
	for what, change := range map[string]func(*placementv1.ResourceBindingSpec){
		"another snapshot":         func(s *placementv1.ResourceBindingSpec) { s.ResourceSnapshotName = "crp-1-5-snapshot" },
		"another cluster override": func(s *placementv1.ResourceBindingSpec) { s.ClusterResourceOverrideSnapshots = []string{"o-0"} },
		"another override": func(s *placementv1.ResourceBindingSpec) {
			s.ResourceOverrideSnapshots = []placementv1.NamespacedName{{Name: "o-0"}}
		},
		"a member with other labels": func(s *placementv1.ResourceBindingSpec) {
			s.OverriddenFor = &placementv1.OverriddenFor{Lacks: []string{"env"}}
		},
	} {
		next := in.Binding.DeepCopy()
		change(&next.Spec)
		if !MadeOf(in.Binding.Spec)(w) || MadeOf(next.Spec)(w) {
			t.Errorf("it does not tell its binding from one with %s: %v", what, w.Annotations)
		}
	}
	if steps := PlanPlacement(works, works); len(steps) != 1 || steps[0].Action != Keep {
		t.Errorf("a Work as it shall be: %v", steps)
	}
	if steps := PlanPlacement(works, nil); len(steps) != 1 || steps[0].Action != Delete {
		t.Errorf("a Work that shall not be: %v", steps)
	}
}

// An override selects what is in an envelope by its own kind and name, as it does what
// is selected itself.
func TestC91OverridesAreMatchedWithWhatIsInEnvelopes(t *testing.T) {
	const quota = `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q","namespace":"shop"}}`
	for name, tc := range map[string]struct {
		raw  string
		want []string
	}{
		"an object":                    {shopNamespace, []string{" Namespace /shop"}},
		"C91: an envelope":             {envelopeOf(`{"b":` + quotedJSON(quota) + `,"a":"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: reader}\n"}`), []string{" ConfigMap shop/parcel", "rbac.authorization.k8s.io ClusterRole /reader", " ResourceQuota shop/q"}},
		"C89: one that cannot be read": {envelopeOf(`{"bad":"{"}`), []string{" ConfigMap shop/parcel"}},
		"what is no object":            {"[]", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, id := range Carried([]byte(tc.raw)) {
				got = append(got, id.Group+" "+id.Kind+" "+id.Namespace+"/"+id.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestC70LabelsThatOverridesLookAt(t *testing.T) {
	env := &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}
	region := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "region", Operator: metav1.LabelSelectorOpDoesNotExist}}}
	terms := func(of ...*metav1.LabelSelector) placementv1.OverrideRule {
		s := &placementv1.ClusterSelector{}
		for _, l := range of {
			s.ClusterSelectorTerms = append(s.ClusterSelectorTerms, placementv1.ClusterSelectorTerm{LabelSelector: l})
		}
		return placementv1.OverrideRule{ClusterSelector: s}
	}
	says := func(value string) placementv1.OverrideRule {
		return placementv1.OverrideRule{ClusterSelector: everywhere, JSONPatchOverrides: []placementv1.JSONPatchOverride{
			{Operator: placementv1.JSONPatchOverrideOpRemove, Path: "/data/where"}, setting("add", "/data/who", value),
		}}
	}
	all := map[string]string{"env": "prod", "region": "north", "zone": "a", "of-member1": "its", "team": "shop"}
	for sentence, tc := range map[string]struct {
		rules []placementv1.OverrideRule
		want  []string
	}{
		"what a selector asks for":                  {[]placementv1.OverrideRule{terms(env)}, []string{"env"}},
		"in any term, and by an expression":         {[]placementv1.OverrideRule{terms(nil, region, env)}, []string{"env", "region"}},
		"in any rule, once":                         {[]placementv1.OverrideRule{terms(env), {}, terms(region, env)}, []string{"env", "region"}},
		"what variables name":                       {[]placementv1.OverrideRule{says(`"${MEMBER-CLUSTER-LABEL-KEY-env} in ${MEMBER-CLUSTER-LABEL-KEY-zone}"`)}, []string{"env", "zone"}},
		"a variable whose key has the cluster name": {[]placementv1.OverrideRule{says(`"${MEMBER-CLUSTER-LABEL-KEY-of-${MEMBER-CLUSTER-NAME}}"`)}, []string{"of-member1"}},
		"one that the member does not have":         {[]placementv1.OverrideRule{says(`"${MEMBER-CLUSTER-LABEL-KEY-none}"`)}, []string{"none"}},
		"a variable that has no end names none":     {[]placementv1.OverrideRule{says(`"${MEMBER-CLUSTER-LABEL-KEY-env"`)}, nil},
		"a rule for all looks at none":              {[]placementv1.OverrideRule{says(`"me"`)}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			keys := KeysSeen(tc.rules, "member1")
			if diff := cmp.Diff(tc.want, keys, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			made := func(labels map[string]string) string {
				in := placed(part("crp-1-4-snapshot", first("1"), settings))
				in.Labels, in.ClusterOverrides = labels, []*placementv1.ClusterResourceOverrideSnapshot{clusterOverride("Namespace", "shop", tc.rules...)}
				works, err := PlacementWorks(in)
				if err != nil {
					return err.Error()
				}
				return string(works[0].Spec.Workload.Manifests[0].Raw)
			}
			seen := map[string]string{}
			for _, key := range keys {
				if value, has := all[key]; has {
					seen[key] = value
				}
			}
			if with, without := made(all), made(seen); with != without {
				t.Errorf("with all labels it is %s, with those seen %s", with, without)
			}
		})
	}
}
