// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// What went well is told of as long as little is done, and of a burst no more than its
// beginning; what did not go well is always told of.
func TestMentionsAreFew(t *testing.T) {
	told := make(chan string, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e corev1.Event
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(e); err != nil {
			t.Error(err)
		}
		told <- e.Type
	}))
	defer server.Close()
	client, err := rest.UnversionedRESTClientFor(&rest.Config{
		Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{NegotiatedSerializer: serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := &Hub{recorder: &recorder{component: "test", sink: sink{client}}}
	about := func(i int) About {
		return About{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprint(i)}
	}
	const many = 300
	for i := range many {
		h.Mention(t.Context(), about(i), "ThisSucceed", "it went well")
	}
	for i := range many { // of each queue, behind what was mentioned
		h.Record(t.Context(), about(i), Warning, "ThisFailed", "it did not")
	}
	count := map[string]int{}
	for count[Warning] < many {
		count[<-told]++
	}
	if n := count[Normal]; n < mentionBurst || n >= 2*mentionBurst {
		t.Errorf("%d of %d were mentioned, want %d or a few more", n, many, mentionBurst)
	}
}
