// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"strconv"
	"strings"
)

// maxParts is how many parts a snapshot may have.
const maxParts = 1000

// PlacementWorkName is the name of the Work for a part of the snapshot: the first
// part's (-1) is "{placement}-work", that of the others "{placement}-{subindex}".
func PlacementWorkName(placement string, subindex int) string {
	if subindex < 0 {
		return placement + "-work"
	}
	return placement + "-" + strconv.Itoa(subindex)
}

// EnvelopeWorkName is the name of an envelope's Work. The released one ends in a
// random uuid; a hash of the envelope's identity is found again.
func EnvelopeWorkName(placement, namespace, name string) string {
	return envelopeWork(placement, HashJSON(namespace+"/"+name))
}

func envelopeWork(placement, hash string) string { return placement + "-configmap-" + hash }

// placementOfWork is the placement whose Works may have that name, of which there is at
// most one; empty where there is none.
func placementOfWork(name string) string {
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		return ""
	}
	head, tail := name[:i], name[i+1:]
	if tail == "work" {
		return head
	}
	if placement, ok := strings.CutSuffix(head, "-configmap"); ok && len(tail) == len(HashJSON("")) {
		return placement
	}
	if n, err := strconv.Atoi(tail); err == nil && n >= 0 && n < maxParts && strconv.Itoa(n) == tail {
		return head
	}
	return ""
}

// OwnsAsPlacement tells whether owner, which an object in a member has as that of its Work,
// is that of one of the placement's Works.
func OwnsAsPlacement(placement, owner string) bool {
	of := func(name string) string { return WorkKey{Name: name, Form: PlacementForm}.Owner() }
	if placement == "" || owner == "" {
		return false
	}
	if hash, ok := strings.CutPrefix(owner, of(envelopeWork(placement, ""))); ok {
		return len(hash) == len(HashJSON(""))
	}
	for i := -1; i < maxParts; i++ {
		if of(PlacementWorkName(placement, i)) == owner {
			return true
		}
	}
	return false
}
