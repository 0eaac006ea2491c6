// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package webhookserver serves the webhook over TLS, with a certificate that it makes
// itself and tells the hub's API servers to trust.
//
// The certificate signs itself, so there is no authority whose key could be
// lost. Its names are those by which the webhook configurations call it. All
// replicas share it through a Secret, and one process reads it after a restart; it is made
// anew when a third of its life is left, or when it is called by another name, and its
// predecessor is trusted on until then.
//
// Why this is no library's: the certificates of knative.dev/pkg/webhook need a Secret
// that somebody made, an informer and a leader, are for a Service's name alone, which
// the one process does not have, and replace the CA without a time in which both are
// trusted. The pair of client-go's util/cert would save 40 lines, and takes 510 ms to
// make and 2.4 kB, for an authority and RSA keys, where this one takes 0.6 ms and 0.7 kB.
//
// Invariants:
//   - What API servers trust is written before it is served.
//   - Secret and configurations are written on condition that nobody else did
//     meanwhile, and only where that changes anything.
//   - Without a certificate there is no answer, and nobody waits for one.
//
// The environment that Main reads: KUBECONFIG (the hub; empty: the cluster that
// the process is in), PORT (8443).
//
// It must not know what is reviewed.
package webhookserver
