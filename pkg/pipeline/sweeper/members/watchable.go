// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/outcome"
)

// watchable writes to a Cluster which kinds its credentials may not watch. It writes
// nothing if that was never the case, or if some kinds could not be read.
func (m *Members) watchable(ctx context.Context, l *look) error {
	if l.unsure {
		return nil
	}
	c, err := m.hub.Cluster(ctx, l.name)
	if errors.Is(err, outcome.ErrGone) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get cluster %s: %w", l.name, err)
	}
	cond := metav1.Condition{Type: clusterv1alpha1.ConditionWatchable, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.ReasonWatched, Message: "the cluster lets all kinds that policies select be watched"}
	if len(l.denied) > 0 {
		cond.Status, cond.Reason = metav1.ConditionFalse, clusterv1alpha1.ReasonWatchForbidden
		cond.Message = "what changes in the cluster is not told of " + strings.Join(l.denied, ", ") +
			": its credentials may not list and watch them. 'kubectl sluice join --print-role' prints an account that may"
	} else if !conditions.Has(c.Status.Conditions, cond.Type) {
		return nil
	}
	list, changed := conditions.Set(c.Status.Conditions, cond, m.now())
	if !changed {
		return nil
	}
	status := *c.Status.DeepCopy()
	status.Conditions = list
	err = m.hub.CommitClusterStatus(ctx, c, status)
	if outcome.IsConflict(err) || errors.Is(err, outcome.ErrGone) {
		return nil // the next turn writes it
	}
	if err != nil {
		return fmt.Errorf("commit status of cluster %s: %w", l.name, err)
	}
	return nil
}
