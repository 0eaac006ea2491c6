// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A namespace of thousands of objects is carried and told of, and the change of one of
// them costs writes for each part of the snapshot, and none for each object.
func TestC21C73OneOfThousandsChanges(t *testing.T) {
	const (
		many = 2800
		// parts have 500 objects each; the namespace, its ServiceAccounts and the like are
		// in them, too.
		parts = 6
	)
	once(t, gatesOff, func(s *scenario) {
		cm, p := s.aside()
		p = p.with("spec.policy", map[string]any{"placementType": "PickFixed", "clusterNames": list(members[0])})
		s.crowded(cm.namespace(), many)
		l := s.Writes(p)
		s.Apply(p)
		const patience = 5 * time.Minute
		said := func() error {
			o := s.Live(p)
			if o == nil {
				return fmt.Errorf("%s is not there", p)
			}
			status, _ := o.Object["status"].(map[string]any)
			if got := conditionsOf(status); fmt.Sprint(got) != fmt.Sprint(carried) {
				return fmt.Errorf("%s says %q, want %q", p, got, carried)
			}
			return nil
		}
		if err := s.within(patience, said); err != nil {
			s.Fatal(err)
		}
		there, err := s.lab.clusters[members[0]].on(configMaps, cm.namespace()).List(s.Context(), metav1.ListOptions{LabelSelector: "crowd=true"})
		if err != nil {
			s.Fatal(err)
		}
		if n := len(there.Items); n != many {
			s.Errorf("%d of %d objects are in the member", n, many)
		}
		if n := len(items(s.Live(p).Object, "status.selectedResources")); n < many {
			s.Errorf("the status names %d of %d objects", n, many)
		}
		s.Settle()
		before, of := l.total()
		s.Logf("%d writes for %d objects: %s", before, many, of)
		s.Apply(cm.set("data.page", "two"))
		if err := s.within(patience, func() error {
			for _, m := range items(s.Live(p).Object, "status.placementStatuses") {
				if text(m, "observedResourceIndex") == "1" {
					return said()
				}
			}
			return fmt.Errorf("the member does not have the change")
		}); err != nil {
			s.Fatal(err)
		}
		s.holds(cm, "page", "two", members[0])
		s.Settle()
		after, of := l.total()
		s.Logf("%d writes for the change: %s", after-before, of)
		// Each part is made, called the latest no more, and written to its Work, which says
		// what came of it.
		if n, most := after-before, 4*parts+10; n > most {
			s.Errorf("the change cost %d writes, want at most %d", n, most)
		}
	})
}

// crowded makes so many small ConfigMaps in the namespace.
func (s *scenario) crowded(namespace string, many int) {
	s.Helper()
	const abreast = 16
	var all sync.WaitGroup
	failed := make([]error, abreast)
	for worker := range abreast {
		all.Go(func() {
			for i := worker; i < many && failed[worker] == nil; i += abreast {
				failed[worker] = s.oneOfMany(s.Context(), namespace, i)
			}
		})
	}
	all.Wait()
	for _, err := range failed {
		if err != nil {
			s.Fatal(err)
		}
	}
}

func (s *scenario) oneOfMany(ctx context.Context, namespace string, i int) error {
	o := newThing(configMaps, namespace, fmt.Sprintf("crowd-%04d", i)).mark("labels", "crowd", "true").with("data.page", fmt.Sprint(i))
	_, err := s.lab.hub.on(configMaps, namespace).Create(ctx, o.object(), metav1.CreateOptions{})
	return err
}
