// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// Placed is all that the Works of a placement in one member depend on.
type Placed struct {
	// Placement is its name.
	Placement string
	// Binding of the placement to the member.
	Binding *placementv1.ClusterResourceBinding
	// Parts of the snapshot that the binding names, in any order.
	Parts []*placementv1.ClusterResourceSnapshot
	// ClusterOverrides and Overrides are the snapshots that the binding names, in
	// its order.
	ClusterOverrides []*placementv1.ClusterResourceOverrideSnapshot
	Overrides        []*placementv1.ResourceOverrideSnapshot
	// Labels of the member, for overrides.
	Labels map[string]string
	// Suspended is the placement's suspension for the member.
	Suspended bool
}

// PlacementError says why the Works of a placement cannot be made for a member.
type PlacementError struct {
	// Reason is ReasonOverriddenFailed, ReasonSyncWorkFailed or ReasonTooLarge.
	Reason  string
	Message string
}

// Error is the message.
func (e *PlacementError) Error() string { return e.Message }

// AnnotationWorks, on the first Work of a placement in a member, is how many there
// are.
const AnnotationWorks = "sluice.dev/works"

// AnnotationOverriddenFor, on a Work, is the hash of what its overrides saw of the member.
const AnnotationOverriddenFor = "sluice.dev/overridden-for"

// Origin is what the Works of a binding say of what they are made of, as annotations.
func Origin(of placementv1.ResourceBindingSpec) map[string]string {
	says := map[string]string{
		placementv1.AnnotationParentSnapshotName:         of.ResourceSnapshotName,
		placementv1.AnnotationParentClusterOverridesHash: propagation.HashJSON(of.ClusterResourceOverrideSnapshots),
		placementv1.AnnotationParentOverridesHash:        propagation.HashJSON(of.ResourceOverrideSnapshots),
	}
	if of.OverriddenFor != nil {
		says[AnnotationOverriddenFor] = propagation.HashJSON(of.OverriddenFor)
	}
	return says
}

// MadeOf tells of a Work whether it says that it is made of what the binding gives its
// member.
func MadeOf(of placementv1.ResourceBindingSpec) func(*propagation.Work) bool {
	says := Origin(of)
	return func(w *propagation.Work) bool { return has(w.Annotations, says) }
}

// PlacementWorks are the Works that the member gets: one for each part of the
// snapshot and one for each envelope. An error is a *PlacementError; then the
// member keeps what it has.
func PlacementWorks(in Placed) ([]*propagation.Work, error) {
	parts := slices.Clone(in.Parts)
	slices.SortFunc(parts, func(a, b *placementv1.ClusterResourceSnapshot) int { return cmp.Compare(subindex(a), subindex(b)) })
	var works []*propagation.Work
	for _, part := range parts {
		plain, envelopes, err := in.manifests(part)
		if err != nil {
			return nil, err
		}
		w, err := in.work(propagation.PlacementWorkName(in.Placement, subindex(part)), plain)
		if err != nil {
			return nil, err
		}
		works = append(works, w)
		for _, e := range envelopes {
			w, err := in.envelope(e)
			if err != nil {
				return nil, err
			}
			works = append(works, w)
		}
	}
	if len(works) > 0 {
		works[0].Annotations[AnnotationWorks] = strconv.Itoa(len(works))
	}
	return works, nil
}

// subindex is the number of a part; -1: the first.
func subindex(s *placementv1.ClusterResourceSnapshot) int {
	n, err := strconv.Atoi(s.Annotations[placementv1.AnnotationSubindex])
	if err != nil {
		return -1
	}
	return n
}

// manifests are what of a part the member gets: objects, and envelopes.
func (in Placed) manifests(part *placementv1.ClusterResourceSnapshot) (plain []json.RawMessage, envelopes []map[string]any, err error) {
	for _, content := range part.Spec.SelectedResources {
		var obj map[string]any
		if err := utiljson.Unmarshal(content.Raw, &obj); err != nil {
			return nil, nil, &PlacementError{placementv1.ReasonSyncWorkFailed, fmt.Sprintf("%s: an object cannot be read: %s", part.Name, err)}
		}
		obj, raw, err := in.overridden(obj, content.Raw)
		switch {
		case err != nil:
			return nil, nil, err
		case obj == nil: // an override keeps it from this member
		case isEnvelope(obj):
			envelopes = append(envelopes, obj)
		default:
			plain = append(plain, raw)
		}
	}
	return plain, envelopes, nil
}

// work is the Work of that name with the manifests. Of Secrets the content stays
// outside.
func (in Placed) work(name string, manifests []json.RawMessage) (*propagation.Work, error) {
	b := in.Binding
	w := &propagation.Work{
		Key: propagation.WorkKey{Cluster: b.Spec.TargetCluster, Name: name, Form: propagation.PlacementForm},
		Labels: map[string]string{
			placementv1.LabelParentCRP:           in.Placement,
			placementv1.LabelParentBinding:       b.Name,
			placementv1.LabelParentSnapshotIndex: in.index(),
		},
		Annotations: Origin(b.Spec),
		Finalizers:  []string{propagation.FinalizerWork},
		Strategy:    b.Spec.ApplyStrategy,
	}
	w.Annotations[propagation.AnnotationBindingUID] = string(b.UID)
	size, largest, holds := 0, 0, json.RawMessage(nil)
	for _, raw := range manifests {
		sealed, hash, whole, err := sealRaw(raw)
		if err != nil {
			return nil, &PlacementError{placementv1.ReasonSyncWorkFailed, fmt.Sprintf("%s: a Secret cannot be read", name)}
		}
		if hash != "" {
			if w.Contents == nil {
				w.Contents = propagation.Contents{}
			}
			w.Contents[hash] = whole
			size += len(whole)
			if len(whole) > largest {
				largest, holds = len(whole), sealed
			}
		}
		w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: sealed}})
	}
	if size > propagation.MaxContents {
		return nil, secretsTooLarge(len(w.Contents), size, largest, holds)
	}
	if d := b.Spec.DeleteStrategy; d != nil && d.PropagationPolicy == placementv1.DeletePropagationPolicyAbandon {
		w.Spec.PreserveResourcesOnDeletion = new(true)
	}
	if in.Suspended {
		w.Spec.SuspendDispatching = new(true)
	}
	return w, nil
}

