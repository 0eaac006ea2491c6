// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package inputs reads the inputs of claiming and of gating, for the stages that decide
// and for the CLI, which shows what they would decide. It is the only place that puts
// them together.
//
// Invariants:
//   - The objects that a decision may write are read first: for a claim the index and
//     the template, for a gate the binding. Then follows what the decision depends on.
//   - A template is read in the version that its binding names, or in another one if
//     that is not served, and is identified by the binding's version. Without a binding
//     it is read in the version of the policy that holds it, and, while it waits, is
//     identified by the one in which that policy found it.
//   - A template's policies are found through the index, so that a read costs in
//     proportion to their number, and not to that of all policies.
//   - A policy whose changes wait is at least as new as the template with whose change
//     it takes effect: what was said of it before is part of what the owner agrees to.
//   - A policy is read at least as new as Redis knows it. If the API server itself has
//     an older version, that proves that the hub was restored from a backup.
//
// It must not write, except to mark Redis as outdated in that case. It decides only if
// the caller asks for the decision (Settled).
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

// Hub reads what gates depend on. Its methods return outcome.ErrGone for an object that
// does not exist. Template reads another version than the key's if that is not served,
// and returns outcome.ErrNotServed if none is.
type Hub interface {
	Template(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error)
	Policy(ctx context.Context, key propagation.PolicyKey) (*propagation.Policy, error)
	Binding(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error)
	Features(ctx context.Context) (propagation.Features, error)
	// Kinds returns what is known of kinds; for a binding's template, what its owner said when
	// it was bound.
	Kinds(ctx context.Context, b *propagation.Binding) (kinds.Table, error)
}

// ClaimHub reads what claims depend on.
type ClaimHub interface {
	Hub
	// PolicyNow is Policy, read from the API server.
	PolicyNow(ctx context.Context, key propagation.PolicyKey) (*propagation.Policy, error)
}

// Index finds the policies that may select a template.
type Index interface {
	Look(ctx context.Context, t propagation.TemplateKey) (claims.View, error)
	Witness
}

// Load reads the input of claiming for one template, and the index's view, on which a
// commit has to be conditional. It returns outcome.ErrGone for a template that is gone.
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
	if in.Template, err = template(ctx, hub, key, in.Binding); err != nil {
		return in, err
	}
	if in.Binding != nil && !in.Binding.Of(in.Template) {
		in.Binding = nil // it belongs to another template, which the gate reports
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
	for _, c := range in.Candidates {
		if in.Template.Claim.By(c.Policy) {
			in.Template = unbound(c.Policy, in.Template, in.Binding)
		}
	}
	if d := claiming.Decide(in); d.Policy != nil {
		in.Template, err = inWordsOf(ctx, hub, d.Policy, in.Template, in.Binding)
	}
	return in, err
}

// candidates returns those of the index, and the policy that held the template
// according to its binding, if the template itself no longer names one.
func candidates(in claiming.Input, view claims.View) []claims.Candidate {
	bound := claiming.Bound(in.Template, in.Binding)
	known := func(c claims.Candidate) bool { return c.Policy == bound.Policy }
	if !bound.Held() || in.Template.Claim.Held() || slices.ContainsFunc(view.Candidates, known) {
		return view.Candidates
	}
	return append(slices.Clone(view.Candidates), claims.Candidate{Policy: bound.Policy})
}

// GateHub reads what gates depend on besides claims.
type GateHub interface {
	ClaimHub
	// WorksOf tells what is in force where no binding does.
	WorksOf(ctx context.Context, key propagation.BindingKey) ([]*propagation.Work, error)
}

// ErrStale says that the claim in the template's metadata is out of date, or that the
// metadata lost it: the claim has to be decided first.
var ErrStale = errors.New("claim does not stand")

// LoadGate reads the input of gating for one template. For a template that is gone it
// returns outcome.ErrGone and the binding. repair is called in between to repair the
// binding. If the binding of that name belongs to another template, it is returned
// without being repaired, so that the gate can report it.
func LoadGate(ctx context.Context, hub GateHub, key propagation.TemplateKey, repair func(*gating.Input) error) (in gating.Input, err error) {
	if in.Binding, err = binding(ctx, hub, key); err != nil {
		return in, err
	}
	if in.Template, err = template(ctx, hub, key, in.Binding); err != nil {
		return in, err
	}
	if in.Binding != nil && !in.Binding.Of(in.Template) {
		return loadGate(ctx, hub, in)
	}
	if err := repair(&in); err != nil {
		return in, err
	}
	return loadGate(ctx, hub, in)
}

// GateOf is LoadGate for a binding that has been read.
func GateOf(ctx context.Context, hub GateHub, b *propagation.Binding) (in gating.Input, err error) {
	in.Binding = b
	if in.Template, err = template(ctx, hub, b.Template(), b); err != nil {
		return in, err
	}
	return loadGate(ctx, hub, in)
}

