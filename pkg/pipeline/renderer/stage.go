// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/validation/path"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/core/scheduling"
	"sluice.dev/pkg/outcome"
)

// Name of the stage.
const Name = "renderer"

// Stage is the renderer.
type Stage struct {
	hub Hub
	now func() time.Time
}

// New makes the stage.
func New(h Hub, now func() time.Time) *Stage { return &Stage{hub: h, now: now} }

// Name returns the name of the stage's function.
func (s *Stage) Name() string { return Name }

// Handle renders one binding, or finds the bindings that changed overrides concern. It
// is safe to call twice.
func (s *Stage) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	switch e.Type() {
	case events.ResourceAdded, events.ResourceUpdated, events.ResourceDeleted:
		o, err := events.DecodeResource(e)
		if err != nil {
			return nil, outcome.Terminal(err)
		}
		return s.overrides(ctx, e, propagation.PolicyKey{Scope: propagation.ScopeOf(o.Namespace), Namespace: o.Namespace, Name: o.Name}, "")
	}
	msg, err := events.Decode(e)
	if err != nil {
		return nil, outcome.Terminal(err)
	}
	switch {
	case e.Type() == events.OverridesChanged:
		of := propagation.PolicyKey{Scope: propagation.Cluster}
		if msg.Policy != nil {
			of = *msg.Policy
		}
		return s.overrides(ctx, e, of, msg.Continue)
	case msg.Placement != "":
		return s.placement(ctx, e, msg)
	}
	if err := msg.Has(events.FieldTemplate, events.FieldBinding); err != nil {
		return nil, outcome.Terminal(err)
	}
	return s.render(ctx, e, msg)
}

