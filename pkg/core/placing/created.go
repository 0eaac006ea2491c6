// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

// AnnotationCreated, on each part of a snapshot, lists when the part's objects were
// created on the hub, in their order: those of kinds that may have a
// CustomResourceDefinition. It is no part of the content, nor of its hash.
const AnnotationCreated = "sluice.dev/created"

// inSeconds is the base of the numbers in AnnotationCreated: it makes them short. A part
// has at most propagation.MaxManifests objects, so the annotation has at most 4 KiB.
const inSeconds = 36

// Predates reports whether the object was created before its kind was defined as it is
// now: then it went with the former definition. defined is when that was; zero: the kind
// has no definition, or nobody knows.
func (i Item) Predates(defined time.Time) bool { return i.mayBeDefined() && defined.After(i.Created) }

func (i Item) mayBeDefined() bool {
	return propagation.MayBeDefined(i.Key.GroupVersionKind().Group)
}

// createdAt returns when the API server created an object; zero: it does not say so.
func createdAt(obj map[string]any) time.Time {
	meta, _ := obj["metadata"].(map[string]any)
	text, _ := meta["creationTimestamp"].(string)
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// noted returns AnnotationCreated for a part with these items; empty: it needs none.
func noted(items []Item) string {
	var all []string
	for _, i := range items {
		if i.mayBeDefined() {
			all = append(all, strconv.FormatInt(max(0, i.Created.Unix()), inSeconds))
		}
	}
	return strings.Join(all, ",")
}

// Dated sets when the items of a stored part were created. Where the part does not say
// so, because an earlier version wrote it, they existed when the part was created.
func Dated(part *metav1.ObjectMeta, items []Item) {
	says := strings.Split(part.Annotations[AnnotationCreated], ",")
	var custom []int
	for n, i := range items {
		if i.mayBeDefined() {
			custom = append(custom, n)
		}
	}
	for n, at := range custom {
		items[at].Created = part.CreationTimestamp.Time
		if len(says) != len(custom) {
			continue
		}
		if seconds, err := strconv.ParseInt(says[n], inSeconds, 64); err == nil && seconds > 0 {
			items[at].Created = time.Unix(seconds, 0)
		}
	}
}

// Redated returns AnnotationCreated for a stored part with these items, which are dated,
// given what is selected now. False: it need not be written, since no object of the part
// was created again. That an earlier version wrote none is no reason to write it.
func Redated(part []Item, now Content) (string, bool) {
	items, again := slices.Clone(part), false
	for n, i := range items {
		if is, ok := now.find(i.Key); ok && is.Created.After(i.Created) {
			items[n].Created, again = is.Created, true
		}
	}
	return noted(items), again
}

// Missing returns the items of the latest snapshot that the selectors would still select,
// and that were neither read nor seen and left out.
func (s Selectors) Missing(latest, read Content, leftOut []propagation.TemplateKey) []Item {
	return latest.Without(leftOut).Keep(func(i Item) bool {
		return !read.Has(i.Key) && s.concernAsKept(i) && (i.Key.Namespace == "" || read.Has(NamespaceKey(i.Key.Namespace)))
	}).items
}

// concernAsKept is Concern, and of an object without a namespace whether a selector
// selects it with the labels that the snapshot has of it. That lacks the system's own
// labels: a selector that asks for one of these counts as selecting it.
func (s Selectors) concernAsKept(i Item) bool {
	if !s.Concern(i.Key) {
		return false
	}
	return i.Key.Namespace != "" || slices.ContainsFunc(s, func(sel placementv1.ClusterResourceSelector) bool {
		if hidden(sel.LabelSelector) {
			sel.LabelSelector = nil
		}
		return Selectors{sel}.selectsAsKept(i)
	})
}
