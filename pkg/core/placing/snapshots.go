// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

// master is the subindex of a snapshot's first part.
const master = -1

// AnnotationPartOf, on each part of a snapshot but the first, is the hash of the whole
// content, so that parts of different contents are never combined.
const AnnotationPartOf = "sluice.dev/part-of"

// AnnotationObjects, on the first part of a snapshot, is the number of objects in all
// parts.
const AnnotationObjects = "sluice.dev/objects"

// UnfinishedFor is how long parts without a first one may belong to a process that is
// still writing the snapshot.
const UnfinishedFor = time.Minute

// Part is the metadata of a stored snapshot, or of a part of one that was split.
type Part struct {
	Name    string
	UID     types.UID
	Version string
	Created time.Time
	Latest  bool
	Index   int
	// Subindex of the part; -1 for the first, which has the next two fields.
	Subindex int
	// Hash of the whole content; empty on a part that an earlier version wrote.
	Hash  string
	Parts int
	// Asked is Mark.Asked of the placement that the snapshot was created for.
	Asked   string
	Leaving bool
}

// PartOf reads a part's metadata; false if that has no index.
func PartOf(m *metav1.ObjectMeta) (Part, bool) {
	p := Part{
		Name: m.Name, UID: m.UID, Version: m.ResourceVersion, Created: m.CreationTimestamp.Time,
		Latest: m.Labels[placementv1.LabelIsLatestSnapshot] == "true", Subindex: master, Hash: m.Annotations[placementv1.AnnotationResourceHash],
		Leaving: m.DeletionTimestamp != nil,
	}
	var err error
	if p.Index, err = strconv.Atoi(m.Labels[placementv1.LabelResourceIndex]); err != nil || p.Index < 0 {
		return p, false
	}
	p.Asked = m.Annotations[AnnotationAsked]
	p.Parts, _ = strconv.Atoi(m.Annotations[placementv1.AnnotationNumberOfResourceSnapshots])
	if sub, split := m.Annotations[placementv1.AnnotationSubindex]; split {
		if p.Subindex, err = strconv.Atoi(sub); err != nil || p.Subindex < 0 {
			return p, false
		}
		p.Hash = m.Annotations[AnnotationPartOf]
	}
	return p, true
}

// SnapshotName returns the name of a snapshot, which is that of its first part.
func SnapshotName(placement string, index int) string {
	return fmt.Sprintf("%s-%d-snapshot", placement, index)
}

func partName(placement string, index, subindex int) string {
	return fmt.Sprintf("%s-%d-%d", placement, index, subindex)
}

// PlacementsOf returns the placements that a snapshot, part of a snapshot or policy
// snapshot of that name may belong to: the name alone is ambiguous.
func PlacementsOf(snapshot string) []string {
	stem, first := strings.CutSuffix(snapshot, "-snapshot")
	stem, ok := cutNumber(stem)
	if !ok {
		return nil
	}
	of := []string{stem}
	if rest, split := cutNumber(stem); split && !first {
		of = append(of, rest)
	}
	return of
}

// cutNumber removes a number, and the dash in front of it, from the end.
func cutNumber(s string) (string, bool) {
	i := strings.LastIndexByte(s, '-')
	if i <= 0 {
		return s, false
	}
	if _, err := strconv.ParseUint(s[i+1:], 10, 31); err != nil {
		return s, false
	}
	return s[:i], true
}

// group is the parts with one index.
type group struct {
	index int
	first *Part // nil: it was never finished
	rest  []Part
}

// whole reports whether all parts exist.
func (g group) whole() bool {
	if g.first == nil || g.first.Leaving || g.first.Parts != len(g.rest)+1 {
		return false
	}
	for i, p := range g.rest {
		if p.Subindex != i || p.Leaving || p.Hash != "" && p.Hash != g.first.Hash {
			return false
		}
	}
	return true
}

// made returns the names of the parts that already exist for a snapshot with this
// content.
func (g group) made(hash string) map[string]bool {
	names := map[string]bool{}
	for _, p := range g.rest {
		if g.first == nil && !p.Leaving && p.Hash == hash {
			names[p.Name] = true
		}
	}
	return names
}

// parts returns all parts, the first one first.
func (g group) parts() []Part {
	if g.first == nil {
		return g.rest
	}
	return append([]Part{*g.first}, g.rest...)
}

// groups returns the parts by index, the oldest first.
func groups(parts []Part) []group {
	byIndex := map[int]*group{}
	for _, p := range parts {
		g := byIndex[p.Index]
		if g == nil {
			g = &group{index: p.Index}
			byIndex[p.Index] = g
		}
		if p.Subindex == master {
			g.first = &p
		} else {
			g.rest = append(g.rest, p)
		}
	}
	all := make([]group, 0, len(byIndex))
	for _, g := range byIndex {
		slices.SortFunc(g.rest, func(a, b Part) int { return a.Subindex - b.Subindex })
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b group) int { return a.index - b.index })
	return all
}

// New is a snapshot, or a part of one, to be created.
type New struct {
	Name        string
	Labels      map[string]string
	Annotations map[string]string
	Items       []Item
}

// Relabel sets or removes the label of the latest snapshot on a stored one.
type Relabel struct {
	Part
	Latest bool
}

