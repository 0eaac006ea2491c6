// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"sluice.dev/pkg/hub"
)

// things is a hub that serves the kind Thing, of which it answers with that definition, and
// with object for all else.
func things(t *testing.T, status int, definition string, object http.HandlerFunc) *hub.Hub {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer := func(status int, body string) {
			w.WriteHeader(status)
			if _, err := w.Write([]byte(body)); err != nil {
				t.Error(err)
			}
		}
		switch r.URL.Path {
		case "/apis/example.org/v1":
			answer(http.StatusOK, `{"kind":"APIResourceList","groupVersion":"example.org/v1","resources":[{"name":"things","namespaced":true,"kind":"Thing","verbs":["get"]}]}`)
		case "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.org":
			answer(status, definition)
		default:
			object(w, r)
		}
	}))
	t.Cleanup(s.Close)
	h, err := hub.Connect(&rest.Config{Host: s.URL})
	must(t, err)
	return h
}

// TestZ17AlikeVersions of a kind are those of which its definition says that they
// differ in their name only.
func TestZ17AlikeVersions(t *testing.T) {
	const versions = `"versions":[{"name":"v1","served":true},{"name":"v1beta1","served":true},{"name":"v1alpha1","served":false}]`
	for sentence, tc := range map[string]struct {
		status     int
		definition string
		want       []string
	}{
		"nothing is said of a conversion":       {200, `{"spec":{` + versions + `}}`, []string{"v1beta1"}},
		"only the name is converted":            {200, `{"spec":{"conversion":{"strategy":"None"},` + versions + `}}`, []string{"v1beta1"}},
		"a program converts":                    {200, `{"spec":{"conversion":{"strategy":"Webhook"},` + versions + `}}`, nil},
		"the kind is built in":                  {404, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`, nil},
		"definitions may not be read by Sluice": {403, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := things(t, tc.status, tc.definition, http.NotFound)
			got, err := h.Alike(t.Context(), schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Thing"})
			if err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("got %v (%v), want %v", got, err, tc.want)
			}
			if got, err := h.Alike(t.Context(), schema.GroupVersionKind{Group: "nowhere.example.org", Version: "v1", Kind: "Thing"}); err != nil || got != nil {
				t.Errorf("of a kind that nobody serves: %v (%v)", got, err)
			}
		})
	}
}
