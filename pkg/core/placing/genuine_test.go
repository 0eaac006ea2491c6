// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing_test

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
)

func aPlacement() *placementv1.ClusterResourcePlacement {
	return &placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: "crp", UID: "u"}}
}

func owned(p *placementv1.ClusterResourcePlacement) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(p, placementv1.SchemeGroupVersion.WithKind(placementv1.KindClusterResourcePlacement))}
}

// made is a snapshot of one part, as the placer makes it.
func made(p *placementv1.ClusterResourcePlacement, index int, latest bool) *placementv1.ClusterResourceSnapshot {
	s := &placementv1.ClusterResourceSnapshot{ObjectMeta: metav1.ObjectMeta{Name: placing.SnapshotName(p.Name, index), Generation: 1, OwnerReferences: owned(p)}}
	s.Labels = map[string]string{
		placementv1.LabelParentCRP: p.Name, placementv1.LabelResourceIndex: strconv.Itoa(index), placementv1.LabelIsLatestSnapshot: strconv.FormatBool(latest),
	}
	s.Annotations = map[string]string{placementv1.AnnotationResourceHash: "hash", placementv1.AnnotationNumberOfResourceSnapshots: "1"}
	placing.Seal(p, &s.ObjectMeta, "")
	return s
}

func TestZ6ASnapshotMadeByHandIsNotBelieved(t *testing.T) {
	type snapshot = placementv1.ClusterResourceSnapshot
	for name, tc := range map[string]struct {
		change func(s *snapshot)
		why    string
	}{
		"as it was made":                             {change: func(*snapshot) {}},
		"another label of somebody's":                {change: func(s *snapshot) { s.Labels["team"] = "x" }},
		"not the latest any more":                    {change: func(s *snapshot) { s.Labels[placementv1.LabelIsLatestSnapshot] = "false" }},
		"without a seal":                             {change: func(s *snapshot) { delete(s.Annotations, placing.AnnotationSeal) }, why: "it has no seal, and crp-0-snapshot has one"},
		"a copy with another name and index":         {change: func(s *snapshot) { s.Name, s.Labels[placementv1.LabelResourceIndex] = "crp-9-snapshot", "9" }, why: "its seal"},
		"a copy with another index":                  {change: func(s *snapshot) { s.Labels[placementv1.LabelResourceIndex] = "9" }, why: "its name would be crp-9-snapshot"},
		"of no index":                                {change: func(s *snapshot) { delete(s.Labels, placementv1.LabelResourceIndex) }, why: "say no index"},
		"another hash":                               {change: func(s *snapshot) { s.Annotations[placementv1.AnnotationResourceHash] = "other" }, why: "its seal"},
		"another number of parts":                    {change: func(s *snapshot) { s.Annotations[placementv1.AnnotationNumberOfResourceSnapshots] = "2" }, why: "its seal"},
		"a part of itself":                           {change: func(s *snapshot) { s.Annotations[placementv1.AnnotationSubindex] = "0" }, why: "its name would be crp-1-0"},
		"without an owner":                           {change: func(s *snapshot) { s.OwnerReferences = nil }, why: "its owner"},
		"of a former placement of the name":          {change: func(s *snapshot) { s.OwnerReferences[0].UID = "former" }, why: "its owner"},
		"of an owner of another kind":                {change: func(s *snapshot) { s.OwnerReferences[0].Kind = "ConfigMap" }, why: "its owner"},
		"other content, which is another generation": {change: func(s *snapshot) { s.Generation = 2 }, why: "its content was edited"},
	} {
		t.Run(name, func(t *testing.T) {
			p := aPlacement()
			older, s := made(p, 0, false), made(p, 1, true)
			tc.change(s)
			real, forged := placing.GenuineSnapshots(p, []*snapshot{older, s})
			if tc.why == "" && (len(forged) > 0 || len(real) != 2) {
				t.Errorf("forged: %+v", forged)
			}
			if tc.why != "" && (len(real) != 1 || len(forged) != 1 || !strings.Contains(forged[0].Why, tc.why)) {
				t.Errorf("genuine %d, forged %+v, want one of which it says %q", len(real), forged, tc.why)
			}
			if tc.why != "" && len(placing.Wanted(p, []*snapshot{older, s})) > 0 {
				t.Error("an older one acts in its place")
			}
		})
	}
}

// What an earlier version made has no seal, and counts until there is one that has.
func TestZ6SnapshotsFromBeforeThereWereSeals(t *testing.T) {
	p := aPlacement()
	older := made(p, 0, true)
	delete(older.Annotations, placing.AnnotationSeal)
	all := []*placementv1.ClusterResourceSnapshot{older}
	if w := placing.Wanted(p, all); len(w) != 1 || w[0].Name != "crp-0-snapshot" {
		t.Errorf("wanted %v", w)
	}
	all = append(all, made(p, 1, true))
	if w := placing.Wanted(p, all); len(w) != 1 || w[0].Name != "crp-1-snapshot" {
		t.Errorf("wanted %v", w)
	}
	t.Run("one that was edited does not count", func(t *testing.T) {
		older.Generation = 2
		if w := placing.Wanted(p, all[:1]); len(w) > 0 {
			t.Errorf("wanted %v", w)
		}
	})
}

