// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package token has a program show the broker who it is, where Knative's feature
// authentication-oidc is on: a SinkBinding then keeps a token for the sink in a
// file of each pod that it binds.
//
// Invariants:
//   - The file is read for each request: Knative replaces it before the token expires.
//   - Without the file no token is sent.
//
// It must not ask for tokens.
package token

import (
	"net/http"
	"os"
	"strings"
)

// File is where a SinkBinding puts the token for its sink.
const File = "/oidc/token"

// Show puts the token of the file, if there is one, into the header.
func Show(h http.Header, file string) {
	if t, err := os.ReadFile(file); err == nil {
		h.Set("Authorization", "Bearer "+strings.TrimSpace(string(t)))
	}
}
