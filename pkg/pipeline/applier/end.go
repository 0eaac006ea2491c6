// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/outcome"
)

// accounting says how to decide about a Holder that would be removed.
type accounting struct {
	// account returns what the removal accounts for.
	account func() (applying.Account, error)
	// leaves marks the objects that have removals of their own; nil: none has.
	leaves func(a applying.Account, found []applying.Inhabitant) error
}

// inside returns the objects inside the object that the removal does not account for.
func (s *Stage) inside(ctx context.Context, m Member, ref member.Ref, in applying.Input, holds accounting) (applying.Read[[]applying.Inhabitant], error) {
	a, err := holds.account()
	if err != nil {
		return applying.Read[[]applying.Inhabitant]{}, err
	}
	found, err := m.Inside(ctx, applying.HolderOf(in.Live.Value.Object), a)
	if err != nil {
		return found, fmt.Errorf("look what %s in %s holds: %w", ref, in.Work.Key.Cluster, err)
	}
	if holds.leaves != nil {
		err = holds.leaves(a, found.Value)
	}
	return found, err
}

// away decides about an object that has to go, executes that, and returns the final
// decision. What a watch told of the object is enough to remove it, if it still is in that
// version; for all else it is read. refs are the object in one version, and in others
// that count where the member does not serve that one.
func (s *Stage) away(ctx context.Context, m Member, in applying.Input, holds accounting, refs ...member.Ref) (applying.Decision, error) {
	ref := refs[0]
	if o := m.Known(ref); o != nil {
		in.Live, in.Remembered = applying.Have(o), true
		if _, removes := applying.Decide(in).Removal(); removes {
			d, err := s.end(ctx, m, ref, in, holds)
			if unreachable := (*member.Unreachable)(nil); errors.As(err, &unreachable) {
				return d, unreachable // in the words of one that cannot be read
			}
			if err == nil {
				return d, nil
			}
		}
	}
	in.Remembered = false
	for _, ref = range refs {
		var err error
		if in.Live, err = m.Look(ctx, ref, member.Looking{Live: true}); err != nil {
			return applying.Decision{}, err
		}
		if in.Live.Answer != applying.NotServed {
			break
		}
	}
	return s.end(ctx, m, ref, in, holds)
}

// end executes the decision about an object that has to go and was read, and returns
// the final decision. The contents of an object are read only if it would be removed.
func (s *Stage) end(ctx context.Context, m Member, ref member.Ref, in applying.Input, holds accounting) (applying.Decision, error) {
	d := applying.Decide(in)
	if d.AsksInside {
		var err error
		if in.Inside, err = s.inside(ctx, m, ref, in, holds); err != nil {
			return d, err
		}
		d = applying.Decide(in)
	}
	if d.Action == applying.Wait && (in.Finding.Untold || slices.Contains([]applying.Reason{applying.ReasonHoldsOthers, applying.ReasonKindNotServed, applying.ReasonTerminating}, d.Reason)) {
		var err error
		if in.Blocking, err = s.hub.WorksLeave(ctx, in.Work.Key); err != nil {
			return d, err
		}
		d = applying.Decide(in)
	}
	if passing, ok := d.Passing(); ok {
		return d, s.passOn(ctx, m, in.Work, ref, passing)
	}
	removal, ok := d.Removal()
	if !ok {
		return d, nil
	}
	gone, err := m.Delete(ctx, ref, removal)
	if err != nil {
		return d, fmt.Errorf("delete %s in %s: %w", ref, in.Work.Key.Cluster, err)
	}
	if !gone {
		return applying.Decision{Action: applying.Wait, Reason: applying.ReasonTerminating, Message: "it is being deleted, and something keeps it there"}, nil
	}
	d.Reason = applying.ReasonDeleted
	return d, nil
}

// removing is one pass over the removals of a placement's Work.
type removing struct {
	stage    *Stage
	work     *propagation.Work
	identity string
	// heads returns the Works of the placement in the member, without their manifests.
	heads func() ([]*propagation.Work, error)

	mu sync.Mutex
	// evidence is the hub's last answer, at the time asked, and rivals returns what
	// other placements want since then.
	evidence applying.PlacementEvidence
	asked    time.Time
	rivals   func() (applying.Others, error)
	// released are the objects, by ID, that this pass released: they stay.
	released map[string]bool
	// whole are the Works that were read completely; nil for one that is gone.
	whole map[propagation.WorkKey]*propagation.Work
}

func (s *Stage) removing(ctx context.Context, w *propagation.Work, identity string) (*removing, error) {
	r := &removing{
		stage: s, work: w, identity: identity, released: map[string]bool{}, whole: map[propagation.WorkKey]*propagation.Work{w.Key: w},
		heads: sync.OnceValues(func() ([]*propagation.Work, error) { return s.headsOf(ctx, w) }),
	}
	return r, r.ask(ctx)
}

// ask reads the evidence from the hub.
func (r *removing) ask(ctx context.Context) error {
	asked := r.stage.now()
	e, err := r.stage.evidence(ctx, r.work)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.evidence, r.asked = e, asked
	r.rivals = sync.OnceValues(func() (applying.Others, error) { return r.stage.others(ctx, r.work) })
	return err
}

