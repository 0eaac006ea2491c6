// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package telling

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
)

// etcd stores objects of up to 1.5 MiB, including their status and managed fields.
const (
	// maxStatus is the maximum size of a status in bytes.
	maxStatus = 1 << 20
	// maxObject is the maximum size in bytes of an object including its status.
	maxObject = 1400 << 10
	// minStatus is how many bytes of status are written in any case.
	minStatus = 64 << 10
)

// room returns how many bytes the status of an object may have if the rest of the
// object has besides bytes.
func room(besides int) int { return max(min(maxStatus, maxObject-besides), minStatus) }

// sizeOf returns the number of bytes of the value's JSON.
func sizeOf(v any) int {
	raw, err := json.Marshal(v)
	if err != nil {
		return 0 // statuses always encode
	}
	return len(raw)
}

// How much is written if there is no room for everything: the longer forms first.
const (
	brief     = 256 // bytes of a text
	shortest  = 64
	fewFields = 10 // differences of an object
)

// text returns s, cut to at most n bytes.
func text(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const more = "…"
	keep := n - len(more)
	if keep <= 0 {
		return ""
	}
	for keep > 0 && !utf8.RuneStart(s[keep]) {
		keep--
	}
	return s[:keep] + more
}

// fields returns the first differences, with shortened values.
func fields(all []placementv1.PatchDetail, most, bytes int) []placementv1.PatchDetail {
	if most == 0 {
		return nil
	}
	out := slices.Clone(all[:min(len(all), most)])
	for i, d := range out {
		out[i] = placementv1.PatchDetail{Path: text(d.Path, 2*bytes), ValueInMember: text(d.ValueInMember, bytes), ValueInHub: text(d.ValueInHub, bytes)}
	}
	return out
}

// abbreviates reports whether was is a shortened form of now, or equal to it.
func abbreviates(was, now []placementv1.PatchDetail) bool {
	for _, bytes := range []int{brief, shortest} {
		if n := len(was); n <= len(now) && slices.Equal(was, fields(now, n, bytes)) {
			return true
		}
	}
	return slices.Equal(was, now)
}

// say cuts the messages of the conditions to at most n bytes each.
func say(list []metav1.Condition, n int) {
	for i := range list {
		list[i].Message = text(list[i].Message, n)
	}
}

// well reports whether all conditions are True, and there is at least one.
func well(list []metav1.Condition) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(c metav1.Condition) bool { return c.Status != metav1.ConditionTrue })
}

// remark appends what was left out to the message of condition i; from is the message
// without that. If the list has no such condition, nothing happens.
func remark(list []metav1.Condition, i int, from, left string) {
	if i >= 0 && i < len(list) {
		list[i].Message = text(from, conditions.MaxMessage-len(left)-2) + "; " + left
	}
}

// roomFor is the beginning of each remark.
const (
	roomFor = "there is room "
	inBrief = roomFor + "for a part of what there is to say"
)

// BoundWork returns the status of a placement's Work, shortened to the room that the
// rest of the Work leaves. Texts and differences are shortened first, then the
// conditions of objects that are as they should be; last, objects that are among the
// Work's manifests are left out. What was applied is kept the longest, since objects
// that have to be removed are found by it. Equal statuses are shortened equally.
func BoundWork(w *propagation.Work, s placementv1.WorkStatus) placementv1.WorkStatus {
	besides := sizeOf(w.Labels) + sizeOf(w.Annotations) + sizeOf(w.Strategy)
	for _, m := range w.Spec.Workload.Manifests {
		besides += len(m.Raw) + len(`{},`)
	}
	may := room(besides)
	s.Conditions = conditions.Bound(s.Conditions)
	if sizeOf(s) <= may {
		return s
	}
	s = *s.DeepCopy()
	message := ""
	if len(s.Conditions) > 0 {
		message = s.Conditions[0].Message
	}
	remark(s.Conditions, 0, message, inBrief)
	for _, cut := range workCuts {
		for i := range s.ManifestConditions {
			cut(&s.ManifestConditions[i])
		}
		if sizeOf(s) <= may {
			return s
		}
	}
	all := len(s.ManifestConditions)
	s.ManifestConditions = named(s.ManifestConditions, len(w.Spec.Workload.Manifests), sizeOf(s)-may)
	remark(s.Conditions, 0, message, fmt.Sprintf(roomFor+"to tell of %d of %d objects", len(s.ManifestConditions), all))
	return s
}

