// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/core/scheduling"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/outcome"
)

// Name of the stage.
const Name = "reporter"

// Stage is the reporter.
type Stage struct {
	hub     Hub
	members Members
	now     func() time.Time
}

// New makes the stage.
func New(h Hub, m Members, now func() time.Time) *Stage {
	return &Stage{hub: h, members: m, now: now}
}

// Name returns the name of the stage's function.
func (s *Stage) Name() string { return Name }

// Handle records the status of a member's object, or aggregates a binding. It is safe
// to call twice.
func (s *Stage) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	switch e.Type() {
	case events.ResourceAdded, events.ResourceUpdated, events.ResourceDeleted:
		o, err := events.DecodeResource(e)
		if err != nil {
			return nil, outcome.Terminal(err)
		}
		out, err := s.object(ctx, e, o)
		if err != nil {
			return nil, err
		}
		placed, err := s.placed(ctx, e, o)
		return append(out, placed...), err
	}
	msg, err := events.Decode(e)
	if err != nil {
		return nil, outcome.Terminal(err)
	}
	if msg.Placement != "" {
		return s.placement(ctx, e, msg)
	}
	if err := msg.Has(events.FieldBinding); err != nil {
		return nil, outcome.Terminal(err)
	}
	return s.sumUp(ctx, e, *msg.Binding, func(*propagation.Binding) bool { return false })
}