func loadGate(ctx context.Context, hub GateHub, in gating.Input) (_ gating.Input, err error) {
	if in.Features, err = hub.Features(ctx); err != nil {
		return in, fmt.Errorf("get gates: %w", err)
	}
	if in.Kinds, err = hub.Kinds(ctx, in.Binding); err != nil {
		return in, fmt.Errorf("get the rules of kinds: %w", err)
	}
	if !in.Template.Claim.Held() {
		if in, err = witnessed(ctx, hub, in); err != nil {
			return in, err
		}
		return in, lost(ctx, hub, in)
	}
	if in, err = under(ctx, hub, in, hub.Policy); err != nil || !in.NeedsLatest() {
		return in, err
	}
	return under(ctx, hub, in, hub.PolicyNow)
}

// under adds to the input the policy that holds the template, as read returns it, and
// what is to be known because of it.
func under(ctx context.Context, hub GateHub, in gating.Input, read func(context.Context, propagation.PolicyKey) (*propagation.Policy, error)) (gating.Input, error) {
	key := in.Template.Claim.Policy
	p, err := read(ctx, key)
	switch {
	case errors.Is(err, outcome.ErrGone):
		return in, ErrStale
	case err != nil:
		return in, fmt.Errorf("get %s: %w", key, ours(err))
	}
	in.Template = unbound(p, in.Template, in.Binding)
	switch {
	case !claiming.Stands(in.Template, p):
		return in, ErrStale
	case in.Policy != nil && in.Policy.ResourceVersion == p.ResourceVersion:
		return in, nil
	}
	in.Policy = p
	if in.Template, err = inWordsOf(ctx, hub, p, in.Template, in.Binding); err != nil {
		return in, err
	}
	return witnessed(ctx, hub, in)
}

// witnessed adds the template's Works to the input, if they are needed.
func witnessed(ctx context.Context, hub GateHub, in gating.Input) (_ gating.Input, err error) {
	if !in.NeedsWorks() {
		return in, nil
	}
	if in.Works, err = hub.WorksOf(ctx, propagation.BindingOf(in.Template.Key)); err != nil {
		return in, fmt.Errorf("list the Works of %s: %w", in.Template.Key, ours(err))
	}
	return in, nil
}

// lost returns ErrStale if the template's claim has to be restored.
func lost(ctx context.Context, hub Hub, in gating.Input) error {
	if in.Binding != nil && !in.Binding.Of(in.Template) {
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

// ours returns the error of reading one of Sluice's own objects. If the hub does not
// serve its kind at the moment, the read is tried again: outcome.ErrNotServed would
// tell the caller that the template's kind is not served.
func ours(err error) error {
	if errors.Is(err, outcome.ErrNotServed) {
		return outcome.After(unserved, errUnserved)
	}
	return err
}

// unserved is how long to wait before a kind of Sluice's own is read again that was not
// served.
const unserved = 5 * time.Second

var errUnserved = errors.New("the hub does not serve the kind")

// binding returns the binding of the template; nil: there is none.
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

// template returns the template as its binding knows it.
func template(ctx context.Context, hub Hub, key propagation.TemplateKey, b *propagation.Binding) (*propagation.Template, error) {
	if b != nil {
		key = b.Read(key)
	}
	t, err := hub.Template(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	return t.KnownTo(b), nil
}

// inWordsOf returns a template without a binding in the version that the policy names,
// or found it in.
func inWordsOf(ctx context.Context, hub Hub, p *propagation.Policy, t *propagation.Template, b *propagation.Binding) (*propagation.Template, error) {
	if b != nil && b.Names(t.Key) {
		return t, nil
	}
	version, named := matching.Version(p, t.Key)
	if !named || version == t.Key.APIVersion {
		return unbound(p, t, b), nil
	}
	key := t.Key
	key.APIVersion = version
	again, err := template(ctx, hub, key, b)
	if err == nil && again.ResourceVersion != t.ResourceVersion {
		return nil, outcome.Conflict(fmt.Errorf("%s changed while it was read", key))
	}
	if err != nil {
		return nil, err
	}
	return unbound(p, again, b), nil
}

// unbound returns the template of p, if it has no binding, in the version in which p found
// what it waits with.
func unbound(p *propagation.Policy, t *propagation.Template, b *propagation.Binding) *propagation.Template {
	if b != nil && b.Names(t.Key) {
		return t
	}
	return matching.Waiting(p, t)
}

// Settled reads a template and reports whether its claim stays as it is.
func Settled(ctx context.Context, hub ClaimHub, index Index, key propagation.TemplateKey) (*propagation.Template, bool, error) {
	in, _, err := Load(ctx, hub, index, key)
	if err != nil {
		return nil, false, err
	}
	return in.Template, claiming.Decide(in).Settled(), nil
}
