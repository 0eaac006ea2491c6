// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package registrar

import (
	"maps"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/sweeper/tick"
	"sluice.dev/test/pipelinetest/fixture"
)

// Of a member that left its Works go, though nobody told: also one that comes late, and
// where nobody knows any more who was registered. All Works are listed in that case alone.
func TestTheWorksOfAMemberThatLeftGo(t *testing.T) {
	policys := func(name string) *propagation.Work {
		return &propagation.Work{
			Key: propagation.WorkKey{Cluster: "member1", Name: name}, Annotations: map[string]string{
				propagation.AnnotationTemplate: `{"apiVersion":"v1","kind":"ConfigMap","namespace":"shop","name":"a"}`,
			},
		}
	}
	f, at, now, lists := &fleet{works: []*propagation.Work{policys("a")}}, fixture.Positions{}, began, 0
	sweep := func(registered ...string) {
		t.Helper()
		ready := map[string]bool{}
		for _, name := range registered {
			ready[name] = false // and down
		}
		one := tick.New(event.New(), maps.Clone(at), now)
		all := func() ([]*propagation.Work, error) { lists++; return f.works, nil }
		if err := New(f, nil, func() time.Time { return now }).Left(t.Context(), one, ready, all); err != nil {
			t.Fatal(err)
		}
		if err := one.Save(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Minute)
	}
	sweep("member1", "member2")
	sweep("member1", "member2")
	if len(f.works) != 1 || lists != 1 {
		t.Fatalf("%d Works of who is registered are left, %d lists", len(f.works), lists)
	}
	sweep("member2")
	if len(f.works) != 0 {
		t.Error("the Works of who left are there still")
	}
	f.works = append(f.works, policys("late"))
	sweep("member2")
	if len(f.works) != 0 || lists != 1 {
		t.Errorf("one that came late is there still, or all were listed: %d lists", lists)
	}
	f.works, at = append(f.works, policys("b")), fixture.Positions{}
	sweep("member2")
	if len(f.works) != 0 || lists != 2 {
		t.Errorf("without positions %d Works are left, %d lists", len(f.works), lists)
	}
	for range 20 {
		sweep("member2")
	}
	if want := `{"member2":"0001-01-01T00:00:00Z"}`; at["registered"] != want || lists != 2 {
		t.Errorf("remembered is %s, want %s; %d lists", at["registered"], want, lists)
	}
}