// secretsTooLarge says which Secret is too large, or is the largest of too many.
func secretsTooLarge(n, size, largest int, sealed json.RawMessage) *PlacementError {
	var manifest map[string]any
	_ = utiljson.Unmarshal(sealed, &manifest) // it was encoded here
	key := propagation.KeyOf(manifest)
	what := fmt.Sprintf("Secret %s/%s has %d bytes", key.Namespace, key.Name, largest)
	if largest <= propagation.MaxContents {
		what = fmt.Sprintf("%d Secrets have %d bytes, the largest is %s/%s with %d", n, size, key.Namespace, key.Name, largest)
	}
	return &PlacementError{placementv1.ReasonTooLarge, fmt.Sprintf("%s, with data in base64, of which a Work can carry %d: make it smaller, or select it no longer; the cluster keeps what it has meanwhile", what, propagation.MaxContents)}
}

// sealRaw is Seal of a manifest in JSON; one that is no Secret's is not decoded.
func sealRaw(raw json.RawMessage) (sealed json.RawMessage, hash string, whole []byte, err error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(raw, &head); err != nil || head.Kind != "Secret" || head.APIVersion != "v1" {
		return raw, "", nil, nil //nolint:nilerr // what cannot be read is the applier's to say
	}
	var manifest map[string]any
	if err := utiljson.Unmarshal(raw, &manifest); err != nil {
		return nil, "", nil, fmt.Errorf("decode: %w", err)
	}
	out, hash, whole, err := propagation.Seal(manifest)
	if err != nil {
		return nil, "", nil, err
	}
	sealed, err = json.Marshal(out)
	return sealed, hash, whole, err
}

// index of the snapshot.
func (in Placed) index() string {
	for _, p := range in.Parts {
		if i := p.Labels[placementv1.LabelResourceIndex]; i != "" {
			return i
		}
	}
	return ""
}

// PartsOf are the names of the parts of the snapshot that the binding names, among
// all snapshots of its placement: they have the same index.
func PartsOf(b *placementv1.ClusterResourceBinding, all []*placementv1.ClusterResourceSnapshot) []string {
	index := ""
	for _, s := range all {
		if s.Name == b.Spec.ResourceSnapshotName {
			index = s.Labels[placementv1.LabelResourceIndex]
		}
	}
	var names []string
	for _, s := range all {
		if index != "" && s.Labels[placementv1.LabelResourceIndex] == index {
			names = append(names, s.Name)
		}
	}
	return names
}

// WholeSnapshot tells whether all parts of the snapshot that the binding names
// are there: the first says how many there are.
func WholeSnapshot(b *placementv1.ClusterResourceBinding, parts []*placementv1.ClusterResourceSnapshot) bool {
	for _, p := range parts {
		if p.Name == b.Spec.ResourceSnapshotName {
			n, err := strconv.Atoi(p.Annotations[placementv1.AnnotationNumberOfResourceSnapshots])
			return err == nil && n == len(parts)
		}
	}
	return false
}

// PlanPlacement compares the Works that a placement has in one member with those
// desired. Nil desired Works mean that it shall have none. What goes comes after
// what comes.
func PlanPlacement(existing, desired []*propagation.Work) []Step {
	want := make(map[propagation.WorkKey]*propagation.Work, len(desired))
	for _, w := range desired {
		want[w.Key] = w
	}
	var steps []Step
	for _, w := range existing {
		d := want[w.Key]
		delete(want, w.Key)
		switch {
		case w.Deleting && d != nil && leavesBehind(w, d):
			steps = append(steps, Step{Action: Leave, Existing: w, Desired: d})
		case w.Deleting && d != nil:
			steps = append(steps, remake(w, d))
		case w.Deleting:
			steps = append(steps, Step{Action: Leave, Existing: w})
		case d == nil:
			steps = append(steps, Step{Action: Delete, Existing: w})
		case !Equal(w, d):
			steps = append(steps, Step{Action: Update, Existing: w, Desired: merge(w, d), Contents: d.Contents})
		default:
			steps = append(steps, Step{Action: Keep, Existing: w, Contents: d.Contents})
		}
	}
	for _, w := range want {
		steps = append(steps, Step{Action: Create, Desired: w, Contents: w.Contents})
	}
	slices.SortFunc(steps, func(x, y Step) int {
		return cmp.Or(cmp.Compare(rank(x.Action), rank(y.Action)), strings.Compare(x.Key().Name, y.Key().Name))
	})
	return steps
}

// leavesBehind tells whether the Work records objects that the desired one does not have.
// Nobody would know of them if the Work were let go before they have left the member.
func leavesBehind(w, desired *propagation.Work) bool {
	has := map[string]bool{}
	for _, id := range applying.ObjectsOf(desired) {
		has[id] = true
	}
	return slices.ContainsFunc(w.Results, func(r placementv1.ManifestCondition) bool {
		return r.Applied != nil && !has[applying.KeyOf(r.Identifier).ID()]
	})
}