// render updates the Works from the binding.
func (s *Stage) render(ctx context.Context, e event.Event, msg events.Data) ([]event.Event, error) {
	template, key := *msg.Template, *msg.Binding
	existing, kept, others, err := s.written(ctx, key)
	if err != nil {
		return nil, err
	}
	b, err := s.hub.Binding(ctx, key)
	if err != nil && !errors.Is(err, outcome.ErrGone) {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	d := desired{works: map[string]*propagation.Work{}, failed: map[string]bool{}, others: others}
	if b != nil && b.AwaitsTemplate() {
		b = nil // it was the former template's
	}
	if b != nil {
		if b.ActedHash() == "" {
			return nil, nil // the gate has passed no content yet
		}
		settled, err := s.desire(ctx, b, existing, &d)
		if err != nil || !settled {
			return nil, err // the scheduler's event follows
		}
	}
	if err := s.shield(ctx, key.Namespace, existing, d.works); err != nil {
		return nil, err
	}
	leaves, err := s.leaves(ctx, template, b, existing)
	if err != nil {
		return nil, err
	}
	steps := rendering.Plan(b, existing, d.works, d.failed, leaves.may)
	if leaves.undefined {
		if err := s.shelter(ctx, steps, leaves.outlives); err != nil {
			return nil, err
		}
	}
	works, failed := s.takeAll(ctx, steps, kept)
	if failed != nil && (outcome.IsConflict(failed) || msg.Reason == events.ReasonRest || !slices.ContainsFunc(works, done)) {
		return nil, failed
	}
	out := events.From(Name, e)
	announce(out, msg, b != nil && !b.Deleting || leaves.told == applying.Absent, steps, works, d.failed)
	astray(out, b, existing, d)
	if failed != nil { // that event fails instead, and the others do not wait
		out.Emit(events.BindingScheduled, events.Data{Template: &template, Binding: &key, Reason: events.ReasonRest})
		return out.Events()
	}
	s.synced(ctx, b, steps, works)
	if d.lost {
		// The gate restores it, if the template still has that content.
		out.Emit(events.TemplateTouched, events.Data{Template: &template, Reason: "RevisionMissing"})
	}
	if e.Type() == events.WorkDeleted && len(existing) == 0 && b != nil && len(b.TargetClusters()) == 0 {
		// Nothing needs the binding, and it has no Works left.
		out.Emit(events.BindingScheduled, events.Data{Template: &template, Binding: &key, BindingVersion: b.ResourceVersion, Reason: "NothingLeft"})
	}
	return out.Events()
}

// announce emits the events about the Works for the applier. It emits none for a Work
// that is being deleted although it is wanted, and cannot be created again now: the
// applier would ask for it again and again. Nor does it for one that the applier has let
// go, nor for a Work that is in doubt if the gate can do nothing about it (stays): no
// cluster satisfies the binding's placement, or there is no template, which went with its
// kind.
func announce(out *events.Batch, msg events.Data, stays bool, steps []rendering.Step, works []*propagation.Work, failed map[string]bool) {
	for i, step := range steps {
		w := works[i]
		if w == nil {
			continue
		}
		data := events.Data{Template: msg.Template, Binding: msg.Binding, Work: &w.Key, WorkVersion: w.ResourceVersion, Cluster: w.Key.Cluster, Reason: string(step.Action)}
		switch {
		case step.Action == rendering.Leave && (step.Desired != nil || failed[w.Key.Cluster] || w.LetGo()):
		case step.Action == rendering.Delete, step.Action == rendering.Leave:
			out.EmitWork(events.WorkRemoved, data)
		case step.Action == rendering.Doubt && stays:
		case step.Action == rendering.Doubt:
			// The gate creates the missing binding again. Until then the Work stands, unless
			// it has another beside it, and its applier has the binding rendered for that.
			out.EmitOnce(events.TemplateTouched, events.Data{Template: msg.Template, Reason: "BindingMissing"})
			if _, former := w.Successor(); !former {
				out.EmitWork(events.WorkRendered, data)
			}
		default:
			out.EmitWork(events.WorkRendered, data)
		}
	}
}

// astray emits the events about Works that are not there, or that nothing is done with,
// for the reporter: as long as the binding's status says otherwise of their clusters, which
// may have left since. If the applier is told of other Works, its answer has the status
// written.
func astray(out *events.Batch, b *propagation.Binding, existing []*propagation.Work, d desired) {
	if b == nil || !out.Empty() {
		return
	}
	for _, cluster := range reporting.Astray(b, existing, d.failed, d.targets) {
		if len(path.IsValidPathSegmentName(cluster)) > 0 { // a status may be forged
			continue
		}
		template, key := b.Template(), propagation.WorkKey{Cluster: cluster, Name: propagation.WorkName(b.Key)}
		out.EmitWork(events.WorkFailed, events.Data{Template: &template, Binding: &b.Key, Work: &key, Cluster: cluster, Reason: "NoWork"})
	}
}

// parallelism is how many Works of one binding are written in parallel.
const parallelism = 8

// each calls do for all numbers below n, in any order. One that fails stops no other,
// only the end of ctx does.
func each(ctx context.Context, n int, do func(i int) error) error {
	failed := make([]error, n+1)
	var group errgroup.Group // without a context: see above
	group.SetLimit(parallelism)
	for i := range n {
		if failed[n] = ctx.Err(); failed[n] != nil {
			break
		}
		group.Go(func() error { failed[i] = do(i); return nil })
	}
	_ = group.Wait() // errors are in failed
	return outcome.Join(failed...)
}

// takeAll executes the steps, each of which is about another Work, and returns the
// resulting Works; nil for one that failed.
func (s *Stage) takeAll(ctx context.Context, steps []rendering.Step, kept kept) ([]*propagation.Work, error) {
	works := make([]*propagation.Work, len(steps))
	err := each(ctx, len(steps), func(i int) error {
		was := kept[steps[i].Key()]
		if was.err != nil {
			return was.err
		}
		w, err := s.take(ctx, steps[i])
		if err != nil || w == nil {
			return err
		}
		if applying.Kept(w) != nil && rendering.Wants(steps[i].Action) {
			if w, err = s.keeps(ctx, w, false); err != nil {
				return err
			}
		}
		if err := s.keep(ctx, steps[i], w, was.contents); err != nil {
			return err
		}
		works[i] = w
		return nil
	})
	return works, err
}

func done(w *propagation.Work) bool { return w != nil }

// take executes one step, and returns the resulting Work; nil if its cluster is
// unjoined meanwhile.
func (s *Stage) take(ctx context.Context, step rendering.Step) (*propagation.Work, error) {
	switch step.Action {
	case rendering.Remake:
		return s.remake(ctx, step)
	case rendering.Create, rendering.Update:
		w, err := s.hub.CommitWork(ctx, step.Existing, step.Desired)
		if errors.Is(err, outcome.ErrGone) && step.Action == rendering.Create {
			w, err = s.room(ctx, step.Desired)
		}
		if errors.Is(err, outcome.ErrGone) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("commit %s: %w", step.Desired.Key, err)
		}
		return w, nil
	case rendering.Delete:
		if err := s.preserve(ctx, &step); err != nil {
			return nil, err
		}
		if err := s.hub.DeleteWork(ctx, step.Existing); err != nil {
			return nil, fmt.Errorf("delete %s: %w", step.Existing.Key, err)
		}
	}
	return step.Existing, nil
}

