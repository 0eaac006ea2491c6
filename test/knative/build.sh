#!/usr/bin/env bash
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds what the box is made of: the programs of the node, the images of
# Knative, ko and a registry. No network but the Go module proxy. About 15
# minutes on two cores the first time; with a warm build cache, seconds.
set -euo pipefail
source "$(dirname "$0")/env.sh"
mkdir -p "$BIN" "$IMAGES"

"$ROOT/test/lab/build.sh" "$OUTPUT/bin"
say "node: kubelet and proxy"
# With the flags of test/lab/build.sh, so that Kubernetes is compiled once for both.
v=k8s.io/component-base/version
version=$(go list -C "$ROOT/test/lab" -m -f '{{.Version}}' k8s.io/kubernetes)
IFS=. read -r major minor _ <<<"${version#v}"
go build -C "$ROOT/test/lab" -buildvcs=false -tags=kube \
  -ldflags "-s -w -X $v.gitVersion=$version -X $v.gitMajor=$major -X $v.gitMinor=$minor" -o "$BIN/node" ./node
say "coredns"
go build -C "$BOX/coredns" -buildvcs=false -ldflags "-s -w" -o "$BIN/coredns" .
say "ko, crane"
# As go tool compiles, with which make apply starts ko: it knows no -trimpath.
go build -C "$ROOT/tools/ko" -trimpath=false -buildvcs=false -o "$BIN/" github.com/google/ko github.com/google/go-containerregistry/cmd/crane
say "what the functions are made of"
# So that ko compiles nothing while a node is up.
# shellcheck disable=SC2046 # one word for each package
(cd "$ROOT" && go build $(go list -deps -f '{{if ne .Name "main"}}{{.ImportPath}}{{end}}' ./functions/...))
say "kubectl sluice"
go build -C "$ROOT" -buildvcs=false -o "$BIN/" ./cmd/kubectl-sluice

go build -C "$BOX/images" -buildvcs=false -o "$BIN/images" .
images -C "$BOX/images" -bin "$IMAGES/bin" -out "$IMAGES/pause.tar" -map "$IMAGES/pause.map" sluice.dev/test/knative/images/pause=pause
for layer in eventing serving; do
  say "images of Knative: $layer"
  # shellcheck disable=SC2046 # one word for each program
  images -C "$BOX/$layer" -bin "$IMAGES/bin" -out "$IMAGES/$layer.tar" -map "$IMAGES/$layer.map" $(go list -C "$BOX/$layer" tool)
done
say "built"