func TestZ6APolicySnapshotMadeByHandIsNotBelieved(t *testing.T) {
	type snapshot = placementv1.ClusterSchedulingPolicySnapshot
	for name, tc := range map[string]struct {
		change func(p *snapshot) []*snapshot
		want   string
	}{
		"as it was made": {change: func(s *snapshot) []*snapshot { return []*snapshot{s} }, want: "crp-0"},
		"a copy of a higher index, with another policy": {change: func(s *snapshot) []*snapshot {
			by := s.DeepCopy()
			by.Name, by.Labels[placementv1.LabelPolicyIndex] = "crp-7", "7"
			by.Spec.Policy.ClusterNames = []string{"other"}
			return []*snapshot{s, by}
		}, want: "crp-0"},
		"edited": {change: func(s *snapshot) []*snapshot {
			s.Spec.Policy.ClusterNames = []string{"other"}
			return []*snapshot{s}
		}},
		"the newest was deleted, and no older one acts": {change: func(s *snapshot) []*snapshot {
			s.Labels[placementv1.LabelIsLatestSnapshot] = "false"
			return []*snapshot{s}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := aPlacement()
			p.Spec.Policy = &placementv1.PlacementPolicy{PlacementType: placementv1.PickFixedPlacementType, ClusterNames: []string{"member1"}}
			s := placing.NextPolicy(p, nil).Create
			s.OwnerReferences = owned(p)
			all := tc.change(s)
			got := ""
			if latest := placing.LatestPolicy(p, all); latest != nil {
				got = latest.Name
			}
			if got != tc.want {
				t.Errorf("in force is %q, want %q", got, tc.want)
			}
		})
	}
}

func TestZ6ContentIsThatOfItsHash(t *testing.T) {
	item, err := placing.ReadItem([]byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}`))
	if err != nil {
		t.Fatal(err)
	}
	another := `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"b"}}`
	for name, tc := range map[string]struct {
		raw, wrong string
		change     func(annotations map[string]string)
	}{
		"the same":                     {raw: string(item.Raw)},
		"the same in another order":    {raw: `{"metadata":{"name":"a"},"kind":"Namespace","apiVersion":"v1"}`},
		"another object":               {raw: another, wrong: "something else"},
		"nothing":                      {wrong: "something else"},
		"what is no object of any API": {raw: `{"a":1}`, wrong: "crp-0-snapshot"},
		"another object, where an earlier version made it": {raw: another, wrong: "something else", change: func(a map[string]string) {
			a[placing.AnnotationAsked] = "selectors"
			delete(a, placing.AnnotationSeal)
		}},
		"what the released controller made, of which nobody can tell": {raw: another, change: func(a map[string]string) { delete(a, placing.AnnotationSeal) }},
	} {
		s := made(aPlacement(), 0, true)
		if tc.change != nil {
			tc.change(s.Annotations)
		}
		s.Annotations[placementv1.AnnotationResourceHash] = placing.NewContent([]placing.Item{item}).Hash()
		s.Spec.SelectedResources = nil
		if tc.raw != "" {
			r := placementv1.ResourceContent{}
			r.Raw = []byte(tc.raw)
			s.Spec.SelectedResources = append(s.Spec.SelectedResources, r)
		}
		err := placing.Held([]*placementv1.ClusterResourceSnapshot{s})
		if said := fmt.Sprint(err); (err == nil) != (tc.wrong == "") || !strings.Contains(said, tc.wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The order of kinds may be another tomorrow: what was made in today's stays genuine.
func TestZ6ContentIsHashedInTheOrderInWhichItIsStored(t *testing.T) {
	raws := []string{
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"a"}}`,
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}`,
	}
	p := aPlacement()
	first, second := made(p, 0, true), made(p, 0, true)
	first.Annotations[placementv1.AnnotationResourceHash] = fmt.Sprintf("%x", sha256.Sum256([]byte(raws[0]+"\n"+raws[1]+"\n")))
	second.Name = "crp-0-0"
	second.Annotations = map[string]string{placementv1.AnnotationSubindex: "0"}
	for i, s := range []*placementv1.ClusterResourceSnapshot{first, second} {
		r := placementv1.ResourceContent{}
		r.Raw = []byte(raws[i])
		s.Spec.SelectedResources = append(s.Spec.SelectedResources, r)
	}
	if err := placing.Held([]*placementv1.ClusterResourceSnapshot{second, first}); err != nil {
		t.Error(err)
	}
}
