// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/base64"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
)

// readerOf is the account of a member that only reads.
var readerOf = []string{
	"rbac.authorization.k8s.io/v1/ClusterRole/sluice-reader",
	"rbac.authorization.k8s.io/v1/ClusterRoleBinding/sluice-reader",
	"v1/Namespace/sluice-reader",
	"v1/ServiceAccount/sluice-reader/sluice-reader",
}

// complete gives a new object its name, and a token its token.
func (a *api) complete(u *unstructured.Unstructured) {
	if u.GetName() == "" {
		u.SetName(u.GetGenerateName() + strconv.Itoa(a.version))
	}
	if u.Object["type"] == string(corev1.SecretTypeServiceAccountToken) {
		u.Object["data"] = map[string]any{"token": base64.StdEncoding.EncodeToString([]byte("token-of-" + u.GetName()))}
	}
}

// tokens are the Secrets with tokens of the account that only reads.
func (a *api) tokens() (names []string) {
	for _, ref := range a.refs() {
		if name, ok := strings.CutPrefix(ref, "v1/Secret/sluice-reader/"); ok {
			names = append(names, name)
		}
	}
	return names
}

// kept is the token in a kubeconfig of the member's Secret; empty: it has no such key.
func (a *api) kept(t *testing.T, key string) string {
	t.Helper()
	encoded, found, _ := unstructured.NestedString(a.get(credentials).Object, "data", key)
	if !found {
		return ""
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	kc, err := clientcmd.Load(raw)
	if err != nil {
		t.Fatal(err)
	}
	return kc.AuthInfos[kc.Contexts[kc.CurrentContext].AuthInfo].Token
}

// Z40: the source of a member reads with a token that cannot write; joining again makes
// another one, and revokes the former.
func TestZ40TheSourceReadsWithATokenThatCannotWrite(t *testing.T) {
	hub, member := serve(t, "hub"), serve(t, "one")
	hub.knative()
	hub.ready()
	join := func(wants string) {
		t.Helper()
		a := run(t, hub, "join", "member1", "--cluster-kubeconfig", member.kubeconfig())
		a.wants(t, "")
		if !strings.Contains(a.out+a.err, wants) {
			t.Errorf("it says %s%s", a.out, a.err)
		}
	}
	// stored checks that the source has the one token that there is, and returns it.
	stored := func() string {
		t.Helper()
		tokens := member.tokens()
		if len(tokens) != 1 {
			t.Fatalf("the member has the tokens %v", tokens)
		}
		if got := hub.kept(t, "reader.kubeconfig"); got != "token-of-"+tokens[0] {
			t.Errorf("the source reads with %q, and there is %v", got, tokens)
		}
		if got := hub.get(member1).GetAnnotations()["sluice.dev/reader"]; got != "true" {
			t.Errorf("the Cluster says %q of it", got)
		}
		return tokens[0]
	}
	join("member1 is ready")
	writes := hub.kept(t, "kubeconfig")
	first := stored()
	if d := cmp.Diff(readerOf, slices.DeleteFunc(member.refs(), func(ref string) bool { return strings.Contains(ref, "/Secret/") })); d != "" {
		t.Errorf("made in the member (-want +got)\n%s", d)
	}
	rules, _, err := unstructured.NestedSlice(member.get(readerOf[0]).Object, "rules")
	want := []any{map[string]any{"apiGroups": []any{"*"}, "resources": []any{"*"}, "verbs": []any{"get", "list", "watch"}}}
	if d := cmp.Diff(want, rules); d != "" || err != nil {
		t.Errorf("it may (-want +got)\n%s%v", d, err)
	}

	join("its source reads with a new token, which cannot write")
	if second := stored(); second == first {
		t.Error("it is the same token")
	}
	if got := hub.kept(t, "kubeconfig"); got != writes || got == "" {
		t.Errorf("what writes is %q now", got)
	}

	// Joined by a version that knew no such account.
	hub.put(credentials, map[string]any{"metadata": map[string]any{"labels": map[string]any{labelCluster: "member1"}}, "data": map[string]any{"kubeconfig": ""}})
	c := hub.get(member1)
	c.SetAnnotations(nil)
	hub.put(member1, c.Object)
	join("its credentials are those of")
	stored()

	member.put("v1/Secret/sluice-reader/of-another-hub", map[string]any{"type": "kubernetes.io/service-account-token", "metadata": map[string]any{"labels": map[string]any{"sluice.dev/hub": "other"}}})
	run(t, hub, "unjoin", "member1").wants(t, "")
	if left := member.tokens(); !slices.Equal(left, []string{"of-another-hub"}) {
		t.Errorf("after unjoin there are the tokens %v", left)
	}
}

func TestZ40WithoutATokenTheSourceReadsAsBefore(t *testing.T) {
	refused := func(what string) func(*http.Request) *apierrors.StatusError {
		return failing(what, 403, http.MethodPost)
	}
	for name, tc := range map[string]struct {
		given func(hub, member *api)
		said  bool
	}{
		"an account may not be made": {func(_, member *api) { member.refuse = refused("/clusterroles") }, true},
		"no token may be made":       {func(_, member *api) { member.refuse = refused("/secrets") }, true},
		"one process runs all":       {func(hub, _ *api) { hub.remove(broker) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			hub, member := serve(t, "hub"), serve(t, "one")
			hub.knative()
			hub.ready()
			tc.given(hub, member)
			a := run(t, hub, "join", "member1", "--cluster-kubeconfig", member.kubeconfig())
			a.wants(t, "")
			if strings.Contains(a.err, "its source reads with the same credentials, and could write") != tc.said {
				t.Errorf("it says %s", a.err)
			}
			if left := member.refs(); len(left) > 0 {
				t.Errorf("made in the member: %v", left)
			}
			if hub.kept(t, "reader.kubeconfig") != "" || hub.get(member1).GetAnnotations()["sluice.dev/reader"] != "" {
				t.Error("the source is told to read with another token")
			}
		})
	}
}

// A join that fails leaves nothing behind in the member.
func TestZ40AJoinThatFailsLeavesNoToken(t *testing.T) {
	hub, member := serve(t, "hub"), serve(t, "one")
	hub.knative()
	hub.refuse = failing("/clusters", 403, http.MethodPost)
	run(t, hub, "join", "member1", "--cluster-kubeconfig", member.kubeconfig()).wants(t, "make Cluster member1")
	if left := member.refs(); len(left) > 0 {
		t.Errorf("left in the member: %v", left)
	}
	hub.refuse = nil
	hub.ready()
	run(t, hub, "join", "member1", "--cluster-kubeconfig", member.kubeconfig()).wants(t, "")
	before := member.tokens()
	hub.refuse = failing("/secrets/member1", 403, http.MethodPut)
	run(t, hub, "join", "member1", "--cluster-kubeconfig", member.kubeconfig()).wants(t, "keep the credentials")
	if d := cmp.Diff(before, member.tokens()); d != "" {
		t.Errorf("the tokens are others (-want +got)\n%s", d)
	}

	// A member that does not answer is unjoined all the same.
	member.refuse = failing("/sluice-reader/secrets", 503, http.MethodGet)
	a := run(t, hub, "unjoin", "member1")
	a.wants(t, "")
	if !strings.Contains(a.err, "the token with which its source read stays valid") {
		t.Errorf("unjoin says %s%s", a.out, a.err)
	}
}

// Joined again with credentials that may make no token, the source reads with these. The
// former token is revoked with them, or with the former ones, or join says that it is not.
func TestZ40WithoutANewTokenTheFormerOneEnds(t *testing.T) {
	tokens := func(methods ...string) func(*http.Request) *apierrors.StatusError {
		no := failing("", 403, methods...)
		return func(r *http.Request) *apierrors.StatusError {
			if strings.Contains(r.URL.Path, "/sluice-reader/secrets") {
				return no(r)
			}
			return nil
		}
	}
	asked := map[string]int{}
	may, mayNot := tokens(http.MethodPost), tokens(http.MethodPost, http.MethodGet, http.MethodDelete)
	for name, tc := range map[string]struct {
		refuse func(*http.Request) *apierrors.StatusError
		left   int
	}{
		"by the new credentials": {may, 0},
		"by the former credentials, which are asked next": {func(r *http.Request) *apierrors.StatusError {
			err := mayNot(r)
			if err != nil {
				asked[r.Method]++
			}
			if r.Method == http.MethodPost || asked[http.MethodGet] == 1 {
				return err
			}
			return nil
		}, 0},
		"by nobody": {mayNot, 1},
	} {
		t.Run(name, func(t *testing.T) {
			hub, member := serve(t, "hub"), serve(t, "one")
			hub.knative()
			hub.ready()
			run(t, hub, "join", "member1", "--cluster-kubeconfig", member.kubeconfig()).wants(t, "")
			if had := member.tokens(); len(had) != 1 {
				t.Fatalf("joined with the tokens %v", had)
			}
			file := member.kubeconfig()
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(strings.Replace(string(raw), "token: secret", "token: other", 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			member.refuse = tc.refuse
			a := run(t, hub, "join", "member1", "--cluster-kubeconfig", file)
			a.wants(t, "")
			if left := member.tokens(); len(left) != tc.left {
				t.Errorf("the member has the tokens %v", left)
			}
			if hub.kept(t, "reader.kubeconfig") != "" || hub.get(member1).GetAnnotations()["sluice.dev/reader"] != "" {
				t.Error("the source is told to read with the former token")
			}
			if says := strings.Contains(a.err, "the former token stays valid"); says != (tc.left > 0) {
				t.Errorf("it says\n%s", a.err)
			}
		})
	}
}
