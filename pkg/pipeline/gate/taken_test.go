// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/apis/keys"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/gate"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// alike are two names of ConfigMaps, made for it, whose bindings have one name: they are
// cut where they differ, and 40 bits of the hash are the same.
func alike(t *testing.T) (first, second propagation.TemplateKey) {
	t.Helper()
	stem := strings.Repeat("a", 242)
	of := func(suffix string) propagation.TemplateKey {
		return propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: stem + suffix}
	}
	first, second = of("0031ed"), of("05564f")
	if propagation.BindingOf(first) != propagation.BindingOf(second) {
		t.Fatalf("%s and %s are not alike", keys.BindingName(first), keys.BindingName(second))
	}
	return first, second
}

// told is what events say.
func told(t *testing.T, out []event.Event) (all []string) {
	t.Helper()
	for _, e := range out {
		d, err := events.Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.TrimPrefix(e.Type(), "dev.sluice.")+" "+d.Reason)
	}
	return all
}

// Somebody makes a template whose binding has the name of another's. The other one's
// binding is neither written nor deleted, and this one says why nothing of it is
// propagated; when the other one goes, it has its turn.
func TestZ34ABindingsNameThatIsTakenStaysWithWhoHasIt(t *testing.T) {
	now := func() time.Time { return fixture.Start }
	h := pipelinetest.NewHub(pipelinetest.Options{Now: now})
	s := gate.New(h, now)
	first, second := alike(t)
	policy := fixture.Policy("p").Selecting(policyv1alpha1.ResourceSelector{APIVersion: "v1", Kind: "ConfigMap"}).To("m1").Policy()
	h.PutPolicy(policy.Key, policy.Spec)
	policy = h.LivePolicy(policy.Key)
	deliver := func(key propagation.TemplateKey) []string {
		t.Helper()
		e, err := events.New("detector", event.Event{}, events.TemplateClaimed, events.Data{Template: &key, Policy: &policy.Key})
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.Handle(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return told(t, out)
	}
	for _, key := range []propagation.TemplateKey{first, second} {
		h.Apply(key, func(obj map[string]any) { obj["data"] = map[string]any{"of": key.Name} })
		if _, err := h.CommitClaim(t.Context(), h.Live(key), policy.Claim(), ""); err != nil {
			t.Fatal(err)
		}
	}
	if got := deliver(first); len(got) != 1 || !strings.HasPrefix(got[0], "binding.activated") {
		t.Fatalf("the first one: %q", got)
	}
	binding := propagation.BindingOf(first)
	if got := deliver(second); len(got) != 1 || got[0] != "binding.deferred "+string(gating.NameTaken) {
		t.Errorf("the second one: %q", got)
	}
	was := h.LiveBinding(binding)
	if !was.IsOf(first) || was.ActedHash() != h.Live(first).Hash {
		t.Errorf("the first one's binding is %+v", was)
	}
	h.Wrote = func(_ context.Context, w pipelinetest.Write) { t.Errorf("written again: %s", w) }
	for range 2 {
		if got := deliver(second); len(got) != 1 || got[0] != "binding.deferred "+string(gating.NameTaken) {
			t.Errorf("the second one: %q", got)
		}
		deliver(first)
	}
	if is := h.LiveBinding(binding); is != was {
		t.Errorf("the binding is %+v", is)
	}

	h.Wrote = nil
	h.Delete(first)
	if got := deliver(first); !slices.Contains(got, "template.touched BindingNameFree") {
		t.Errorf("the second one is not told of: %q", got)
	}
	if h.LiveBinding(binding) != nil {
		t.Fatal("the first one's binding is still there")
	}
	deliver(second)
	if b := h.LiveBinding(binding); b == nil || !b.IsOf(second) {
		t.Errorf("the second one's binding is %+v", b)
	}
}
