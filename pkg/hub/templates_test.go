// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

var configMap = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// somebodyMakesConfigMap makes one, and returns its key.
func (l *lab) somebodyMakesConfigMap(name string) propagation.TemplateKey {
	l.t.Helper()
	l.somebodyMakes(configMaps, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %s, labels: {app: shop}}, data: {a: x}}", name, l.namespace))
	return propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: l.namespace, Name: name}
}

func claimOf(scope propagation.Scope) propagation.Claim {
	if scope == propagation.Cluster {
		return propagation.Claim{Policy: propagation.PolicyKey{Scope: scope, Name: "everywhere"}, ID: "22222222-0000-0000-0000-000000000000"}
	}
	return propagation.Claim{Policy: propagation.PolicyKey{Scope: scope, Namespace: "shop", Name: "here"}, ID: "11111111-0000-0000-0000-000000000000"}
}

func TestCommitClaim(t *testing.T) {
	for _, watched := range []bool{false, true} {
		t.Run(fmt.Sprintf("watched %t", watched), func(t *testing.T) {
			l := newLab(t)
			if watched {
				l.watch(configMap)
			}
			key := l.somebodyMakesConfigMap("settings")
			var old *propagation.Template
			l.waitFor("the template to be known", func() (ok bool) {
				old, _ = l.Template(l.ctx, key)
				return old != nil
			})
			before := old.Hash
			for _, scope := range propagation.Scopes {
				claim := claimOf(scope)
				claimed, err := l.CommitClaim(l.ctx, old, claim, propagation.NewBaseline(old))
				must(t, err)
				if diff := cmp.Diff(claim, claimed.Claim); diff != "" {
					t.Errorf("claim (-want +got):\n%s", diff)
				}
				if claimed.Baseline.Hash() != before || claimed.Hash != before || claimed.Labels["app"] != "shop" {
					t.Errorf("claimed: %+v, want no other content", claimed)
				}
				if !claimed.LastUserWrite.Equal(old.LastUserWrite) {
					t.Errorf("last user write: %v, want %v", claimed.LastUserWrite, old.LastUserWrite)
				}
				l.requests.take()
				again, err := l.CommitClaim(l.ctx, claimed, claim, claimed.Baseline)
				must(t, err)
				l.wantRequests()
				if again != claimed {
					t.Error("a claim without a difference made another template")
				}
				if _, err := l.CommitClaim(l.ctx, old, propagation.Claim{}, "another"); !outcome.IsConflict(err) {
					t.Errorf("on an old version: %v, want a conflict", err)
				}
				if old, err = l.Template(l.ctx, key); err != nil {
					t.Fatal(err)
				}
			}
			released, err := l.CommitClaim(l.ctx, old, propagation.Claim{}, "")
			must(t, err)
			o := l.live(configMaps, key.Namespace, key.Name)
			if diff := cmp.Diff(map[string]string{"app": "shop"}, o.GetLabels()); diff != "" || len(o.GetAnnotations()) > 0 || released.Claim.Held() {
				t.Errorf("released: %v, annotations %v", diff, o.GetAnnotations())
			}
			l.testClaimAfterDeletion(released)
		})
	}
}

func (l *lab) testClaimAfterDeletion(t *propagation.Template) {
	l.t.Helper()
	l.somebodyDeletes(configMaps, t.Key.Namespace, t.Key.Name)
	if _, err := l.CommitClaim(l.ctx, t, claimOf(propagation.Cluster), ""); !errors.Is(err, outcome.ErrGone) {
		l.t.Errorf("claiming what is deleted: %v, want gone", err)
	}
	l.somebodyMakesConfigMap(t.Key.Name)
	if _, err := l.CommitClaim(l.ctx, t, claimOf(propagation.Cluster), ""); !outcome.IsConflict(err) {
		l.t.Errorf("claiming what was made anew: %v, want a conflict", err)
	}
	if anew, err := l.Template(l.ctx, t.Key); err != nil || anew.UID == t.UID {
		l.t.Errorf("read after that: %v, %v", anew, err)
	}
}

