// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import "k8s.io/apimachinery/pkg/runtime/schema"

// Right is something that an account may or may not do on the hub.
type Right struct {
	// Account is the name of a ServiceAccount of SystemNamespace.
	Account string
	Verb    string
	// Resource in the spelling of discovery.
	Resource schema.GroupResource
	// Status: of the status of objects, not of the objects.
	Status bool
	// Namespace; empty: everywhere.
	Namespace string
}

// String is the right in words: "account detector may patch widgets.example.com in shop".
func (r Right) String() string {
	what, where := r.Resource.String(), "in all namespaces"
	if r.Status {
		what = "the status of " + what
	}
	if r.Namespace != "" {
		where = "in " + r.Namespace
	}
	return "account " + r.Account + " may " + r.Verb + " " + what + " " + where
}
