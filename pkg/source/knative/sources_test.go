// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	sourcesv1 "knative.dev/eventing/pkg/apis/sources/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/outcome"
)

var (
	deployments = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	secrets     = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	widgets     = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
)

// catalog serves all kinds but widgets, and has members, some of them with credentials
// that only read.
type catalog struct {
	members *[]string
	readers []string
}

// Clusters are the members, each with its credentials.
func (c catalog) Clusters(context.Context) ([]*clusterv1alpha1.Cluster, error) {
	if c.members == nil {
		return nil, nil
	}
	out := make([]*clusterv1alpha1.Cluster, len(*c.members))
	for i, name := range *c.members {
		out[i] = &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1alpha1.ClusterSpec{
			SecretRef: &clusterv1alpha1.LocalSecretReference{Namespace: "sluice-system", Name: name},
		}}
		if slices.Contains(c.readers, name) {
			out[i].Annotations = map[string]string{AnnotationReader: "true"}
		}
	}
	return out, nil
}

func (catalog) Identity(context.Context) (string, error) { return "this-hub", nil }

func (catalog) Resource(gvk schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	if gvk == widgets {
		return schema.GroupVersionResource{}, outcome.ErrNotServed
	}
	return gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s"), nil
}

// sources are those of a cluster with a source of ConfigMaps and a member, whose
// account may watch all but Secrets; and how often anything was written.
func sources(t *testing.T) (*Sources, func(r schema.GroupVersionResource, name string) map[string]any, *int) {
	t.Helper()
	object := func(kind, name string, labels map[string]any, spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "sources.knative.dev/v1", "kind": kind, "spec": spec,
			"metadata": map[string]any{"namespace": "sluice-system", "name": name, "labels": labels},
			"status": map[string]any{"conditions": []any{
				map[string]any{"type": string(sourcesv1.ApiServerConditionSufficientPermissions), "status": "True"},
			}},
		}}
	}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{apiServerSources: "ApiServerSourceList", ContainerSources: "ContainerSourceList", triggers: "TriggerList"},
		object("ApiServerSource", "templates", nil, map[string]any{
			"serviceAccountName": "source", "namespaceSelector": map[string]any{"matchLabels": map[string]any{"sluice.dev/templates": "true"}},
			"resources": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}},
		}),
		object("ContainerSource", "hub", map[string]any{labelSource: "hub"}, adapter("example.com/source@new")),
		object("ContainerSource", "member-m1", map[string]any{labelCluster: "m1"}, adapter("example.com/source@old")))
	writes := 0
	client.PrependReactor("patch", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		writes++
		return false, nil, nil
	})
	kube := fake.NewClientset()
	kube.PrependReactor("create", "subjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		review.Status.Allowed = review.Spec.ResourceAttributes.Resource != "secrets" && review.Spec.User == "system:serviceaccount:sluice-system:source"
		return true, review, nil
	})
	spec := func(r schema.GroupVersionResource, name string) map[string]any {
		t.Helper()
		u, err := client.Resource(r).Namespace("sluice-system").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return u.Object["spec"].(map[string]any)
	}
	return New(client, kube.AuthorizationV1().SubjectAccessReviews(), catalog{}), spec, &writes
}

// adapter is the spec of a ContainerSource.
func adapter(image string) map[string]any {
	return map[string]any{"template": map[string]any{"spec": map[string]any{
		"containers": []any{map[string]any{"name": "adapter", "image": image, "env": []any{map[string]any{"name": watchVariable, "value": ""}}}},
	}}}
}

