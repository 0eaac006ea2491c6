// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/coalesce"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/suspension"
)

// Name of the stage.
const Name = "applier"

// Stage is the applier.
type Stage struct {
	hub         Hub
	suspensions Suspensions
	members     Members
	now         func() time.Time
	slow        slow
	wants       wants
	corrections corrections
	locks       *keyLock // nil: several events may handle one Work at the same time
	atOnce      bool     // the status is written before objects have settled
	// patience is how long the others are waited for once most Works of an event are
	// done, utmost how long in any case.
	patience, utmost time.Duration
	// together calls do n times, for things that are independent of each other.
	together func(n int, do func(i int))
}

// New makes the stage.
func New(h Hub, b Suspensions, m Members, now func() time.Time) *Stage {
	return &Stage{
		hub: h, suspensions: b, members: m, now: now, slow: slow{members: map[string]bool{}}, locks: &keyLock{open: map[propagation.WorkKey]*keyed{}},
		patience: patience, utmost: utmost, together: sideBySide,
	}
}

// AtOnce makes the stage write the status of each Work at once, also if its objects
// have not settled. Without it, the status is written when they have, or at the sweep
// that finds that they do not settle. It is for installations where sweeps are rare.
func (s *Stage) AtOnce() *Stage {
	s.atOnce = true
	return s
}

// Name returns the name of the stage's function.
func (s *Stage) Name() string { return Name }

// Lane separates the events of each member, so that a dead member does not delay
// others.
func (s *Stage) Lane(e event.Event) string {
	cluster, _ := e.Extensions()[events.ExtCluster].(string)
	return cluster + "/" + coalesce.Lane(e)
}

// Handle applies Works to members, one in each. It is safe to call twice.
func (s *Stage) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	msg, err := events.DecodeFor(e, events.FieldTemplate, events.FieldWork)
	if err != nil {
		return nil, outcome.Terminal(err)
	}
	mine, others, err := s.share(ctx, msg)
	if err != nil {
		return nil, err
	}
	if len(others) > 0 {
		return s.handOver(ctx, e, mine, others)
	}
	return s.bringAll(ctx, e, mine)
}

// bringAll applies each Work to its member.
func (s *Stage) bringAll(ctx context.Context, e event.Event, all []events.Data) ([]event.Event, error) {
	if len(all) == 1 {
		return s.alone(ctx, e, all[0])
	}
	return s.batch(ctx, e, all)
}

// one applies one Work, and returns it; nil if it is gone.
func (s *Stage) one(ctx context.Context, msg events.Data) (result, *propagation.Work, error) {
	w, err := s.hub.Work(ctx, *msg.Work)
	if errors.Is(err, outcome.ErrGone) {
		return result{event: events.WorkDeleted, reason: "Gone"}, nil, nil
	}
	if err != nil {
		return result{}, nil, fmt.Errorf("get %s: %w", msg.Work, err)
	}
	if msg.Binding != nil && !w.IsOf(*msg.Binding) {
		return result{event: events.WorkDeleted, reason: "Gone"}, nil, nil // the Work of that name is another binding's
	}
	if w, err = s.settle(ctx, w); err != nil {
		return result{}, nil, err
	}
	msg.Template = templateOf(msg, w)
	r, err := s.bring(ctx, msg, w)
	return r, w, err
}

// templateOf returns the template of the Work, whatever the event says: its suspensions
// count, and its object is the one to be removed. The event's is used only if the Work
// does not name its template any more.
func templateOf(msg events.Data, w *propagation.Work) *propagation.TemplateKey {
	if key, err := w.Template(); err == nil && (w.Key.Form == propagation.PlacementForm || propagation.BindingOf(key) == w.Binding()) {
		return &key
	}
	return msg.Template
}

