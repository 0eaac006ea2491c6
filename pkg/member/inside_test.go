// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/applying"
)

// served is what a member says that it serves.
const served = `{"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": ""}, "versions": [{"version": "v1", "freshness": "Current", "resources": [
	{"resource": "namespaces", "scope": "Cluster", "verbs": ["list", "delete"], "responseKind": {"kind": "Namespace"}},
	{"resource": "configmaps", "scope": "Namespaced", "verbs": ["list", "delete"], "responseKind": {"kind": "ConfigMap"}},
	{"resource": "secrets", "scope": "Namespaced", "verbs": ["list", "delete"], "responseKind": {"kind": "Secret"}},
	{"resource": "events", "scope": "Namespaced", "verbs": ["list", "delete"], "responseKind": {"kind": "Event"}},
	{"resource": "bindings", "scope": "Namespaced", "verbs": ["create"], "responseKind": {"kind": "Binding"}}]}]}]}`

// Of a namespace all is looked at that would go with it; what cannot be seen is no
// answer, and no error.
func TestZ12WhatANamespaceHolds(t *testing.T) {
	list := func(names ...string) string {
		items := make([]string, len(names))
		for i, n := range names {
			items[i] = `{"metadata": {"namespace": "shop", "name": "` + n + `"}}`
		}
		return `{"kind": "PartialObjectMetadataList", "metadata": {}, "items": [` + strings.Join(items, ",") + `]}`
	}
	for sentence, tc := range map[string]struct {
		answers map[string]string // by the end of the path; the empty one is forbidden
		want    []string
		why     string
	}{
		"nothing":                          {answers: map[string]string{"configmaps": list("kube-root-ca.crt"), "secrets": list()}},
		"what a person made":               {answers: map[string]string{"configmaps": list("kube-root-ca.crt", "notes"), "secrets": list("password")}, want: []string{"ConfigMap shop/notes", "Secret shop/password"}},
		"Secrets may not be listed":        {answers: map[string]string{"configmaps": list(), "secrets": ""}, why: "member1 does not show all of it: Secret (may not be listed)"},
		"neither may be":                   {answers: map[string]string{"configmaps": "", "secrets": ""}, why: "member1 does not show all of it: ConfigMap (may not be listed), Secret (may not be listed)"},
		"it does not say what it serves":   {answers: map[string]string{"api": ""}, why: "member1 does not show all of it: kinds below /api (may not be listed)"},
		"of a group it cannot tell":        {answers: map[string]string{"api": strings.Replace(served, "Current", "Stale", 1), "configmaps": list("notes"), "secrets": ""}, want: []string{"ConfigMap shop/notes"}, why: "member1 does not show all of it: Secret (may not be listed), kinds of /v1 (do not answer)"},
		"it has a second page":             {answers: map[string]string{"configmaps": `{"metadata": {"continue": "next"}, "items": []}`, "configmaps next": list("notes"), "secrets": list()}, want: []string{"ConfigMap shop/notes"}},
		"one that goes with another of it": {answers: map[string]string{"configmaps": `{"metadata": {}, "items": [{"metadata": {"name": "part", "ownerReferences": [{"apiVersion": "v1", "kind": "Secret", "name": "x"}]}}, {"metadata": {"name": "own", "ownerReferences": [{"apiVersion": "v1", "kind": "Namespace", "name": "shop"}]}}]}`, "secrets": list()}, want: []string{"ConfigMap own"}},
	} {
		t.Run("Z12: "+sentence, func(t *testing.T) {
			w := onFake(t)
			w.api.answer = func(rw http.ResponseWriter, r *http.Request) bool {
				path := strings.Split(r.URL.Path, "/")
				key := path[len(path)-1]
				if next := r.URL.Query().Get("continue"); next != "" {
					key += " " + next
				}
				body, ok := tc.answers[key]
				switch {
				case ok && body == "":
					reply(rw, http.StatusForbidden, metav1.Status{Status: "Failure", Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "you may not"})
				case ok:
					_, _ = io.WriteString(rw, body)
				case key == "api":
					_, _ = io.WriteString(rw, served)
				case key == "apis":
					_, _ = io.WriteString(rw, `{"kind": "APIGroupDiscoveryList"}`)
				default:
					return false
				}
				return true
			}
			got, err := w.Inside(t.Context(), applying.Holder{Namespace: "shop"}, applying.Account{})
			if err != nil {
				t.Fatal(err)
			}
			if got.Answer == applying.CannotTell != (tc.why != "") || got.Why != tc.why {
				t.Errorf("got %+v", got)
			}
			var names []string
			for _, i := range got.Value {
				names = append(names, i.String())
			}
			if strings.Join(names, ", ") != strings.Join(tc.want, ", ") {
				t.Errorf("got %v %q, want %q", got.Answer, names, tc.want)
			}
		})
	}
}

// Whether what could not be asked is there says nothing: it is asked again.
func TestZ12WhatANamespaceHoldsIsAskedAgain(t *testing.T) {
	for code, reason := range map[int]metav1.StatusReason{
		http.StatusUnauthorized: metav1.StatusReasonUnauthorized, http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests,
		http.StatusInternalServerError: metav1.StatusReasonInternalError, http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
	} {
		for _, where := range []string{"api", "secrets"} {
			t.Run(fmt.Sprintf("Z12: %d at %s", code, where), func(t *testing.T) {
				w := onFake(t)
				w.api.answer = func(rw http.ResponseWriter, r *http.Request) bool {
					switch path := strings.Split(r.URL.Path, "/"); path[len(path)-1] {
					case where:
						reply(rw, code, metav1.Status{Status: "Failure", Code: int32(code), Reason: reason, Message: "not now"})
					case "api":
						_, _ = io.WriteString(rw, served)
					case "apis":
						_, _ = io.WriteString(rw, `{"kind": "APIGroupDiscoveryList"}`)
					case "configmaps":
						reply(rw, http.StatusForbidden, metav1.Status{Status: "Failure", Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "you may not"})
					default:
						return false
					}
					return true
				}
				got, err := w.Inside(t.Context(), applying.Holder{Namespace: "shop"}, applying.Account{})
				if !errors.As(err, new(*Unreachable)) || got.Answer != applying.CannotTell || got.Why != "" {
					t.Errorf("got %+v, %v", got, err)
				}
			})
		}
	}
}

// A definition that is not served any more says nothing of its objects.
func TestZ12WhatADefinitionHolds(t *testing.T) {
	w := onFake(t)
	w.apply(work("own"), w.manifest("{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %s}}"))
	h := applying.Holder{Definition: true, Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Plural: "configmaps"}
	for owner, want := range map[string]int{"own": 0, "other": 1} {
		got, err := w.Inside(t.Context(), h, applying.Account{Owners: []string{owner}})
		if err != nil || got.Answer != applying.Found || len(got.Value) != want {
			t.Errorf("for %s got %+v, %v", owner, got, err)
		}
	}
	h.Plural = "widgets"
	if got, err := w.Inside(t.Context(), h, applying.Account{}); err != nil || got.Answer != applying.CannotTell || got.Why == "" {
		t.Errorf("got %+v, %v", got, err)
	}
}
