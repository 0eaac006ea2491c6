// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/pending"
)

// choice is what the placement selects, and what has to be written for that.
type choice struct {
	have stored
	at   placing.Situation
	plan placing.Plan
	// read reports that the objects were read now; otherwise they were not due.
	read bool
	// all: everything was read, not only what changed.
	all bool
	// missing are the rights that were missing to read it.
	missing []propagation.Right
	// emptied is how many objects the latest snapshot has, if nothing is selected now.
	emptied int
	// refused: the selectors were refused before, and have not been corrected.
	refused bool
}

// choose returns what the placement selects, if that is due. It writes nothing, except
// that it deletes snapshots that are not genuine.
func (s *Stage) choose(ctx context.Context, p *placementv1.ClusterResourcePlacement, taken pending.Taken) (c choice, err error) {
	if c.have, err = s.stored(ctx, p); err != nil {
		return c, err
	}
	if err := s.unforge(ctx, p, c.have); err != nil {
		return c, err
	}
	inside, err := s.inside(ctx, []*placementv1.ClusterResourcePlacement{p})
	if err != nil {
		return c, err
	}
	newest, now := placing.Newest(c.have.Parts), s.now()
	c.at = situation(p, taken.State, inside)
	c.have.Seen = max(c.have.Seen, placing.IndexOf(c.at.Selected.Latest))
	c.at.Snapshotted = newest != nil && (newest[0].Latest || newest[0].Index >= c.have.Seen)
	if newest != nil {
		c.at.Made, c.at.Latest = newest[0].Asked, placing.Identity(newest)
		if newest[0].Created.After(c.at.Last) {
			c.at.Last = newest[0].Created
		}
	}
	c.have.Asked = c.at.Mark.Asked
	due := c.at.When(now)
	if c.at.Selected.Refused && placing.RefusedBefore(p) { // the selectors were edited: check the present ones
		due = placing.Due{At: now, All: true}
	}
	if !due.Now(now) {
		if !due.Never {
			s.remind(ctx, p.Name, due.At.Sub(now))
		}
		c.plan, c.refused = c.have.Next(nil), c.at.Selected.Refused
		return c, nil
	}
	c.plan = c.have.Next(nil)
	r := &reading{objects: s.hub, selectors: placing.SelectorsOf(p), inside: inside}
	content, err := s.read(ctx, p, r, newest, due, taken)
	if err != nil {
		return c, err
	}
	c.plan, c.read, c.all, c.missing = c.have.Next(&content), true, due.All, r.missing
	if len(c.plan.Create) == 0 {
		c.plan.Redate = r.redate(content)
	}
	if len(content.Items()) == 0 {
		c.emptied = len(r.latest.Items())
	}
	return c, nil
}

// resources stores the choice in snapshots, and returns the index of the latest; -1:
// there is none.
func (s *Stage) resources(ctx context.Context, p *placementv1.ClusterResourcePlacement, taken pending.Taken, c choice) (int, error) {
	made, err := s.commit(ctx, p, c.have, c.plan)
	if err != nil || !c.read {
		return c.plan.Index, err
	}
	if len(made) > 0 {
		c.at.Last = s.now()
		if c.emptied > 0 {
			s.hub.Record(ctx, about(p), hub.Warning, "NothingSelected", fmt.Sprintf("nothing is selected any more: the %d objects that were leave the members", c.emptied))
		}
	}
	if c.at.Mark.Again, err = s.accept(ctx, p, c); err != nil {
		return -1, err
	}
	c.at.Mark.Latest = placing.Identity(placing.Newest(append(made, c.have.of(c.plan)...)))
	return c.plan.Index, s.pending.Done(ctx, p.Name, taken, c.at.Mark.String(), c.at.Last)
}

// stored are the snapshots of the placement.
type stored struct {
	placing.Stored
	objects map[string]*placementv1.ClusterResourceSnapshot
	forged  []placing.Forged[*placementv1.ClusterResourceSnapshot]
	// bindings of the placement.
	bindings []*placementv1.ClusterResourceBinding
}