// object records the state of a member's object on its Work. If the object is not what
// was applied, or its kind is no longer served, it emits the event that has the applier
// check it.
func (s *Stage) object(ctx context.Context, e event.Event, o events.Object) ([]event.Event, error) {
	binding := propagation.BindingOf(o.TemplateKey)
	w, err := s.workOf(ctx, o.Cluster, binding)
	if errors.Is(err, outcome.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get the Work of %s in %s: %w", o.TemplateKey, o.Cluster, err)
	}
	if w.Deleting {
		return s.leaving(e, o, w, binding)
	}
	in, err := s.observe(ctx, w, o)
	if errors.Is(err, outcome.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d := applying.Decide(in)
	var out []event.Event
	now := in.Live.Value
	if d.Last != nil {
		now = d.Last
	}
	known, err := s.kinds(ctx, nil)
	if err != nil {
		return nil, err
	}
	if status, ok := s.take(known, w, now, d); ok {
		was := w.ResourceVersion
		if w, err = s.hub.CommitWorkStatus(ctx, w, status); err != nil {
			return nil, fmt.Errorf("commit status of %s in %s: %w", o.TemplateKey, o.Cluster, err)
		}
		// What is applied is told of by the applier, and once more by the member.
		told := func(b *propagation.Binding) bool { return w.ResourceVersion == was && reporting.Told(known, b, w) }
		if out, err = s.sumUp(ctx, e, binding, told); err != nil {
			return nil, err
		}
	}
	if !d.Drift() && d.Reason != applying.ReasonKindNotServed {
		return out, nil
	}
	drift, err := events.New(Name, e, events.WorkRendered, events.Data{
		Template: &o.TemplateKey, Binding: &binding, Work: &w.Key, WorkVersion: w.ResourceVersion, Cluster: o.Cluster, Reason: events.ReasonDrift,
	})
	return append(out, drift), err
}

// workOf returns the binding's Work in a cluster that is in effect; outcome.ErrGone:
// there is none, or it belongs to another binding.
func (s *Stage) workOf(ctx context.Context, cluster string, key propagation.BindingKey) (w *propagation.Work, err error) {
	for _, name := range propagation.WorkNames(key) {
		w, err = s.hub.Work(ctx, propagation.WorkKey{Cluster: cluster, Name: name})
		if err == nil && !w.IsOf(key) {
			err = outcome.ErrGone
		}
		if !errors.Is(err, outcome.ErrGone) {
			break
		}
	}
	return w, err
}

// few is the largest number of members whose Works are read one by one. To list the
// Works of one name in all namespaces, an API server looks through all Works that
// exist.
const few = 8

// works returns the Works that the binding's status is about: those in its clusters,
// and in clusters that the status names.
func (s *Stage) works(ctx context.Context, b *propagation.Binding) ([]*propagation.Work, error) {
	clusters := b.TargetClusters()
	for _, i := range b.Status.AggregatedStatus {
		if !slices.Contains(clusters, i.ClusterName) && len(path.IsValidPathSegmentName(i.ClusterName)) == 0 {
			clusters = append(clusters, i.ClusterName)
		}
	}
	if len(clusters) > few {
		return s.hub.WorksOf(ctx, b.Key)
	}
	works := make([]*propagation.Work, len(clusters))
	group, ctx := errgroup.WithContext(ctx)
	for i, cluster := range clusters {
		group.Go(func() error {
			w, err := s.workOf(ctx, cluster, b.Key)
			if errors.Is(err, outcome.ErrGone) {
				return nil
			}
			works[i] = w
			return err
		})
	}
	err := group.Wait()
	return slices.DeleteFunc(works, func(w *propagation.Work) bool { return w == nil }), err
}

// targets returns the binding's clusters that are joined. Those that have a Work are; the
// fleet is read for the others only.
func (s *Stage) targets(ctx context.Context, b *propagation.Binding, works []*propagation.Work) ([]string, error) {
	targets, known := b.TargetClusters(), map[string]bool{}
	unknown := func(cluster string) bool { return !known[cluster] }
	for _, w := range works {
		known[w.Key.Cluster] = true
	}
	if !slices.ContainsFunc(targets, unknown) {
		return targets, nil
	}
	fleet, err := s.hub.Clusters(ctx)
	if err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	clear(known)
	for _, c := range fleet {
		known[c.Name] = true
	}
	return slices.DeleteFunc(targets, unknown), nil
}

// leaving emits work.removed if the object of a Work that is being deleted is gone,
// after something had delayed its deletion.
func (s *Stage) leaving(e event.Event, o events.Object, w *propagation.Work, binding propagation.BindingKey) ([]event.Event, error) {
	if e.Type() != events.ResourceDeleted {
		return nil, nil
	}
	out := events.From(Name, e)
	out.Emit(events.WorkRemoved, events.Data{
		Template: &o.TemplateKey, Binding: &binding, Work: &w.Key, WorkVersion: w.ResourceVersion, Cluster: o.Cluster, Reason: "ObjectGone",
	})
	return out.Events()
}

// observe reads the input for the decision about the member's object; outcome.ErrGone:
// the cluster is unjoined.
func (s *Stage) observe(ctx context.Context, w *propagation.Work, o events.Object) (applying.Input, error) {
	manifest := reporting.FirstManifest(w)
	in := applying.Input{Work: w, Manifest: manifest, Known: applying.KnownOf(w, manifest), Ended: applying.Finished(w, nil, manifest)}
	m, err := s.members(ctx, o.Cluster)
	if err != nil {
		return in, fmt.Errorf("reach %s: %w", o.Cluster, err)
	}
	if in.Hub, err = s.hub.Identity(ctx); err != nil {
		return in, err
	}
	if in.Live, err = member.Answer(m.Observe(ctx, member.Ref(o.TemplateKey))); err != nil {
		return in, fmt.Errorf("observe %s in %s: %w", o.TemplateKey, o.Cluster, err)
	}
	return in, nil
}

// take returns the Work's status with the status of the member's object; an object that
// is not the Work's is ignored. It adds what the applier left to be written when the
// object has settled. False: nothing is to be written yet, because another report about
// the object follows, from the applier that has just applied it or from the object when
// it has settled. A Work that changed since the object was applied is an exception: it
// may be suspended before the applier reports.
func (s *Stage) take(known kinds.Table, w *propagation.Work, o *applying.Observed, d applying.Decision) (workv1alpha1.WorkStatus, bool) {
	status := w.Status
	if o == nil || !o.Ours(w) {
		return status, true
	}
	status.ManifestStatuses = reporting.WithStatus(status.ManifestStatuses, reporting.ManifestStatus(known, 0, reporting.FirstManifest(w), o.Object))
	if reporting.Held(w) {
		return status, true // the applier writes the rest
	}
	unrecorded := d.Reason == applying.ReasonUnrecorded
	switch {
	case d.Last != nil && w.Status.Applied == nil && reporting.Patient(w):
		return reporting.Succeeded(w, d.State, status.ManifestStatuses, s.now()), true
	case unrecorded && (!reporting.Patient(w) || reporting.Settling(known, o.Object)):
		return status, false
	case unrecorded:
		return reporting.Succeeded(w, d.State, status.ManifestStatuses, s.now()), true
	}
	return status, w.Status.Applied != nil || w.Generation > 1
}

// sumUp updates the status of the binding and of the template from the Works, unless the
// binding was told all.
func (s *Stage) sumUp(ctx context.Context, e event.Event, key propagation.BindingKey, told func(*propagation.Binding) bool) ([]event.Event, error) {
	b, err := s.hub.Binding(ctx, key)
	if errors.Is(err, outcome.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	if told(b) {
		return nil, nil
	}
	works, err := s.works(ctx, b)
	if err != nil {
		return nil, fmt.Errorf("get the Works of %s: %w", key, err)
	}
	targets, err := s.targets(ctx, b, works)
	if err != nil {
		return nil, err
	}
	if !reporting.Concluded(b, works, targets) {
		return nil, nil // the Works without a result will emit an event
	}
	status, was := s.complete(b, reporting.Summarize(b, works, s.now())), reporting.Verdict(b)
	if applying.RunsOnce(b.Template()) {
		fleet, err := s.hub.Clusters(ctx)
		if err != nil {
			return nil, fmt.Errorf("list clusters: %w", err)
		}
		status = reporting.WithFinishes(b, status, works, fleet)
	}
	if b, err = s.hub.CommitBindingStatus(ctx, b, status); err != nil {
		return nil, fmt.Errorf("commit status of %s: %w", key, err)
	}
	if is := reporting.Verdict(b); is != was && is == workv1alpha2.ReasonFullyAppliedSuccess {
		s.hub.Mention(ctx, hub.AboutBinding(b), workv1alpha2.EventReasonAggregateStatusSucceed, "Update "+key.String()+" with AggregatedStatus successfully.")
	}
	t, err := s.hub.Template(ctx, b.Template())
	if errors.Is(err, outcome.ErrGone) || errors.Is(err, outcome.ErrNotServed) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", b.Template(), err)
	}
	if b, err = s.aggregate(ctx, t, b); err != nil {
		return nil, err
	}
	if err := s.scale(ctx, t, b); err != nil {
		return nil, err
	}
	out := events.From(Name, e)
	out.Emit(events.TemplateReported, events.Data{Template: &t.Key, TemplateVersion: t.ResourceVersion, Binding: &b.Key, BindingVersion: b.ResourceVersion, Reason: reporting.Verdict(b)})
	return out.Events()
}

// aggregate updates the template's status from the members'. If a rule of the kind's
// owner fails, the binding's status says so.
func (s *Stage) aggregate(ctx context.Context, t *propagation.Template, b *propagation.Binding) (*propagation.Binding, error) {
	known, err := s.kinds(ctx, b)
	if err != nil {
		return nil, err
	}
	total, ok, failed := reporting.Aggregate(known, t, b)
	if ok {
		if _, err := s.hub.CommitTemplateStatus(ctx, t, total); err != nil {
			return nil, fmt.Errorf("commit status of %s: %w", t.Key, err)
		}
	}
	status, changed := reporting.Aggregated(b.Status, failed, s.now())
	if !changed {
		return b, nil
	}
	next, err := s.hub.CommitBindingStatus(ctx, b, status)
	if err != nil {
		return nil, fmt.Errorf("commit status of %s: %w", b.Key, err)
	}
	return next, nil
}

// kinds returns what is known of kinds.
func (s *Stage) kinds(ctx context.Context, b *propagation.Binding) (kinds.Table, error) {
	known, err := s.hub.Kinds(ctx, b)
	if err != nil {
		return known, fmt.Errorf("get the rules of kinds: %w", err)
	}
	return known, nil
}

// scale copies the number of replicas that the members run to the template, if it asks
// for that. If somebody wrote the template meanwhile, that change is reported in turn.
func (s *Stage) scale(ctx context.Context, t *propagation.Template, b *propagation.Binding) error {
	n, differs := reporting.Scaled(t, b)
	if !differs {
		return nil
	}
	err := s.hub.ScaleTemplate(ctx, t, n)
	if err == nil || outcome.IsConflict(err) || errors.Is(err, outcome.ErrGone) || errors.Is(err, outcome.ErrNotServed) {
		return nil
	}
	return fmt.Errorf("scale %s: %w", t.Key, err)
}

// complete adds the conditions that gate and scheduler leave to the reporter if all is
// well, so that a new template costs one status write and not three, and a policy's
// change one and not two.
func (s *Stage) complete(b *propagation.Binding, status workv1alpha2.ResourceBindingStatus) workv1alpha2.ResourceBindingStatus {
	if !conditions.Is(status.Conditions, gating.ConditionActive, metav1.ConditionFalse) {
		status.Conditions, _ = conditions.Set(status.Conditions,
			metav1.Condition{Type: gating.ConditionActive, Status: metav1.ConditionTrue, Reason: gating.ReasonActive, Message: gating.InForce(b)}, s.now())
	}
	if !conditions.Has(status.Conditions, workv1alpha2.ConditionScheduled) {
		status.Conditions, _ = conditions.Set(status.Conditions,
			metav1.Condition{Type: workv1alpha2.ConditionScheduled, Status: metav1.ConditionTrue, Reason: workv1alpha2.ReasonSuccess, Message: scheduling.MessageSuccess}, s.now())
	}
	status.SchedulerObservedGeneration = b.Generation
	if b.ForeignScheduler() == "" {
		status.SchedulerObservedAffinityName = b.Annotations[propagation.AnnotationAffinity]
	}
	return status
}