func TestTemplate(t *testing.T) {
	l := newLab(t)
	key := l.somebodyMakesConfigMap("settings")
	tmpl, err := l.Template(l.ctx, key)
	must(t, err)
	if age := time.Since(tmpl.LastUserWrite); age < 0 || age > time.Minute {
		t.Errorf("last user write %v ago", age)
	}
	if _, ok := tmpl.Object["metadata"].(map[string]any)["managedFields"]; ok || tmpl.Object["kind"] != "ConfigMap" || tmpl.Key != key || tmpl.UID == "" || tmpl.Deleting {
		t.Errorf("template: %+v", tmpl)
	}
	gone := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: l.namespace, Name: "unknown"}
	if _, err := l.Template(l.ctx, gone); !errors.Is(err, outcome.ErrGone) || errors.Is(err, outcome.ErrNotServed) {
		t.Errorf("an unknown name: %v, want gone", err)
	}
	for sentence, key := range map[string]propagation.TemplateKey{
		"an unknown kind":  {APIVersion: "v1", Kind: "Unknown", Namespace: l.namespace, Name: "settings"},
		"another spelling": {APIVersion: "v1", Kind: "configmap", Namespace: l.namespace, Name: "settings"},
		"an unknown group": {APIVersion: "example.com/v1", Kind: "ConfigMap", Namespace: l.namespace, Name: "settings"},
	} {
		if _, err := l.Template(l.ctx, key); !errors.Is(err, outcome.ErrNotServed) || errors.Is(err, outcome.ErrGone) {
			t.Errorf("%s: %v, want not served", sentence, err)
		}
	}
	key.APIVersion = "v9"
	if read, err := l.Template(l.ctx, key); err != nil || read.UID != tmpl.UID {
		t.Errorf("by a version that is not served: %v, want it as a version that is serves it", err)
	}
	l.requests.take()
	_, _ = l.Namespaced(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Another"})
	l.wantRequests() // it was asked for a moment ago
	for kind, want := range map[string]bool{"ConfigMap": true, "Namespace": false} {
		if got, err := l.Namespaced(configMap.GroupVersion().WithKind(kind)); got != want || err != nil {
			t.Errorf("%s namespaced: %t, %v", kind, got, err)
		}
	}
}

// TestTemplateOfANewKind finds a kind that is served only after it was asked
// for in vain.
func TestTemplateOfANewKind(t *testing.T) {
	l := newLab(t)
	group := "t" + strings.ReplaceAll(l.namespace, "-", "") + ".example.com"
	gvk := schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Widget"}
	if err := l.Watch(l.ctx, gvk, func(hub.Change) {}); !errors.Is(err, outcome.ErrNotServed) {
		t.Fatalf("watching what is not served: %v, want not served", err)
	}
	l.somebodyMakes(crds, fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, group))
	t.Cleanup(func() { l.somebodyDeletesLater(crds, "widgets."+group) })
	l.waitFor("the kind to be served", func() bool { return l.Watch(l.ctx, gvk, nil) == nil })
	widgets := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"}
	l.somebodyMakes(widgets, fmt.Sprintf("{apiVersion: %s/v1, kind: Widget, metadata: {name: w, namespace: %s}, size: 3}", group, l.namespace))
	key := propagation.TemplateKey{APIVersion: group + "/v1", Kind: "Widget", Namespace: l.namespace, Name: "w"}
	l.waitFor("the widget", func() bool { _, err := l.Template(l.ctx, key); return err == nil })
	w, err := l.Template(l.ctx, key)
	must(t, err)
	w, err = l.CommitClaim(l.ctx, w, claimOf(propagation.Namespaced), "")
	must(t, err)
	l.requests.take()
	if served, err := l.CommitTemplateStatus(l.ctx, w, map[string]any{"ready": true}); served || err != nil {
		t.Errorf("status of a kind without: %t, %v", served, err)
	}
	l.wantRequests()
}

