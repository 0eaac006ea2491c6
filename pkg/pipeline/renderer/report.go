// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer

import (
	"context"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/paging"
)

// condition writes to the binding's status what could not be rendered, and why.
func (s *Stage) condition(ctx context.Context, b *propagation.Binding, failures []rendering.Failure) error {
	if len(failures) == 0 && !conditions.Has(b.Status.Conditions, rendering.ConditionRendered) {
		return nil
	}
	c := rendering.Rendered(failures)
	list, changed := conditions.Set(b.Status.Conditions, c, s.now())
	if !changed {
		return nil
	}
	status := b.Status
	status.Conditions = list
	if _, err := s.hub.CommitBindingStatus(ctx, b, status); err != nil {
		return fmt.Errorf("commit status of %s: %w", b.Key, err)
	}
	s.tell(ctx, b, c)
	return nil
}

// tell records Kubernetes events when rendering fails and when it works again, under
// the released reasons; they are about the template if its overrides are the cause.
func (s *Stage) tell(ctx context.Context, b *propagation.Binding, c metav1.Condition) {
	if c.Status == metav1.ConditionFalse {
		about, reason := hub.AboutBinding(b), workv1alpha2.EventReasonSyncWorkFailed
		if c.Reason == rendering.ReasonOverrideFailed {
			about, reason = hub.AboutTemplateOf(b), workv1alpha2.EventReasonApplyOverridePolicyFailed
		}
		s.hub.Record(ctx, about, hub.Warning, reason, c.Reason+": "+c.Message)
		return
	}
	if was := meta.FindStatusCondition(b.Status.Conditions, rendering.ConditionRendered); was != nil && was.Reason == rendering.ReasonOverrideFailed {
		s.hub.Mention(ctx, hub.AboutTemplateOf(b), workv1alpha2.EventReasonApplyOverridePolicySucceed, c.Message)
	}
}

// synced records a Kubernetes event if Works were written. works are the results of the
// steps: an update that turned out to change nothing is not worth an event.
func (s *Stage) synced(ctx context.Context, b *propagation.Binding, steps []rendering.Step, works []*propagation.Work) {
	wrote := func(i int) bool {
		switch was, is := steps[i].Existing, works[i]; steps[i].Action {
		case rendering.Create, rendering.Remake:
			return is != nil
		case rendering.Update:
			return is != nil && is.ResourceVersion != was.ResourceVersion
		}
		return false
	}
	for i := range steps {
		if b != nil && wrote(i) {
			s.hub.Mention(ctx, hub.AboutBinding(b), workv1alpha2.EventReasonSyncWorkSucceed, "Sync work of "+b.Key.String()+" successful.")
			return
		}
	}
}

// overrides announces the bindings that an override may concern, page by page: those of
// its namespace, or all for a cluster-scoped one. For an override that is gone it is
// not known any more which bindings it concerned; a binding that it did not concern
// renders the same Works, which are not written.
func (s *Stage) overrides(ctx context.Context, e event.Event, of propagation.PolicyKey, from string) ([]event.Event, error) {
	concerned := func(ctx context.Context, limit int64, cont string) ([]*propagation.Binding, string, error) {
		return s.hub.ListBindings(ctx, of.Namespace, limit, cont)
	}
	out := events.From(Name, e)
	next, err := paging.Through(ctx, concerned, from, func(b *propagation.Binding) bool {
		if b.ActedHash() == "" {
			return false
		}
		template := b.Template()
		out.Emit(events.BindingScheduled, events.Data{Template: &template, Binding: &b.Key, BindingVersion: b.ResourceVersion, Reason: "OverridesChanged"})
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("list bindings: %w", err)
	}
	if next != "" {
		out.Emit(events.OverridesChanged, events.Data{Policy: &of, Continue: next, Reason: "MoreBindings"})
	}
	return out.Events()
}
