// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/webhook"
)

// hub serves some kinds, or fails.
type hub struct {
	asked    []string
	down     error
	features propagation.Features
}

func (h *hub) Namespaced(gvk schema.GroupVersionKind) (bool, error) {
	h.asked = append(h.asked, gvk.Kind)
	switch {
	case h.down != nil:
		return false, h.down
	case gvk.Kind == "Deployment":
		return true, nil
	case gvk.Kind == "ClusterRole":
		return false, nil
	}
	return false, fmt.Errorf("kind %s: %w", gvk.Kind, outcome.ErrNotServed)
}

func (h *hub) Features(context.Context) (propagation.Features, error) { return h.features, h.down }

func handler(h *hub) http.Handler { return webhook.New(h, func() string { return "new-id" }) }

const nginx = "\nspec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, namespace: shop, name: nginx}]}"

// ask sends a review and returns the response. What is sent is YAML.
func ask(t *testing.T, h http.Handler, path, kind, sent, old string) *admissionv1.AdmissionResponse {
	t.Helper()
	req := &admissionv1.AdmissionRequest{
		UID: "ask", Name: "p", Operation: admissionv1.Create,
		Kind:   metav1.GroupVersionKind{Group: "policy.karmada.io", Version: "v1alpha1", Kind: kind},
		Object: runtime.RawExtension{Raw: toJSON(t, sent)},
	}
	if strings.HasPrefix(kind, "ClusterResource") || strings.HasPrefix(kind, "ResourceOverride") {
		req.Kind.Group, req.Kind.Version = "placement.kubernetes-fleet.io", "v1"
	}
	if kind == "ResourceInterpreter" {
		req.Kind.Group = "config.sluice.dev"
	}
	if !strings.HasPrefix(kind, "Cluster") && kind != "ResourceInterpreter" {
		req.Namespace = "shop"
	}
	if old != "" {
		req.Operation, req.OldObject.Raw = admissionv1.Update, toJSON(t, old)
	}
	review := admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: req}
	raw, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	code, body := post(t, h, path, raw)
	if code != http.StatusOK {
		t.Fatalf("%d: %s", code, body)
	}
	var got admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if got.TypeMeta != review.TypeMeta || got.Response == nil || got.Response.UID != "ask" || got.Request != nil {
		t.Fatalf("not the answer to the request: %s", body)
	}
	return got.Response
}

func toJSON(t *testing.T, manifest string) []byte {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func post(t *testing.T, h http.Handler, path string, body []byte) (int, []byte) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body)))
	return w.Code, w.Body.Bytes()
}

const (
	policyID  = "propagationpolicy.karmada.io/permanent-id: "
	clusterID = "clusterpropagationpolicy.karmada.io/permanent-id: "
)

