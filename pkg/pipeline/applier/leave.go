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

// leave does what is proven about the object of a Work that is being deleted, and
// lets the Work go when nothing is left to do: whoever deleted it, only what the
// hub says of template and binding takes the object out of the member. A Work that
// should be there is not let go: the renderer makes it anew.
func (s *Stage) leave(ctx context.Context, w *propagation.Work, template propagation.TemplateKey, bound *propagation.Binding, urgent bool) (result, error) {
	// Suspended or not, Redis has to know of it. It is asked first: nothing comes between
	// the proof and what is done because of it.
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
		if in.Held != "" {
			if in.Blocking, err = s.hub.WorksLeave(ctx, w.Key); err != nil {
				return result{}, err
			}
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
		return result{event: events.WorkFailed, reason: string(d.Reason), message: d.Message}, nil // most go in a moment
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

// remove takes the object out of the member, if that is decided, and returns what
// there is to do then. The member is asked only where that matters. The object is
// the template's, whatever the Work says by now.
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
	if in.Live, err = m.Look(ctx, ref, member.Looking{Live: true}); err != nil {
		return applying.Decision{}, err
	}
	return s.end(ctx, m, ref, in, accounting{account: func() (applying.Account, error) {
		return applying.Account{Hub: in.Hub, Owners: in.Work.Owners()}, nil
	}})
}
