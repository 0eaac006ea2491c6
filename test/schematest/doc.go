// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package schematest says what the API server accepts: it runs objects through
// the generated CRDs with the API server's own code (defaulting, pruning,
// OpenAPI, list types, CEL) and without a server.
//
// Invariants:
//   - Only the generated YAML is read, never the Go types, so what is tested is
//     what is deployed.
//   - An object that is accepted loses no field.
//
// It is a module of its own because that code is part of the API server, which
// the main module must not depend on.
package schematest
