// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"testing"

	"sluice.dev/pkg/core/propagation"
)

// Somebody deletes Works of placements by hand, which record what their members have. They
// are made anew, and each member has what the placements say all the same.

const removePlaced verb = "delete Work of a placement"

// removePlaced deletes a Work that the placement has in the member. Nobody asked by that
// for anything to leave.
func (w *world) removePlaced(o op) bool {
	works := slices.DeleteFunc(w.hub.LiveWorks(), func(work *propagation.Work) bool {
		return work.Placement() != o.policy.Name || work.Key.Cluster != o.cluster
	})
	return len(works) > 0 && w.hub.RemoveWork(works[o.n%len(works)].Key)
}

// removedAbout is the history of a seed with placements, overrides of them, and Works that
// are deleted by hand.
func removedAbout(seed int) (climate, []op) {
	c, h := overruledAbout(seed + 1<<21)
	d := newDrawer(uint64(seed) ^ 0x4e300000) //nolint:gosec // a seed
	var out []op
	for _, o := range h {
		if d.chance(20) {
			out = append(out, op{verb: removePlaced, policy: clusterWide(pick(d, []string{"crp-1", "crp-1", "crp-2"})), cluster: pick(d, clusters), n: d.IntN(3)})
		}
		out = append(out, o)
	}
	return c, out
}

// TestC15Z3HistoriesWhereWorksOfPlacementsAreDeleted runs a sixth as many as TestSimulation.
func TestC15Z3HistoriesWhereWorksOfPlacementsAreDeleted(t *testing.T) {
	first, last := share(6)
	did := each(t, first, last, removedAbout)
	if t.Log(fmt.Sprint(did)); !t.Failed() && last-first >= 20 && did[removePlaced] == 0 {
		t.Errorf("in none of %d histories anybody deleted a Work", last-first+1)
	}
}
