// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
)

// ConditionFieldsContested is True on a Work, and on its binding, while the member does
// not keep what Sluice writes. Otherwise it is absent.
const ConditionFieldsContested = "FieldsContested"

// The reasons of ConditionFieldsContested, and of the events that tell of it.
const (
	// ReasonFieldManagerConflict: somebody changes the object back each time that Sluice
	// corrects it.
	ReasonFieldManagerConflict = string(metav1.CauseTypeFieldManagerConflict)
	// ReasonChangedByAdmission: the member's admission changed fields as they were
	// applied. To apply them again would change nothing.
	ReasonChangedByAdmission = "ChangedByAdmission"
)

const (
	// FightCorrections is how many corrections of an object within FightWithin make a
	// fight. It is over when the object was not corrected for FightWithin.
	FightCorrections = 5
	FightWithin      = 30 * time.Second

	// mostPaths is how many fields of one manager a message names.
	mostPaths = 5
)

// Corrects reports whether the decision puts right what somebody else changed in the
// member, or took away there.
func Corrects(in Input, d Decision) bool {
	switch d.Reason {
	case ReasonDrifted, ReasonMarksMissing:
		return d.Writes()
	case ReasonMissing:
		return d.Writes() && in.Known != nil
	}
	return false
}

// Fought says for people who changes what of the object. Live is the object as it has to
// be corrected, with its managers.
func Fought(in Input) string {
	o, what := in.Live.Value, fmt.Sprintf("%s in %s: ", propagation.KeyOf(in.Manifest), in.Work.Key.Cluster)
	if o == nil {
		return what + "somebody deletes it each time that it is created"
	}
	u := unstructured.Unstructured{Object: o.Object}
	if by := u.GetAnnotations()[AnnotationWork]; by != "" && !strings.HasPrefix(by, in.Work.Key.Namespace()+"/") {
		return what + "the Work " + by + " applies something else to it; does another Cluster lead to the same member?"
	}
	asked := Desired(in.Work, in.Hub, in.Manifest)
	LeaveFields(in.Work, asked, o)
	var all []string
	for _, m := range o.Managers {
		if m.Name == propagation.FieldManager {
			continue
		}
		if paths := taken(m.Fields, ownFields(o), asked, ""); len(paths) > 0 {
			all = append(all, fmt.Sprintf("%q sets %s", m.Name, listed(paths)))
		}
	}
	if len(all) == 0 {
		return what + "somebody changes it back each time that it is corrected"
	}
	slices.Sort(all)
	return what + strings.Join(slices.Compact(all), "; ") + ", each time that it is corrected"
}

// ownFields returns the fields that Sluice has in the object.
func ownFields(o *Observed) map[string]any {
	for _, m := range o.Managers {
		if m.Name == propagation.FieldManager && m.Applied {
			return m.Fields
		}
	}
	return nil
}

func listed(paths []string) string {
	more := ""
	if n := len(paths) - mostPaths; n > 0 {
		paths, more = paths[:mostPaths], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(paths, ", ") + more
}

// taken returns the paths of those managed fields that are asked for and are not among
// our own, sorted.
func taken(fields, own map[string]any, asked any, at string) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		name, value, is := namedPart(asked, key)
		if !is {
			continue
		}
		below, _ := fields[key].(map[string]any)
		ours, has := own[key].(map[string]any)
		path := strings.TrimPrefix(at+name, ".")
		switch {
		case len(below) > 0:
			all = append(all, taken(below, ours, value, at+name)...)
		case !has:
			all = append(all, path)
		}
	}
	return all
}

