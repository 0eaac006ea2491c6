// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A namespace of thousands of objects is carried and told of, and the change of one of
// them costs writes for each part of the snapshot, and none for each object. Where one
// goes, those that come to be in another part stay as they are.
func TestC21C73OneOfThousandsChanges(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm, p := s.oneOf(1100)
		before := s.crowdIn(members[0], cm.namespace(), uidOf)
		first := newThing(configMaps, cm.namespace(), "crowd-0000")
		s.Delete(first)
		s.carriedAt(p, "2")
		delete(before, first.name())
		if d := cmp.Diff(before, s.crowdIn(members[0], cm.namespace(), uidOf)); d != "" {
			s.Errorf("others do not stay (-want +got)\n%s", d)
		}
	})
}

// So it is with five thousand. Most of its time is that between two snapshots.
func TestC7C21OneOfFiveThousandChanges(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) { s.oneOf(5000) })
}

// oneOf places a namespace with so many objects and changes one object in it, beside them.
func (s *scenario) oneOf(many int) (template, thing) {
	s.Helper()
	// They have 500 objects each; the namespace and what else is in it are in them, too.
	parts := many/500 + 1
	cm, p := s.aside()
	p = p.with("spec.policy", map[string]any{"placementType": "PickFixed", "clusterNames": list(members[0])})
	s.crowded(cm.namespace(), many)
	l, log := s.Writes(p), s.auditLog()
	s.Apply(p)
	s.carriedAt(p, "0")
	before := s.crowdIn(members[0], cm.namespace(), (*unstructured.Unstructured).GetResourceVersion)
	if n := len(before); n != many {
		s.Errorf("%d of %d objects are in the member", n, many)
	}
	s.names(p, many)
	s.Settle()
	made, of := l.total()
	s.Logf("%d writes for %d objects: %s", made, many, of)
	mark := s.sizeOf(log)
	s.Apply(cm.set("data.page", "two"))
	s.carriedAt(p, "1")
	s.holds(cm, "page", "two", members[0])
	s.Settle()
	s.asksOnlyFor(cm, log, mark)
	after, of := l.total()
	s.Logf("%d writes for the change; in all: %s", after-made, of)
	// Each part is made, called the latest no more, and written to its Work, which says
	// what came of it.
	if n, most := after-made, 4*parts+10; n > most {
		s.Errorf("the change cost %d writes, want at most %d", n, most)
	}
	if d := cmp.Diff(before, s.crowdIn(members[0], cm.namespace(), (*unstructured.Unstructured).GetResourceVersion)); d != "" {
		s.Errorf("others were written in the member (-want +got)\n%s", d)
	}
	return cm, p
}

// names checks that the placement's status names so many objects, or says how many of them
// there is room for.
func (s *scenario) names(p thing, many int) {
	s.Helper()
	status, _ := s.Live(p).Object["status"].(map[string]any)
	n, told := len(items(status, "selectedResources")), items(status, "conditions")
	said := text(told[len(told)-1], "message")
	if n == 0 || n < many && !strings.Contains(said, fmt.Sprintf("to name %d of ", n)) {
		s.Errorf("the status names %d of %d objects, and says %q", n, many, said)
	}
}

// asksOnlyFor checks that since that mark in the hub's audit log the pipeline asked for none
// of the ConfigMaps in the template's namespace but the template itself: nor for a list.
func (s *scenario) asksOnlyFor(cm template, log string, mark int64) {
	s.Helper()
	asked := 0
	for e := range s.audited(log, mark) {
		asked++
		ref := e.ObjectRef
		if ref.Resource == configMaps.plural && ref.Namespace == cm.namespace() && (e.Verb != "get" || ref.Name != cm.name()) {
			s.Errorf("only %s changed, and was asked: %s", cm, asJSON(e))
		}
	}
	if asked == 0 {
		s.Error("the log tells of no request of the pipeline's, which wrote a snapshot at least")
	}
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

// crowdIn is what is asked of those objects in the member, by name.
func (s *scenario) crowdIn(member, namespace string, of func(*unstructured.Unstructured) string) map[string]string {
	s.Helper()
	there, err := s.lab.clusters[member].on(configMaps, namespace).List(s.Context(), metav1.ListOptions{LabelSelector: "crowd=true"})
	if err != nil {
		s.Fatal(err)
	}
	out := map[string]string{}
	for i := range there.Items {
		out[there.Items[i].GetName()] = of(&there.Items[i])
	}
	return out
}

func uidOf(o *unstructured.Unstructured) string { return string(o.GetUID()) }

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
