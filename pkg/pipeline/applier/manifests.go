// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

const (
	// abreast is how many objects of one kind of a placement's Work are applied to its
	// member, or removed, in parallel: for a distant member most of the time is
	// latency.
	abreast = 4
	// suspensionEvery is how long objects of a Work are applied before it is checked
	// again whether they are suspended: a Work may have hundreds of objects, and a
	// member may be slow.
	suspensionEvery = time.Second
	// reserve is how long before an event's deadline no further object is begun, so
	// that what was begun can end and be recorded.
	reserve = 30 * time.Second
)

var (
	// errSuspended says that the placement was suspended meanwhile.
	errSuspended = errors.New("the placement is suspended")
	// errLater says that another event has to handle the rest.
	errLater = errors.New("the member takes longer than an event has")
)

// inTime returns errLater if the event's deadline is near.
func inTime(ctx context.Context) error {
	if end, ends := ctx.Deadline(); ends && time.Until(end) < reserve {
		return errLater
	}
	return nil
}

// continued returns the event that continues at a position.
func continued(msg events.Data, at string) events.Data {
	msg.Reason, msg.Continue = events.ReasonContinued, at
	return msg
}

// place returns the position at which another event continues with the Work: a manifest
// of its present generation or, after these, an object that has to go.
func place(w *propagation.Work, i int) string { return fmt.Sprintf("%d/%d", w.Generation, i) }

// startOf returns the manifest that an event begins with.
func startOf(w *propagation.Work, at string) int {
	return min(placeOf(w, at), len(w.Spec.Workload.Manifests))
}

// seenOf returns how many of the objects that have to go were handled already.
func seenOf(w *propagation.Work, at string) int {
	return max(placeOf(w, at)-len(w.Spec.Workload.Manifests), 0)
}

func placeOf(w *propagation.Work, at string) int {
	var generation int64
	var i int
	if n, err := fmt.Sscanf(at, "%d/%d", &generation, &i); err != nil || n != 2 || generation != w.Generation {
		return 0
	}
	return max(i, 0)
}

// inOrder calls do for each of n objects. Consecutive objects of one kind are handled
// in parallel, after those before them, which they may need. Before each object it
// calls may; after the first error no further object is begun. It returns the first
// object that was not begun.
func (s *Stage) inOrder(kinds []schema.GroupKind, may func() error, do func(i int) error) (next int, err error) {
	for from, to := 0, 0; from < len(kinds); from = to {
		for to = from + 1; to < len(kinds) && kinds[to] == kinds[from]; to++ {
		}
		q := &queue{next: from, end: to, may: may}
		s.together(min(abreast, to-from), func(int) {
			for i, ok := q.take(); ok; i, ok = q.take() {
				if err := do(i); err != nil {
					q.stop(err)
				}
			}
		})
		if q.err != nil {
			return q.next, q.err
		}
	}
	return len(kinds), nil
}

// queue hands out the objects of one kind.
type queue struct {
	mu        sync.Mutex
	next, end int
	may       func() error
	err       error
}

// take returns the next object; false if there is none, or after an error.
func (q *queue) take() (int, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil || q.next == q.end {
		return 0, false
	}
	if q.err = q.may(); q.err != nil {
		return 0, false
	}
	q.next++
	return q.next - 1, true
}

func (q *queue) stop(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
}

// unlessSuspended returns a function to call before each object of the Work is applied.
// It returns errSuspended if the placement has been suspended in the Work's member, and
// fails as inTime does.
func (s *Stage) unlessSuspended(ctx context.Context, w *propagation.Work) func() error {
	asked := s.now()
	return func() error {
		if err := inTime(ctx); err != nil {
			return err
		}
		now := s.now()
		if now.Sub(asked) < suspensionEvery {
			return nil
		}
		asked = now
		p, err := s.hub.PlacementNow(ctx, w.Placement())
		switch {
		case errors.Is(err, outcome.ErrGone): // the Work follows
			return nil
		case err != nil:
			return fmt.Errorf("get placement %s: %w", w.Placement(), err)
		case propagation.PlacementSuspended(p.Annotations, w.Key.Cluster):
			return errSuspended
		}
		return nil
	}
}

// kindsOf returns the kinds of the Work's manifests; one that cannot be decoded has
// none.
func kindsOf(w *propagation.Work) []schema.GroupKind {
	all := make([]schema.GroupKind, len(w.Spec.Workload.Manifests))
	for i, m := range w.Spec.Workload.Manifests {
		var head struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		if err := json.Unmarshal(m.Raw, &head); err == nil {
			all[i] = schema.FromAPIVersionAndKind(head.APIVersion, head.Kind).GroupKind()
		}
	}
	return all
}

// kindsOfResults returns the kinds of recorded objects.
func kindsOfResults(results []placementv1.ManifestCondition) []schema.GroupKind {
	all := make([]schema.GroupKind, len(results))
	for i, r := range results {
		all[i] = schema.GroupKind{Group: r.Identifier.Group, Kind: r.Identifier.Kind}
	}
	return all
}