// Plan lists the writes to be done, in this order. A crash may come after any of them:
// the next plan goes on from there.
type Plan struct {
	// Drop are parts of snapshots that were never finished.
	Drop []Part
	// Unfinished reports that parts stay which another process may be about to finish.
	// If it does not, they are useless: look again after UnfinishedFor.
	Unfinished bool
	// Create are the parts of the new snapshot, with the first one last.
	Create []New
	// Relabel sets the label on the latest first, and then removes it from others.
	Relabel []Relabel
	// Redate is AnnotationCreated for stored parts, by their names.
	Redate map[string]string
	// Prune are the snapshots beyond the history limit.
	Prune []Part
	// Index of the latest snapshot after these writes; -1: there is none.
	Index int
}

// Stored is the stored state that a plan starts from.
type Stored struct {
	Placement string
	Parts     []Part
	// Seen is the highest index that is known to have been used; -1: none. A snapshot
	// with a lower index is not labelled as the latest, unless it has the content that
	// is selected.
	Seen int
	// Asked is Mark.Asked of the placement.
	Asked string
	// Limit is how many snapshots are kept.
	Limit int
	// Now is compared with the age of unfinished parts.
	Now time.Time
	// Needed are the names of the first parts of snapshots that are kept beyond the
	// limit: members have them, or the placement is rolled back to them.
	Needed map[string]bool
}

// Next plans the writes after which the latest snapshot has the content; nil: the
// content stays as it is. Two processes that plan at the same time share the parts that
// have the same content.
func (s Stored) Next(c *Content) Plan {
	p := Plan{Index: -1}
	all := groups(s.Parts)
	latest, highest := group{index: -1}, s.Seen
	for _, g := range all {
		if g.whole() {
			latest = g
		}
		if g.first != nil {
			highest = max(highest, g.index)
		}
	}
	p.Index = latest.index
	made := map[string]bool{}
	if c != nil {
		if hash := c.Hash(); latest.first == nil || latest.first.Hash != hash {
			p.Index = highest + 1
			for _, g := range all {
				if g.index == p.Index {
					made = g.made(hash)
				}
			}
			p.Create = slices.DeleteFunc(s.parts(*c, hash, p.Index), func(n New) bool { return made[n.Name] })
		}
	}
	for _, g := range all {
		if g.first == nil {
			p.drop(g, made, s.Now)
		}
	}
	if c == nil && latest.first != nil && !latest.first.Latest && latest.index < s.Seen {
		p.Index = -1 // a newer one was deleted: this one does not take its place
	}
	if p.Index < 0 {
		return p
	}
	for _, g := range slices.Backward(all) {
		for _, part := range g.parts() {
			if g.first != nil && part.Latest != (g.index == p.Index) {
				p.Relabel = append(p.Relabel, Relabel{part, g.index == p.Index})
			}
		}
	}
	slices.SortStableFunc(p.Relabel, func(a, b Relabel) int { return number(b.Latest) - number(a.Latest) })
	p.prune(all, s)
	return p
}

// drop plans the deletion of unfinished parts: those in the way of new ones, those
// older than the latest snapshot, and those that have been unfinished for too long.
func (p *Plan) drop(g group, made map[string]bool, now time.Time) {
	for _, part := range g.rest {
		switch {
		case made[part.Name]:
		case len(p.Create) > 0 && g.index == p.Index, g.index < p.Index, now.Sub(part.Created) > UnfinishedFor:
			p.Drop = append(p.Drop, part)
		default:
			p.Unfinished = true
		}
	}
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// prune plans the deletion of old snapshots. It keeps as many as the limit allows,
// including the latest, and those that are needed; an incomplete snapshot is not kept.
// What is deleted needs no relabelling.
func (p *Plan) prune(all []group, s Stored) {
	left := max(s.Limit, 1) - 1
	for _, g := range slices.Backward(all) {
		switch {
		case g.first == nil || g.index == p.Index:
		case g.whole() && left > 0:
			left--
		case g.whole() && s.Needed[g.first.Name]:
		default:
			p.Prune = append(p.Prune, g.parts()...)
		}
	}
	p.Relabel = slices.DeleteFunc(p.Relabel, func(r Relabel) bool {
		return slices.ContainsFunc(p.Prune, func(gone Part) bool { return gone.Name == r.Name })
	})
}

// parts returns the parts of a new snapshot. The first one, which has the first objects
// and says how many parts there are, is created last.
func (s Stored) parts(c Content, hash string, index int) []New {
	split := c.Split(SizeLimit, propagation.MaxManifests)
	var out []New
	for i, items := range split {
		n := New{
			Name:   partName(s.Placement, index, i-1),
			Labels: map[string]string{placementv1.LabelParentCRP: s.Placement, placementv1.LabelResourceIndex: strconv.Itoa(index), placementv1.LabelIsLatestSnapshot: "true"},
			Items:  items,
		}
		if i == 0 {
			n.Name = SnapshotName(s.Placement, index)
			n.Annotations = map[string]string{
				placementv1.AnnotationResourceHash: hash, placementv1.AnnotationNumberOfResourceSnapshots: strconv.Itoa(len(split)), placementv1.AnnotationNumberOfEnvelopedObjects: strconv.Itoa(c.Envelopes()),
				AnnotationAsked: s.Asked, AnnotationObjects: strconv.Itoa(len(c.items)),
			}
		} else {
			n.Annotations = map[string]string{placementv1.AnnotationSubindex: strconv.Itoa(i - 1), AnnotationPartOf: hash}
		}
		if created := noted(items); created != "" {
			n.Annotations[AnnotationCreated] = created
		}
		out = append(out, n)
	}
	return append(out[1:], out[0])
}