// bring applies the Work to its member.
func (s *Stage) bring(ctx context.Context, msg events.Data, w *propagation.Work) (result, error) {
	if s.busy(msg, w) {
		return result{event: events.WorkApplied, reason: applying.ReasonFieldManagerConflict, message: applying.FieldsContested(w).Message}, nil
	}
	if w.Key.Form == propagation.PlacementForm {
		return s.placed(ctx, w, msg.Continue)
	}
	bound, err := s.hub.Binding(ctx, w.Binding())
	if err != nil && !errors.Is(err, outcome.ErrGone) && !(w.Deleting && errors.Is(err, outcome.ErrNotServed)) {
		return result{}, fmt.Errorf("get %s: %w", w.Binding(), err)
	}
	urgent := msg.Reason == events.ReasonUnfinished
	if w.Deleting {
		return s.leave(ctx, w, *msg.Template, bound, urgent)
	}
	if !w.Confirmed() {
		d := applying.WithoutTemplate()
		return s.fail(ctx, w, &waiting{reason: d.Reason, message: d.Message})
	}
	if superseded, err := s.superseded(ctx, w); err != nil || superseded {
		return result{event: events.WorkFailed, reason: string(applying.ReasonSuperseded), message: "a Work of the present name is there, and this one has to go"}, err
	}
	held, err := s.held(ctx, *msg.Template, w, bound)
	if err != nil {
		return result{}, err
	}
	switch {
	case held != "" && bound == nil && !w.Suspended():
		// No event would tell this Work when the suspension ends, so its status and its
		// member are left as they are.
		return result{event: events.WorkHeld, reason: workv1alpha1.ReasonSuspendDispatching, message: held}, nil
	case held != "":
		return s.hold(ctx, w, held, msg.Reason == events.ReasonDrift)
	}
	if bound, err = s.recalled(ctx, w, bound); err != nil {
		return result{}, err
	}
	return s.apply(ctx, w, bound, urgent || s.atOnce)
}

// recalled returns the binding of a Work that tells nothing yet, with what it records of a
// Job that has finished in the member. It costs one read where it records any.
func (s *Stage) recalled(ctx context.Context, w *propagation.Work, b *propagation.Binding) (*propagation.Binding, error) {
	if b == nil || len(b.Status.FinishedIn) == 0 || len(w.Status.ManifestStatuses) > 0 {
		return b, nil
	}
	c, err := s.hub.ClusterNow(ctx, w.Key.Cluster)
	if errors.Is(err, outcome.ErrGone) {
		return b, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get cluster %s: %w", w.Key.Cluster, err)
	}
	return reporting.Recalled(b, c), nil
}

// superseded reports whether another Work applies the object of this one. It costs one
// read for a Work with the former name.
func (s *Stage) superseded(ctx context.Context, w *propagation.Work) (bool, error) {
	by, has := w.Successor()
	if !has {
		return false, nil
	}
	successor, err := s.hub.Work(ctx, by)
	if errors.Is(err, outcome.ErrGone) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get %s: %w", by, err)
	}
	return applying.Superseded(w, applying.Have(successor)), nil
}

// result is the outcome for a Work.
type result struct {
	event, reason, message string
	// news reports that the Work did not record this before.
	news bool
	// later reports that the deadline is near, and another event continues at next.
	later bool
	next  string
	// heirs are the Works that have objects of this one now, or that have, or just lost,
	// what this one wants, and did not record that.
	heirs []propagation.WorkKey
}

func about(msg events.Data, w *propagation.Work, reason, message string) events.Data {
	d := events.Data{Template: msg.Template, Binding: msg.Binding, Placement: msg.Placement, SnapshotIndex: msg.SnapshotIndex, Work: msg.Work, Cluster: msg.Work.Cluster, Reason: reason, Message: message}
	if w != nil {
		d.WorkVersion = w.ResourceVersion
	}
	return d
}

// check asks Redis for the suspension of the Work, and records the Work's version
// there.
func (s *Stage) check(ctx context.Context, template propagation.TemplateKey, w *propagation.Work) (suspension.Verdict, error) {
	v, err := s.suspensions.Check(ctx, template, w.Binding(), w.Key.Cluster, propagation.Version(w.ResourceVersion))
	if err != nil {
		return v, fmt.Errorf("ask for the suspension of %s: %w", w.Key, err)
	}
	return v, nil
}

// held returns what suspends the Work; empty: nothing does. It is called before each
// write to a member, and if it fails nothing is written. It also checks the binding,
// which may be suspended before its Work and Redis are. The field of a Work that is
// being deleted is ignored, since nothing updates it any more.
func (s *Stage) held(ctx context.Context, template propagation.TemplateKey, w *propagation.Work, bound *propagation.Binding) (string, error) {
	v, err := s.check(ctx, template, w)
	switch {
	case err != nil:
		return "", err
	case v.Suspended:
		return v.By + " suspends it", nil
	case bound != nil && bound.SuspendedOn(w.Key.Cluster):
		return "the binding is suspended", nil
	case !w.Deleting && w.Suspended():
		return "the Work is suspended", nil
	}
	return "", nil
}
