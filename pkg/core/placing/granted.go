// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
)

const (
	// maxRights is how many rights a message names.
	maxRights = 5
	// TryFor and TrySeldom are the shortest and the longest time between two attempts
	// to read what Sluice lacks a right to.
	TryFor, TrySeldom = time.Minute, 15 * time.Minute
)

// Granted returns the conditions of a placement of that generation that selects objects
// which Sluice lacks these rights to, and whether they differ from the list. If no
// right is missing, there is no condition KindsGranted.
func Granted(list []metav1.Condition, generation int64, missing []propagation.Right, now time.Time) ([]metav1.Condition, bool) {
	was, rest := conditions.Only(list, reporting.ConditionKindsGranted), conditions.Without(list, reporting.ConditionKindsGranted)
	if len(missing) == 0 {
		return rest, len(was) > 0
	}
	said, changed := conditions.Set(was, metav1.Condition{
		Type: reporting.ConditionKindsGranted, Status: metav1.ConditionFalse, Reason: reporting.ReasonKindNotGranted,
		Message: notGranted(missing), ObservedGeneration: generation,
	}, now)
	return append(rest, said...), changed
}

// notGranted names some of the missing rights, and what grants them. For Secrets that
// is a role which their owner binds in each namespace.
func notGranted(missing []propagation.Right) string {
	missing = slices.SortedFunc(slices.Values(missing), func(a, b propagation.Right) int { return strings.Compare(a.String(), b.String()) })
	secret := func(r propagation.Right) bool { return r.Resource == schema.GroupResource{Resource: "secrets"} }
	grantable := slices.DeleteFunc(slices.Clone(missing), secret)
	var said []string
	if len(grantable) > 0 {
		said = append(said, reporting.NotGranted(grantable[:min(len(grantable), maxRights)]))
	}
	if more := len(grantable) - maxRights; more > 0 {
		said = append(said, fmt.Sprintf("%d kinds more are not granted either", more))
	}
	if i := slices.IndexFunc(missing, secret); i >= 0 {
		said = append(said, strings.Replace(missing[i].String(), " may ", " may not ", 1)+": a RoleBinding of the ClusterRole sluice-templates-secrets to it gives it in a namespace")
	}
	return strings.Join(said, "; ")
}

// TryAgain returns when to read again what Sluice lacks a right to: the longer the
// condition has said so, the longer the wait. It is zero if there is no such condition.
func TryAgain(list []metav1.Condition, now time.Time) time.Time {
	c := meta.FindStatusCondition(list, reporting.ConditionKindsGranted)
	if c == nil {
		return time.Time{}
	}
	return now.Add(min(max(now.Sub(c.LastTransitionTime.Time)/10, TryFor), TrySeldom))
}
