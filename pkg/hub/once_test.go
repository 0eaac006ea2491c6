// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// What is said once on an occasion has a name of its own, which is the same from whatever
// process it comes, and is not tried again where it is there.
func TestC85WhatIsSaidOnceOnAnOccasion(t *testing.T) {
	asked := make(chan corev1.Event, 100)
	there := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e corev1.Event
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		if there[e.Name] {
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"AlreadyExists","code":409}`))
		} else if err := json.NewEncoder(w).Encode(e); err != nil {
			t.Error(err)
		}
		there[e.Name] = true
		asked <- e
	}))
	defer server.Close()
	client, err := rest.UnversionedRESTClientFor(&rest.Config{
		Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{NegotiatedSerializer: serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()},
	})
	if err != nil {
		t.Fatal(err)
	}
	about := About{APIVersion: placementKind.GroupVersion().String(), Kind: placementKind.Kind, Name: "shop", UID: "one"}
	names := map[string]int{}
	for range 2 { // processes
		h := &Hub{recorder: &recorder{component: "test", sink: sink{client}}}
		for _, occasion := range []string{"1", "1", "2"} {
			h.RecordOnce(t.Context(), about, occasion, Normal, "ThisHappened", "it happened")
			e := <-asked
			names[e.Name]++
			if e.Source.Component != "cluster-resource-placement-controller" || e.Namespace != "default" || e.InvolvedObject.UID != "one" || e.Count != 1 || e.FirstTimestamp.IsZero() {
				t.Errorf("event %+v", e)
			}
		}
	}
	if len(names) != 2 {
		t.Errorf("events %v, want one for each of two occasions", names)
	}
}