func TestCommitTemplateStatus(t *testing.T) {
	l := newLab(t)
	l.somebodyMakes(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: nginx, namespace: `+l.namespace+`}
spec:
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}
`)
	key := propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: l.namespace, Name: "nginx"}
	old, err := l.Template(l.ctx, key)
	must(t, err)
	l.requests.take()
	status := map[string]any{"replicas": int32(2), "readyReplicas": 1, "updatedReplicas": 2}
	served, err := l.CommitTemplateStatus(l.ctx, old, status)
	if !served || err != nil {
		t.Fatalf("commit: %t, %v", served, err)
	}
	l.wantRequests("PATCH /apis/apps/v1/namespaces/" + l.namespace + "/deployments/nginx/status")
	read, err := l.Template(l.ctx, key)
	must(t, err)
	if read.Hash != old.Hash || !read.LastUserWrite.Equal(old.LastUserWrite) {
		t.Error("the status counts as content")
	}
	l.requests.take()
	if served, err := l.CommitTemplateStatus(l.ctx, read, status); !served || err != nil {
		t.Errorf("the same again: %t, %v", served, err)
	}
	l.wantRequests()
	if _, err := l.CommitTemplateStatus(l.ctx, old, map[string]any{"replicas": 3}); !outcome.IsConflict(err) {
		t.Errorf("on an old version: %v, want a conflict", err)
	}
	_, err = l.CommitTemplateStatus(l.ctx, read, map[string]any{"replicas": 2})
	must(t, err)
	got := l.live(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, l.namespace, "nginx").Object["status"]
	if diff := cmp.Diff(map[string]any{"replicas": int64(2)}, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	m, err := l.Template(l.ctx, l.somebodyMakesConfigMap("settings"))
	must(t, err)
	if served, err := l.CommitTemplateStatus(l.ctx, m, status); served || err != nil {
		t.Errorf("status of a ConfigMap: %t, %v", served, err)
	}
}

func TestListTemplates(t *testing.T) {
	l := newLab(t)
	var want []string
	for i := range 7 {
		want = append(want, l.somebodyMakesConfigMap(fmt.Sprint("m", i)).Name)
	}
	want = append([]string{"kube-root-ca.crt"}, want...) // every namespace has it
	// The label of frozen content makes nobody's ConfigMap look gone.
	labelled := l.somebodyMakesConfigMap("a-label")
	l.somebodyPatches(configMaps, l.namespace, labelled.Name, `{"metadata":{"labels":{"sluice.dev/binding":"b"}}}`)
	if _, err := l.Template(l.ctx, labelled); err != nil {
		t.Errorf("a ConfigMap with the label of frozen content: %v, want it", err)
	}
	want = append([]string{labelled.Name}, want...)
	for _, watched := range []bool{false, true} {
		if watched {
			l.watch(configMap)
		}
		for _, limit := range []int64{0, 1, 3, 9, 10} {
			l.requests.take()
			if diff := cmp.Diff(want, l.listNames(limit)); diff != "" {
				t.Errorf("watched %t, limit %d (-want +got):\n%s", watched, limit, diff)
			}
			if n := len(l.requests.take()); watched && n > 0 {
				t.Errorf("%d requests for what is known", n)
			}
		}
	}
	all, cont, err := l.ListTemplates(l.ctx, configMap, l.namespace, 3, "")
	must(t, err)
	l.Unwatch(configMap)
	rest, _, err := l.ListTemplates(l.ctx, configMap, l.namespace, 0, cont)
	must(t, err)
	if len(all)+len(rest) < len(want) {
		t.Errorf("%d, and %d after the watch has ended, want all of %d", len(all), len(rest), len(want))
	}
}

func (l *lab) listNames(limit int64) []string {
	l.t.Helper()
	var names []string
	cont := ""
	for {
		page, next, err := l.ListTemplates(l.ctx, configMap, l.namespace, limit, cont)
		must(l.t, err)
		if limit > 0 && int64(len(page)) > limit {
			l.t.Errorf("%d templates, want at most %d", len(page), limit)
		}
		for _, t := range page {
			names = append(names, t.Key.Name)
		}
		if cont = next; cont == "" {
			slices.Sort(names)
			return names
		}
	}
}

func TestClaimed(t *testing.T) {
	l := newLab(t)
	key := l.somebodyMakesConfigMap("settings")
	old, err := l.Template(l.ctx, key)
	must(t, err)
	for _, claim := range []propagation.Claim{claimOf(propagation.Namespaced), claimOf(propagation.Cluster)} {
		old, err = l.CommitClaim(l.ctx, old, claim, "")
		must(t, err)
		kinds, err := l.Claimed(l.ctx)
		if err != nil || !slices.Contains(kinds, configMap) {
			t.Errorf("claimed by %s: %v, %v; want ConfigMap among them", claim.Policy, kinds, err)
		}
	}
	l.watch(configMap)
	if !slices.Contains(l.Watched(), configMap) {
		t.Errorf("watched: %v, want ConfigMap among them", l.Watched())
	}
}
