// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package telling

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
)

// HoldsOthers returns why the object's removal is held; empty if it is not.
func HoldsOthers(r placementv1.ManifestCondition) string {
	c := meta.FindStatusCondition(r.Conditions, placementv1.ConditionApplied)
	if c == nil || c.Reason != string(applying.ReasonHoldsOthers) {
		return ""
	}
	return c.Message
}

// Holding returns since when the result says that the object's removal is held, even if
// there was no room for the message; zero if it does not.
func Holding(r placementv1.ManifestCondition) time.Time {
	c := meta.FindStatusCondition(r.Conditions, placementv1.ConditionApplied)
	if c == nil || c.Reason != string(applying.ReasonHoldsOthers) {
		return time.Time{}
	}
	return c.LastTransitionTime.Time
}

// Held returns the result for an object whose removal is held, with the reason. A new
// reason sets the time of the condition.
func Held(w *propagation.Work, r placementv1.ManifestCondition, reason, message string, now time.Time) placementv1.ManifestCondition {
	list := slices.Clone(r.Conditions)
	if c := meta.FindStatusCondition(list, placementv1.ConditionApplied); c != nil && c.Reason != reason {
		meta.RemoveStatusCondition(&list, placementv1.ConditionApplied)
	}
	r.Conditions, _ = conditions.Set(list, metav1.Condition{
		Type: placementv1.ConditionApplied, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: w.Generation,
	}, now)
	return r
}

// Records reports whether the Work records that it applied the object.
func Records(w *propagation.Work, key propagation.TemplateKey) bool {
	r := ResultOf(w.Results, identityOf(key))
	return r != nil && r.Applied != nil
}

// Stays returns the reason and the message of a condition that says why the object is
// not applied, or not removed; empty if there is none.
func Stays(r placementv1.ManifestCondition) (reason, message string) {
	c := meta.FindStatusCondition(r.Conditions, placementv1.ConditionApplied)
	if c == nil || c.Status != metav1.ConditionFalse {
		return "", ""
	}
	return c.Reason, c.Message
}

// Others returns the Work without the results of objects whose removal is held.
func Others(w *propagation.Work) *propagation.Work {
	rest := *w
	rest.Results = slices.DeleteFunc(slices.Clone(w.Results), func(r placementv1.ManifestCondition) bool { return HoldsOthers(r) != "" })
	return &rest
}

// LeavesBehind reports whether a Work that has results for all its manifests also has
// an object in its member that is in none of them. Results are in the order of the
// manifests, so the manifests are decoded only if a result is out of order.
func LeavesBehind(w *propagation.Work) bool {
	inOrder := true
	var said map[placementv1.WorkResourceIdentifier]bool
	for i, r := range w.Results {
		inOrder = inOrder && i < len(w.Spec.Workload.Manifests) && r.Identifier.Ordinal == i
		if inOrder || r.Applied == nil {
			continue
		}
		if said == nil {
			said = identities(w)
		}
		if !said[identity(r.Identifier)] {
			return true
		}
	}
	return false
}

// identity returns what identifies the object, without its position and version.
func identity(id placementv1.WorkResourceIdentifier) placementv1.WorkResourceIdentifier {
	return placementv1.WorkResourceIdentifier{Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

func identityOf(key propagation.TemplateKey) placementv1.WorkResourceIdentifier {
	gvk := key.GroupVersionKind()
	return placementv1.WorkResourceIdentifier{Group: gvk.Group, Kind: gvk.Kind, Namespace: key.Namespace, Name: key.Name}
}

// identities returns the identities of the Work's manifests.
func identities(w *propagation.Work) map[placementv1.WorkResourceIdentifier]bool {
	all := make(map[placementv1.WorkResourceIdentifier]bool, len(w.Spec.Workload.Manifests))
	for _, m := range w.Spec.Workload.Manifests {
		if id, ok := manifestIdentity(m); ok {
			all[id] = true
		}
	}
	return all
}

func manifestIdentity(m workv1alpha1.Manifest) (id placementv1.WorkResourceIdentifier, ok bool) {
	var named metav1.PartialObjectMetadata
	if err := json.Unmarshal(m.Raw, &named); err != nil {
		return id, false
	}
	gvk := named.GroupVersionKind()
	return placementv1.WorkResourceIdentifier{Group: gvk.Group, Kind: gvk.Kind, Namespace: named.Namespace, Name: named.Name}, true
}

// Leaving returns the new statuses of the bindings to the cluster that are being
// deleted, if everything that is left of the placement there is held: they say why.
func (in Input) Leaving(cluster string) []BindingStatus {
	why := ""
	for _, w := range in.Works {
		if w.Key.Cluster != cluster {
			continue
		}
		i := slices.IndexFunc(w.Results, func(r placementv1.ManifestCondition) bool { return HoldsOthers(r) != "" })
		if i < 0 || !w.Deleting {
			return nil
		}
		why = cmp.Or(why, HoldsOthers(w.Results[i]))
	}
	var out []BindingStatus
	for _, b := range in.Bindings {
		if b.Spec.TargetCluster != cluster || b.DeletionTimestamp == nil || why == "" {
			continue
		}
		status := *b.Status.DeepCopy()
		status.Conditions, _ = conditions.Set(status.Conditions, metav1.Condition{
			Type: placementv1.ConditionApplied, Status: metav1.ConditionFalse, Reason: string(applying.ReasonHoldsOthers), Message: why, ObservedGeneration: b.Generation,
		}, in.Now)
		out = append(out, BindingStatus{b, boundBinding(status)})
	}
	return out
}
