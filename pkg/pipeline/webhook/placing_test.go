// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValidatePlacements(t *testing.T) {
	const (
		roles    = "{group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole}"
		deploys  = "{group: apps, version: v1, kind: Deployment, name: nginx}"
		widgets  = "{group: example.org, version: v1, kind: Widget}"
		snapshot = "metadata: {name: p-0-snapshot, labels: {latest: %}}\nspec: {selectedResources: [{kind: ConfigMap, data: {a: @}}]}"
	)
	placing := func(selectors string) string {
		return "metadata: {name: p}\nspec:\n  resourceSelectors: [" + selectors + "]"
	}
	taken := func(latest, value string) string {
		return strings.NewReplacer("%", latest, "@", value).Replace(snapshot)
	}
	for name, tc := range map[string]struct {
		kind, sent, old string
		want            string // in the message of the refusal; empty: it is allowed
		wantAsked       []string
	}{
		"C8 a kind with namespaces is refused": {
			sent: placing(deploys), want: "Deployment has namespaces, and only kinds without can be selected", wantAsked: []string{"Deployment"},
		},
		"C9 a kind that the hub does not serve is refused": {
			sent: placing(roles + "," + widgets), want: "spec.resourceSelectors[1].kind: Invalid value: the hub serves no kind Widget of example.org/v1", wantAsked: []string{"ClusterRole", "Widget"},
		},
		"C2 a kind without namespaces is allowed, and asked for once": {sent: placing(roles + "," + roles), wantAsked: []string{"ClusterRole"}},
		"C9 what was let in once may go on":                           {old: placing(widgets), sent: placing(widgets) + "\n  revisionHistoryLimit: 3"},
		"C9 a selector that is added is asked for":                    {old: placing(widgets), sent: placing(widgets + "," + deploys), want: "Deployment has namespaces", wantAsked: []string{"Deployment"}},
		"one that is being deleted is let go":                         {old: placing(widgets), sent: "metadata: {name: p, deletionTimestamp: 2026-11-23T12:00:00Z}\nspec: {resourceSelectors: [" + deploys + "]}"},
		"labels that nothing could match are refused":                 {sent: placing("{group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole, labelSelector: {matchExpressions: [{key: a, operator: Is}]}}"), want: "nothing would match it", wantAsked: []string{"ClusterRole"}},
		"members that nothing could match are refused": {
			sent: placing(roles) + "\n  policy: {affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: [{labelSelector: {matchExpressions: [{key: a, operator: Is}]}}]}}}}",
			want: "clusterSelectorTerms[0].labelSelector", wantAsked: []string{"ClusterRole"},
		},
		"one that cannot be read is refused":            {sent: "metadata: {name: p}\nspec: {resourceSelectors: 7}", want: "it cannot be read"},
		"C18 a snapshot's label may change":             {kind: "ClusterResourceSnapshot", old: taken("true", "b"), sent: taken("false", "b")},
		"C18 a snapshot's content is immutable":         {kind: "ClusterResourceSnapshot", old: taken("true", "b"), sent: taken("true", "c"), want: "spec is immutable"},
		"C18 so is that of an override's snapshot":      {kind: "ResourceOverrideSnapshot", old: taken("true", "b"), sent: taken("true", "c"), want: "spec is immutable"},
		"C17 a snapshot may be made":                    {kind: "ClusterResourceSnapshot", sent: taken("true", "b")},
		"an override that removes needs no value":       {kind: "ResourceOverride", sent: "metadata: {name: p}\nspec: {policy: {overrideRules: [{jsonPatchOverrides: [{op: remove, path: /a, value: b}]}]}}", want: "remove operation cannot have a value"},
		"an override without a fault is allowed":        {kind: "ClusterResourceOverride", sent: "metadata: {name: p}\nspec: {policy: {overrideRules: [{jsonPatchOverrides: [{op: remove, path: /a}]}]}}"},
		"a binding of a placement is nobody's business": {kind: "ClusterResourceBindingOfAPlacement", sent: "metadata: {name: p}"},
	} {
		t.Run(name, func(t *testing.T) {
			kind := tc.kind
			if kind == "" {
				kind = "ClusterResourcePlacement"
			}
			h := &hub{}
			res := ask(t, handler(h), "/validate", kind, tc.sent, tc.old)
			if res.Allowed != (tc.want == "") {
				t.Fatalf("allowed: %v, %+v", res.Allowed, res.Result)
			}
			if diff := cmp.Diff(tc.wantAsked, h.asked); diff != "" {
				t.Errorf("asked for the scope of: %s", diff)
			}
			if tc.want != "" && (res.Result.Code != http.StatusUnprocessableEntity || !strings.Contains(res.Result.Message, tc.want)) {
				t.Errorf("got %+v, want 422 with %q", res.Result, tc.want)
			}
			if res = ask(t, handler(h), "/mutate", kind, tc.sent, tc.old); !res.Allowed || len(res.Patch) > 0 {
				t.Errorf("changed: %+v", res)
			}
		})
	}
	h := &hub{down: errors.New("no route")}
	review := toJSON(t, `{apiVersion: admission.k8s.io/v1, kind: AdmissionReview, request: {uid: ask, operation: CREATE,
  kind: {group: placement.kubernetes-fleet.io, version: v1, kind: ClusterResourcePlacement}, object: {spec: {resourceSelectors: [`+roles+`]}}}}`)
	if code, body := post(t, handler(h), "/validate", review); code != http.StatusServiceUnavailable {
		t.Errorf("the hub cannot be asked: %d %s, want 503", code, body)
	}
}
