// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
)

// ConditionFieldsIgnored on an object is True while it sets fields that are stored and
// not acted on. Afterwards it is False on a policy, and absent elsewhere.
const ConditionFieldsIgnored = "FieldsIgnored"

// The reasons of ConditionFieldsIgnored.
const (
	ReasonNotActedOnYet    = "NotActedOnYet"
	ReasonAllFieldsActedOn = "AllFieldsActedOn"
)

// FieldsIgnored names, for people, those of the fields that an object sets without effect;
// empty if there are none.
func FieldsIgnored[Spec any](fields []propagation.Field[Spec], s *Spec) string {
	var names []string
	for _, f := range propagation.Ignored(fields, s) {
		said := f.Name()
		if f.Instead != "" {
			said += " (" + f.Instead + ")"
		}
		names = append(names, said)
	}
	if len(names) == 0 {
		return ""
	}
	return "stored and not acted on yet: " + strings.Join(names, ", ")
}

// ClusterConditions are the conditions of a Cluster with ConditionFieldsIgnored, and
// whether they differ from those that it has.
func ClusterConditions(c *clusterv1alpha1.Cluster, now time.Time) ([]metav1.Condition, bool) {
	return ignoring(c.Status.Conditions, FieldsIgnored(propagation.ClusterFields, &c.Spec), now)
}

// ignoring are the conditions of an object that sets these fields without effect; empty:
// none.
func ignoring(list []metav1.Condition, fields string, now time.Time) ([]metav1.Condition, bool) {
	if fields == "" {
		return conditions.Without(list, ConditionFieldsIgnored), conditions.Has(list, ConditionFieldsIgnored)
	}
	return conditions.Set(list, metav1.Condition{
		Type: ConditionFieldsIgnored, Status: metav1.ConditionTrue, Reason: ReasonNotActedOnYet, Message: fields,
	}, now)
}