// desired is what a binding asks for, by cluster.
type desired struct {
	works  map[string]*propagation.Work
	failed map[string]bool
	// targets are the binding's clusters that are joined.
	targets []string
	// lost: the content in force is missing, because of a crash, or because somebody
	// deleted or changed it.
	lost bool
	// others are the Works of other bindings that are in the way: they are never
	// touched.
	others map[string]*propagation.Work
}

// desire renders the frozen content for each target cluster. If that fails, or the
// content is lost, the binding's status says why. False: the binding is not scheduled
// for its placement yet.
func (s *Stage) desire(ctx context.Context, b *propagation.Binding, existing []*propagation.Work, d *desired) (bool, error) {
	fleet, err := s.hub.Clusters(ctx)
	if err != nil {
		return false, fmt.Errorf("list clusters: %w", err)
	}
	if !scheduling.Settled(scheduling.Input{Binding: b, Clusters: fleet}) {
		return false, nil
	}
	rev, err := s.hub.Revision(ctx, b, b.Revision())
	d.lost = errors.Is(err, outcome.ErrGone)
	if err != nil && !d.lost {
		return false, fmt.Errorf("get revision %s: %w", b.Revision(), err)
	}
	overrides, err := s.hub.Overrides(ctx, b.Key.Namespace)
	if err != nil {
		return false, fmt.Errorf("list overrides: %w", err)
	}
	known, err := s.hub.Kinds(ctx, b)
	if err != nil {
		return false, fmt.Errorf("get the rules of kinds: %w", err)
	}
	undefined, err := s.undefined(ctx, existing, overrides)
	if err != nil {
		return false, err
	}
	var failures []rendering.Failure
	targets := b.TargetClusters()
	for _, c := range fleet {
		if !slices.Contains(targets, c.Name) {
			continue
		}
		d.targets = append(d.targets, c.Name)
		w, err := render(known, b, rev, c, overrides)
		if other := d.others[c.Name]; other != nil {
			err = &rendering.NameTaken{Work: other.Key, By: other.Binding()}
		}
		if err == nil {
			err = undefined[c.Name]
		}
		if err != nil {
			d.failed[c.Name] = true
			failures = append(failures, rendering.Failure{Cluster: c.Name, Err: err})
			continue
		}
		d.works[c.Name] = w
	}
	unknown := known.Named(b.Template().GroupVersionKind().GroupKind()).Undefined()
	return true, s.condition(ctx, b, append(failures, strays(unknown, fleet, existing, d)...))
}

// strays has the Works stay as they are whose clusters are no targets any more, as long as
// nobody knows the rules of the kind (why): nothing can be made for those that are.
func strays(why error, fleet []*clusterv1alpha1.Cluster, existing []*propagation.Work, d *desired) (failures []rendering.Failure) {
	if why == nil {
		return nil
	}
	for _, c := range fleet {
		there := slices.ContainsFunc(existing, func(w *propagation.Work) bool { return w.Key.Cluster == c.Name })
		if there && !slices.Contains(d.targets, c.Name) {
			d.failed[c.Name] = true
			failures = append(failures, rendering.Failure{Cluster: c.Name, Err: &rendering.RuleError{Err: why}})
		}
	}
	return failures
}

// render renders the Work for one cluster from the frozen content, if that exists.
func render(known kinds.Table, b *propagation.Binding, r *propagation.Revision, c *clusterv1alpha1.Cluster, overrides []propagation.Override) (*propagation.Work, error) {
	if r == nil {
		return nil, rendering.ErrContentLost
	}
	return rendering.Render(known, b, r.Content, c, overrides)
}
