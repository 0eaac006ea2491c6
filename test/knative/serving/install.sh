#!/usr/bin/env bash
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Puts Knative Serving in the cluster, with the small ingress of this folder.
set -euo pipefail
source "$(dirname "$0")/../env.sh"
dir() { go list -C "$BOX/serving" -m -f '{{.Dir}}' "knative.dev/$1"; }
NET=$(dir networking) CACHING=$(dir caching)
cd "$(dir serving)"
ctr images import "$IMAGES/serving.tar" >/dev/null
spent "$IMAGES/serving.tar" "$IMAGES/bin"

yaml() {
  local f
  for f in $(find "$@" -name '*.yaml' | grep -v /deployments/ | sort) $(find "$@" -path '*/deployments/*.yaml' | sort); do
    case $f in */activator-hpa.yaml | */webhook-hpa.yaml | */300-knativecertificate.yaml) continue ;; esac
    echo ---
    if [[ $f == */deployments/* ]]; then modest <"$f"; else cat "$f"; fi
  done | resolve serving
}
kubectl create namespace knative-serving --dry-run=client -o yaml | kubectl apply -f - >/dev/null
# In a checkout the networking and caching CRDs are links; a module zip has none.
yaml config/core/300-resources "$NET/config" "$CACHING/config" | kubectl apply --server-side -f - >/dev/null
kubectl wait --for=condition=Established crd --all --timeout=60s >/dev/null
yaml config/core "$BOX/serving/ingress.yaml" | kubectl apply --server-side -f - >/dev/null
# Knative's webhook has to agree to changed settings, and asks for that before it answers.
kubectl -n knative-serving wait --for=condition=Available deployment/webhook --timeout=180s >/dev/null
settings() { until_ok 60 kubectl -n knative-serving patch configmap "$1" --type merge -p "{\"data\":{\"$2\":\"$3\"}}"; }
settings config-network ingress-class sluice-test.ingress.networking.knative.dev
settings config-deployment queue-sidecar-cpu-request 5m
kubectl -n knative-serving wait --for=condition=Available deployment --all --timeout=180s >/dev/null