// workCuts shorten the result of an object, each more than the one before.
var workCuts = []func(*placementv1.ManifestCondition){
	func(r *placementv1.ManifestCondition) { detail(r, brief, maxDifferences) },
	func(r *placementv1.ManifestCondition) { detail(r, brief, fewFields) },
	func(r *placementv1.ManifestCondition) { detail(r, shortest, 0) },
	func(r *placementv1.ManifestCondition) {
		if well(r.Conditions) {
			r.Conditions = conditions.Only(r.Conditions, placementv1.ConditionApplied, placementv1.ConditionDiffReported)
			say(r.Conditions, 0)
		}
	},
	func(r *placementv1.ManifestCondition) {
		if well(r.Conditions) {
			r.Conditions = nil
		}
	},
	func(r *placementv1.ManifestCondition) { say(r.Conditions, 0) },
}

// detail shortens the messages and differences of an object.
func detail(r *placementv1.ManifestCondition, bytes, most int) {
	say(r.Conditions, bytes)
	if r.DriftDetails != nil {
		r.DriftDetails.ObservedDrifts = fields(r.DriftDetails.ObservedDrifts, most, bytes)
	}
	if r.DiffDetails != nil {
		r.DiffDetails.ObservedDiffs = fields(r.DiffDetails.ObservedDiffs, most, bytes)
	}
}

// named returns the results without some of them, which have at least that many bytes
// together. Left out first are objects of which nothing was applied, then those that
// are among the Work's manifests, from the end of the list. Objects that the Work
// applied before and that are in no manifest any more are kept as long as possible.
func named(all []placementv1.ManifestCondition, manifests, bytes int) []placementv1.ManifestCondition {
	return without(all, bytes+conditions.MaxMessage, // for the remark about it
		func(i int) bool { return all[i].Applied == nil },
		func(i int) bool { return i < manifests },
		func(int) bool { return true })
}

// without returns the list without some elements, which have at least that many bytes
// together: first those that the first rule allows, from the end of the list.
func without[T any](all []T, bytes int, rules ...func(i int) bool) []T {
	drop := make([]bool, len(all))
	for _, may := range rules {
		for i := len(all) - 1; i >= 0 && bytes > 0; i-- {
			if !drop[i] && may(i) {
				drop[i] = true
				bytes -= sizeOf(all[i]) + len(",")
			}
		}
	}
	var out []T
	for i, v := range all {
		if !drop[i] {
			out = append(out, v)
		}
	}
	return out
}

// objectLists are the lists in a status of the objects of one member that need
// attention.
type objectLists struct {
	failed  *[]placementv1.FailedResourcePlacement
	drifted *[]placementv1.DriftedResourcePlacement
	diffed  *[]placementv1.DiffedResourcePlacement
}

// cut shortens each list to at most that many objects, with short texts. It does not
// change the elements of the original lists.
func (l objectLists) cut(objects, bytes, most int) {
	*l.failed = slices.Clone((*l.failed)[:min(len(*l.failed), objects)])
	for i := range *l.failed {
		c := &(*l.failed)[i].Condition
		c.Message = text(c.Message, bytes)
	}
	*l.drifted = slices.Clone((*l.drifted)[:min(len(*l.drifted), objects)])
	for i := range *l.drifted {
		d := &(*l.drifted)[i]
		d.ObservedDrifts = fields(d.ObservedDrifts, most, bytes)
	}
	*l.diffed = slices.Clone((*l.diffed)[:min(len(*l.diffed), objects)])
	for i := range *l.diffed {
		d := &(*l.diffed)[i]
		d.ObservedDiffs = fields(d.ObservedDiffs, most, bytes)
	}
}

func (l objectLists) count() int { return len(*l.failed) + len(*l.drifted) + len(*l.diffed) }

// listCuts say how many objects are named, and how long their texts are, each less than
// the one before.
var listCuts = []struct{ objects, bytes, most int }{
	{maxNamed, brief, maxDifferences}, {maxNamed, brief, fewFields}, {maxNamed, shortest, 0},
	{fewFields, shortest, 0}, {1, shortest, 0}, {0, 0, 0},
}

// leftOut says how many objects are named; if all are, that their texts are shortened.
func leftOut(was, now int) string {
	if was == now {
		return inBrief
	}
	return fmt.Sprintf(roomFor+"to name %d of %d objects", now, was)
}

