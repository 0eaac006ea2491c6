// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/proving"
)

// leaving says what may become of Works that nothing wants.
type leaving struct {
	// may reports whether the Work may be deleted, and outlives whether its template went
	// with a former definition of its kind.
	may, outlives func(*propagation.Work) bool
	// told: if there is no binding, what the hub says of the template.
	told applying.Answer
	// undefined: the template may have gone with the definition of its kind. A kind of the
	// API server's own has none: while it is not served, nothing of it goes.
	undefined bool
}

func no(*propagation.Work) bool { return false }

// leaves returns which Works may be deleted: those that a binding in force leaves out
// and, if there is none, those whose template is gone. A missing binding proves
// nothing. Whether the object may leave its member is proven again by the applier, from
// what it reads then.
func (s *Stage) leaves(ctx context.Context, key propagation.TemplateKey, b *propagation.Binding, existing []*propagation.Work) (leaving, error) {
	if b != nil && !b.Deleting {
		omitted := applying.Omitted(b, true) == ""
		return leaving{may: func(*propagation.Work) bool { return omitted }, outlives: no}, nil
	}
	if !slices.ContainsFunc(existing, func(w *propagation.Work) bool { return !w.Deleting }) { // nothing to decide
		return leaving{may: no, outlives: no}, nil
	}
	e, err := proving.OfTemplate(ctx, s.hub, key, s.now())
	if err != nil {
		return leaving{}, err
	}
	e.Others = applying.Have(applying.Others{})
	find := func(w *propagation.Work) applying.Finding {
		of := e
		of.Work, of.Cluster = w, applying.Have(&clusterv1alpha1.Cluster{}) // the applier checks that the cluster exists, and who else wants the object
		return applying.Examine(of)
	}
	return leaving{
		may:      func(w *propagation.Work) bool { return find(w).Proof.Holds() },
		outlives: func(w *propagation.Work) bool { return find(w).Outlives },
		told:     e.Template.Answer,
		undefined: e.Template.Answer == applying.Absent ||
			e.Template.Answer == applying.NotServed && propagation.MayBeDefined(key.GroupVersionKind().Group),
	}, nil
}

// shelter makes the members keep the objects of Works whose template is gone because
// the definition of its kind was removed: nobody asked to delete that template, and it
// may be created again when the kind is served again. The next time that the Works are
// rendered, they follow their policy again. Where the kind is served again, the Work
// says so.
func (s *Stage) shelter(ctx context.Context, steps []rendering.Step, outlives func(*propagation.Work) bool) error {
	return each(ctx, len(steps), func(i int) (err error) {
		w := steps[i].Existing
		if steps[i].Action != rendering.Doubt || w.Deleting {
			return nil
		}
		if keep := w.Spec.PreserveResourcesOnDeletion; keep == nil || !*keep {
			kept := *w
			kept.Spec.PreserveResourcesOnDeletion = new(true)
			if w, err = s.hub.CommitWork(ctx, w, &kept); err != nil {
				return fmt.Errorf("commit %s: %w", kept.Key, err)
			}
		}
		if outlives(w) {
			if w, err = s.keeps(ctx, w, true); err != nil {
				return err
			}
		}
		steps[i].Existing = w
		return nil
	})
}

// keeps writes to the Work's status whether its object is kept although its template went
// with a former definition of its kind.
func (s *Stage) keeps(ctx context.Context, w *propagation.Work, kept bool) (*propagation.Work, error) {
	was, status := applying.Kept(w), w.Status
	status.Conditions = applying.Keeping(w, kept, s.now())
	next, err := s.hub.CommitWorkStatus(ctx, w, status)
	if err != nil {
		return nil, fmt.Errorf("commit status of %s: %w", w.Key, err)
	}
	if c := applying.Kept(next); c != nil && was == nil {
		s.hub.Record(ctx, hub.AboutWork(w), hub.Warning, c.Reason, c.Message)
	}
	return next, nil
}

// room creates the namespace of a Work if it is missing although the cluster is joined,
// and then the Work. outcome.ErrGone: the cluster is unjoined.
func (s *Stage) room(ctx context.Context, w *propagation.Work) (*propagation.Work, error) {
	c, err := s.hub.ClusterNow(ctx, w.Key.Cluster)
	if err != nil {
		return nil, err
	}
	if c.DeletionTimestamp != nil {
		return nil, fmt.Errorf("cluster %s is leaving: %w", c.Name, outcome.ErrGone)
	}
	if err := s.hub.EnsureNamespace(ctx, w.Key.Namespace()); err != nil {
		return nil, err
	}
	made, err := s.hub.CommitWork(ctx, nil, w)
	if errors.Is(err, outcome.ErrGone) {
		return nil, outcome.Conflict(fmt.Errorf("namespace %s: %w", w.Key.Namespace(), errGoing))
	}
	return made, err
}

var errGoing = errors.New("it is being deleted, or was a moment ago")
