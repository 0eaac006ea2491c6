// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package inputs reads the inputs of claiming and of gating: for the stages that
// decide, and for whoever asks what they would decide. It is the one place that puts
// them together.
//
// Invariants:
//   - What a decision may write is read first: of a claim the index and the
//     template, of a gate the binding. Then comes what the decision depends on.
//   - A template is read in the version that its binding names, or in another that
//     is served where that is not, and is known by the binding's. Without a binding
//     it is the version of the policy that holds it.
//   - A template's policies are found through the index: their number, not that
//     of all policies, is what a read costs.
//   - A policy is read no older than Redis knows it. What the API server itself has in
//     an older version proves that the hub went back.
//
// It must not write, but that Redis is not to be believed then. It decides only where the caller asks what would be decided
// (Settled).
package inputs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice.dev/pkg/core/claiming"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/claims"
)

// Hub reads what gates depend on. Each answers outcome.ErrGone for what
// does not exist. Template reads in another version than the key's where that one
// is not served, and answers outcome.ErrNotServed where none is.
type Hub interface {
	Template(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error)
	Policy(ctx context.Context, key propagation.PolicyKey) (*propagation.Policy, error)
	Binding(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error)
	Features(ctx context.Context) (propagation.Features, error)
	// Kinds is what is known of kinds.
	Kinds(ctx context.Context) (kinds.Table, error)
}

// ClaimHub reads what claims depend on.
type ClaimHub interface {
	Hub
	// PolicyNow is Policy, asked of the API server whatever is known.
	PolicyNow(ctx context.Context, key propagation.PolicyKey) (*propagation.Policy, error)
}

// Index finds the policies that may select a template.
type Index interface {
	Look(ctx context.Context, t propagation.TemplateKey) (claims.View, error)
	Witness
}

// Load reads the input of claiming for one template, and the index's view that
// a commit has to be conditional on. A template that is gone is outcome.ErrGone.
func Load(ctx context.Context, hub ClaimHub, index Index, key propagation.TemplateKey) (claiming.Input, claims.View, error) {
	view, err := index.Look(ctx, key)
	if err != nil {
		return claiming.Input{}, view, fmt.Errorf("look up the policies of %s: %w", key, err)
	}
	in, err := loadClaim(ctx, hub, index, view, key)
	return in, view, err
}

func loadClaim(ctx context.Context, hub ClaimHub, w Witness, view claims.View, key propagation.TemplateKey) (in claiming.Input, err error) {
	if in.Binding, err = binding(ctx, hub, key); err != nil {
		return in, err
	}
	if in.Binding != nil && !in.Binding.IsOf(key) {
		in.Binding = nil // another's, of which the gate tells
	}
	if in.Template, err = template(ctx, hub, key, in.Binding); err != nil {
		return in, err
	}
	if in.Features, err = hub.Features(ctx); err != nil {
		return in, fmt.Errorf("get gates: %w", err)
	}
	in.Seen = view.Seen
	if strings.HasPrefix(view.Seen.Content, string(in.Template.UID)+"/") {
		in.Recorded = view.Holder
	}
	for _, c := range candidates(in, view) {
		p, err := Policy(ctx, hub, w, c.Policy, claims.Known{Version: c.Version, Epoch: view.Epoch})
		if errors.Is(err, outcome.ErrGone) {
			continue
		}
		if err != nil {
			return in, err
		}
		in.Candidates = append(in.Candidates, claiming.Candidate{Policy: p, Since: c.SinceOf(p)})
	}
	if d := claiming.Decide(in); d.Policy != nil {
		in.Template, err = inWordsOf(ctx, hub, d.Policy, in.Template, in.Binding)
	}
	return in, err
}

// candidates are those of the index, and who held the template as its binding
// knows, where the template says nothing of it any more.
func candidates(in claiming.Input, view claims.View) []claims.Candidate {
	bound := claiming.Bound(in.Template, in.Binding)
	known := func(c claims.Candidate) bool { return c.Policy == bound.Policy }
	if !bound.Held() || in.Template.Claim.Held() || slices.ContainsFunc(view.Candidates, known) {
		return view.Candidates
	}
	return append(slices.Clone(view.Candidates), claims.Candidate{Policy: bound.Policy})
}

// ErrStale says that the claim that the template's metadata tell of does not stand,
// or that they lost it: it has to be decided on first.
var ErrStale = errors.New("claim does not stand")