// boundBinding returns the status of a binding, shortened to the room there is.
func boundBinding(s placementv1.ResourceBindingStatus) placementv1.ResourceBindingStatus {
	s.Conditions = conditions.Bound(s.Conditions)
	may, lists, last := room(minStatus), objectLists{&s.FailedPlacements, &s.DriftedPlacements, &s.DiffedPlacements}, len(s.Conditions)-1
	all := lists.count()
	for i := 0; i < len(listCuts) && sizeOf(s) > may; i++ {
		lists.cut(listCuts[i].objects, listCuts[i].bytes, listCuts[i].most)
		if i == 0 {
			s.Conditions = slices.Clone(s.Conditions)
		}
		if last >= 0 {
			message, _, _ := strings.Cut(s.Conditions[last].Message, "; "+roomFor)
			remark(s.Conditions, last, message, leftOut(all, lists.count()))
		}
	}
	return s
}

// boundPlacement returns the status of a placement that selects that many objects,
// shortened to the room there is. The selected objects have half of the room, so that
// the list of them does not depend on the rest of the status.
func boundPlacement(p *placementv1.ClusterResourcePlacement, s placementv1.ClusterResourcePlacementStatus, selected int) placementv1.ClusterResourcePlacementStatus {
	may, last := room(sizeOf(p.Spec)+sizeOf(p.Labels)+sizeOf(p.Annotations)), len(s.Conditions)-1
	s.Conditions = conditions.Bound(s.Conditions)
	var remarks []string
	if s.SelectedResources = fitting(s.SelectedResources, may/2); len(s.SelectedResources) < selected {
		remarks = append(remarks, fmt.Sprintf(roomFor+"to name %d of %d selected objects", len(s.SelectedResources), selected))
	}
	message := ""
	if last >= 0 {
		message = s.Conditions[last].Message
	}
	note := func(more ...string) {
		if all := append(slices.Clone(remarks), more...); len(all) > 0 && last >= 0 {
			s.Conditions = slices.Clone(s.Conditions)
			remark(s.Conditions, last, message, strings.Join(all, "; "))
		}
	}
	note()
	if sizeOf(s) <= may {
		return s
	}
	members := s.PlacementStatuses
	s.PlacementStatuses = make([]placementv1.ResourcePlacementStatus, len(members))
	for i := range members {
		s.PlacementStatuses[i] = *members[i].DeepCopy()
	}
	note(roomFor + "for a part of what there is to say of each member")
	for _, cut := range memberCuts {
		for i := range s.PlacementStatuses {
			cut(&s.PlacementStatuses[i])
		}
		if sizeOf(s) <= may {
			return s
		}
	}
	s.PlacementStatuses = worstFirst(s.PlacementStatuses, sizeOf(s)-may+conditions.MaxMessage)
	note(fmt.Sprintf(roomFor+"to tell of %d of %d members", len(s.PlacementStatuses), len(members)))
	return s
}

// fitting returns the first objects that fit into that many bytes.
func fitting(all []placementv1.ResourceIdentifier, bytes int) []placementv1.ResourceIdentifier {
	for i, r := range all {
		if bytes -= sizeOf(r) + len(","); bytes < 0 {
			return all[:i:i]
		}
	}
	return all
}

// memberCuts shorten the status of a member, each more than the one before: the lists
// of objects as listCuts say, then the messages of conditions that are True, then all
// conditions but the last.
var memberCuts = func() (cuts []func(*placementv1.ResourcePlacementStatus)) {
	for _, c := range listCuts {
		cuts = append(cuts, func(s *placementv1.ResourcePlacementStatus) {
			objectLists{&s.FailedPlacements, &s.DriftedPlacements, &s.DiffedPlacements}.cut(c.objects, c.bytes, c.most)
		})
	}
	return append(cuts,
		func(s *placementv1.ResourcePlacementStatus) {
			for i, c := range s.Conditions {
				if c.Status == metav1.ConditionTrue {
					s.Conditions[i].Message = ""
				}
			}
		},
		func(s *placementv1.ResourcePlacementStatus) {
			s.ApplicableClusterResourceOverrides, s.ApplicableResourceOverrides = nil, nil
			s.Conditions = s.Conditions[max(len(s.Conditions)-1, 0):]
			say(s.Conditions, shortest)
		},
	)
}()

// worstFirst returns the members without some of them, which have at least that many
// bytes together: those whose conditions are all True are left out first, from the end
// of the list.
func worstFirst(all []placementv1.ResourcePlacementStatus, bytes int) []placementv1.ResourcePlacementStatus {
	return without(all, bytes,
		func(i int) bool { return well(all[i].Conditions) },
		func(int) bool { return true })
}
