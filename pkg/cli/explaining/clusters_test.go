// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest/fixture"
)

func TestASuspendedClusterThatIsLeftOutIsListedOnce(t *testing.T) {
	p := fixture.Policy("p").To("member1")
	s := propagated(world(p), fixture.Deployment("nginx"), p)
	yes := true
	s.Works = []*propagation.Work{{Key: propagation.WorkKey{Cluster: "member2"}, Spec: workv1alpha1.WorkSpec{SuspendDispatching: &yes}}}
	r := world(p).Explain(s)
	got := map[string]explaining.State{}
	for _, c := range slices.Concat(r.Clusters, r.NotChosen) {
		if got[c.Name] != "" {
			t.Errorf("%s is listed twice: %+v, %+v", c.Name, r.Clusters, r.NotChosen)
		}
		got[c.Name] = c.State
	}
	want := map[string]explaining.State{"member1": explaining.Rendering, "member2": explaining.Held, "member3": explaining.NotChosen}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What no cluster fits goes on naming the one that it was in. When that has left,
// nothing is about to be rendered for it.
func TestAClusterThatHasLeftIsNotWaitedFor(t *testing.T) {
	p := fixture.Policy("p").To("member2")
	w := world(p)
	s := propagated(w, fixture.Deployment("nginx"), p)
	w.Clusters = slices.Delete(w.Clusters, 1, 2)
	r := w.Explain(s)
	if len(r.Clusters) > 0 {
		t.Errorf("it is said to go to %v", r.Clusters)
	}
	want := explaining.Cluster{Name: "member2", State: explaining.NotChosen, Message: "has left"}
	if !slices.Contains(r.NotChosen, want) {
		t.Errorf("not chosen are %v, want %v among them", r.NotChosen, want)
	}
}
