// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package wiretest pins the wire format of the API types. testdata holds YAML
// that sets every field that is served; the tests read it into the Go types
// without loss and complain about a field that no example sets. The module
// schematest runs the same files through the generated CRDs.
package wiretest