// namedPart returns the part of the value that a key of managed fields names, and how its
// path goes on; false: there is none.
func namedPart(value any, key string) (path string, part any, is bool) {
	kind, name, _ := strings.Cut(key, ":")
	switch kind {
	case "f":
		m, _ := value.(map[string]any)
		part, is = m[name]
		return "." + name, part, is
	case "k":
		var keys map[string]any
		list, _ := value.([]any)
		if json.Unmarshal([]byte(name), &keys) != nil {
			return "", nil, false
		}
		for _, part := range list {
			if m, _ := part.(map[string]any); matches(m, keys) {
				return "[" + pairs(keys) + "]", m, true
			}
		}
	case "v":
		list, _ := value.([]any)
		for _, part := range list {
			if fmt.Sprintf("%q", fmt.Sprint(part)) == name || fmt.Sprint(part) == name {
				return "[" + name + "]", part, true
			}
		}
	}
	return "", nil, false
}

// matches reports whether the element of a list has these keys; one that it does not set
// has its default.
func matches(m, keys map[string]any) bool {
	found := false
	for k, want := range keys {
		v, has := m[k]
		if has && fmt.Sprint(v) != fmt.Sprint(want) {
			return false
		}
		found = found || has
	}
	return found
}

func pairs(keys map[string]any) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		all = append(all, fmt.Sprintf("%s=%v", k, keys[k]))
	}
	return strings.Join(all, ",")
}

// FieldsContested returns that condition of the Work; nil: there is none.
func FieldsContested(w *propagation.Work) *metav1.Condition {
	return meta.FindStatusCondition(w.Status.Conditions, ConditionFieldsContested)
}

// Fighting returns the condition if it says that somebody fights over the Work's objects;
// nil: it does not.
func Fighting(list []metav1.Condition) *metav1.Condition {
	if c := meta.FindStatusCondition(list, ConditionFieldsContested); c != nil && c.Reason != ReasonChangedByAdmission {
		return c
	}
	return nil
}

// WithFieldsContested returns the conditions of a Work with ConditionFieldsContested: began
// says over which objects a fight began; over: none goes on.
func WithFieldsContested(list []metav1.Condition, began []string, over bool, now time.Time) []metav1.Condition {
	switch {
	case len(began) > 0:
		list = contested(list, ReasonFieldManagerConflict, began, now)
	case over && Fighting(list) != nil:
		list = conditions.Without(list, ConditionFieldsContested)
	}
	return list
}

// WithChanges returns the conditions of a Work with ConditionFieldsContested: changed says
// what the member's admission changed (ChangedIn). While somebody fights over the Work's
// objects, the condition says only that.
func WithChanges(list []metav1.Condition, changed []string, now time.Time) []metav1.Condition {
	switch {
	case Fighting(list) != nil:
		return list
	case len(changed) == 0:
		return conditions.Without(list, ConditionFieldsContested)
	}
	return contested(list, ReasonChangedByAdmission, changed, now)
}

func contested(list []metav1.Condition, reason string, what []string, now time.Time) []metav1.Condition {
	list, _ = conditions.Set(list, metav1.Condition{
		Type: ConditionFieldsContested, Status: metav1.ConditionTrue, Reason: reason, Message: conditions.List(what),
	}, now)
	return list
}

// FieldsContestedOf returns ConditionFieldsContested for the owner of these Works, with
// that generation, and whether the condition is to be set.
func FieldsContestedOf(works []*propagation.Work, generation int64) (metav1.Condition, bool) {
	var all []string
	reason := ReasonChangedByAdmission
	for _, w := range works {
		if c := FieldsContested(w); c != nil && !w.Deleting {
			all = append(all, c.Message)
			if c.Reason != ReasonChangedByAdmission {
				reason = c.Reason
			}
		}
	}
	slices.Sort(all)
	return metav1.Condition{
		Type: ConditionFieldsContested, Status: metav1.ConditionTrue, Reason: reason, Message: conditions.List(all), ObservedGeneration: generation,
	}, len(all) > 0
}

// Disputes yields the conditions of the owner of Works that tell that others want what
// these have in members, or change it there, each with whether it is to be set.
func Disputes(works []*propagation.Work, generation int64) iter.Seq2[metav1.Condition, bool] {
	return func(yield func(metav1.Condition, bool) bool) {
		_ = yield(Contested(works, generation)) && yield(FieldsContestedOf(works, generation))
	}
}
