// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Keys of the Secret that Cluster.spec.secretRef names.
const (
	// SecretTokenKey holds a bearer token for the member's API server.
	SecretTokenKey = "token"
	// SecretCADataKey holds the certificates that the member's API server is
	// checked with, in PEM. Absent means the system's.
	SecretCADataKey = "caBundle"
)

// Keys of the taints that tell of a cluster's condition.
const (
	TaintClusterNotReady    = "cluster.karmada.io/not-ready"
	TaintClusterUnreachable = "cluster.karmada.io/unreachable"
)

// MaxNameLength is the longest name that a cluster may have, in characters: the
// name is part of names that have a limit themselves.
const MaxNameLength = 48

// Types of a Cluster's conditions.
const (
	// ConditionReady: the member's API server answers and is healthy.
	ConditionReady = "Ready"
	// ConditionCompleteAPIEnablements: status.apiEnablements lists all that
	// the member serves. While it is not True, a kind that is not listed may
	// be served all the same.
	ConditionCompleteAPIEnablements = "CompleteAPIEnablements"
	// ConditionRemovalHeld: more would leave the member than may at once, and
	// nobody asked for it by name: all of that stays until a person lets it go.
	ConditionRemovalHeld = "RemovalHeld"
	// ConditionWatchable: while it is False, the credentials may not list and watch
	// some kinds that policies select, and nobody hears of what changes there.
	ConditionWatchable = "Watchable"
)

// Reasons of ConditionWatchable.
const (
	ReasonWatched        = "Watched"
	ReasonWatchForbidden = "WatchForbidden"
)

// Reasons of ConditionReady.
const (
	ReasonClusterReady        = "ClusterReady"
	ReasonClusterNotReady     = "ClusterNotReady"
	ReasonClusterNotReachable = "ClusterNotReachable"
)

// Reasons of ConditionCompleteAPIEnablements.
const (
	ReasonFullAPIEnablements    = "FullAPIEnablements"
	ReasonPartialAPIEnablements = "PartialAPIEnablements"
	ReasonEmptyAPIEnablements   = "EmptyAPIEnablements"
)
