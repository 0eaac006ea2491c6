// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package registrar

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/pipeline/sweeper/tick"
	"sluice.dev/test/pipelinetest/fixture"
)

// Z23: a member that left and joined again before anybody noticed keeps its Works. Nobody
// listened to it meanwhile, so they are looked at.
func TestZ23TheWorksOfAMemberThatJoinedAgainAreLookedAt(t *testing.T) {
	for sentence, tc := range map[string]struct {
		told bool // the event that it joined came before the sweep
		down bool // for the first sweep
	}{
		"that the sweep finds":                {},
		"that an event told of before":        {told: true},
		"that does not answer at first":       {down: true},
		"of which an event told, and is down": {told: true, down: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			f, at, now, down := &fleet{}, fixture.Positions{}, began, false
			probe := func(context.Context, string) (string, error) {
				if down {
					return "", errors.New("it does not answer")
				}
				return "v1.36.3", nil
			}
			stage := New(f, probe, func() time.Time { return now })
			join := func(uid types.UID) {
				f.cluster = &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1", UID: uid}}
				if tc.told {
					if _, err := stage.Changed(t.Context(), event.New(), "member1"); err != nil {
						t.Fatal(err)
					}
				}
			}
			sweep := func(want bool) {
				t.Helper()
				one := tick.New(event.New(), maps.Clone(at), now)
				if _, err := stage.Sweep(t.Context(), one, false); err != nil {
					t.Fatal(err)
				}
				if _, looked := one.Round("sweep revisit")["member1"]; looked != want {
					t.Errorf("its Works are looked at: %t, want %t", looked, want)
				}
				one.SetRound("sweep revisit", nil) // somebody has
				if err := one.Save(t.Context(), at); err != nil {
					t.Fatal(err)
				}
				now = now.Add(time.Minute)
			}
			join("1")
			sweep(false)
			sweep(false)
			join("2")
			if down = tc.down; down {
				sweep(false)
				down = false
			}
			sweep(true)
			sweep(false)
		})
	}
}
