#!/usr/bin/env bash
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Puts Knative Eventing (core, in-memory channel, channel-based broker) in the
# cluster, from the YAML in its Go module and the images that build.sh made.
set -euo pipefail
source "$(dirname "$0")/../env.sh"
cd "$(go list -C "$BOX/eventing" -m -f '{{.Dir}}' knative.dev/eventing)"
ctr images import "$IMAGES/eventing.tar" >/dev/null
spent "$IMAGES/eventing.tar"

# Deployments last, so that they find their accounts and settings; what is left out is what no broker or
# ApiServerSource needs (and what would want more images, or a metrics server).
yaml() {
  local f
  for f in $(find "$@" -name '*.yaml' | grep -v /deployments/ | sort) $(find "$@" -path '*/deployments/*.yaml' | sort); do
    case $f in */deployments/job-sink.yaml | */deployments/request-reply.yaml | */hpa.yaml | */webhook-hpa.yaml) continue ;; esac
    echo ---
    case $f in
      # What carries the events has a share of the cores; Knative asks for none for this one.
      */in-memory-channel/deployments/dispatcher.yaml)
        sed 's/^      - name: dispatcher$/&\n        resources: {requests: {cpu: 50m}}/' "$f" | modest ;;
      */mt-channel-broker/deployments/broker-*.yaml) modest 50m <"$f" ;;
      */deployments/*) modest <"$f" ;;
      *) cat "$f" ;;
    esac
  done | resolve eventing
}
kubectl create namespace knative-eventing --dry-run=client -o yaml | kubectl apply -f - >/dev/null
yaml config/core/resources config/channels/in-memory-channel/resources | kubectl apply --server-side -f - >/dev/null
kubectl wait --for=condition=Established crd --all --timeout=60s >/dev/null
# In a checkout these two are links into config/core; a module zip has no links.
yaml third_party/eventing-integrations-latest config/core config/channels/in-memory-channel config/brokers/mt-channel-broker \
  | kubectl apply --server-side -f - >/dev/null
kubectl -n knative-eventing wait --for=condition=Available deployment --all --timeout=180s >/dev/null
