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
	// abreast is how many objects of one kind of a placement's Work are written to its
	// member, or taken from it, at once: to a member that is far away most of the time is
	// that of the way.
	abreast = 4
	// suspensionEvery is how long objects of a Work are written until it is checked again
	// whether they are suspended: a Work may have hundreds, and a member may be slow.
	suspensionEvery = time.Second
	// reserve is how long before the end of an event's time no object is begun any more:
	// what was begun ends, and what was done is written down.
	reserve = 30 * time.Second
)

var (
	// errSuspended says that the placement has been suspended meanwhile.
	errSuspended = errors.New("the placement is suspended")
	// errLater says that the rest is for another event.
	errLater = errors.New("the member takes longer than an event has")
)

// inTime fails with errLater where the event's time comes to its end.
func inTime(ctx context.Context) error {
	if end, ends := ctx.Deadline(); ends && time.Until(end) < reserve {
		return errLater
	}
	return nil
}

// continued is the event that goes on where time has ended.
func continued(msg events.Data, at string) events.Data {
	msg.Reason, msg.Continue = events.ReasonContinued, at
	return msg
}

// place is where another event goes on with the Work: at a manifest of its present form, or,
// behind these, at an object that has to leave.
func place(w *propagation.Work, i int) string { return fmt.Sprintf("%d/%d", w.Generation, i) }

// startOf is the manifest that an event begins with.
func startOf(w *propagation.Work, at string) int {
	return min(placeOf(w, at), len(w.Spec.Workload.Manifests))
}

// seenOf is how many of the objects that have to leave were seen already.
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

// inOrder does something with each of n objects, those of one kind that follow each other
// abreast: what is in front of them, which they may need, is done then. Before each it asks
// whether it may go on; the first error ends it, when what was begun is done. It returns
// the first that was not begun.
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

// take is the next object; false where there is none, or it is over.
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

// unlessSuspended is asked before each object of the Work is written, and fails with
// errSuspended where the placement has been suspended in the Work's member, and as inTime
// does.
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

// kindsOf are the kinds of the Work's manifests; one that cannot be read has none.
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

// kindsOfResults are the kinds of recorded objects.
func kindsOfResults(results []placementv1.ManifestCondition) []schema.GroupKind {
	all := make([]schema.GroupKind, len(results))
	for i, r := range results {
		all[i] = schema.GroupKind{Group: r.Identifier.Group, Kind: r.Identifier.Kind}
	}
	return all
}
