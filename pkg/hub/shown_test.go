// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"sluice.dev/pkg/core/propagation"
)

// decodeVersion keeps of an object that it is the one of that version.
func decodeVersion(raw []byte) (record[string], error) {
	var o metav1.PartialObjectMetadata
	err := json.Unmarshal(raw, &o)
	version := propagation.Version(o.ResourceVersion)
	return record[string]{
		name: types.NamespacedName{Namespace: o.Namespace, Name: o.Name}, uid: o.UID,
		version: version, value: fmt.Sprintf("%s@%d", o.Name, version),
	}, err
}

// While no watch is open, this process reads what somebody wrote, from a list, and writes on
// that ground. The next list of the watch has the own write, and of the other nobody would
// be told: seen after a restart of the hub, which watches of a moment before do not outlast.
func TestZ21WhatAListShowedIsTold(t *testing.T) {
	name := types.NamespacedName{Namespace: "ns", Name: "a"}
	for sentence, list := range map[string]func(k *kind[string]) (any, error){
		"a list of all": func(k *kind[string]) (any, error) { return k.list(t.Context(), name.Namespace) },
		"a list of some": func(k *kind[string]) (any, error) {
			return k.listBy(t.Context(), "owner", query{labels: "owner", limit: 9})
		},
		"a list of all of a namespace": func(k *kind[string]) (any, error) {
			return k.listLike(t.Context(), query{namespace: name.Namespace})
		},
		"a page": func(k *kind[string]) (any, error) {
			page, _, err := k.listSome(t.Context(), query{limit: 9})
			return page, err
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				object := func(version int) string {
					return fmt.Sprintf(`{"metadata":{"namespace":"ns","name":"a","uid":"a-5","resourceVersion":"%d"}}`, version)
				}
				if r.Method == http.MethodGet {
					fmt.Fprintf(w, `{"metadata":{"resourceVersion":"20"},"items":[%s]}`, object(16))
				} else {
					fmt.Fprint(w, object(21))
				}
			}))
			t.Cleanup(server.Close)
			h, err := Connect(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			k := &kind[string]{resource: workKinds[propagation.PolicyForm], client: h.client, decode: decodeVersion}
			s := newStore[string]()
			k.store.Store(s)
			listed(9, rec("a", 5, 5))(s)
			s.take()
			cut(s)
			got, err := list(k)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"a@16"}, got); diff != "" {
				t.Fatalf("listed (-want +got):\n%s", diff)
			}
			if _, err := k.patch(t.Context(), name, map[string]any{}); err != nil {
				t.Fatal(err)
			}
			listed(21, rec("a", 5, 21))(s)
			if diff := cmp.Diff([]string{"Updated a@16"}, newsOf(s)); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}
