// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "sluice.dev/apis/config/v1alpha1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// Interpreter is a ResourceInterpreter, with what its rules are compiled to. It is never
// changed.
type Interpreter struct {
	Name            string
	UID             types.UID
	ResourceVersion string
	Generation      int64
	Created         time.Time
	Deleting        bool
	Target          configv1alpha1.Target
	Own             kinds.Own
	Faults          []Fault
	Status          configv1alpha1.ResourceInterpreterStatus
}

// Of compiles the rules of an object.
func Of(o *configv1alpha1.ResourceInterpreter) *Interpreter {
	i := &Interpreter{
		Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion, Generation: o.Generation, Created: o.CreationTimestamp.Time,
		Deleting: o.DeletionTimestamp != nil, Target: o.Spec.Target, Status: o.Status,
	}
	i.Own, i.Faults = Compile(o.Spec)
	return i
}

// by is what a binding records (propagation.AnnotationInterpreter).
func (i *Interpreter) by() string { return i.Name + "/" + i.Created.UTC().Format(time.RFC3339) }

// untold reports that the target of the rules has a fault, so that they apply to no
// kind.
func (i *Interpreter) untold() bool {
	return slices.ContainsFunc(i.Faults, func(f Fault) bool { return strings.HasPrefix(f.Field, "spec.target.") })
}

// first returns, for each kind, the interpreter whose rules act: the oldest, or the
// first by name of equally old ones. One whose rules have faults acts, too: what these
// rules decide is left as it is until they are fixed.
func first(all []*Interpreter) map[schema.GroupKind]*Interpreter {
	act := map[schema.GroupKind]*Interpreter{}
	for _, i := range all {
		if i.Deleting || i.untold() {
			continue
		}
		gk := KindOf(i.Target)
		if before := act[gk]; before == nil || cmp.Or(i.Created.Compare(before.Created), strings.Compare(i.Name, before.Name)) < 0 {
			act[gk] = i
		}
	}
	return act
}

// Table returns what is known of kinds, given all interpreters.
func Table(all []*Interpreter) kinds.Table { return kinds.NewTable(owners(all)) }

func owners(all []*Interpreter) map[schema.GroupKind]kinds.Own {
	own := map[schema.GroupKind]kinds.Own{}
	for gk, i := range first(all) {
		o := i.Own
		o.By = i.by()
		own[gk] = o
	}
	return own
}

// Known is Table for the template of a binding, which records whose rules it was bound by
// (propagation.AnnotationInterpreter). Where that interpreter is missing, and went with its
// definition, nobody took its rules back, and nobody knows them. Went tells that of one
// that was made at a time.
func Known(all []*Interpreter, b *propagation.Binding, went func(made time.Time) (bool, error)) (kinds.Table, error) {
	own := owners(all)
	if b == nil {
		return kinds.NewTable(own), nil
	}
	by := b.Annotations[propagation.AnnotationInterpreter]
	name, at, _ := strings.Cut(by, "/")
	made, err := time.Parse(time.RFC3339, at)
	if err != nil || slices.ContainsFunc(all, func(i *Interpreter) bool { return i.Name == name && !i.Deleting }) {
		return kinds.NewTable(own), nil // it is there, or there was none
	}
	undefined, err := went(made)
	if err != nil {
		return kinds.Table{}, err
	}
	if undefined {
		own[b.Template().GroupVersionKind().GroupKind()] = kinds.Undefined(by, fmt.Errorf("ResourceInterpreter %s went with its definition, and nobody deleted it: members keep what they have; apply it again, or apply it and delete it", name))
	}
	return kinds.NewTable(own), nil
}

// For returns the interpreter whose rules act on the kind; nil if there is none.
func For(all []*Interpreter, gk schema.GroupKind) *Interpreter { return first(all)[gk] }

// Versions returns the kinds that have rules, each with a string that changes when its
// rules do, or what bindings record of them.
func Versions(all []*Interpreter) map[schema.GroupKind]string {
	out := map[schema.GroupKind]string{}
	for gk, i := range first(all) {
		out[gk] = fmt.Sprintf("%s %s/%d", i.by(), i.UID, i.Generation)
	}
	return out
}

// Accepted is the condition of i, one of all.
func Accepted(i *Interpreter, all []*Interpreter) metav1.Condition {
	c := metav1.Condition{
		Type: configv1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: configv1alpha1.ReasonAccepted,
		Message: "the rules act on " + i.Target.Kind, ObservedGeneration: i.Generation,
	}
	if len(i.Faults) > 0 {
		says := make([]string, len(i.Faults))
		for n, f := range i.Faults {
			says[n] = f.String()
		}
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, configv1alpha1.ReasonInvalidRules, conditions.List(says)
		return c
	}
	if acts := first(all)[KindOf(i.Target)]; acts != nil && acts.UID != i.UID {
		c.Status, c.Reason = metav1.ConditionFalse, configv1alpha1.ReasonConflict
		c.Message = fmt.Sprintf("%s, which is older, has rules for %s: put these there, or delete it", acts.Name, i.Target.Kind)
	}
	return c
}
