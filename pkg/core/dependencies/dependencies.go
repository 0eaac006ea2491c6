// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package dependencies decides what a template needs beside itself to run: the
// ConfigMaps, Secrets, service accounts and volume claims that it refers to.
//
// Invariants:
//   - The answer follows from the content alone, sorted and without doubles.
//   - Only objects that the content names count. What an application needs without
//     naming it has to be selected by a policy.
//
// It must not know whether what is referred to exists.
package dependencies

import (
	"slices"

	"sluice.dev/pkg/core/propagation"
)

// Kinds are the kinds that a template may depend on, by API version and kind.
var Kinds = []propagation.TemplateKey{
	{APIVersion: "v1", Kind: "ConfigMap"}, {APIVersion: "v1", Kind: "Secret"},
	{APIVersion: "v1", Kind: "ServiceAccount"}, {APIVersion: "v1", Kind: "PersistentVolumeClaim"},
}

// Serves reports whether an object of this kind may be a dependency.
func Serves(k propagation.TemplateKey) bool {
	return slices.Contains(Kinds, propagation.TemplateKey{APIVersion: k.APIVersion, Kind: k.Kind})
}
