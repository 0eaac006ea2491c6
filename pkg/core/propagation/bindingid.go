// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"crypto/sha256"
	"encoding/hex"

	"k8s.io/apimachinery/pkg/types"
)

// BindingIDLabel returns the label that holds the permanent id of a binding with that
// key.
func BindingIDLabel(k BindingKey) string {
	if k.Scope() == Cluster {
		return LabelClusterBindingID
	}
	return LabelBindingID
}

// PermanentID returns the binding's permanent id; empty if a version of Sluice without
// such ids passed its content. The binding gets an id with its next content, and until
// then its Works are rendered without one.
func (b *Binding) PermanentID() string { return b.Labels[BindingIDLabel(b.Key)] }

// NewPermanentID returns the id for the binding of that template, in the form of a UUID
// (version 8, RFC 9562). A binding that is deleted and created again for the same
// template gets the same id, so that members are not written for that.
func NewPermanentID(k BindingKey, template types.UID) string {
	sum := sha256.Sum256([]byte(k.ID() + "/" + string(template)))
	id := sum[:16]
	id[6] = id[6]&0x0f | 0x80 // version 8
	id[8] = id[8]&0x3f | 0x80 // the variant of RFC 9562
	h := hex.EncodeToString(id)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// ActiveClaim returns the claim of the policy in force; the zero Claim if none is.
func (b *Binding) ActiveClaim() Claim {
	key, err := ParsePolicyID(b.Annotations[AnnotationActivePolicy])
	if err != nil {
		return Claim{}
	}
	return Claim{Policy: key, ID: b.Annotations[AnnotationActivePolicyID]}
}
