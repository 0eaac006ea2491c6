#!/usr/bin/env bash
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs Sluice on the cluster of the current kubeconfig: says all that is
# missing before it changes anything, then ko apply. Arguments are ko's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

missing=()
lacks() { missing+=("$*"); }

served() { kubectl get "crd/$1" >/dev/null 2>&1; }

if ! command -v kubectl >/dev/null; then
  lacks "kubectl is not in PATH"
elif ! kubectl version >/dev/null 2>&1; then
  lacks "no cluster answers: does 'kubectl version' work with the current kubeconfig?"
else
  served services.serving.knative.dev || lacks "Knative Serving is not installed (0.42 or later): knative.dev/docs/install"
  for crd in brokers triggers; do
    served $crd.eventing.knative.dev || lacks "Knative Eventing is not installed ($crd; 0.50 or later)"
  done
  for crd in apiserversources containersources pingsources sinkbindings; do
    served $crd.sources.knative.dev || lacks "Knative Eventing has no $crd"
  done
  if served brokers.eventing.knative.dev && ! kubectl -n knative-eventing get configmap config-br-defaults >/dev/null 2>&1; then
    lacks "there is no default Broker class: ConfigMap knative-eventing/config-br-defaults"
  fi
  for verb in create patch; do
    kubectl auth can-i $verb clusterroles >/dev/null 2>&1 || lacks "you may not $verb ClusterRoles: an administrator of the cluster installs Sluice"
  done
fi
[[ -n ${KO_DOCKER_REPO:-} ]] || lacks "KO_DOCKER_REPO is not set: the registry that ko pushes to and the cluster pulls from"

if ((${#missing[@]})); then
  printf 'nothing was changed. What is missing:\n' >&2
  printf '  - %s\n' "${missing[@]}" >&2
  exit 1
fi

export KO_CONFIG_PATH=${KO_CONFIG_PATH:-ko.yaml}
go tool -modfile=tools/ko/go.mod ko apply "$@" -R -f config/
kubectl -n sluice-system wait --for=condition=Ready broker/sluice --timeout=2m
# The in-memory channel answers only when every subscriber has, and what they
# replied was delivered: a member that is down would hold up all others. It can
# be told to answer at once.
if kubectl -n sluice-system get inmemorychannel sluice-kne-trigger >/dev/null 2>&1; then
  kubectl -n sluice-system annotate --overwrite inmemorychannel sluice-kne-trigger messaging.knative.dev/async-handler=true
fi
kubectl -n sluice-system wait --for=condition=Ready ksvc --all --timeout=5m
