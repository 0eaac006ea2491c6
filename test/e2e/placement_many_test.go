// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A namespace of thousands of objects is carried and told of, and the change of one of
// them costs writes for each part of the snapshot, and none for each object. Where one
// goes, those that come to be in another part stay as they are.
func TestC21C73OneOfThousandsChanges(t *testing.T) {
	const (
		many = 1100
		// parts have 500 objects each; the namespace and what else is in it are in them, too.
		parts = 3
	)
	once(t, gatesOff, func(s *scenario) {
		cm, p := s.aside()
		p = p.with("spec.policy", map[string]any{"placementType": "PickFixed", "clusterNames": list(members[0])})
		s.crowded(cm.namespace(), many)
		l := s.Writes(p)
		s.Apply(p)
		s.carriedAt(p, "0")
		before := s.crowdIn(members[0], cm.namespace())
		if n := len(before); n != many {
			s.Errorf("%d of %d objects are in the member", n, many)
		}
		if n := len(items(s.Live(p).Object, "status.selectedResources")); n < many {
			s.Errorf("the status names %d of %d objects", n, many)
		}
		s.Settle()
		made, of := l.total()
		s.Logf("%d writes for %d objects: %s", made, many, of)
		s.Apply(cm.set("data.page", "two"))
		s.carriedAt(p, "1")
		s.holds(cm, "page", "two", members[0])
		s.Settle()
		after, of := l.total()
		s.Logf("%d writes for the change: %s", after-made, of)
		// Each part is made, called the latest no more, and written to its Work, which says
		// what came of it.
		if n, most := after-made, 4*parts+10; n > most {
			s.Errorf("the change cost %d writes, want at most %d", n, most)
		}
		first := newThing(configMaps, cm.namespace(), "crowd-0000")
		s.Delete(first)
		s.carriedAt(p, "2")
		delete(before, first.name())
		if d := cmp.Diff(before, s.crowdIn(members[0], cm.namespace())); d != "" {
			s.Errorf("others do not stay (-want +got)\n%s", d)
		}
	})
}

// carriedAt waits, patiently, until the placement's member has the snapshot of that index.
func (s *scenario) carriedAt(p thing, index string) {
	s.Helper()
	if err := s.within(5*time.Minute, func() error {
		o := s.Live(p)
		if o == nil {
			return fmt.Errorf("%s is not there", p)
		}
		status, _ := o.Object["status"].(map[string]any)
		if got := conditionsOf(status); !slices.Equal(got, carried) {
			return fmt.Errorf("%s says %q, want %q", p, got, carried)
		}
		for _, m := range items(status, "placementStatuses") {
			if got := text(m, "observedResourceIndex"); got != index {
				return fmt.Errorf("the member has the snapshot %s, want %s", got, index)
			}
		}
		return nil
	}); err != nil {
		s.Fatal(err)
	}
}

// crowdIn are the uids of those objects in the member, by name.
func (s *scenario) crowdIn(member, namespace string) map[string]types.UID {
	s.Helper()
	there, err := s.lab.clusters[member].on(configMaps, namespace).List(s.Context(), metav1.ListOptions{LabelSelector: "crowd=true"})
	if err != nil {
		s.Fatal(err)
	}
	uids := map[string]types.UID{}
	for _, o := range there.Items {
		uids[o.GetName()] = o.GetUID()
	}
	return uids
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
