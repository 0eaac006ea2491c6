// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package deadletter

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	"sluice.dev/pkg/function"
)

func TestADeadLetterIsToldWithItsFailure(t *testing.T) {
	var log bytes.Buffer
	ctx := function.WithLogger(t.Context(), slog.New(slog.NewJSONHandler(&log, nil)))
	e := event.New()
	e.SetID("1")
	e.SetType("dev.sluice.work.rendered")
	e.SetSource("/sluice/renderer")
	e.SetExtension("knativeerrordest", "http://applier.sluice-system.svc.cluster.local")
	e.SetExtension("knativeerrorcode", 503)
	out, err := New().Handle(ctx, e)
	if err != nil || len(out) > 0 {
		t.Fatalf("answered %v, %v; want nothing", out, err)
	}
	for _, want := range []string{"dead letter", "dev.sluice.work.rendered", "applier.sluice-system", "503"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, log.String())
		}
	}
}
