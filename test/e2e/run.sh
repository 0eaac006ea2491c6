#!/usr/bin/env bash
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the end-to-end tests; what fails has to pass nine times then.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source ../twice.sh
twice -timeout=85m -- -count=1 -timeout=75m ./...
