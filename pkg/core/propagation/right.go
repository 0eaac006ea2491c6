// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import "k8s.io/apimachinery/pkg/runtime/schema"

// Right is something that an account may be allowed to do on the hub.
type Right struct {
	// Account is the name of a ServiceAccount of SystemNamespace.
	Account string
	Verb    string
	// Resource as discovery spells it.
	Resource schema.GroupResource
	// Status: the right is about the subresource status.
	Status bool
	// Namespace in which; empty: in all.
	Namespace string
}

// String returns the right in words: "account detector may patch widgets.example.com in
// shop".
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
