// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package inputs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/inputs"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// nobody holds anything.
type nobody struct{}

func (nobody) Look(context.Context, propagation.TemplateKey) (claims.View, error) {
	return claims.View{}, nil
}

func (nobody) WentBack(context.Context, string) error { return nil }

// A hub that does not serve bindings, as behind a deleted definition, or in the first
// seconds of an API server, says nothing of the template: whoever took the one answer
// for the other would be done with an event that nobody sends again.
func TestBindingsThatAreNotServedAreNoAnswerAboutTheTemplate(t *testing.T) {
	h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
	key := fixture.Deployment("nginx").Template().Key
	h.Apply(key, func(obj map[string]any) { obj["spec"] = map[string]any{"replicas": int64(1)} })
	for kind, load := range map[string]func() error{
		"a claim": func() error { _, _, err := inputs.Load(t.Context(), h, nobody{}, key); return err },
		"a gate": func() error {
			_, err := inputs.LoadGate(t.Context(), h, key, func(*gating.Input) error { return nil })
			return err
		},
	} {
		if err := load(); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		h.DropKind(pipelinetest.KindBindings)
		err := load()
		if err == nil || errors.Is(err, outcome.ErrNotServed) || errors.Is(err, outcome.ErrGone) || outcome.IsTerminal(err) {
			t.Errorf("%s: %v, want an error that is tried again", kind, err)
		}
		if _, ok := outcome.Delay(err); !ok {
			t.Errorf("%s: %v says no time to try again after", kind, err)
		}
		h.MakeKind(pipelinetest.KindBindings)
	}
}
