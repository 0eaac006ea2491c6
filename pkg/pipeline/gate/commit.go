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

// historyLimit is how many revisions a binding keeps, including the active one.
const historyLimit = 3

// mostRevisions is a limit above every number that a revision can reach.
const mostRevisions = 1 << 53

// commit writes what the decision changes: the frozen content, the binding, its
// condition Active. It returns nil if there is no binding.
func (s *Stage) commit(ctx context.Context, in gating.Input, d gating.Decision) (*propagation.Binding, error) {
	if d.Next == nil {
		return nil, nil
	}
	// A binding must not name content that does not exist, and a revision is owned by
	// its binding. So a new binding is written first, and until its revision exists
	// nothing is rendered.
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

// freeze stores the template's content as the revision of that name, if it is not
// stored already, and deletes the oldest revisions.
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

// adopt makes the binding the owner of a revision that an earlier binding of its name
// left behind, so that it is not garbage collected. The process that created the
// binding may have crashed before it did that.
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

// repair restores the frozen content that the binding names if it is missing: because
// of a crash between the two writes, because another delivery of the event is about to
// write it, or because somebody deleted it. If the template does not have that content
// any more, the gate decides as if nothing were in force yet; the content as the API
// server returns it counts then, including fields that it filled in. The binding is
// never deleted for that: what is in members because of it would be removed.
func (s *Stage) repair(ctx context.Context, in *gating.Input) error {
	b, t := in.Binding, in.Template
	if b == nil || b.Revision() == "" {
		return nil
	}
	now := t.Itself()
	if b.ActedHash() == now.Hash && b.TemplateUID() == t.UID {
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

// trim deletes revisions beyond the history limit, counting the one to be added, but
// never the one in force. It returns the number of the next revision.
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

// condition writes to the binding's status whether a change is pending.
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

// reporterSays reports whether writing the condition is left to the reporter, which
// writes the status anyway. It is for a new binding, and for one that had nothing
// pending and has a cluster that will report.
func reporterSays(b *propagation.Binding) bool {
	return !conditions.Has(b.Status.Conditions, gating.ConditionActive) ||
		conditions.Is(b.Status.Conditions, gating.ConditionActive, metav1.ConditionTrue) && len(b.Spec.Clusters) > 0
}

// tell records events for people about what the binding alone does not show.
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
