// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// historyLimit is how many revisions a binding keeps, the active one included.
const historyLimit = 3

// mostRevisions is above every number that a revision can come to have.
const mostRevisions = 1 << 53

// commit writes what the decision changes: the frozen content, the binding, its
// Active condition. The binding is nil where there is to be none.
func (s *Stage) commit(ctx context.Context, in gating.Input, d gating.Decision) (*propagation.Binding, error) {
	if d.Next == nil {
		return nil, nil
	}
	// A binding must not name a content that is not there, and a revision is
	// owned by its binding: a new binding comes first, and until its revision
	// is there nothing is rendered.
	b, err := in.Binding, error(nil)
	if b != nil && d.Next.Revision() != b.Revision() {
		if err := s.freeze(ctx, in.Template, b, d.Next.Revision()); err != nil {
			return nil, err
		}
	}
	if d.Next != in.Binding {
		if b, err = s.hub.CommitBinding(ctx, in.Binding, d.Next); err != nil {
			return nil, fmt.Errorf("commit %s: %w", d.Next.Key, err)
		}
	}
	if in.Binding == nil && b.Revision() != "" {
		if err := s.create(ctx, in.Template, b, b.Revision(), 1); err != nil {
			return nil, err
		}
	}
	s.tell(ctx, in, d)
	return s.condition(ctx, in.Template, b, d)
}

// freeze keeps the template's content as the revision name, if it is not kept
// already, and forgets the oldest ones.
func (s *Stage) freeze(ctx context.Context, t *propagation.Template, owner *propagation.Binding, name string) error {
	kept, err := s.hub.Revision(ctx, owner, name)
	if err == nil && propagation.HashContent(kept.Content) == t.Hash {
		return s.adopt(ctx, owner, kept)
	}
	if err != nil && !errors.Is(err, outcome.ErrGone) {
		return fmt.Errorf("get revision %s: %w", name, err)
	}
	old, err := s.hub.Revisions(ctx, owner)
	if err != nil {
		return fmt.Errorf("list revisions of %s: %w", owner.Key, err)
	}
	number, err := s.trim(ctx, owner, old)
	if err != nil {
		return err
	}
	return s.create(ctx, t, owner, name, number)
}

// adopt makes the binding the owner of what a former one of its name has left behind,
// before that takes it along. Who made the binding may have crashed before that.
func (s *Stage) adopt(ctx context.Context, owner *propagation.Binding, r *propagation.Revision) error {
	if r.Owner == owner.UID {
		return nil
	}
	if err := s.hub.CreateRevision(ctx, owner, r); err != nil {
		return fmt.Errorf("adopt revision %s: %w", r.Name, err)
	}
	return nil
}

func (s *Stage) create(ctx context.Context, t *propagation.Template, owner *propagation.Binding, name string, number int64) error {
	r := &propagation.Revision{Name: name, Binding: owner.Key, Hash: t.Hash, Number: number, Content: propagation.Content(t.Object)}
	if err := s.hub.CreateRevision(ctx, owner, r); err != nil {
		return fmt.Errorf("freeze the content of %s: %w", t.Key, err)
	}
	return nil
}

// repair sees to it that the content that the binding names is there: a crash
// came between the two, another delivery is about to write it, or somebody
// deleted it. Where the template holds it no more, the gate decides as if nothing
// had acted yet, also where the API server has filled in fields since. It never takes the binding away for that: what the other
// delivery brings to the members would go with it.
func (s *Stage) repair(ctx context.Context, in *gating.Input) error {
	b, t := in.Binding, in.Template
	if b == nil || b.Revision() == "" {
		return nil
	}
	now := t.Itself()
	if b.ActedHash() == now.Hash && b.Spec.Resource.UID == t.UID {
		return s.freeze(ctx, t, b, b.Revision())
	}
	r, err := s.hub.Revision(ctx, b, b.Revision())
	if err == nil {
		return s.adopt(ctx, b, r)
	}
	if !errors.Is(err, outcome.ErrGone) {
		return fmt.Errorf("get revision %s: %w", b.Revision(), err)
	}
	lost := *b
	lost.Annotations = maps.Clone(b.Annotations)
	delete(lost.Annotations, propagation.AnnotationContentHash)
	delete(lost.Annotations, propagation.AnnotationRevision)
	in.Binding, in.Template = &lost, now
	return nil
}

// trim deletes what goes beyond the history limit once one more is added, never
// the one in force, and returns the number of the next revision.
func (s *Stage) trim(ctx context.Context, b *propagation.Binding, old []*propagation.Revision) (int64, error) {
	slices.SortFunc(old, func(x, y *propagation.Revision) int { return cmp.Compare(x.Number, y.Number) })
	number := int64(1)
	for _, r := range old {
		if b.Genuine(r) == nil && r.Number < mostRevisions {
			number = max(number, r.Number+1)
		}
	}
	excess := len(old) + 1 - historyLimit
	for _, r := range old {
		if excess <= 0 {
			break
		}
		if r.Name == b.Revision() {
			continue
		}
		if err := s.hub.DeleteRevision(ctx, b, r.Name); err != nil {
			return 0, fmt.Errorf("delete revision %s: %w", r.Name, err)
		}
		excess--
	}
	return number, nil
}

// condition says on the binding whether something is pending.
func (s *Stage) condition(ctx context.Context, t *propagation.Template, b *propagation.Binding, d gating.Decision) (*propagation.Binding, error) {
	c := metav1.Condition{Type: gating.ConditionActive, Status: metav1.ConditionTrue, Reason: gating.ReasonActive, Message: gating.InForce(b)}
	if d.Pending() {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, string(d.Reason), d.Message
	} else if reporterSays(b) {
		return b, nil
	}
	next, changed := conditions.Set(b.Status.Conditions, c, s.now())
	if !changed {
		return b, nil
	}
	status := b.Status
	status.Conditions = next
	b, err := s.hub.CommitBindingStatus(ctx, b, status)
	if err != nil {
		return nil, fmt.Errorf("commit status: %w", err)
	}
	if d.Pending() {
		s.hub.Record(ctx, hub.AboutTemplate(t), hub.Normal, c.Reason, c.Message)
	}
	return b, nil
}

// reporterSays tells whether it is left to the reporter, which writes the status anyway,
// to say what is in force: of a new binding, and where nothing waited before and there is
// a cluster of which something will be told.
func reporterSays(b *propagation.Binding) bool {
	return !conditions.Has(b.Status.Conditions, gating.ConditionActive) ||
		conditions.Is(b.Status.Conditions, gating.ConditionActive, metav1.ConditionTrue) && len(b.Spec.Clusters) > 0
}

// tell records what people have to know and cannot see from the binding alone.
func (s *Stage) tell(ctx context.Context, in gating.Input, d gating.Decision) {
	b := in.Binding
	if b == nil || d.Next == b || in.Policy != nil || !b.Claim().Held() {
		return
	}
	if all, clusters := b.Spec.Suspension.Dispatch(); all || len(clusters) > 0 {
		s.hub.Record(ctx, hub.AboutTemplate(in.Template), hub.Warning, "SuspensionStays",
			b.Claim().Policy.String()+" is gone and had suspended the propagation: it stays suspended until another policy claims it, or somebody resumes it")
	}
}