func TestSourcesFollowTheKindsThatTheyMayWatch(t *testing.T) {
	s, spec, writes := sources(t)
	kinds := []schema.GroupVersionKind{deployments, secrets, widgets}
	selector, changed, err := s.Follow(t.Context(), kinds, false)
	if err != nil || !changed || selector != "sluice.dev/templates=true" {
		t.Fatalf("selector %q, changed %v, %v", selector, changed, err)
	}
	want := []any{map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}}
	if d := cmp.Diff(want, spec(apiServerSources, "templates")["resources"]); d != "" {
		t.Errorf("the source of templates watches (-want +got)\n%s", d)
	}
	containers, _, _ := unstructured.NestedSlice(spec(ContainerSources, "member-m1"), "template", "spec", "containers")
	raw, _ := json.Marshal(containers)
	for _, part := range []string{`deployments`, `secrets`, `sluice.dev/work`, `Reference`, `example.com/source@new`} {
		if !strings.Contains(string(raw), part) {
			t.Errorf("the member's source lacks %q: %s", part, raw)
		}
	}
	if d := cmp.Diff(adapter("example.com/source@new"), spec(ContainerSources, "hub")); d != "" {
		t.Errorf("the hub's own source, which is as it was installed (-want +got)\n%s", d)
	}
	before := *writes
	if _, changed, err := s.Follow(t.Context(), kinds, false); err != nil || changed || *writes != before {
		t.Errorf("a second time: changed %v, %d writes, %v", changed, *writes-before, err)
	}
	if _, changed, err := s.Follow(t.Context(), nil, false); err != nil || changed {
		t.Errorf("no kinds: changed %v, %v; a source needs one", changed, err)
	}
}

func TestFollowing(t *testing.T) {
	for name, tc := range map[string]struct {
		has, want []string
		keep      bool
		then      []string
	}{
		"what is new comes behind":                       {has: []string{"c", "a"}, want: []string{"a", "b", "c"}, then: []string{"c", "a", "b"}},
		"what nobody wants goes":                         {has: []string{"c", "a"}, want: []string{"a"}, then: []string{"a"}},
		"what nobody wants stays where it is to be kept": {has: []string{"c", "a"}, want: []string{"a", "b"}, keep: true, then: []string{"c", "a", "b"}},
		"another order alone is no change":               {has: []string{"c", "a"}, want: []string{"a", "c"}, then: []string{"c", "a"}},
		"of nothing, what is wanted":                     {want: []string{"a"}, keep: true, then: []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.then, following(tc.has, tc.want, tc.keep)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// Knative's adapter does not start while the group of a kind is missing, so that a
// definition which is deleted would end the source of all kinds.
func TestSourcesLeaveOffAKindThatIsServedNoMore(t *testing.T) {
	s, spec, _ := sources(t)
	has := map[string]any{"spec": map[string]any{"resources": []any{
		map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}, map[string]any{"apiVersion": "v1", "kind": "ConfigMap"},
	}}}
	raw, err := json.Marshal(has)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.Resource(apiServerSources).Namespace("sluice-system").Patch(t.Context(), templatesName, types.MergePatchType, raw, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, changed, err := s.Follow(t.Context(), []schema.GroupVersionKind{widgets, deployments}, true); err != nil || !changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
	want := []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}}
	if d := cmp.Diff(want, spec(apiServerSources, "templates")["resources"]); d != "" {
		t.Errorf("the source of templates watches (-want +got)\n%s", d)
	}
}

// A restart tells of nothing meanwhile: the first policies, of common kinds, cause
// none.
func TestSourcesDoNotStartAnewForWhatTheyWatchAlready(t *testing.T) {
	s, spec, writes := sources(t)
	configMaps := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	if _, _, err := s.Follow(t.Context(), []schema.GroupVersionKind{configMaps, deployments}, false); err != nil {
		t.Fatal(err)
	}
	templates, member, before := spec(apiServerSources, "templates"), spec(ContainerSources, "member-m1"), *writes
	if _, changed, err := s.Follow(t.Context(), []schema.GroupVersionKind{deployments}, true); err != nil || changed || *writes != before {
		t.Fatalf("changed %v, %d writes, %v", changed, *writes-before, err)
	}
	if _, changed, err := s.Follow(t.Context(), []schema.GroupVersionKind{deployments}, false); err != nil || !changed {
		t.Fatalf("changed %v, %v: nobody selects ConfigMaps for a while", changed, err)
	}
	if cmp.Equal(templates, spec(apiServerSources, "templates")) || cmp.Equal(member, spec(ContainerSources, "member-m1")) {
		t.Error("a source still watches ConfigMaps")
	}
}
