// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/event"
	"knative.dev/eventing/pkg/adapter/v2"
)

func TestTheBrokerIsShownTheTokenOfThePod(t *testing.T) {
	var shown []string
	broker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown = append(shown, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(broker.Close)
	client, err := adapter.NewClient(adapter.ClientConfig{Env: &adapter.EnvConfig{Sink: broker.URL}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "token")
	b := bearer{client, file}
	e := event.New()
	e.SetID("1")
	e.SetType("dev.knative.apiserver.ref.add")
	e.SetSource("https://member1")
	send := func() {
		t.Helper()
		if result := b.Send(t.Context(), e); !cloudevents.IsACK(result) {
			t.Fatal(result)
		}
	}

	send()
	for _, content := range []string{"first\n", "second"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		send()
	}
	want := []string{"", "Bearer first", "Bearer second"}
	for i := range want {
		if len(shown) != len(want) || shown[i] != want[i] {
			t.Fatalf("shown %q, want %q", shown, want)
		}
	}
}
