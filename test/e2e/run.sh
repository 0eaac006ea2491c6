#!/usr/bin/env bash
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the end-to-end tests: all of them on the playground that is up in DIRECTORY, or each
# of LABS playgrounds that are started there its share at once, for a test waits most of
# the time, and one that does harm to everybody has its playground alone. What fails has
# to pass nine times then.
#
#   test/e2e/run.sh PLAYGROUND DIRECTORY MEMBERS
set -uo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
LABS=2

# share N OF runs each OFth test, from the Nth on, on the playground of SLUICE_E2E_DIR.
share() {
  cd "$here" || return 1
  source ../twice.sh
  local names
  names=$(go test -list . . | awk -v n="$1" -v of="$2" '/^Test/ && NR % of == n % of' | paste -sd'|')
  [[ -n $names ]] || { echo "e2e: no test is the ${1}th of $2"; return 1; }
  twice -timeout=85m -- -count=1 -timeout=75m -run "^($names)\$" .
}

if [[ $1 == share ]]; then
  share "$2" "$3"
  exit
fi

playground=$(realpath "$1") directory=$2 members=$3
if [[ -e $directory/ready ]]; then
  exec "$playground" with --dir "$directory" -- "$here/run.sh" share 1 1
fi
shares=()
for ((n = 1; n <= LABS; n++)); do
  lab=$directory/e2e/$n
  mkdir -p "$lab"
  ln -sfn "$(dirname "$playground")" "$lab/bin"
  "$playground" with --with-parent --audit --dir "$lab" --members "$members" -- \
    "$here/run.sh" share "$n" $LABS >"$lab/tests.log" 2>&1 &
  shares+=($!)
done
failed=0
for ((n = 1; n <= LABS; n++)); do
  wait "${shares[n - 1]}" || failed=1
  cat "$directory/e2e/$n/tests.log"
done
exit $failed
