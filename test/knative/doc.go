// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package knative proves what holds on a real Knative alone: functions, brokers,
// sources and Redis that die in the middle lose nothing, and two replicas of
// every stage do what one does, one stage scales alone, with tokens nobody but the
// Broker is heard, and with network policies nobody but those they name gets a
// connection. It measures how long an event takes. That the promises hold there,
// too, is proved by the scenarios of test/e2e, which run does with another API
// server as the hub.
//
// A test is a feature: what is there, what is done, what has to follow. They are
// plain Go tests, for Knative's own framework for them (reconciler-test) is not
// among the modules that the Go proxy in use offers.
//
// Its tests are skipped unless SLUICE_KNATIVE_DIR says where run has put the
// cluster.
package knative
