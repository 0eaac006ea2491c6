// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"errors"
	"fmt"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// contents returns the content of the Work's Secrets, if it has any.
func (s *Stage) contents(ctx context.Context, w *propagation.Work) (propagation.Contents, error) {
	if len(w.Sealed()) == 0 {
		return nil, nil
	}
	kept, err := s.hub.Contents(ctx, w.Key)
	if errors.Is(err, outcome.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get the contents of %s: %w", w.Key, err)
	}
	return kept.Contents, nil
}

// whole returns the Work's manifests with the content of its Secrets. If that is
// missing, the desired state is not known, and the member keeps what it has.
func (s *Stage) whole(ctx context.Context, w *propagation.Work) ([]map[string]any, error) {
	manifests, err := manifestsOf(w)
	if err != nil {
		return nil, err
	}
	if err := genuine(w, manifests); err != nil {
		return nil, &invalidManifest{err}
	}
	contents, err := s.contents(ctx, w)
	if err != nil {
		return nil, err
	}
	for i, m := range manifests {
		var ok bool
		if manifests[i], ok = propagation.Open(m, contents); !ok {
			return nil, undone(w.Key.Cluster, refOf(m), applying.WithoutContent())
		}
	}
	return manifests, nil
}

// renew emits the event that makes the renderer render the Works again. It does so if
// the Work is being deleted although it is wanted, if another Work has replaced it, or
// if the content of its Secrets is missing: then when that is found, and whenever the
// Work is handled because it is unfinished. For all Works of a binding there is one
// event.
func renew(out *events.Batch, msg events.Data, r result) {
	missing := r.reason == string(applying.ReasonContentMissing) && (r.news || msg.Reason == events.ReasonUnfinished)
	misplaced := r.event == events.WorkFailed && (r.reason == string(applying.ReasonWanted) || r.reason == string(applying.ReasonSuperseded))
	if !missing && !misplaced {
		return
	}
	if msg.Placement != "" {
		out.EmitOnce(events.PlacementBound, events.Data{Placement: msg.Placement, Cluster: msg.Work.Cluster, SnapshotIndex: msg.SnapshotIndex, Reason: r.reason})
		return
	}
	out.EmitOnce(events.BindingScheduled, events.Data{Template: msg.Template, Binding: msg.Binding, Reason: r.reason})
}