// of returns the parts, from before the plan, of the snapshot that is the latest after
// it.
func (s stored) of(plan placing.Plan) []placing.Part {
	return slices.DeleteFunc(slices.Clone(s.Parts), func(p placing.Part) bool {
		return p.Index != plan.Index || slices.ContainsFunc(plan.Drop, func(d placing.Part) bool { return d.Name == p.Name })
	})
}

func (s *Stage) stored(ctx context.Context, p *placementv1.ClusterResourcePlacement) (stored, error) {
	all, err := s.hub.ResourceSnapshotsOf(ctx, p.Name)
	if err != nil {
		return stored{}, fmt.Errorf("list the snapshots of placement %s: %w", p.Name, err)
	}
	out := stored{
		Stored:  placing.Stored{Placement: p.Name, Seen: -1, Limit: placing.History(p), Now: s.now(), Parts: placing.PartsOf(p, all)},
		objects: make(map[string]*placementv1.ClusterResourceSnapshot, len(all)),
	}
	_, out.forged = placing.GenuineSnapshots(p, all)
	if seen, err := strconv.Atoi(p.Status.ObservedResourceIndex); err == nil {
		out.Seen = seen
	}
	bindings, err := s.hub.PlacementBindingsOf(ctx, p.Name)
	if err != nil {
		return stored{}, fmt.Errorf("list the bindings of placement %s: %w", p.Name, err)
	}
	out.bindings, out.Needed = bindings, placing.Needed(p, bindings)
	for _, o := range all {
		out.objects[o.Name] = o
	}
	return out, nil
}

// read returns what the placement selects now.
func (s *Stage) read(ctx context.Context, p *placementv1.ClusterResourcePlacement, r *reading, latest []placing.Part, due placing.Due, taken pending.Taken) (placing.Content, error) {
	var (
		c   placing.Content
		err error
	)
	if r.parts, err = s.content(ctx, p, latest); err != nil {
		return c, err
	}
	r.latest = r.parts.content()
	if due.All {
		c, err = r.all(ctx)
	} else {
		c, err = r.changed(ctx, taken.Changed)
	}
	if err != nil {
		return c, err
	}
	if dark := r.complaint(); dark != "" {
		s.hub.Record(ctx, about(p), hub.Warning, "CannotTell", "what nobody can read stays as it was: "+dark)
	}
	return c, nil
}

func about(p *placementv1.ClusterResourcePlacement) hub.About {
	return hub.About{APIVersion: placementv1.SchemeGroupVersion.String(), Kind: placementv1.KindClusterResourcePlacement, Name: p.Name, UID: p.UID}
}

// unforge deletes snapshots that claim to be the placement's and were not written by
// the placer. Members have nothing from them, since other stages ignore them.
func (s *Stage) unforge(ctx context.Context, p *placementv1.ClusterResourcePlacement, have stored) error {
	for _, f := range have.forged {
		if err := s.hub.DeleteResourceSnapshot(ctx, f.Object); err != nil {
			return fmt.Errorf("delete snapshot %s: %w", f.Object.Name, err)
		}
		s.tellForged(ctx, p, f.Object.Name, f.Why)
	}
	return nil
}

func (s *Stage) tellForged(ctx context.Context, p *placementv1.ClusterResourcePlacement, name, why string) {
	s.hub.Record(ctx, about(p), hub.Warning, placing.ReasonNotGenuine, "snapshot "+name+" is not what Sluice made: "+why+"; it is deleted, and members keep what they have")
}

// content returns the items of a snapshot. If they do not match its hash, the snapshot is
// deleted.
func (s *Stage) content(ctx context.Context, p *placementv1.ClusterResourcePlacement, parts []placing.Part) (held, error) {
	all := make(held, len(parts))
	var whole []*placementv1.ClusterResourceSnapshot
	for _, part := range parts {
		o, err := s.hub.ResourceSnapshot(ctx, part.Name)
		if errors.Is(err, outcome.ErrGone) || err == nil && o.UID != part.UID {
			return nil, outcome.Conflict(fmt.Errorf("snapshot %s has just gone", part.Name))
		}
		if err != nil {
			return nil, fmt.Errorf("get snapshot %s: %w", part.Name, err)
		}
		whole = append(whole, o)
		var items []placing.Item
		for _, r := range o.Spec.SelectedResources {
			item, err := placing.ReadItem(r.Raw)
			if err != nil {
				return nil, fmt.Errorf("snapshot %s: %w", part.Name, err)
			}
			items = append(items, item)
		}
		placing.Dated(&o.ObjectMeta, items)
		all[part.Name] = items
	}
	if wrong := placing.Held(whole); wrong != nil {
		have := stored{}
		for _, o := range whole {
			have.forged = append(have.forged, placing.Forged[*placementv1.ClusterResourceSnapshot]{Object: o, Why: wrong.Error()})
		}
		return nil, errors.Join(outcome.Conflict(wrong), s.unforge(ctx, p, have))
	}
	return all, nil
}

