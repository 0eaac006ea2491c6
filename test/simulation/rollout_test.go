// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/test/pipelinetest"
)

// fleetOf is how many members the rollouts of this file go to, of which three fail.
const fleetOf = 20

// fault is what befalls a member in the middle of a rollout.
type fault struct {
	cluster string
	// after so many members got the new snapshot.
	after int
	how   failing
}

type failing string

const (
	refuses failing = "it refuses what is applied"
	stuck   failing = "nothing becomes available in it"
	down    failing = "it does not answer"
)

func (f failing) befall(m *pipelinetest.Member) {
	switch f {
	case refuses:
		m.Refuses = func(r pipelinetest.Request) bool { return r.Verb == "apply" && strings.Contains(r.About, "nginx") }
	case stuck:
		m.Stuck = true
	case down:
		m.Down = true
	}
}

// rolling is a rollout of a Deployment to a fleet.
type rolling struct {
	*world
	t *testing.T
	// most is how many members may be unavailable.
	most   int
	faults []fault
	// began are the members where a fault began, and gave those that got the snapshot, in
	// their order.
	began map[string]failing
	gave  []string
	to    string
}

// roll makes a fleet that has the first version.
func roll(t *testing.T, d drawer) *rolling {
	c := d.climate()
	c.placed, c.follow, c.late, c.many = true, false, false, fleetOf
	r := &rolling{world: newLab(t).start(c), t: t, most: 1 + d.IntN(5), began: map[string]failing{}}
	wrote := r.hub.Wrote
	r.hub.Wrote = func(ctx context.Context, write pipelinetest.Write) {
		wrote(ctx, write)
		r.note(write)
	}
	names := slices.Clone(c.names())
	d.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:3] {
		r.faults = append(r.faults, fault{name, d.IntN(12), pick(d, []failing{refuses, stuck, down})})
	}
	most := intstr.FromInt(r.most)
	spec := placementv1.ClusterResourcePlacementSpec{
		ResourceSelectors: []placementv1.ClusterResourceSelector{{Version: "v1", Kind: "Namespace", Name: "shop"}},
		Strategy: placementv1.RolloutStrategy{
			Type: placementv1.RollingUpdateRolloutStrategyType, RollingUpdate: &placementv1.RollingUpdateConfig{MaxUnavailable: &most},
		},
	}
	r.do(op{verb: putTemplate, key: namespaceOf("shop"), content: content{tier: "front"}})
	r.says(1)
	r.do(op{verb: putPlacement, policy: clusterWide("crp-1"), asked: &spec})
	r.settle()
	r.ends(1)
	return r
}

// says has people write that version of the Deployment.
func (r *rolling) says(version int) {
	r.do(op{verb: putTemplate, key: nginx, content: content{image: version, replicas: 2, tier: "front"}})
}

// note has the faults begin whose time has come, as soon as the rollout has given the next
// member its snapshot.
func (r *rolling) note(write pipelinetest.Write) {
	next, is := write.New.(*placementv1.ClusterResourceBinding)
	old, was := write.Old.(*placementv1.ClusterResourceBinding)
	if !is || !was || old == nil || next.Spec.ResourceSnapshotName == old.Spec.ResourceSnapshotName || old.Spec.ResourceSnapshotName == "" {
		return
	}
	if next.Spec.ResourceSnapshotName != r.to {
		r.to, r.gave = next.Spec.ResourceSnapshotName, nil
	}
	r.gave = append(r.gave, next.Spec.TargetCluster)
	for _, f := range r.faults {
		if _, began := r.began[f.cluster]; !began && len(r.gave) > f.after {
			r.began[f.cluster] = f.how
			f.how.befall(r.members[f.cluster])
		}
	}
}

// settle lets everything be delivered, and sweeps until that changes nothing.
func (r *rolling) settle() {
	r.t.Helper()
	quiet := 0
	for round := 0; r.err == nil && quiet < 3; round++ {
		before := len(r.gave)
		r.drain()
		if quiet++; len(r.gave) != before || round < 4 { // a snapshot waits for up to 30 s
			quiet = 0
		}
		if round > 100 {
			r.t.Fatal("it does not come to rest")
		}
		r.pass(time.Minute)
		r.tick()
	}
	if r.err != nil {
		r.t.Fatal(r.err)
	}
}

