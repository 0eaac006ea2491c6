// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package deadletter

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/function"
)

// letters count what is kept; why is what is wrong with them.
type letters struct {
	n   int
	why error
}

func (l *letters) Keep(context.Context, event.Event) (bool, error) {
	l.n++
	return l.why == nil, l.why
}

// about is what a work.rendered says.
var about = func() events.Data {
	template := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "a"}
	return events.Data{Template: &template, Binding: new(propagation.BindingOf(template)), Work: &propagation.WorkKey{Cluster: "member1", Name: "w"}, Cluster: "member1"}
}()

func TestADeadLetterIsToldWithItsFailureAndKept(t *testing.T) {
	for name, tc := range map[string]struct {
		code  any
		why   error
		junk  bool
		kept  int
		wants []string
	}{
		"a stage that failed":                   {code: 503, kept: 1, wants: []string{"503", `"kept":true`}},
		"a broker that does not say":            {kept: 1, wants: []string{`"kept":true`}},
		"Z35: what says nothing takes no place": {code: 503, junk: true, wants: []string{"malformed", `"kept":false`}},
		"an event that no stage would take":     {code: 422, wants: []string{"422", `"kept":false`}},
		"a Redis that keeps nothing is told of": {code: 503, why: errors.New("redis is down"), kept: 1, wants: []string{"redis is down", `"kept":false`}},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			ctx := function.WithLogger(t.Context(), slog.New(slog.NewJSONHandler(&log, nil)))
			e := event.New()
			e.SetID("1")
			e.SetType("dev.sluice.work.rendered")
			e.SetSource("/sluice/renderer")
			if !tc.junk {
				_ = e.SetData(event.ApplicationJSON, about)
			}
			e.SetExtension("knativeerrordest", "http://applier.sluice-system.svc.cluster.local")
			if tc.code != nil {
				e.SetExtension("knativeerrorcode", tc.code)
			}
			l := &letters{why: tc.why}
			out, err := New(l).Handle(ctx, e)
			if err != nil || len(out) > 0 {
				t.Fatalf("answered %v, %v; want nothing", out, err)
			}
			if l.n != tc.kept {
				t.Errorf("kept %d times, want %d", l.n, tc.kept)
			}
			for _, want := range append(tc.wants, "dead letter", "dev.sluice.work.rendered", "applier.sluice-system") {
				if !strings.Contains(log.String(), want) {
					t.Errorf("the log lacks %q: %s", want, log.String())
				}
			}
		})
	}
}

func TestOnlyEventsForStagesAreKept(t *testing.T) {
	const filter = "http://broker-filter.knative-eventing.svc.cluster.local/triggers/"
	for destination, want := range map[string]bool{
		"":                                  true,
		filter + "sluice-system/renderer/1": true,
		filter + "sluice-system/applier-member1/1":                     true,
		filter + "sluice-system/detector-events/1":                     true,
		filter + "sluice-system/shop-preempted/1":                      false,
		filter + "sluice-system/audit/1":                               false,
		filter + "shop/renderer/1":                                     false,
		"http://renderer.sluice-system.svc.cluster.local":              true,
		"http://renderer.shop.svc.cluster.local":                       false,
		"http://audit.sluice-system.svc.cluster.local":                 false,
		"http://renderer.sluice-system2.svc.cluster.local":             false,
		"http://broker-ingress.knative-eventing.svc.cluster.local/a/b": false,
	} {
		if got := Ours(destination); got != want {
			t.Errorf("%q is ours: %t, want %t", destination, got, want)
		}
	}
}