func TestMutate(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, sent, old string
		// want is what is stored; empty: what is sent.
		want string
	}{
		"P40 a new policy gets an id and its namespace": {
			kind: "PropagationPolicy",
			sent: "metadata: {name: p}\nspec: {resourceSelectors: [{apiVersion: v1, kind: Secret}, {apiVersion: v1, kind: Secret, namespace: shop}]}",
			want: "metadata: {name: p, labels: {" + policyID + "new-id}}\nspec: {resourceSelectors: [{apiVersion: v1, kind: Secret, namespace: shop}, {apiVersion: v1, kind: Secret, namespace: shop}]}",
		},
		"P40 a new cluster policy gets an id beside its labels": {
			kind: "ClusterPropagationPolicy",
			sent: "metadata: {name: p, labels: {a/b: c}}" + nginx,
			want: "metadata: {name: p, labels: {a/b: c, " + clusterID + "new-id}}" + nginx,
		},
		"labels that are there and empty": {
			kind: "PropagationPolicy",
			sent: "metadata: {name: p, labels: {}}" + nginx,
			want: "metadata: {name: p, labels: {" + policyID + "new-id}}" + nginx,
		},
		"P40 an update that drops the label gets it back": {
			kind: "PropagationPolicy",
			old:  "metadata: {name: p, uid: u, labels: {" + policyID + "mine}}" + nginx,
			sent: "metadata: {name: p}" + nginx,
			want: "metadata: {name: p, labels: {" + policyID + "mine}}" + nginx,
		},
		"a policy that has no id keeps its UID for one": {
			kind: "ClusterPropagationPolicy",
			old:  "metadata: {name: p, uid: u}" + nginx,
			sent: "metadata: {name: p, uid: u}" + nginx,
			want: "metadata: {name: p, uid: u, labels: {" + clusterID + "u}}" + nginx,
		},
		"what stands and cannot be read whole keeps its id": {
			kind: "PropagationPolicy",
			old:  "spec: {priority: high}\nmetadata: {name: p, uid: u}",
			sent: "metadata: {name: p}" + nginx,
			want: "metadata: {name: p, labels: {" + policyID + "u}}" + nginx,
		},
		"P40 defaults deep inside leave alone what is beside them, and what nobody knows": {
			kind: "PropagationPolicy",
			sent: "metadata: {name: p, labels: {" + policyID + "x}, annotations: {a: b}}\n" +
				"spec: {unknown: 1, resourceSelectors: [{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ServiceImport, namespace: shop, more: true}], placement: {spreadConstraints: [{maxGroups: 2, other: 1}]}}",
			want: "metadata: {name: p, labels: {" + policyID + "x}, annotations: {a: b}}\n" +
				"spec: {unknown: 1, propagateDeps: true, resourceSelectors: [{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ServiceImport, namespace: shop, more: true}], placement: {spreadConstraints: [{maxGroups: 2, minGroups: 1, spreadByField: cluster, other: 1}]}}",
		},
		"an override's selector gets its namespace": {
			kind: "OverridePolicy",
			sent: "metadata: {name: p}\nspec: {resourceSelectors: [{apiVersion: v1, kind: Secret}]}",
			want: "metadata: {name: p}\nspec: {resourceSelectors: [{apiVersion: v1, kind: Secret, namespace: shop}]}",
		},
		"a cluster override stays as it is":             {kind: "ClusterOverridePolicy", sent: "metadata: {name: p}\nspec: {resourceSelectors: [{apiVersion: v1, kind: Secret}]}"},
		"what is complete stays as it is":               {kind: "PropagationPolicy", sent: "metadata: {name: p, labels: {" + policyID + "x}}" + nginx},
		"what cannot be read is left to the schema":     {kind: "PropagationPolicy", sent: "metadata: {name: p}\nspec: {priority: high}"},
		"an override that cannot be read as well":       {kind: "OverridePolicy", sent: "metadata: {name: p}\nspec: {resourceSelectors: 7}"},
		"another kind of the group is let through":      {kind: "FederatedThing", sent: "metadata: {name: p}"},
		"an object that is no object is let through":    {kind: "PropagationPolicy", sent: "7"},
		"a policy without any spec gets an id at least": {kind: "PropagationPolicy", sent: "metadata: {name: p}", want: "metadata: {name: p, labels: {" + policyID + "new-id}}"},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hub{}
			res := ask(t, handler(h), "/mutate", tc.kind, tc.sent, tc.old)
			if !res.Allowed {
				t.Fatalf("refused: %+v", res.Result)
			}
			if tc.want == "" {
				if res.Patch != nil || res.PatchType != nil {
					t.Errorf("patched: %s", res.Patch)
				}
				return
			}
			if res.PatchType == nil || *res.PatchType != admissionv1.PatchTypeJSONPatch {
				t.Errorf("patch type is %v", res.PatchType)
			}
			if diff := cmp.Diff(normal(t, toJSON(t, tc.want)), normal(t, apply(t, toJSON(t, tc.sent), res.Patch))); diff != "" {
				t.Errorf("%s\n%s", res.Patch, diff)
			}
			if len(h.asked) > 0 {
				t.Errorf("a default asked for %v", h.asked)
			}
		})
	}
}

func apply(t *testing.T, object, patch []byte) []byte {
	t.Helper()
	p, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatal(err)
	}
	if object, err = p.Apply(object); err != nil {
		t.Fatalf("%s: %v", patch, err)
	}
	return object
}

