// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
)

// changed is an event about a Deployment.
func changed(t *testing.T, name, version string) event.Event {
	t.Helper()
	e, err := events.NewResource("https://member1", events.ResourceUpdated, events.Object{
		TemplateKey: propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name}, Version: version,
	})
	if err != nil {
		t.Fatal(err)
	}
	e.SetID(version)
	return e
}

func TestAnObjectIsToldOfOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broker := &sent{}
		p := newPaced(broker, time.Second)
		told := func(want ...string) {
			t.Helper()
			synctest.Wait()
			var got []string
			for _, e := range broker.take() {
				got = append(got, e.ID())
			}
			if !slices.Equal(got, want) {
				t.Errorf("told %v, want %v", got, want)
			}
		}
		change := func(name string, versions ...string) {
			for _, v := range versions {
				if err := p.Send(context.Background(), changed(t, name, v)); err != nil {
					t.Error(err)
				}
			}
		}
		change("nginx", "1", "2", "3")
		change("other", "4")
		told("1", "4")
		time.Sleep(time.Second)
		told("3")
		change("nginx", "5")
		told()
		time.Sleep(time.Second)
		told("5")
		time.Sleep(time.Second)
		change("nginx", "6")
		told("6")
	})
}
