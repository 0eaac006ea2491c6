// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
)

// What is left of the time when the names of Works had fewer bits.
const (
	// update ends everything, and starts it again where an earlier Sluice had made all
	// Works, and marked all that members have.
	update verb = "update from former names"
	// twinWork puts a Work of the other name beside one, as who restores a backup.
	twinWork verb = "restore work"
)

// byNames does these.
func (w *world) byNames(o op) {
	switch o.verb {
	case update:
		w.hub.AgeWorks()
		for _, name := range clusters {
			for _, object := range w.members[name].Objects() {
				w.members[name].Age(object)
			}
		}
		w.restart()
	case twinWork:
		if work := w.workOf(o.key, o.cluster); work != nil && w.hub.TwinWork(work.Key) {
			w.trace("      a second Work beside %s", work.Key)
		}
	}
}

// checkNames checks that no binding has two Works in a cluster, and that what members
// have names the Work that tells of it.
func (w *world) checkNames() {
	type spot struct {
		binding propagation.BindingKey
		cluster string
	}
	seen := map[spot]propagation.WorkKey{}
	for _, work := range w.hub.LiveWorks() {
		if work.Deleting && (work.Suspended() || conditions.Is(work.Status.Conditions, workv1alpha1.ConditionDispatching, metav1.ConditionFalse)) {
			continue // it goes when its suspension ends
		}
		at := spot{work.Binding(), work.Key.Cluster}
		if other, two := seen[at]; two {
			w.fail("%s and %s are both there", other, work.Key)
		}
		seen[at] = work.Key
		o := w.members[work.Key.Cluster].Object(templateOf(work))
		if o != nil && o.Work != "" && !work.Suspended() && !work.Deleting && o.Work != work.Key.Name {
			w.fail("%s in %s is marked as that of %s, and is that of %s", o.Ref, work.Key.Cluster, o.Work, work.Key)
		}
	}
}

// aged is the history of a seed, in which Sluice is updated from one that had the
// former names, once or twice, and Works are restored beside those that are there.
func aged(seed int) (climate, []op) {
	c, h := drawn(seed)
	d := newDrawer(uint64(seed) ^ 0x234) //nolint:gosec // a seed
	for range 1 + d.IntN(2) {
		h = slices.Insert(h, d.IntN(len(h)+1), op{verb: update})
	}
	for range d.IntN(4) {
		key := pick(d, []propagation.TemplateKey{nginx, nginx, nginx, settings, web, viewer})
		h = slices.Insert(h, d.IntN(len(h)+1), op{verb: twinWork, key: key, cluster: pick(d, clusters)})
	}
	return c, h
}

// Works of former names are found, changed, deleted and made anew as others are, and
// at rest nothing is written for them. Each seed costs as much as one of
// TestSimulation: these are a fifth as many.
func TestZ34HistoriesWithFormerNames(t *testing.T) {
	first, last := seeds()
	last = first + (last-first)/5
	each(t, first, last, aged)
}
