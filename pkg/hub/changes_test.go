// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"sluice.dev/pkg/hub"
)

// TestWhenAChangeHappened: it is the latest time that the object's metadata know of.
func TestWhenAChangeHappened(t *testing.T) {
	const (
		made   = `"creationTimestamp":"2026-11-23T12:00:00Z"`
		fields = `,"managedFields":[{"manager":"user","time":"2026-11-23T12:00:07Z"},{"manager":"other","time":"2026-11-23T12:00:05Z"},{"manager":"sluice"}]`
	)
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for sentence, tc := range map[string]struct {
		what, metadata string
		want           time.Time
	}{
		"when somebody wrote it last":              {"MODIFIED", made + fields, noon.Add(7 * time.Second)},
		"when it was made, where nobody says":      {"ADDED", made, noon},
		"unknown, where nothing says":              {"MODIFIED", `"creationTimestamp":null`, time.Time{}},
		"unknown of a deletion, which is no write": {"DELETED", made + fields, time.Time{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			object := `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"namespace":"n","name":"p","resourceVersion":"7",` + tc.metadata + `}}`
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch {
				case r.URL.Path == "/api/v1":
					fmt.Fprint(w, podList)
				case r.URL.Query().Has("watch"):
					fmt.Fprintf(w, `{"type":%q,"object":%s}`, tc.what, object)
				default:
					fmt.Fprintf(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"},"items":[%s]}`, object)
				}
			}))
			defer s.Close()
			h, err := hub.Connect(&rest.Config{Host: s.URL})
			must(t, err)
			pods := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
			c, err := h.Changes(t.Context(), pods, "5")
			must(t, err)
			if len(c.All) != 1 || c.Listed || !c.All[0].At.Equal(tc.want) {
				t.Errorf("got %+v, want one change at %s", c, tc.want)
			}
			if tc.what == "DELETED" {
				return
			}
			c, err = h.Changes(t.Context(), pods, "")
			must(t, err)
			if len(c.All) != 1 || !c.Listed || !c.All[0].At.Equal(tc.want) {
				t.Errorf("listed %+v, want one object of %s", c, tc.want)
			}
		})
	}
}
