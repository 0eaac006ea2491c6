// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"errors"
	"fmt"

	events "sluice.dev/apis/events/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/proving"
)

// leave handles a Work that is being deleted. Whoever deleted it, the object is removed
// from the member only if the hub's state of template and binding proves that it may
// go. The finalizer is removed when nothing is left to do. If the Work is wanted, it
// keeps the finalizer, and the renderer creates it again.
func (s *Stage) leave(ctx context.Context, w *propagation.Work, template propagation.TemplateKey, bound *propagation.Binding, urgent bool) (result, error) {
	// Suspended or not, Redis has to record the version. This comes first, so that
	// nothing comes between the proof and the removal.
	if _, err := s.check(ctx, template, w); err != nil {
		return result{}, err
	}
	evidence, err := proving.Of(ctx, s.hub, w, s.now())
	if err != nil {
		return result{}, err
	}
	in := applying.Input{Work: w, Leaving: true, Finding: applying.Examine(evidence), Known: w.Status.Applied}
	if in.Finding.AsksOthers {
		if evidence.Others, err = told(s.others(ctx, w)); err != nil {
			return result{}, err
		}
		in.Finding = applying.Examine(evidence)
	}
	if in.Finding.Reason == applying.ReasonLeftOut {
		if evidence.Binding.Answer == applying.Found {
			bound = evidence.Binding.Value
		}
		if in.Held, err = s.held(ctx, template, w, bound); err != nil {
			return result{}, err
		}
	}
	if in.Held != "" || in.Finding.Untold {
		if in.Blocking, err = s.hub.WorksLeave(ctx, w.Key); err != nil {
			return result{}, err
		}
	}
	d, err := s.remove(ctx, in, template)
	switch {
	case err != nil:
		return s.fail(ctx, w, err)
	case d.Action == applying.Wait && d.Reason == applying.ReasonHeld:
		return result{event: events.WorkHeld, reason: workv1alpha1.ReasonSuspendDispatching, message: d.Message}, nil
	case d.Action == applying.Wait && d.Reason == applying.ReasonWanted:
		return result{event: events.WorkFailed, reason: string(d.Reason), message: d.Message}, nil
	case d.Action == applying.Wait && d.Reason == applying.ReasonMayReturn, !urgent && d.Action == applying.Wait && (d.Reason == applying.ReasonTerminating || d.Reason == applying.ReasonHoldsOthers):
		return result{event: events.WorkFailed, reason: string(d.Reason), message: d.Message}, nil // most are gone in a moment
	case d.Action == applying.Wait:
		return s.fail(ctx, w, undone(w.Key.Cluster, member.Ref(template), d))
	}
	if err := s.hub.ReleaseWork(ctx, w); err != nil {
		return result{}, fmt.Errorf("release %s: %w", w.Key, err)
	}
	r := result{event: events.WorkDeleted, reason: string(d.Reason), message: d.Message}
	if p, ok := d.Passing(); ok && p.Heir() != nil {
		r.heirs = append(r.heirs, *p.Heir())
	}
	return r, nil
}

// appliedAs returns the object in the version in which the Work's manifest has it; false:
// it has none, or in that very version.
func appliedAs(w *propagation.Work, ref member.Ref) (member.Ref, bool) {
	manifests, err := manifestsOf(w)
	if err != nil || ref.Identifies(manifests[0]) != nil {
		return ref, false
	}
	applied := refOf(manifests[0])
	return applied, applied != ref
}

// remove removes the object from the member, if that is decided, and returns the final
// decision. The member is only asked if its answer matters. ref is the template's
// object, whatever manifest the Work has by now.
func (s *Stage) remove(ctx context.Context, in applying.Input, ref member.Ref) (applying.Decision, error) {
	cluster := in.Work.Key.Cluster
	if d := applying.Decide(in); d.Reason != applying.ReasonCannotTell || !in.Finding.Proof.Holds() {
		return d, nil
	}
	m, err := s.members(ctx, cluster)
	if errors.Is(err, outcome.ErrGone) {
		in.Finding = applying.Finding{Left: true, Reason: applying.ReasonClusterLeft}
		return applying.Decide(in), nil
	}
	if err != nil {
		return applying.Decision{}, fmt.Errorf("reach %s: %w", cluster, err)
	}
	if in.Hub, err = s.hub.Identity(ctx); err != nil {
		return applying.Decision{}, err
	}
	holds := accounting{account: func() (applying.Account, error) {
		return applying.Account{Hub: in.Hub, Owners: in.Work.Owners()}, nil
	}}
	if applied, is := appliedAs(in.Work, ref); is {
		return s.away(ctx, m, in, holds, ref, applied)
	}
	return s.away(ctx, m, in, holds, ref)
}
