// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// wants caches which objects the Works of placements want, for each generation of a
// Work, since Works may be large. Which Works exist is read each time.
type wants struct {
	mu    sync.Mutex
	known map[propagation.WorkKey]want
}

type want struct {
	uid        types.UID
	generation int64
	ids        []string
}

// mostWants is how many Works wants remembers.
const mostWants = 4096

func (k *wants) get(head *propagation.Work) ([]string, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w, ok := k.known[head.Key]
	return w.ids, ok && w.uid == head.UID && w.generation == head.Generation
}

func (k *wants) put(w *propagation.Work, ids []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= mostWants {
		k.known = map[propagation.WorkKey]want{}
	}
	k.known[w.Key] = want{w.UID, w.Generation, ids}
}

// others returns the objects that Works of other placements in the same member want at
// this moment. If Works are not watched, it makes one request, and one more for each
// Work that is not cached. If it fails, nothing is removed.
func (s *Stage) others(ctx context.Context, w *propagation.Work) (applying.Others, error) {
	heads, err := s.hub.PlacementHeads(ctx, w.Key.Cluster)
	if err != nil {
		return nil, fmt.Errorf("list the Works of placements in %s: %w", w.Key.Cluster, err)
	}
	all := applying.Others{}
	for _, head := range heads {
		if !applying.Rival(w, head) {
			continue
		}
		ids, err := s.wantedBy(ctx, head)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if _, taken := all[id]; !taken {
				all[id] = head.Key
			}
		}
	}
	return all, nil
}

// wantedBy returns the objects that a Work wants, whose metadata (head) was just read.
func (s *Stage) wantedBy(ctx context.Context, head *propagation.Work) ([]string, error) {
	if ids, ok := s.wants.get(head); ok {
		return ids, nil
	}
	w, err := s.hub.Work(ctx, head.Key)
	if err == nil && (w.UID != head.UID || w.Generation < head.Generation) || errors.Is(err, outcome.ErrGone) {
		w, err = s.hub.WorkNow(ctx, head.Key)
	}
	if errors.Is(err, outcome.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", head.Key, err)
	}
	ids := applying.WantedBy(w)
	s.wants.put(w, ids)
	return ids, nil
}

// there returns another Work of the member; nil: there is none, or its kind is not
// served.
func (s *Stage) there(ctx context.Context, key propagation.WorkKey) (*propagation.Work, error) {
	w, err := s.hub.Work(ctx, key)
	if errors.Is(err, outcome.ErrGone) || errors.Is(err, outcome.ErrNotServed) {
		return nil, nil
	}
	return w, err
}

// othersOf adds the Work of a policy to the others, if one wants the object: it has one
// of two names, of which the present one is tried first.
func (s *Stage) othersOf(ctx context.Context, all applying.Others, w *propagation.Work, object propagation.TemplateKey) error {
	for _, name := range propagation.WorkNames(propagation.BindingOf(object)) {
		o, err := s.there(ctx, propagation.WorkKey{Cluster: w.Key.Cluster, Name: name})
		if err != nil {
			return fmt.Errorf("get the policy's Work of %s: %w", object, err)
		}
		if o == nil {
			continue
		}
		if template, err := o.Template(); err == nil && template.ID() == object.ID() && applying.Rival(w, o) {
			all[object.ID()] = o.Key
			return nil
		}
	}
	return nil
}

// finding returns what follows for an object of a placement's Work. What others want is
// only read if the object may leave; rivals reads what other placements want, once for
// all objects.
func (s *Stage) finding(ctx context.Context, e applying.PlacementEvidence, rivals func() (applying.Others, error)) (applying.Finding, error) {
	f := applying.ExaminePlacement(e)
	if !f.AsksOthers {
		return f, nil
	}
	all, err := rivals()
	if err == nil {
		all = maps.Clone(all)
		err = s.othersOf(ctx, all, e.Work, e.Object)
	}
	if e.Others, err = told(all, err); err != nil {
		return f, err
	}
	return applying.ExaminePlacement(e), nil
}

// told turns the result of reading what others want into a Read. If the hub forbids the
// read, that is not an error: people see why nothing is removed. After any other error
// the read is tried again.
func told(all applying.Others, err error) (applying.Read[applying.Others], error) {
	switch {
	case err == nil:
		return applying.Have(all), nil
	case apierrors.IsForbidden(err):
		return applying.Read[applying.Others]{Why: string(metav1.StatusReasonForbidden)}, nil
	}
	return applying.Read[applying.Others]{}, err
}

// heirs are the Works that got objects of another Work.
type heirs struct {
	mu   sync.Mutex
	keys []propagation.WorkKey
}

func (h *heirs) add(key propagation.WorkKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Contains(h.keys, key) {
		h.keys = append(h.keys, key)
	}
}

// passOn marks an object of from as its heir's, or as nobody's.
func (s *Stage) passOn(ctx context.Context, m Member, from *propagation.Work, object propagation.TemplateKey, p applying.Passing) error {
	if p.Heir() != nil {
		if err := s.entrust(ctx, *p.Heir(), from, object); err != nil {
			return err
		}
	}
	if err := m.Pass(ctx, object, p); err != nil {
		return fmt.Errorf("pass on %s: %w", object, err)
	}
	return nil
}

// entrust makes sure, before the heir gets the object, that the object leaves with it,
// however soon it is deleted: the Work of a placement removes what it records, that of a
// policy what its template is. All that the heir wants of from is recorded at once. A
// conflict: the heir is being deleted, so who wants the object has to be read again.
func (s *Stage) entrust(ctx context.Context, heir propagation.WorkKey, from *propagation.Work, object propagation.TemplateKey) error {
	w, err := s.there(ctx, heir)
	switch {
	case err != nil:
		return fmt.Errorf("get %s: %w", heir, err)
	case w == nil || w.Deleting:
		return outcome.Conflict(fmt.Errorf("pass on %s: %s is being deleted, too", object, heir))
	case heir.Form == propagation.PolicyForm || telling.Records(w, object):
		return nil
	}
	status := placementv1.WorkStatus{Conditions: w.Status.Conditions, ManifestConditions: telling.Entrusted(w, from)}
	if _, err := s.hub.CommitWorkResults(ctx, w, status); err != nil {
		return fmt.Errorf("record on %s what it gets of %s: %w", heir, from.Key, err)
	}
	return nil
}

// inherit emits events for the Works that got an object.
func (s *Stage) inherit(ctx context.Context, out *events.Batch, heirs []propagation.WorkKey) {
	for _, key := range heirs {
		w, err := s.hub.Work(ctx, key)
		if err != nil {
			continue // the sweeper finds that it is not finished
		}
		template, err := w.Template()
		if err != nil {
			continue
		}
		d := events.Data{Template: &template, Work: &w.Key, WorkVersion: w.ResourceVersion, Placement: w.Placement(), Cluster: w.Key.Cluster, Reason: events.ReasonUnfinished}
		if d.Placement == "" {
			d.Binding = new(w.Binding())
		}
		if w.Deleting {
			out.EmitOnce(events.WorkRemoved, d)
			continue
		}
		out.EmitOnce(events.WorkRendered, d)
	}
}
