// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/cli/joining"
)

// answer is what a command line said.
type answer struct {
	code     int
	out, err string
}

// run executes a command line against the hub.
func run(t *testing.T, hub *api, args ...string) answer {
	t.Helper()
	return runWith(t, hub, "", args...)
}

func runWith(t *testing.T, hub *api, input string, args ...string) answer {
	t.Helper()
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(input), Out: &out, ErrOut: &errOut}
	args = append(slices.Clone(args), "--kubeconfig", hub.kubeconfig(), "--cache-dir", t.TempDir())
	code := Run(t.Context(), streams, args)
	return answer{code, out.String(), errOut.String()}
}

// wants checks what a command line said: that it failed with text, or, for an
// empty one, did not.
func (a answer) wants(t *testing.T, failure string) {
	t.Helper()
	switch {
	case failure == "" && a.code != 0:
		t.Fatalf("failed:\n%s%s", a.out, a.err)
	case failure != "" && a.code == 0:
		t.Fatalf("did not fail, want %q:\n%s%s", failure, a.out, a.err)
	case !strings.Contains(a.err, failure):
		t.Errorf("want the error %q, got:\n%s", failure, a.err)
	}
}

// ready plays the sweeper: it finds every cluster ready.
func (a *api) ready() {
	a.after = func(r *http.Request) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/clusters") {
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		for path, o := range a.objects {
			if u := (unstructured.Unstructured{Object: o}); u.GetKind() == clusterv1alpha1.KindCluster {
				u.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "ClusterReady", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}}}
				a.store(path, &u)
			}
		}
	}
}

func cluster(endpoint, id string) clusterv1alpha1.Cluster {
	return clusterv1alpha1.Cluster{Spec: clusterv1alpha1.ClusterSpec{APIEndpoint: endpoint, ID: id, SyncMode: clusterv1alpha1.Push}}
}

func TestJoin(t *testing.T) {
	hub, member := serve(t, "hub"), serve(t, "one")
	hub.ready()
	a := run(t, hub, "join", "member1", "--cluster-kubeconfig", member.kubeconfig())
	a.wants(t, "")
	if diff := cmp.Diff("member1 joined: Kubernetes v1.99.0 at "+member.url+"\nmember1 is ready\n", a.out); diff != "" {
		t.Error(diff)
	}
	want := []string{"cluster.karmada.io/v1alpha1/Cluster/member1", "v1/Namespace/karmada-es-member1", "v1/Namespace/sluice-system", "v1/Secret/sluice-system/member1"}
	if diff := cmp.Diff(want, hub.refs()); diff != "" {
		t.Error(diff)
	}
	spec := map[string]any{
		"apiEndpoint": member.url, "id": "one", "syncMode": "Push",
		"secretRef": map[string]any{"namespace": "sluice-system", "name": "member1"},
	}
	if diff := cmp.Diff(spec, hub.get("cluster.karmada.io/v1alpha1/Cluster/member1").Object["spec"]); diff != "" {
		t.Error(diff)
	}
	secret := hub.get("v1/Secret/sluice-system/member1")
	if diff := cmp.Diff(map[string]string{"sluice.dev/cluster": "member1"}, secret.GetLabels()); diff != "" {
		t.Error(diff)
	}
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", "kubeconfig")
	kubeconfig, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := joining.Parse(kubeconfig, "the Secret")
	if err != nil {
		t.Fatal(err)
	}
	if id, err := kept.Check(t.Context()); err != nil || id.ID != "one" {
		t.Errorf("the kept credentials lead to %q, %v", id.ID, err)
	}

	again := run(t, hub, "join", "member1", "--cluster-kubeconfig", member.kubeconfig())
	again.wants(t, "")
	if again.out != "member1 is already joined\n" {
		t.Errorf("joined once more, it says %q", again.out)
	}
}

// Who joins a member again whose MemberCluster was deleted wants it to take part.
func TestJoinOfWhoLeftThePlacementsSaysHowItComesBack(t *testing.T) {
	hub, member := serve(t, "hub"), serve(t, "one")
	hub.ready()
	c := cluster(member.url, "one")
	c.Annotations = map[string]string{"sluice.dev/left-placements": "2026-11-25T12:00:00Z"}
	hub.put(member1, c)
	again := run(t, hub, "join", "member1", "--cluster-kubeconfig", member.kubeconfig())
	again.wants(t, "")
	if !strings.Contains(again.out, "'kubectl annotate clusters.cluster.karmada.io member1 sluice.dev/left-placements-'") {
		t.Errorf("it says %q", again.out)
	}
}

