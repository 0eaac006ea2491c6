# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Sourced by what runs tests on a machine that many things share: on a busy one
# they may outlast their waits.

# twice [AGAIN...] -- ARGUMENTS runs go test. What fails is run once more, alone and
# with the flags AGAIN, and has to pass then; what needed that is named, for it is
# to be looked at. There is no second run after a data race, nor after a panic,
# which also kept tests from running.
twice() {
  local first failed again=()
  while [[ $1 != -- ]]; do
    again+=("$1")
    shift
  done
  shift
  first=$(mktemp)
  if (set -o pipefail; go test "$@" 2>&1 | tee "$first"); then
    rm -f "$first"
    return 0
  fi
  if grep -qE '^(panic:|fatal error:|WARNING: DATA RACE)' "$first"; then
    rm -f "$first"
    return 1
  fi
  failed=$(awk '/^--- FAIL: / { print $3 }' "$first" | sort -u | paste -sd'|')
  rm -f "$first"
  [[ -n $failed ]] || return 1
  echo "failed among others, runs once more alone: ${failed//|/ }"
  go test "$@" "${again[@]}" -run "^($failed)$" || return 1
  echo "passed alone, and is to be looked at: ${failed//|/ }"
}
