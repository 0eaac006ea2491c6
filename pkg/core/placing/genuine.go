// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	placementv1 "sluice.dev/apis/placement/v1"
)

// ReasonNotGenuine is the reason of a Kubernetes event: a snapshot is not what the
// placer wrote.
const ReasonNotGenuine = "SnapshotNotGenuine"

// AnnotationSeal on a snapshot of either kind, or a part of one, is a hash of its
// placement and of its own labels and annotations. It is no secret: it only
// distinguishes what the placer wrote from a copy or an edit.
const AnnotationSeal = "sluice.dev/seal"

// Forged is a stored snapshot, or a part of one, that is not what the placer wrote.
type Forged[O any] struct {
	Object O
	// Why says for people what is wrong with it.
	Why string
}

// seal returns the seal of a snapshot of a placement, given the hash of its content.
func seal(of types.UID, m *metav1.ObjectMeta, hash string) string {
	h := sha256.New()
	for _, said := range []string{
		string(of), m.Name, hash,
		m.Labels[placementv1.LabelParentCRP], m.Labels[placementv1.LabelResourceIndex], m.Labels[placementv1.LabelPolicyIndex],
		m.Annotations[placementv1.AnnotationNumberOfResourceSnapshots], m.Annotations[placementv1.AnnotationSubindex],
		m.Annotations[placementv1.AnnotationResourceHash], m.Annotations[AnnotationPartOf],
	} {
		fmt.Fprintf(h, "%q\n", said)
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// Seal writes the seal of a snapshot that is about to be created for the placement.
func Seal(p *placementv1.ClusterResourcePlacement, m *metav1.ObjectMeta, hash string) {
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[AnnotationSeal] = seal(p.UID, m, hash)
}

// GenuineSnapshots separates the stored snapshots that the placer wrote for the
// placement from others that claim to be. The generation shows whether somebody edited
// the content. Whether the content has the recorded hash is not checked here, but when
// it is read (Held).
func GenuineSnapshots(p *placementv1.ClusterResourcePlacement, stored []*placementv1.ClusterResourceSnapshot) ([]*placementv1.ClusterResourceSnapshot, []Forged[*placementv1.ClusterResourceSnapshot]) {
	return genuine(stored, func(s *placementv1.ClusterResourceSnapshot) (index int, sealed bool, why string) {
		part, ok := PartOf(&s.ObjectMeta)
		if !ok {
			return 0, false, "its labels and annotations say no index"
		}
		name := SnapshotName(p.Name, part.Index)
		if part.Subindex != master {
			name = partName(p.Name, part.Index, part.Subindex)
		}
		sealed, why = authentic(p, &s.ObjectMeta, name, "")
		if why == "" && s.Generation > 1 { // no version ever changed a spec
			why = "its content was edited"
		}
		return part.Index, sealed, why
	})
}

// GenuinePolicies is GenuineSnapshots for the snapshots of the placement's policy.
func GenuinePolicies(p *placementv1.ClusterResourcePlacement, stored []*placementv1.ClusterSchedulingPolicySnapshot) ([]*placementv1.ClusterSchedulingPolicySnapshot, []Forged[*placementv1.ClusterSchedulingPolicySnapshot]) {
	return genuine(stored, func(s *placementv1.ClusterSchedulingPolicySnapshot) (index int, sealed bool, why string) {
		if index = policyIndex(s); index < 0 {
			return 0, false, "its labels say no index"
		}
		sealed, why = authentic(p, &s.ObjectMeta, policyName(p.Name, index), string(s.Spec.PolicyHash))
		if sealed && why == "" && string(hashPolicy(s.Spec.Policy)) != string(s.Spec.PolicyHash) {
			why = "its policy is not that of its hash"
		}
		return index, sealed, why
	})
}

// authentic returns whether a snapshot has a seal, and why it does not belong to the
// placement; empty: it does.
func authentic(p *placementv1.ClusterResourcePlacement, m *metav1.ObjectMeta, name, hash string) (sealed bool, why string) {
	owner := types.UID("")
	if ref := metav1.GetControllerOfNoCopy(m); ref != nil && ref.Kind == placementv1.KindClusterResourcePlacement && ref.Name == p.Name {
		owner = ref.UID
	}
	has, sealed := m.Annotations[AnnotationSeal]
	switch {
	case m.Name != name:
		why = "its name would be " + name
	case owner != p.UID:
		why = "its owner is not the placement"
	case sealed && has != seal(p.UID, m, hash):
		why = "its seal is that of something else"
	}
	return sealed, why
}

// genuine separates stored snapshots. One without a seal was written by an earlier
// version, so it must be older than all that have a seal.
func genuine[O metav1.Object](stored []O, look func(O) (index int, sealed bool, why string)) (real []O, forged []Forged[O]) {
	first, named := -1, ""
	for _, s := range stored {
		if index, sealed, why := look(s); sealed && why == "" && (first < 0 || index < first) {
			first, named = index, s.GetName()
		}
	}
	for _, s := range stored {
		index, sealed, why := look(s)
		if why == "" && !sealed && first >= 0 && index >= first {
			why = "it has no seal, and " + named + " has one"
		}
		if why != "" {
			forged = append(forged, Forged[O]{s, why})
			continue
		}
		real = append(real, s)
	}
	return real, forged
}

// Held returns an error if the content of a complete snapshot does not have the
// recorded hash. A snapshot without a seal was written by an earlier version, which
// computed the same hash, or by the released controller, whose hash is another and is
// not checked.
func Held(parts []*placementv1.ClusterResourceSnapshot) error {
	i := slices.IndexFunc(parts, func(p *placementv1.ClusterResourceSnapshot) bool {
		return p.Annotations[placementv1.AnnotationResourceHash] != "" && (p.Annotations[AnnotationSeal] != "" || p.Annotations[AnnotationAsked] != "")
	})
	if i < 0 {
		return nil
	}
	var stored Content // in the order of whoever made it, which may be another than today's
	for _, part := range slices.SortedFunc(slices.Values(parts), bySubindex) {
		for _, r := range part.Spec.SelectedResources {
			item, err := ReadItem(r.Raw)
			if err != nil {
				return fmt.Errorf("snapshot %s: %w", part.Name, err)
			}
			stored.items = append(stored.items, item)
		}
	}
	if stored.Hash() != parts[i].Annotations[placementv1.AnnotationResourceHash] {
		return fmt.Errorf("snapshot %s holds something else than its hash says", parts[i].Name)
	}
	return nil
}

func bySubindex(a, b *placementv1.ClusterResourceSnapshot) int {
	x, _ := PartOf(&a.ObjectMeta)
	y, _ := PartOf(&b.ObjectMeta)
	return x.Subindex - y.Subindex
}

// Identity returns a string that identifies a complete snapshot, also among snapshots
// that are created again under its name.
func Identity(parts []Part) string {
	if len(parts) == 0 {
		return ""
	}
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintln(h, p.UID)
	}
	return strconv.Itoa(parts[0].Index) + "@" + hex.EncodeToString(h.Sum(nil))[:16]
}

// IndexOf returns the index in an identity; -1: it has none.
func IndexOf(identity string) int {
	index, _, _ := strings.Cut(identity, "@")
	if n, err := strconv.Atoi(index); err == nil {
		return n
	}
	return -1
}
