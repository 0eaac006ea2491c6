#!/usr/bin/env bash
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Usage: build.sh DIRECTORY
#
# Builds the lab's programs: DIRECTORY/{kube,kubectl,lab}. Quick and quiet if
# nothing changed; shows progress while Kubernetes compiles.
set -euo pipefail
[[ $# == 1 ]] || { echo "usage: $0 DIRECTORY" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"

# These flags decide what the build cache can be used for: changing one of them
# compiles Kubernetes again. Without cgo the binary is smaller and needs no C
# compiler; without VCS stamps a commit does not link it again.
export CGO_ENABLED=0
flags=(-trimpath -buildvcs=false -tags=kube)

tmp=$(mktemp -d)
pid=
trap '[[ -z $pid ]] || kill "$pid" 2>/dev/null; rm -rf "$tmp"' EXIT

build() {
  # The servers and their clients tell each other this version.
  local version v=k8s.io/component-base/version
  version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
  IFS=. read -r major minor _ <<<"${version#v}"
  go list "${flags[@]}" -deps ./kube ./cmd/lab >"$tmp/list"
  mv "$tmp/list" "$tmp/packages"
  exec go build "${flags[@]}" -v \
    -ldflags "-s -w -X $v.gitVersion=$version -X $v.gitMajor=$major -X $v.gitMinor=$minor" \
    -o "$out/" ./kube ./cmd/lab
}
: >"$tmp/log"
build 2>"$tmp/log" &
pid=$!

# go build -v names each package as it compiles it, and none if all are cached.
count() { grep -c "$@" "$tmp/log" || true; }
began=$SECONDS told=0 next=10
while kill -0 "$pid" 2>/dev/null; do
  sleep 0.2
  built=$(count -v '^go: ')
  if ((!told && built > 20)); then
    told=1
    echo "kube: compiling Kubernetes, once: about 7 minutes on two cores"
  fi
  if ((SECONDS - began >= next)); then
    next=$((next + 10))
    if [[ ! -f $tmp/packages ]]; then
      echo "kube: $((SECONDS - began)) s, downloading modules, $(count '^go: downloading') so far"
    elif grep -q '^sluice.dev/test/lab/kube$' "$tmp/log"; then
      echo "kube: $((SECONDS - began)) s, linking"
    else
      echo "kube: $((SECONDS - began)) s, compiled $built of $(wc -l <"$tmp/packages") packages"
    fi
  fi
done
rc=0
wait "$pid" || rc=$?
pid=
if ((rc)); then
  [[ -f $tmp/packages ]] || : >"$tmp/packages"
  grep -vxF -f "$tmp/packages" "$tmp/log" | grep -v '^go: downloading' >&2 || true
  exit "$rc"
fi
ln -sfn kube "$out/kubectl"
((!told)) || echo "kube: built after $((SECONDS - began)) s"
