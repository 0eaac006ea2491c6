// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/gate"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// errCrash is the answer to the request that a process does not live to see.
var errCrash = errors.New("crash")

// A new binding comes in front of the content that it names. In between, the
// process may end, or another delivery may find the template changed: the
// binding is brought up to what the template holds then. It is not taken away,
// for the other delivery may go on at any moment.
func TestGateBetweenBindingAndContent(t *testing.T) {
	lazy := func(p fixture.PolicyBuilder) fixture.PolicyBuilder { return p.Lazy() }
	for name, tt := range map[string]struct {
		policy func(fixture.PolicyBuilder) fixture.PolicyBuilder
		crash  bool
	}{
		"the other delivery goes on":                           {},
		"the other delivery goes on, the policy is Lazy":       {policy: lazy},
		"the process ended in between":                         {crash: true},
		"the process ended in between, the policy is Lazy":     {policy: lazy, crash: true},
		"the other delivery goes on, suspended on a cluster":   {policy: func(p fixture.PolicyBuilder) fixture.PolicyBuilder { return p.Suspending("m1") }},
		"the process ended in between, suspended altogether":   {policy: func(p fixture.PolicyBuilder) fixture.PolicyBuilder { return p.Suspending() }, crash: true},
		"the process ended in between, Lazy and suspended too": {policy: func(p fixture.PolicyBuilder) fixture.PolicyBuilder { return p.Lazy().Suspending() }, crash: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
			s := gate.New(h, func() time.Time { return fixture.Start })
			key := fixture.Deployment("nginx").Template().Key
			put := func(replicas int64) {
				h.Apply(key, func(obj map[string]any) { obj["spec"] = map[string]any{"replicas": replicas} })
			}
			put(1)
			builder := fixture.Policy("p").To("m1")
			if tt.policy != nil {
				builder = tt.policy(builder)
			}
			policy := holding(t, h, key, builder)

			var removed []string
			h.Wrote = func(_ context.Context, w pipelinetest.Write) {
				if b, ok := w.Old.(*propagation.Binding); ok && w.New == nil {
					removed = append(removed, b.Key.ID())
				}
			}
			other := func() {
				put(2)
				if err := deliver(ctx, s, key, policy.Key); err != nil {
					t.Errorf("the other delivery: %v", err)
				}
			}
			met := false
			h.Ask = func(_ context.Context, r pipelinetest.Request) error {
				if met || r.Verb != "create" || !strings.HasPrefix(r.About, "revision") {
					return nil
				}
				met = true
				if tt.crash {
					return errCrash
				}
				other()
				return nil
			}
			err := deliver(ctx, s, key, policy.Key)
			switch {
			case !met:
				t.Fatal("no revision was created")
			case !errors.Is(err, errCrash) && (tt.crash || err != nil):
				t.Fatalf("the first delivery: %v", err)
			case tt.crash:
				other()
			}

			if len(removed) > 0 {
				t.Errorf("removed %v", removed)
			}
			b := h.LiveBinding(propagation.BindingOf(key))
			if b == nil {
				t.Fatal("there is no binding")
			}
			if b.ActedHash() != h.Live(key).Hash {
				t.Errorf("in force is the content %q, the template holds %q", b.ActedHash(), h.Live(key).Hash)
			}
			if _, err := h.Revision(ctx, b, b.Revision()); err != nil {
				t.Errorf("its content: %v", err)
			}
			wantAll, want := policy.Spec.Suspension.Dispatch()
			if all, clusters := b.Spec.Suspension.Dispatch(); all != wantAll || !slices.Equal(clusters, want) {
				t.Errorf("suspended: %v %v, want %v %v", all, clusters, wantAll, want)
			}
		})
	}
}

// A binding that is deleted while the gate changes it is no proof that the template goes:
// the gate looks again, and makes another.
func TestZ4ABindingThatGoesWhileItIsChanged(t *testing.T) {
	ctx := t.Context()
	h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
	s := gate.New(h, func() time.Time { return fixture.Start })
	key := fixture.Deployment("nginx").Template().Key
	put := func(replicas int64) {
		h.Apply(key, func(obj map[string]any) { obj["spec"] = map[string]any{"replicas": replicas} })
	}
	put(1)
	policy := holding(t, h, key, fixture.Policy("p").To("m1"))
	if err := deliver(ctx, s, key, policy.Key); err != nil {
		t.Fatal(err)
	}
	was := h.LiveBinding(propagation.BindingOf(key))

	put(2)
	h.Ask = func(_ context.Context, r pipelinetest.Request) error {
		if r.Verb != "patch" || r.About != was.Key.String() {
			return nil
		}
		h.Ask = nil
		return h.DeleteBinding(ctx, h.LiveBinding(was.Key))
	}
	if err := deliver(ctx, s, key, policy.Key); !outcome.IsConflict(err) {
		t.Errorf("it went meanwhile: %v, want a conflict", err)
	}
	if err := deliver(ctx, s, key, policy.Key); err != nil {
		t.Fatal(err)
	}
	if b := h.LiveBinding(was.Key); b == nil || b.UID == was.UID || b.ActedHash() != h.Live(key).Hash {
		t.Errorf("the binding is %v, want another with the present content", b)
	}
}

// holding makes a policy that holds the template.
func holding(t *testing.T, h *pipelinetest.Hub, key propagation.TemplateKey, builder fixture.PolicyBuilder) *propagation.Policy {
	t.Helper()
	policy := builder.Policy()
	h.PutPolicy(policy.Key, policy.Spec)
	policy = h.LivePolicy(policy.Key)
	if _, err := h.CommitClaim(t.Context(), h.Live(key), policy.Claim(), ""); err != nil {
		t.Fatal(err)
	}
	return policy
}

func deliver(ctx context.Context, s *gate.Stage, key propagation.TemplateKey, policy propagation.PolicyKey) error {
	e, err := events.New("detector", event.Event{}, events.TemplateClaimed, events.Data{Template: &key, Policy: &policy})
	if err != nil {
		return err
	}
	_, err = s.Handle(ctx, e)
	return err
}
