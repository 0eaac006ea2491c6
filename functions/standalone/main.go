// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command standalone runs the whole pipeline in one process.
package main

import "sluice.dev/pkg/standalone"

func main() { standalone.Main() }
