// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
)

// ConditionContested is True on a placement or a binding while another one wants an
// object that this one has in a member. Otherwise it is absent.
const ConditionContested = "Contested"

// ReasonWantedByOthers is the reason of ConditionContested.
const ReasonWantedByOthers = "WantedByOthers"

const (
	// mostObjects is how many objects of one other Work are named.
	mostObjects = 3
	// fewClusters is how many clusters a message names.
	fewClusters = 5
)

// HeldBy returns the Work that the object's marks name, if that is another Work of this
// hub for the same member; otherwise false.
func HeldBy(w *propagation.Work, hub string, o *Observed) (propagation.WorkKey, bool) {
	u := unstructured.Unstructured{Object: o.Object}
	namespace, name, _ := strings.Cut(u.GetAnnotations()[AnnotationWork], "/")
	for _, form := range propagation.Forms {
		key := propagation.WorkKey{Cluster: w.Key.Cluster, Name: name, Form: form}
		if name != "" && namespace == key.Namespace() {
			return key, key != w.Key && key.Owner() == o.Work && (hub == "" || o.Hub == "" || o.Hub == hub)
		}
	}
	return propagation.WorkKey{}, false
}

// Contest returns the holder's rivals with w added, which wants these objects of the
// holder. A rival that the holder records already is not added again.
func Contest(holder, w *propagation.Work, objects []propagation.TemplateKey) []propagation.Rival {
	all := holder.Rivals()
	of := func(r propagation.Rival) bool { return r.Work(holder) == w.Key }
	said := 0
	for _, r := range all {
		if of(r) {
			said++
		}
	}
	for _, object := range objects {
		r := propagation.Rival{Name: w.Key.Name, Form: w.Key.Form, Object: object, By: wanting(w)}
		known := slices.ContainsFunc(all, func(r propagation.Rival) bool { return of(r) && r.Object.ID() == object.ID() })
		if known || said >= mostObjects || len(all) >= propagation.MaxRivals || !Contests(holder, w, r) {
			continue
		}
		all = append(all, r)
		said++
	}
	return all
}

// Contests reports whether the rival r is still true: w and the holder both want the
// object.
func Contests(holder, w *propagation.Work, r propagation.Rival) bool {
	id := r.Object.ID()
	return Rival(holder, w) && slices.Contains(WantedBy(w), id) && slices.Contains(WantedBy(holder), id)
}

// wanting says for people whose Work w is.
func wanting(w *propagation.Work) string {
	if w.Key.Form == propagation.PlacementForm {
		return "the placement " + w.Placement()
	}
	return "the policy of " + w.Binding().String()
}

// Contested returns ConditionContested for the owner of these Works, with that
// generation, and whether the condition is to be set: others want what the Works have.
func Contested(works []*propagation.Work, generation int64) (metav1.Condition, bool) {
	why := contestedBy(works)
	return metav1.Condition{
		Type: ConditionContested, Status: metav1.ConditionTrue, Reason: ReasonWantedByOthers, Message: why, ObservedGeneration: generation,
	}, why != ""
}

// contestedBy says for people who else wants what these Works have, and in which
// members; empty: nobody does.
func contestedBy(works []*propagation.Work) string {
	in := map[string][]string{}
	for _, w := range works {
		if w.Deleting {
			continue
		}
		for _, r := range w.Rivals() {
			what := fmt.Sprintf("%s is wanted by %s, too", r.Object, r.By)
			in[what] = append(in[what], w.Key.Cluster)
		}
	}
	all := slices.Sorted(maps.Keys(in))
	for i, what := range all {
		clusters := in[what]
		slices.Sort(clusters)
		clusters = slices.Compact(clusters)
		more := ""
		if n := len(clusters) - fewClusters; n > 0 {
			clusters, more = clusters[:fewClusters], fmt.Sprintf(" and %d more", n)
		}
		all[i] = what + ", in " + strings.Join(clusters, ", ") + more
	}
	return conditions.List(all)
}
