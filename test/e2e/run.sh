#!/usr/bin/env bash
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the end-to-end tests, and what fails once more, alone.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source ../twice.sh
twice -timeout=25m -parallel=2 -- -count=1 -timeout=40m ./...
