// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	broker      = "eventing.knative.dev/v1/Broker/sluice-system/sluice"
	credentials = "v1/Secret/sluice-system/member1"
	access      = "rbac.authorization.k8s.io/v1/Role/sluice-system/member-member1"
)

// onKnative are what a join makes where the pipeline runs.
var onKnative = []string{
	access,
	"rbac.authorization.k8s.io/v1/RoleBinding/sluice-system/member-member1",
	credentials,
}

// knative installs Sluice on the cluster.
func (a *api) knative() { a.put(broker, map[string]any{}) }

// onHub are what a join makes beside the member's Works where the pipeline runs.
var onHub = []string{
	"rbac.authorization.k8s.io/v1/RoleBinding/karmada-es-member1/sluice-contents-read",
	"rbac.authorization.k8s.io/v1/RoleBinding/karmada-es-member1/sluice-contents-write",
}

// of are the objects of member1, without those that the hub has in any case.
func (a *api) of() []string {
	return slices.DeleteFunc(a.left(), func(ref string) bool {
		return slices.Contains(onHub, ref) || strings.Contains(ref, "/Cluster/") || strings.Contains(ref, "/Namespace/")
	})
}

func TestJoinOnKnative(t *testing.T) {
	for name, tc := range map[string]struct {
		apart bool // the hub is another cluster
	}{
		"the hub is the cluster that Sluice runs on": {},
		"the hub is another one":                     {apart: true},
	} {
		t.Run(name, func(t *testing.T) {
			hub, member := serve(t, "hub"), serve(t, "one")
			runs, flags := hub, []string(nil)
			if tc.apart {
				runs = serve(t, "knative")
				flags = []string{"--knative-kubeconfig", runs.kubeconfig()}
			}
			runs.knative()
			hub.ready()
			run(t, hub, append(flags, "join", "member1", "--cluster-kubeconfig", member.kubeconfig())...).wants(t, "")
			if d := cmp.Diff(onKnative, runs.of()); d != "" {
				t.Errorf("made (-want +got)\n%s", d)
			}
			if tc.apart && len(hub.of()) > 0 {
				t.Errorf("made on the hub: %v", hub.of())
			}
			if hub.get(member1) == nil || hub.get("v1/Namespace/karmada-es-member1") == nil {
				t.Error("the hub lacks the Cluster, or its namespace")
			}
			for _, ref := range onHub {
				if hub.get(ref) == nil {
					t.Errorf("the hub lacks %s", ref)
				}
			}
			rules, _, err := unstructured.NestedSlice(runs.get(access).Object, "rules")
			if err != nil {
				t.Fatal(err)
			}
			want := []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"secrets"}, "resourceNames": []any{"member1"}, "verbs": []any{"get"}}}
			if d := cmp.Diff(want, rules); d != "" {
				t.Errorf("rules (-want +got)\n%s", d)
			}

			// Joined by an older version, which granted nothing one by one, and made a
			// Trigger and a source for each member.
			runs.remove(access)
			hub.remove(onHub[1])
			runs.put("eventing.knative.dev/v1/Trigger/sluice-system/applier-member1", map[string]any{"spec": map[string]any{"broker": "sluice"}})
			runs.put("sources.knative.dev/v1/ContainerSource/sluice-system/member-member1", map[string]any{"spec": map[string]any{}})
			run(t, hub, append(flags, "join", "member1", "--cluster-kubeconfig", member.kubeconfig())...).wants(t, "")
			if runs.get(access) == nil {
				t.Error("joined once more, nobody may read the credentials")
			}
			if hub.get(onHub[1]) == nil {
				t.Error("joined once more, the renderer may not keep what Secrets hold")
			}

			run(t, hub, append(flags, "unjoin", "member1", "--purge")...).wants(t, "")
			if left := append(runs.left(), hub.left()...); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func TestJoinOnKnativeLeavesNothingBehind(t *testing.T) {
	for name, tc := range map[string]struct {
		given func(runs *api)
		want  string
	}{
		"Sluice does not run there":        {func(runs *api) { runs.remove(broker) }, "there is no Broker sluice-system/sluice"},
		"nobody may grant the credentials": {func(runs *api) { runs.refuse = failing("/rolebindings/member-member1", 403) }, "make RoleBinding member-member1"},
	} {
		t.Run(name, func(t *testing.T) {
			hub, member, runs := serve(t, "hub"), serve(t, "one"), serve(t, "knative")
			runs.knative()
			tc.given(runs)
			run(t, hub, "join", "member1", "--cluster-kubeconfig", member.kubeconfig(), "--knative-kubeconfig", runs.kubeconfig()).wants(t, tc.want)
			runs.refuse = nil
			if left := append(runs.left(), hub.left()...); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