// commit executes the plan, and returns the parts of snapshots that were created.
func (s *Stage) commit(ctx context.Context, p *placementv1.ClusterResourcePlacement, have stored, plan placing.Plan) ([]placing.Part, error) {
	if err := s.drop(ctx, have, plan.Drop); err != nil {
		return nil, err
	}
	var made []placing.Part
	for _, n := range plan.Create {
		o := &placementv1.ClusterResourceSnapshot{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels, Annotations: n.Annotations, OwnerReferences: owned(p)}}
		o.Spec.SelectedResources = []placementv1.ResourceContent{}
		for _, i := range n.Items {
			c := placementv1.ResourceContent{}
			c.Raw = i.Raw
			o.Spec.SelectedResources = append(o.Spec.SelectedResources, c)
		}
		placing.Seal(p, &o.ObjectMeta, "")
		is, err := s.hub.CommitResourceSnapshot(ctx, nil, o)
		if err != nil {
			return nil, refused(n, fmt.Errorf("make snapshot %s: %w", n.Name, err))
		}
		if part, ok := placing.PartOf(&is.ObjectMeta); ok {
			made = append(made, part)
		}
	}
	if err := s.edit(ctx, have, plan); err != nil {
		return nil, err
	}
	if plan.Unfinished {
		s.remind(ctx, p.Name, placing.UnfinishedFor)
	}
	return made, s.drop(ctx, have, plan.Prune)
}

// edit executes the part of the plan that changes stored snapshots.
func (s *Stage) edit(ctx context.Context, have stored, plan placing.Plan) error {
	edited := map[string]bool{}
	write := func(name string, edit func(next *placementv1.ClusterResourceSnapshot)) error {
		old := have.objects[name]
		next := old.DeepCopy()
		edit(next)
		if created := plan.Redate[name]; created != "" {
			metav1.SetMetaDataAnnotation(&next.ObjectMeta, placing.AnnotationCreated, created)
		}
		edited[name] = true
		_, err := s.hub.CommitResourceSnapshot(ctx, old, next)
		return err
	}
	for _, r := range plan.Relabel {
		if err := write(r.Name, func(next *placementv1.ClusterResourceSnapshot) { next.Labels = labelled(next.Labels, r.Latest) }); err != nil {
			return fmt.Errorf("label snapshot %s: %w", r.Name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(plan.Redate)) {
		if edited[name] {
			continue
		}
		if err := write(name, func(*placementv1.ClusterResourceSnapshot) {}); err != nil {
			return fmt.Errorf("note in snapshot %s what was created again: %w", name, err)
		}
	}
	return nil
}

// refused returns err as a refusal if the selected objects are its cause: one that is
// too large for any snapshot, or one that the API server rejects.
func refused(n placing.New, err error) error {
	if outcome.IsConflict(err) {
		return err
	}
	for _, i := range n.Items {
		if len(i.Raw) > placing.SizeLimit && len(n.Items) == 1 {
			return refusal{fmt.Errorf("%s has %d bytes: %w", i.Key, len(i.Raw), err)}
		}
	}
	if outcome.IsTerminal(err) {
		return refusal{err}
	}
	return err
}

func (s *Stage) drop(ctx context.Context, have stored, parts []placing.Part) error {
	for _, part := range parts {
		if err := s.hub.DeleteResourceSnapshot(ctx, have.objects[part.Name]); err != nil {
			return fmt.Errorf("delete snapshot %s: %w", part.Name, err)
		}
	}
	return nil
}
