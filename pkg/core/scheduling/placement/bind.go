// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	placementv1 "sluice.dev/apis/placement/v1"
)

// AnnotationPolicyHash of a binding is the hash of the policy by which its member was
// picked. The name of the policy's snapshot does not tell: where that is deleted, another
// policy may get it.
const AnnotationPolicyHash = "sluice.dev/policy-hash"

// Picks reports whether the binding is to a member that is picked, and not one on its way
// out.
func Picks(b *placementv1.ClusterResourceBinding) bool {
	return b.DeletionTimestamp == nil && b.Spec.State != placementv1.BindingStateUnscheduled
}

// pickedBy tells whether the binding's member was picked by the policy of the snapshot. A
// binding that notes no hash is an earlier version's, and is not written for the note: its
// member keeps what it has as long as the snapshot has the name that the binding says.
func pickedBy(b *placementv1.ClusterResourceBinding, policy *placementv1.ClusterSchedulingPolicySnapshot) bool {
	if hash := b.Annotations[AnnotationPolicyHash]; hash != "" {
		return hash == string(policy.Spec.PolicyHash)
	}
	return b.Spec.SchedulingPolicySnapshotName == policy.Name
}

// suffix is how many characters of a hash end the name of a binding.
const suffix = 8

// maxName keeps the name of a binding fit for the value of a label.
const maxName = 63

// BindingName is the name of what binds a placement to a member: as released
// "{placement}-{member}-{suffix}", cut where that is too long; the suffix is a hash of
// both. As long as an earlier binding to the member is on its way out, after is its
// uid, and the next one has another name.
func BindingName(placement, cluster, after string) string {
	sum := sha256.Sum256([]byte(placement + "\x00" + cluster + "\x00" + after))
	half := (maxName - suffix - 2) / 2
	if len(placement)+len(cluster) > 2*half {
		placement, cluster = cut(placement, half), cut(cluster, half)
	}
	return placement + "-" + cluster + "-" + hex.EncodeToString(sum[:])[:suffix]
}

func cut(name string, n int) string {
	return strings.TrimRight(name[:min(len(name), n)], "-.")
}