// Z40: nobody has to be an administrator of the member.
func TestZ40JoinWithLeastRights(t *testing.T) {
	hub, member := serve(t, "hub"), serve(t, "one")
	hub.ready()
	member.granted = []string{"namespaces", "configmaps", "deployments"}
	a := run(t, hub, "join", "member1", "--cluster-kubeconfig", member.kubeconfig())
	a.wants(t, "")
	if !strings.Contains(a.out, "may not write persistentvolumeclaims, secrets,") || strings.Contains(a.out, "deployments") {
		t.Errorf("it does not say what cannot be written:\n%s", a.out)
	}
}

func TestZ40PrintRole(t *testing.T) {
	for name, tc := range map[string]struct {
		args           []string
		wants, mustNot []string
	}{
		"the kinds of most applications": {nil, []string{"deployments", "poddisruptionbudgets", "name: sluice-reader"}, []string{"cluster-admin", "'*'", "clusterroles"}},
		"those that are asked for":       {[]string{"--kinds", "brokers.eventing.knative.dev,configmaps"}, []string{"brokers", "eventing.knative.dev", "configmaps"}, []string{"deployments", "ingresses"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := run(t, serve(t, "hub"), append([]string{"join", "--print-role"}, tc.args...)...)
			a.wants(t, "")
			for _, want := range tc.wants {
				if !strings.Contains(a.out, want) {
					t.Errorf("the role lacks %s:\n%s", want, a.out)
				}
			}
			for _, not := range tc.mustNot {
				if strings.Contains(a.out, not) {
					t.Errorf("the role has %s:\n%s", not, a.out)
				}
			}
		})
	}
	run(t, serve(t, "hub"), "join", "--print-role", "--kinds", "*").wants(t, "names no kind")
	run(t, serve(t, "hub"), "join", "--print-role", "--kinds", "configmaps,widgets.example.com").wants(t, "the hub serves no kind widgets.example.com")
	run(t, serve(t, "hub"), "join", "--print-role", "--kinds", "deployments").wants(t, "the hub serves no kind deployments, but deployments.apps")
	away := serve(t, "hub")
	away.refuse = failing("/api", 503)
	if a := run(t, away, "join", "--print-role", "--kinds", "deployments.apps"); !strings.Contains(a.out, "deployments") || !strings.Contains(a.err, "nobody can tell") {
		t.Errorf("of a hub that does not answer it says %q, and prints %q", a.err, a.out)
	}
}

// Z40: a token that ends is followed by another.
func TestZ40JoinAgainReplacesTheCredentials(t *testing.T) {
	const secret, namespace = "v1/Secret/sluice-system/member1", "v1/Namespace/sluice-system"
	kept := func(hub *api) any { return hub.get(secret).Object["data"] }
	for name, tc := range map[string]struct {
		change func(hub, member *api)
		want   string // in what it says; empty: the former ones stay as they are
		fails  string
	}{
		"they ended": {change: func(hub, _ *api) {
			old := hub.get(secret)
			if err := unstructured.SetNestedField(old.Object, base64.StdEncoding.EncodeToString([]byte("a token that ended")), "data", "kubeconfig"); err != nil {
				t.Fatal(err)
			}
			hub.put(secret, old.Object)
		}, want: "its credentials are those of"},
		"the Secret was deleted, and its namespace": {change: func(hub, _ *api) { hub.remove(secret); hub.remove(namespace) }, want: "its credentials are those of"},
		"they are the same":                         {change: func(_, _ *api) {}},
		"the Secret was deleted, and another cluster is at the address": {
			change: func(hub, member *api) {
				hub.remove(secret)
				member.put("v1/Namespace/kube-system", map[string]any{"metadata": map[string]any{"uid": "two"}})
			},
			fails: "leads to another cluster than the one that joined as member1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			hub, member := serve(t, "hub"), serve(t, "one")
			hub.ready()
			run(t, hub, "join", "member1", "--cluster-kubeconfig", member.kubeconfig()).wants(t, "")
			before := kept(hub)
			tc.change(hub, member)
			a := run(t, hub, "join", "member1", "--cluster-kubeconfig", member.kubeconfig())
			a.wants(t, tc.fails)
			if tc.fails != "" {
				return
			}
			if d := cmp.Diff(before, kept(hub)); d != "" || !strings.Contains(a.out, tc.want) || tc.want == "" && a.out != "member1 is already joined\n" {
				t.Errorf("it says %s\n%s", a.out, d)
			}
		})
	}
}

func TestJoinRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		args  []string
		given func(hub, member *api)
		want  string
	}{
		"a name that is no label":         {args: []string{"Member_1"}, want: `"Member_1" cannot be a cluster's name`},
		"a name that is too long":         {args: []string{strings.Repeat("a", 49)}, want: "it has 49 characters, and at most 48 are allowed"},
		"a missing name":                  {args: []string{}, want: "NAME is missing"},
		"a name that another member has":  {given: func(hub, _ *api) { hub.put(member1, cluster("https://other", "two")) }, want: "already joined, with another endpoint: https://other"},
		"a member that has another name":  {given: func(hub, _ *api) { hub.put("cluster.karmada.io/v1alpha1/Cluster/m", cluster("https://other", "one")) }, want: "already joined, under the name m"},
		"a name that is still being left": {given: leaving, want: "is being unjoined"},
		"the hub itself": {given: func(hub, member *api) {
			member.put("v1/Namespace/kube-system", map[string]any{"metadata": map[string]any{"uid": "hub"}})
		}, want: "leads to the hub itself"},
		"a member that is not ready":         {given: func(_, member *api) { member.refuse = failing("/readyz", 500) }, want: "is not ready"},
		"a member that knows nobody":         {given: func(_, member *api) { member.refuse = failing("/", 401) }, want: "does not accept the credentials"},
		"credentials that may not do enough": {given: func(_, member *api) { member.denied = []string{"patch", "delete"} }, want: "may not patch, delete any kind of object in the member: 'join --print-role' prints the least that they need"},
		"a Secret that is somebody else's":   {given: func(hub, _ *api) { hub.put("v1/Secret/sluice-system/member1", map[string]any{}) }, want: "exists and is not a cluster's"},
		"what is still being left":           {args: []string{"member1", "--timeout", "50ms"}, given: func(hub, _ *api) { hub.put("work.karmada.io/v1alpha1/Work/karmada-es-member1/w", map[string]any{}) }, want: "there are still Works of a former member1 after 50ms: 'kubectl sluice unjoin member1' first"},
		"a hub that refuses the Cluster":     {given: func(hub, _ *api) { hub.refuse = failing("/clusters", 403, http.MethodPost) }, want: "make Cluster member1"},
		"a hub that refuses the Secret":      {given: func(hub, _ *api) { hub.refuse = failing("/secrets", 403, http.MethodPost) }, want: "keep the credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			hub, member := serve(t, "hub"), serve(t, "one")
			if tc.given != nil {
				tc.given(hub, member)
			}
			before := hub.refs()
			if tc.args == nil {
				tc.args = []string{"member1"}
			}
			a := run(t, hub, append([]string{"join", "--cluster-kubeconfig", member.kubeconfig()}, tc.args...)...)
			a.wants(t, tc.want)
			if diff := cmp.Diff(before, hub.refs()); diff != "" {
				t.Errorf("something stays behind: %s", diff)
			}
		})
	}
}

const member1 = "cluster.karmada.io/v1alpha1/Cluster/member1"

func leaving(hub, member *api) {
	c := cluster(member.url, "one")
	now := metav1.Now()
	c.DeletionTimestamp = &now
	hub.put(member1, c)
}

func refused(err *apierrors.StatusError) (int, any) {
	s := err.Status()
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return int(s.Code), s
}

// failing refuses requests to paths that end so, of the methods or of all.
func failing(path string, code int, methods ...string) func(*http.Request) *apierrors.StatusError {
	return func(r *http.Request) *apierrors.StatusError {
		if path != "/" && !strings.HasSuffix(r.URL.Path, path) || len(methods) > 0 && !slices.Contains(methods, r.Method) {
			return nil
		}
		return apierrors.NewGenericServerResponse(code, strings.ToLower(r.Method), schema.GroupResource{Resource: path}, "", "refused by the test", 0, true)
	}
}

func TestJoinTakesOverWhatAKilledJoinLeft(t *testing.T) {
	hub, member := serve(t, "hub"), serve(t, "one")
	hub.ready()
	hub.put("v1/Namespace/sluice-system", map[string]any{})
	hub.put("v1/Secret/sluice-system/member1", map[string]any{"metadata": map[string]any{"labels": map[string]any{"sluice.dev/cluster": "member1"}}})
	run(t, hub, "join", "member1", "--cluster-kubeconfig", member.kubeconfig()).wants(t, "")
	if _, kept, _ := unstructured.NestedString(hub.get("v1/Secret/sluice-system/member1").Object, "data", "kubeconfig"); !kept {
		t.Error("the Secret has no credentials")
	}
}

func TestJoinThatNobodyNoticesStays(t *testing.T) {
	hub, member := serve(t, "hub"), serve(t, "one")
	began := time.Now()
	a := run(t, hub, "join", "member1", "--cluster-kubeconfig", member.kubeconfig(), "--timeout", "100ms")
	a.wants(t, "nothing has looked at it yet, is Sluice running?")
	if hub.get(member1) == nil {
		t.Error("the Cluster is gone")
	}
	if time.Since(began) > 10*time.Second {
		t.Error("it took too long")
	}
}