// LoadGate reads the input of gating for one template. A template that is gone is
// outcome.ErrGone, and the binding is there all the same. Who repairs the binding
// does it in between. A binding of that name that is another's comes along, for the gate
// to say so, and is not repaired.
func LoadGate(ctx context.Context, hub Hub, key propagation.TemplateKey, repair func(*gating.Input) error) (in gating.Input, err error) {
	if in.Binding, err = binding(ctx, hub, key); err != nil {
		return in, err
	}
	if in.Template, err = template(ctx, hub, key, in.Binding); err != nil {
		return in, err
	}
	if in.Binding != nil && !in.Binding.IsOf(key) {
		return loadGate(ctx, hub, in)
	}
	if err := repair(&in); err != nil {
		return in, err
	}
	return loadGate(ctx, hub, in)
}

// GateOf is LoadGate for a binding that was read.
func GateOf(ctx context.Context, hub Hub, b *propagation.Binding) (in gating.Input, err error) {
	in.Binding = b
	if in.Template, err = template(ctx, hub, b.Template(), b); err != nil {
		return in, err
	}
	return loadGate(ctx, hub, in)
}

func loadGate(ctx context.Context, hub Hub, in gating.Input) (_ gating.Input, err error) {
	if in.Features, err = hub.Features(ctx); err != nil {
		return in, fmt.Errorf("get gates: %w", err)
	}
	if in.Kinds, err = hub.Kinds(ctx); err != nil {
		return in, fmt.Errorf("get the rules of kinds: %w", err)
	}
	claim := in.Template.Claim
	if !claim.Held() {
		return in, lost(ctx, hub, in)
	}
	p, err := hub.Policy(ctx, claim.Policy)
	if errors.Is(err, outcome.ErrGone) {
		return in, ErrStale
	}
	if err != nil {
		return in, fmt.Errorf("get %s: %w", claim.Policy, ours(err))
	}
	if !claiming.Stands(in.Template, p) {
		return in, ErrStale
	}
	in.Policy = p
	in.Template, err = inWordsOf(ctx, hub, p, in.Template, in.Binding)
	return in, err
}

// lost is ErrStale where the template's claim has to be restored.
func lost(ctx context.Context, hub Hub, in gating.Input) error {
	if in.Binding != nil && !in.Binding.IsOf(in.Template.Key) {
		return nil
	}
	bound := claiming.Bound(in.Template, in.Binding)
	if !bound.Held() {
		return nil
	}
	p, err := hub.Policy(ctx, bound.Policy)
	switch {
	case errors.Is(err, outcome.ErrGone):
		return nil
	case err != nil:
		return fmt.Errorf("get %s: %w", bound.Policy, ours(err))
	case claiming.Lost(in.Template, in.Binding, p):
		return ErrStale
	}
	return nil
}

// ours is the error of a read of what is Sluice's own. That the hub does not serve
// that kind now says nothing of the template, as outcome.ErrNotServed would to whoever
// asked: it is asked again.
func ours(err error) error {
	if errors.Is(err, outcome.ErrNotServed) {
		return outcome.After(unserved, errUnserved)
	}
	return err
}

// unserved is how long a kind of Sluice's that is not served is waited for at a time.
const unserved = 5 * time.Second

var errUnserved = errors.New("the hub does not serve the kind")

// binding is that of the template; nil: there is none.
func binding(ctx context.Context, hub Hub, key propagation.TemplateKey) (*propagation.Binding, error) {
	b, err := hub.Binding(ctx, propagation.BindingOf(key))
	if errors.Is(err, outcome.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get binding of %s: %w", key, ours(err))
	}
	return b, nil
}

// template is the template as its binding knows it.
func template(ctx context.Context, hub Hub, key propagation.TemplateKey, b *propagation.Binding) (*propagation.Template, error) {
	if b != nil && b.IsOf(key) && b.Spec.Resource.APIVersion != "" {
		key.APIVersion = b.Spec.Resource.APIVersion
	}
	t, err := hub.Template(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	return t.KnownTo(b), nil
}

// inWordsOf is the template, which no binding knows yet, in the version that the
// policy names.
func inWordsOf(ctx context.Context, hub Hub, p *propagation.Policy, t *propagation.Template, b *propagation.Binding) (*propagation.Template, error) {
	version, named := matching.Version(p, t.Key)
	if b != nil || !named || version == t.Key.APIVersion {
		return t, nil
	}
	key := t.Key
	key.APIVersion = version
	again, err := template(ctx, hub, key, nil)
	if err == nil && again.ResourceVersion != t.ResourceVersion {
		return nil, outcome.Conflict(fmt.Errorf("%s changed while it was read", key))
	}
	return again, err
}

// Settled reads a template and asks whether its claim stays as it is.
func Settled(ctx context.Context, hub ClaimHub, index Index, key propagation.TemplateKey) (*propagation.Template, bool, error) {
	in, _, err := Load(ctx, hub, index, key)
	if err != nil {
		return nil, false, err
	}
	return in.Template, claiming.Decide(in).Settled(), nil
}