func normal(t *testing.T, raw []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestValidate(t *testing.T) {
	const always = "metadata: {name: p}\nspec: {preemption: Always, resourceSelectors: "
	on := propagation.Features{Preemption: true}
	for name, tc := range map[string]struct {
		kind, sent, old string
		features        propagation.Features
		// want is in the message of the refusal; empty: it is allowed.
		want, wantField string
		wantWarning     string
		wantAsked       []string
	}{
		"P38 an ordinary policy is allowed and asks nothing": {kind: "ClusterPropagationPolicy", sent: "metadata: {name: p}" + nginx},
		"P35 a cluster policy with Always names a namespace": {
			kind: "ClusterPropagationPolicy", sent: always + "[{apiVersion: apps/v1, kind: Deployment, name: a}]}", features: on,
			want:      `ClusterPropagationPolicy.policy.karmada.io "p" is invalid: spec.resourceSelectors[0].namespace: Invalid value: namespace cannot be empty if preemption is Always`,
			wantField: "spec.resourceSelectors[0].namespace", wantAsked: []string{"Deployment"},
		},
		"P36 a cluster policy with Always names what has no namespace": {
			kind: "ClusterPropagationPolicy", sent: always + "[{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, name: a}]}", features: on, wantAsked: []string{"ClusterRole"},
		},
		"P36 a kind that the hub does not serve is refused": {
			kind: "ClusterPropagationPolicy", sent: always + "[{apiVersion: example.org/v1, kind: Widget, name: a}]}", features: on,
			want: "the hub serves no kind Widget of example.org/v1", wantField: "spec.resourceSelectors[0].kind", wantAsked: []string{"Widget"},
		},
		"P34 a policy with Always asks for no kind": {kind: "PropagationPolicy", sent: always + "[{apiVersion: example.org/v1, kind: Widget, name: a}]}", features: on},
		"P39 an update from Never to Always": {
			kind: "PropagationPolicy", old: "metadata: {name: p}\nspec: {resourceSelectors: [{apiVersion: v1, kind: Secret}]}", sent: always + "[{apiVersion: v1, kind: Secret}]}", features: on,
			want: "name cannot be empty if preemption is Always, the empty name may cause unexpected resources preemption", wantField: "spec.resourceSelectors[0].name",
		},
		"P40 a selector of another namespace": {
			kind: "PropagationPolicy", sent: "metadata: {name: p}\nspec: {resourceSelectors: [{apiVersion: v1, kind: Secret, namespace: other}]}",
			want: "its own namespace only", wantField: "spec.resourceSelectors[0].namespace",
		},
		"P40 another id": {
			kind: "PropagationPolicy", old: "metadata: {name: p, uid: u, labels: {" + policyID + "mine}}" + nginx, sent: "metadata: {name: p, uid: u, labels: {" + policyID + "yours}}" + nginx,
			want: "is immutable, it can only be set by the system during creation", wantField: "metadata.labels[propagationpolicy.karmada.io/permanent-id]",
		},
		"an override of another namespace": {
			kind: "OverridePolicy", sent: "metadata: {name: p}\nspec: {resourceSelectors: [{apiVersion: v1, kind: Secret, namespace: other}]}",
			want: "its own namespace only", wantField: "spec.resourceSelectors[0].namespace",
		},
		"an override of its own namespace":          {kind: "OverridePolicy", sent: "metadata: {name: p}\nspec: {resourceSelectors: [{apiVersion: v1, kind: Secret, namespace: shop}]}"},
		"a policy that cannot be read":              {kind: "PropagationPolicy", sent: "metadata: {name: p}\nspec: {priority: high}", want: "it cannot be read"},
		"an override that cannot be read":           {kind: "OverridePolicy", sent: "metadata: {name: p}\nspec: {resourceSelectors: 7}", want: "it cannot be read"},
		"another kind of the group is let through":  {kind: "FederatedThing", sent: "metadata: {name: p}"},
		"P3 Always while the gate is off is warned": {kind: "PropagationPolicy", sent: always + "[{apiVersion: v1, kind: Secret, name: a}]}", wantWarning: "spec.preemption has no effect"},
		"ST3 Always under StaticPolicy is warned":   {kind: "PropagationPolicy", sent: always + "[{apiVersion: v1, kind: Secret, name: a}]}", features: propagation.Features{Static: true}, wantWarning: "spec.preemption is ignored"},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hub{features: tc.features}
			res := ask(t, handler(h), "/validate", tc.kind, tc.sent, tc.old)
			if res.Allowed != (tc.want == "") {
				t.Fatalf("allowed: %v, %+v", res.Allowed, res.Result)
			}
			if diff := cmp.Diff(tc.wantAsked, h.asked); diff != "" {
				t.Errorf("asked for the scope of: %s", diff)
			}
			if got := strings.Join(res.Warnings, "\n"); (got != "") != (tc.wantWarning != "") || !strings.Contains(got, tc.wantWarning) {
				t.Errorf("warnings %q, want %q", got, tc.wantWarning)
			}
			if tc.want == "" {
				return
			}
			if res.Result == nil || res.Result.Code != http.StatusUnprocessableEntity || !strings.Contains(res.Result.Message, tc.want) {
				t.Errorf("got %+v, want 422 with %q", res.Result, tc.want)
			}
			named := func(c metav1.StatusCause) bool { return c.Field == tc.wantField }
			if !slices.ContainsFunc(res.Result.Details.Causes, named) {
				t.Errorf("causes %+v do not name %q", res.Result.Details.Causes, tc.wantField)
			}
		})
	}
}

