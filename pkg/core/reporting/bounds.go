// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
)

// A member says what it likes in the status of its objects. Here is what is
// taken over of that, so that a Work and a binding can always be written.
const (
	// maxStatus is how many bytes the status of one object has at most.
	maxStatus = 16 << 10
	// maxStatuses is how many bytes the statuses in one binding have together:
	// those of some thousand clusters, and less than etcd takes.
	maxStatuses = 1 << 20
)

// omitted is the field that names what was left out of a status.
const omitted = "sluice.dev/omitted"

// bounded is a status without what makes it too long: texts are cut as messages
// are; if that is not enough, the longest fields are named and left out.
func bounded(status map[string]any) map[string]any {
	if propagation.SizeOf(status) <= maxStatus {
		return status
	}
	status, _ = cut(status).(map[string]any)
	size := propagation.SizeOf(status)
	if size <= maxStatus {
		return status
	}
	const name = 256 // what a field's name in the list of the omitted may cost
	longest := slices.SortedFunc(maps.Keys(status), func(a, b string) int {
		return cmp.Or(cmp.Compare(propagation.SizeOf(status[b]), propagation.SizeOf(status[a])), strings.Compare(a, b))
	})
	var left []string
	for _, field := range longest {
		if size <= maxStatus-conditions.MaxMessage-name {
			break
		}
		size -= propagation.SizeOf(status[field]) + len(field)
		delete(status, field)
		left = append(left, field)
	}
	status[omitted] = conditions.List(left)
	return status
}

// cut is a copy of decoded JSON whose texts are no longer than messages are.
func cut(v any) any {
	switch v := v.(type) {
	case string:
		return conditions.Message(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = cut(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cut(e)
		}
		return out
	}
	return v
}

// BoundWork is a Work's status with no message and no object's status longer
// than may be.
func BoundWork(s workv1alpha1.WorkStatus) workv1alpha1.WorkStatus {
	s.Conditions = conditions.Bound(s.Conditions)
	tooLong := func(m workv1alpha1.ManifestStatus) bool { return m.Status != nil && len(m.Status.Raw) > 2*maxStatus }
	if !slices.ContainsFunc(s.ManifestStatuses, tooLong) {
		return s
	}
	s.ManifestStatuses = slices.Clone(s.ManifestStatuses)
	for i, m := range s.ManifestStatuses {
		if tooLong(m) {
			s.ManifestStatuses[i].Status = encode(bounded(decode(m.Status)))
		}
	}
	return s
}

// BoundBinding is a binding's status with no message longer than may be, with as
// many messages of clusters as there is room for, and as many of their statuses.
// What was left out is counted in the condition FullyApplied where it is False.
func BoundBinding(s workv1alpha2.ResourceBindingStatus) workv1alpha2.ResourceBindingStatus {
	s.Conditions = conditions.Bound(s.Conditions)
	said, statuses := conditions.Budget{}, 0
	items := slices.Clone(s.AggregatedStatus)
	for i := range items {
		if items[i].AppliedMessage != "" {
			items[i].AppliedMessage = said.Say(items[i].AppliedMessage)
		}
		if items[i].Status == nil {
			continue
		}
		if statuses += len(items[i].Status.Raw); statuses > maxStatuses {
			items[i].Status = nil
		}
	}
	s.AggregatedStatus = items
	if said.Omitted == 0 {
		return s
	}
	s.Conditions = slices.Clone(s.Conditions)
	for i, c := range s.Conditions {
		if c.Type == workv1alpha2.ConditionFullyApplied && c.Status == metav1.ConditionFalse {
			s.Conditions[i].Message = fmt.Sprintf("%s; %d more messages are in the Works alone", messageNotFullyApplied, said.Omitted)
		}
	}
	return s
}
