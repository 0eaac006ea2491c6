// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// member is what one cluster reports.
type member struct {
	kinds.Member
	// current tells whether the cluster has what the template says now.
	current bool
}

// Aggregate is the whole status of the template, made of what the binding's
// status says of the members. False: the kind's status is not ours to write, or a rule
// of the kind's owner fails.
func Aggregate(known kinds.Table, t *propagation.Template, b *propagation.Binding) (map[string]any, bool, error) {
	k := known.Named(t.Key.GroupVersionKind().GroupKind())
	members := membersOf(t, b)
	reported := make([]kinds.Member, len(members))
	for i, m := range members {
		reported[i] = m.Member
	}
	status, ok, err := k.Total(t.Object, reported)
	if ok && k.Observes() && allObserved(b, members) {
		status["observedGeneration"] = propagation.Generation(t.Object)
	}
	return status, ok, err
}

// ConditionAggregated on a binding is False while a rule of the kind's owner does not
// tell the template's status. It is absent otherwise.
const ConditionAggregated = "StatusAggregated"

// ReasonRuleFailed is the reason of ConditionAggregated.
const ReasonRuleFailed = "RuleFailed"

// Aggregated is the binding's status with what became of the template's, and whether
// that is another. Failed is why there is none; nil: there is.
func Aggregated(status workv1alpha2.ResourceBindingStatus, failed error, now time.Time) (workv1alpha2.ResourceBindingStatus, bool) {
	if failed == nil {
		if !conditions.Has(status.Conditions, ConditionAggregated) {
			return status, false
		}
		status.Conditions = conditions.Without(status.Conditions, ConditionAggregated)
		return status, true
	}
	changed := false
	status.Conditions, changed = conditions.Set(status.Conditions, metav1.Condition{
		Type: ConditionAggregated, Status: metav1.ConditionFalse, Reason: ReasonRuleFailed, Message: failed.Error(),
	}, now)
	return status, changed
}

// membersOf are the members that report, sorted by cluster.
func membersOf(t *propagation.Template, b *propagation.Binding) []member {
	var out []member
	for _, item := range b.Status.AggregatedStatus {
		out = append(out, member{
			Member:  kinds.Member{Cluster: item.ClusterName, Status: decode(item.Status)},
			current: item.Applied && b.ActedHash() == t.Hash,
		})
	}
	slices.SortFunc(out, func(x, y member) int { return strings.Compare(x.Cluster, y.Cluster) })
	return out
}

// allObserved tells whether every target has the template as it is now, and its
// controllers have taken notice.
func allObserved(b *propagation.Binding, members []member) bool {
	seen := map[string]bool{}
	for _, m := range members {
		seen[m.Cluster] = m.current && m.Observed()
	}
	targets := b.TargetClusters()
	return len(targets) > 0 && !slices.ContainsFunc(targets, func(c string) bool { return !seen[c] })
}
