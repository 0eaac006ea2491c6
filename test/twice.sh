# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Sourced by what runs tests on a machine that many things share: on a busy one
# they may outlast their waits.

# What failed once runs as often again; with the first time that is ten times.
AGAIN=9
# More tests than that do not fail for want of time.
FLAKY=3

# twice [FLAGS] -- ARGUMENTS runs go test. A test that fails runs nine times more,
# with the same arguments and FLAGS, while the machine is kept as busy as it was: who
# fails in two of ten runs fails. There is no second run after a data race, a panic or
# a deadlock, where something failed that is no test, and where more than three did.
# What needed it is named, for it is to be looked at.
twice() {
  local log failed again=() flags=() parts=""
  while [[ $1 != -- ]]; do
    flags+=("$1")
    shift
  done
  shift
  log=$(mktemp)
  if (set -o pipefail; go test "$@" 2>&1 | tee "$log"); then
    rm -f "$log"
    return 0
  fi
  if ! failed=$(failures "$log"); then
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
  # The packages that failed, in place of all; what was said last counts.
  while [[ $# -gt 0 ]]; do
    [[ $1 == ./* || $1 == sluice.dev/* ]] || again+=("$1")
    # What -run says of the parts of tests holds for them again.
    [[ $1 != -run || ${2:-} != */* ]] || parts=/${2#*/}
    shift
  done
  read -ra packages < <(awk '{ print $1 }' <<<"$failed" | sort -u | paste -sd' ')
  failed=$(awk '{ print $2 }' <<<"$failed" | sort -u | paste -sd'|')
  echo "failed once, runs $AGAIN times more under load: ${failed//|/ }"
  if busily go test "${again[@]}" "${flags[@]}" -failfast -count=$AGAIN -run "^($failed)\$$parts" "${packages[@]}"; then
    echo "failed once in $((AGAIN + 1)) runs, and is to be looked at: ${failed//|/ }"
    return 0
  fi
  echo "failed twice in at most $((AGAIN + 1)) runs: one of ${failed//|/ }"
  return 1
}

# failures LOG says which tests of which packages failed, a line each; it fails where
# that is not all, or nothing that a second run may excuse.
failures() {
  local found
  ! grep -qE '^(panic:|fatal error:)|WARNING: DATA RACE|race detected during execution' "$1" || return 1
  # A package is named after its tests.
  found=$(awk '
    /^--- FAIL: / { tests[++n] = $3 }
    /^(ok|FAIL)[ \t]+[^ \t]/ {
      if ($1 == "FAIL" && (n == 0 || /\[(build|setup) failed\]/)) exit 1
      for (i = 1; $1 == "FAIL" && i <= n; i++) print $2, tests[i]
      n = 0
    }
    END { if (n > 0) exit 1 }' "$1") || return 1
  [[ -n $found ]] && (($(wc -l <<<"$found") <= FLAKY)) && echo "$found"
}

# busily COMMAND... runs the command beside a loop for each core, which ends with it,
# or with this shell.
busily() {
  local loops=() rc=0 i
  for ((i = $(nproc); i > 0; i--)); do
    (while kill -0 $$; do :; done) >/dev/null 2>&1 &
    loops+=($!)
  done
  "$@" || rc=$?
  kill "${loops[@]}" 2>/dev/null
  wait "${loops[@]}" 2>/dev/null
  return "$rc"
}