// version is what the member has; empty: nothing, or nothing that is available.
func (r *rolling) version(cluster string) (image string, ready bool) {
	o := r.members[cluster].Object(nginx)
	if o == nil {
		return "", false
	}
	spec := o.Content["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	image, _ = spec["containers"].([]any)[0].(map[string]any)["image"].(string)
	n, _ := o.Status["availableReplicas"].(int64)
	return image, n == 2 && o.Status["observedGeneration"] == o.Generation
}

// stops checks where a rollout of that version came to a stop: as many members are
// unavailable as may be, all of them at fault, and what comes after them has what it had;
// or there are fewer of those, and all others have it.
func (r *rolling) stops(version int) {
	r.t.Helper()
	var lost, behind []string
	for _, c := range r.names() {
		b := r.bindingTo("crp-1", c)
		image, ready := r.version(c)
		switch {
		case b.Spec.ResourceSnapshotName != r.to:
			behind = append(behind, c)
			if image == fmt.Sprintf("nginx:%d", version) {
				r.t.Errorf("%s has %s, and it was not its turn", c, image)
			}
		case !available(b):
			lost = append(lost, c)
			if r.began[c] == "" {
				r.t.Errorf("%s is not available, and nothing is wrong with it: %+v", c, b.Status.Conditions)
			}
		case image != fmt.Sprintf("nginx:%d", version) || !ready:
			r.t.Errorf("%s is said to be available, and has %s, ready: %t", c, image, ready)
		}
	}
	r.t.Logf("version %d: at most %d, faults %v, not available %v, behind %v", version, r.most, r.began, lost, behind)
	switch {
	case len(lost) > r.most:
		r.t.Errorf("%v are not available, and %d may be", lost, r.most)
	case len(lost) < r.most && len(behind) > 0:
		r.t.Errorf("%v wait, and of %d that may be unavailable %v are", behind, r.most, lost)
	}
	p := r.hub.LivePlacement("crp-1")
	if c := meta.FindStatusCondition(p.Status.Conditions, placementv1.ConditionPlacementRolloutStarted); len(behind) > 0 && (c == nil || c.Status == "True" || c.Message == "") {
		r.t.Errorf("%d members wait, and the placement says %+v", len(behind), c)
	}
}

// ends checks that all members have that version.
func (r *rolling) ends(version int) {
	r.t.Helper()
	for _, c := range r.names() {
		if image, ready := r.version(c); image != fmt.Sprintf("nginx:%d", version) || !ready {
			r.t.Errorf("%s has %s, ready: %t, want version %d", c, image, ready, version)
		}
	}
	p := r.hub.LivePlacement("crp-1")
	if !meta.IsStatusConditionTrue(p.Status.Conditions, placementv1.ConditionPlacementAvailable) {
		r.t.Errorf("the placement says %+v", p.Status.Conditions)
	}
}

// mend ends all faults.
func (r *rolling) mend() {
	for name := range maps.Keys(r.began) {
		m := r.members[name]
		m.Refuses, m.Stuck, m.Down = nil, false, false
	}
	r.faults = nil
}

// Of twenty members three fail, at moments that are drawn. The rollout makes no more of
// them unavailable than it may, which is checked at each write (checkPace), stops when as
// many have failed, goes on when they are mended, or when the content is, and ends at the
// newest.
func TestC64C66C67ARolloutToTwentyMembersOfWhichThreeFail(t *testing.T) {
	first, last := seeds()
	if first != last {
		last = first + min(last-first, 23)
	}
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			d := newDrawer(uint64(seed) ^ 0x0c640000) //nolint:gosec // a seed
			r := roll(t, d)
			r.says(2)
			r.settle()
			r.stops(2)
			newest := 2
			switch d.IntN(3) {
			case 0: // a newer version comes, and goes to those first that failed
				newest = 3
				r.says(newest)
				r.settle()
				r.stops(newest)
				r.mend()
			case 1: // the newer version is what mends them
				newest = 3
				r.mend()
				r.says(newest)
			default:
				r.mend()
			}
			r.settle()
			r.ends(newest)
		})
	}
}
