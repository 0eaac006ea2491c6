// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

// workHub has one Work.
type workHub struct {
	Hub
	work *propagation.Work
}

func (h workHub) Work(context.Context, propagation.WorkKey) (*propagation.Work, error) {
	return h.work, nil
}

func TestZ3APlacementsWorkThatSomebodyWrote(t *testing.T) {
	for name, tc := range map[string]struct {
		work, label string
		deleting    bool
		// want is the event, and of whose placement it tells; empty: there is none.
		want, of string
	}{
		"it has its label":                {"shop-work", "shop", false, events.PlacementBound, "shop"},
		"it is deleted":                   {"shop-work", "shop", true, events.WorkRemoved, "shop"},
		"its label was taken off":         {"shop-work", "", false, events.PlacementBound, "shop"},
		"its label names another":         {"shop-work", "bank", false, events.PlacementBound, "shop"},
		"it is deleted and has no label":  {"shop-work", "", true, events.PlacementBound, "shop"},
		"it has no name of a placement's": {"mine", "shop", false, "", ""},
		"it has no name of a placement's, was copied with its finalizer, and is deleted": {"mine", "shop", true, events.WorkRemoved, "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			e := event.New()
			e.SetID("1")
			e.SetSource("/test")
			w := &propagation.Work{
				Key: propagation.WorkKey{Cluster: "m1", Name: tc.work, Form: propagation.PlacementForm}, Deleting: tc.deleting, Finalizers: []string{propagation.FinalizerWork},
				Labels: map[string]string{placementv1.LabelParentCRP: tc.label},
			}
			out, err := New(workHub{work: w}, nil, time.Now).Work(t.Context(), e, w.Key)
			if err != nil {
				t.Fatal(err)
			}
			got, of := "", ""
			for _, one := range out {
				d, err := events.Decode(one)
				if err != nil {
					t.Fatal(err)
				}
				got, of = got+one.Type(), d.Placement
			}
			if got != tc.want || of != tc.of {
				t.Errorf("announced %q of %q, want %q of %q", got, of, tc.want, tc.of)
			}
		})
	}
}