func TestWhatCannotBeToldIsSaidToBeSo(t *testing.T) {
	h := &hub{down: errors.New("no route")}
	review := func(preemption string) []byte {
		return toJSON(t, `
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  uid: ask
  operation: CREATE
  kind: {group: policy.karmada.io, version: v1alpha1, kind: ClusterPropagationPolicy}
  object: {metadata: {name: p}, spec: {preemption: `+preemption+`, resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: a}]}}`)
	}
	if code, body := post(t, handler(h), "/validate", review("Always")); code != http.StatusServiceUnavailable || !bytes.Contains(body, []byte("scope of Deployment: no route")) {
		t.Errorf("got %d %s, want 503", code, body)
	}
	if code, body := post(t, handler(h), "/validate", review("Never")); code != http.StatusOK || !bytes.Contains(body, []byte(`"allowed":true`)) {
		t.Errorf("a policy that needs no answer of the hub: %d %s, want it allowed", code, body)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h.asked = nil
	w := httptest.NewRecorder()
	handler(h).ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/validate", bytes.NewReader(review("Always"))))
	if len(h.asked) > 0 || w.Code != http.StatusServiceUnavailable {
		t.Errorf("nobody waits any more: asked for %v, %d", h.asked, w.Code)
	}
}

func TestBadRequests(t *testing.T) {
	ok := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"a"}}`
	for name, tc := range map[string]struct {
		method, path, body string
		want               int
	}{
		"a request about nothing is allowed":    {body: ok, want: http.StatusOK},
		"no body":                               {want: http.StatusBadRequest},
		"no JSON":                               {body: "hello", want: http.StatusBadRequest},
		"no review":                             {body: "{}", want: http.StatusBadRequest},
		"null":                                  {body: "null", want: http.StatusBadRequest},
		"a list":                                {body: "[1,2]", want: http.StatusBadRequest},
		"a review without a request":            {body: `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, want: http.StatusBadRequest},
		"a request without a uid":               {body: `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}}`, want: http.StatusBadRequest},
		"a review of another version":           {body: strings.Replace(ok, "v1", "v1beta1", 1), want: http.StatusBadRequest},
		"a review that is cut off":              {body: ok[:len(ok)-1], want: http.StatusBadRequest},
		"a body that never ends":                {body: `{"apiVersion":"` + strings.Repeat("x", 8<<20), want: http.StatusRequestEntityTooLarge},
		"a review deeper than anybody may nest": {body: strings.Repeat(`{"request":`, 20000), want: http.StatusBadRequest},
		"GET":                                   {method: http.MethodGet, body: ok, want: http.StatusMethodNotAllowed},
		"another path":                          {path: "/", body: ok, want: http.StatusNotFound},
	} {
		for _, path := range []string{"/mutate", "/validate"} {
			t.Run(name+path, func(t *testing.T) {
				if tc.method == "" {
					tc.method = http.MethodPost
				}
				if tc.path != "" {
					path = tc.path
				}
				w := httptest.NewRecorder()
				handler(&hub{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tc.method, path, strings.NewReader(tc.body)))
				if w.Code != tc.want {
					t.Errorf("got %d %s, want %d", w.Code, w.Body, tc.want)
				}
			})
		}
	}
}

// Whatever is sent, it is answered.
func FuzzReview(f *testing.F) {
	for _, kind := range []string{"PropagationPolicy", "ClusterPropagationPolicy", "OverridePolicy"} {
		for _, op := range []string{"CREATE", "UPDATE", ""} {
			f.Add(kind, op, `{"metadata":{"name":"p"},"spec":{"preemption":"Always","resourceSelectors":[{"apiVersion":"v1","kind":"Secret"}]}}`, `{"metadata":{"uid":"u"}}`)
			f.Add(kind, op, `{"spec":{"placement":{"spreadConstraints":[{}],"clusterAffinities":[{}]},"resourceSelectors":[{"labelSelector":{"matchExpressions":[{"operator":"Is"}]}}]}}`, `null`)
			f.Add(kind, op, `[]`, `7`)
		}
	}
	f.Fuzz(func(t *testing.T, kind, op, object, old string) {
		if !json.Valid([]byte(object)) || !json.Valid([]byte(old)) {
			t.Skip()
		}
		req := &admissionv1.AdmissionRequest{
			UID: "ask", Namespace: "shop", Operation: admissionv1.Operation(op),
			Kind:   metav1.GroupVersionKind{Group: "policy.karmada.io", Version: "v1alpha1", Kind: kind},
			Object: runtime.RawExtension{Raw: []byte(object)}, OldObject: runtime.RawExtension{Raw: []byte(old)},
		}
		raw, err := json.Marshal(admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: req})
		if err != nil {
			t.Skip()
		}
		for _, path := range []string{"/mutate", "/validate"} {
			code, body := post(t, handler(&hub{}), path, raw)
			if code != http.StatusOK {
				t.Fatalf("%s: %d %s", path, code, body)
			}
		}
	})
}