// may is called before each object is handled, and reads the evidence again if it is
// old: so a suspension, or a placement that wants the object again, applies to
// everything that is not removed yet. It fails as inTime does.
func (r *removing) may(ctx context.Context) error {
	if err := inTime(ctx); err != nil {
		return err
	}
	if r.stage.now().Sub(r.asked) < suspensionEvery {
		return nil
	}
	return r.ask(ctx)
}

// known returns the hub's last answer.
func (r *removing) known() (applying.PlacementEvidence, func() (applying.Others, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.evidence, r.rivals
}

// headsOf returns the Works that the placement of w has in the member, without their
// manifests.
func (s *Stage) headsOf(ctx context.Context, w *propagation.Work) ([]*propagation.Work, error) {
	all, err := s.hub.PlacementHeads(ctx, w.Key.Cluster)
	if err != nil {
		return nil, fmt.Errorf("list the Works of placements in %s: %w", w.Key.Cluster, err)
	}
	return slices.DeleteFunc(slices.Clone(all), func(o *propagation.Work) bool { return o.Placement() != w.Placement() }), nil
}

// let records that an object stays, and is nobody's any more.
func (r *removing) let(object propagation.TemplateKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.released[object.ID()] = true
}

// accounting says how to decide about a Holder of a placement: each object that the
// placement has inside it has a removal of its own.
func (r *removing) accounting(ctx context.Context) accounting {
	return accounting{
		account: func() (applying.Account, error) {
			a := applying.Account{Hub: r.identity, Owners: r.work.Owners(), Apart: true}
			heads, err := r.heads()
			for _, w := range heads {
				a.Owners = append(a.Owners, w.Owners()...)
			}
			return a, err
		},
		leaves: func(a applying.Account, found []applying.Inhabitant) (err error) {
			for n, i := range found {
				if found[n].Leaves = a.Own(i); found[n].Leaves {
					if found[n].Leaves, err = r.leaves(ctx, i); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
}

// leaves reports whether the Work that the object's label names removes it from the
// member: the Work records it, or is being deleted and may have brought it, and the
// placement no longer contains it. An object of which no Work knows stays.
func (r *removing) leaves(ctx context.Context, i applying.Inhabitant) (bool, error) {
	key := propagation.TemplateKey{APIVersion: i.Group + "/v", Kind: i.Kind, Namespace: i.Namespace, Name: i.Name}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, given := r.evidence.Gives.Value[key.ID()]; given || r.released[key.ID()] {
		return false, nil
	}
	heads, err := r.heads()
	if err != nil {
		return false, err
	}
	owner := i.Labels[propagation.LabelMemberWork]
	for _, head := range append(slices.Clone(heads), r.work) {
		if !slices.Contains(head.Owners(), owner) {
			continue
		}
		w, known := r.whole[head.Key]
		if !known {
			if w, err = r.stage.hub.Work(ctx, head.Key); err != nil && !errors.Is(err, outcome.ErrGone) {
				return false, fmt.Errorf("get %s: %w", head.Key, err)
			}
			r.whole[head.Key] = w
		}
		if w != nil && (telling.Records(w, key) || w.Deleting && telling.Says(w, key)) {
			return true, nil
		}
	}
	return false, nil
}

// first returns the key of the placement's first Work in the member, which contains its
// Namespaces and CustomResourceDefinitions; true if that one is being deleted, and may
// have waited for the objects of w, which are gone now.
func (s *Stage) first(ctx context.Context, w *propagation.Work) (propagation.WorkKey, bool) {
	key := w.Key
	if key.Name = propagation.PlacementWorkName(w.Placement(), -1); key == w.Key {
		return key, false
	}
	first, err := s.hub.Work(ctx, key)
	return key, err == nil && first.Deleting // otherwise the sweeper finds it
}

// sayAfter is how long it is not reported what delays the removal of an object of a
// Work that is being deleted: most go in a moment.
const sayAfter = 2 * time.Second

// sayLeft writes to a Work that is being deleted which of its objects stay, and why.
func (s *Stage) sayLeft(ctx context.Context, w *propagation.Work, left []placementv1.ManifestCondition) error {
	if s.now().Sub(w.Deleted) < sayAfter {
		return nil
	}
	results := slices.Clone(w.Results)
	for _, r := range left {
		if telling.ResultOf(results, r.Identifier) == nil {
			results = append(results, placementv1.ManifestCondition{Identifier: r.Identifier})
		}
	}
	var reason, news string
	for i, r := range results {
		now := telling.ResultOf(left, r.Identifier)
		if now == nil {
			continue
		}
		if why, message := telling.Stays(*now); message != "" {
			if _, said := telling.Stays(r); said != message {
				reason, news = why, message
			}
		}
		results[i] = *now
	}
	if news == "" {
		return nil
	}
	said, err := s.hub.CommitWorkResults(ctx, w, placementv1.WorkStatus{Conditions: w.Status.Conditions, ManifestConditions: results})
	if err != nil {
		return fmt.Errorf("commit status of %s: %w", w.Key, err)
	}
	if said.ResourceVersion != w.ResourceVersion { // otherwise the status has no room for more
		s.hub.Record(ctx, hub.AboutWork(w), hub.Warning, reason, news)
	}
	return nil
}
