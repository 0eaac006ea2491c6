#!/usr/bin/env bash
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs Sluice on the cluster of the current kubeconfig: says all that is
# missing before it changes anything, then ko apply. Arguments are ko's.
#
#   OVERLAYS="kafka my/redis" tools/ko/apply.sh
#
# applies config/ with overlays: folders of examples/overlays, or paths from here
# to components of your own. Where Knative has tokens, oidc is among them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Knative's releases 1.N are the modules' 0.(N+27).
least_serving=15
least_eventing=23

missing=()
unverified= # why callers are not checked
lacks() { missing+=("$*"); }

overlays=()
for o in ${OVERLAYS:-}; do
  [[ $o == */* ]] || o=examples/overlays/$o
  overlays+=("$o")
  grep -qs '^kind: Component$' "$o/kustomization.yaml" || lacks "$o is no overlay: a kustomization.yaml with kind: Component"
done
with() { [[ " ${overlays[*]} " == *"/$1 "* ]]; }

served() { kubectl get "crd/$1" >/dev/null 2>&1; }

# recent NAMESPACE LEAST fails where Knative says that it is older. One that does
# not say, or is no release, is taken for recent.
recent() {
  local version
  version=$(kubectl get namespace "$1" -o 'jsonpath={.metadata.labels.app\.kubernetes\.io/version}' 2>/dev/null) || return 0
  [[ $version =~ ^v?([01])\.([0-9]+) ]] || return 0
  local minor=$((BASH_REMATCH[1] == 1 ? BASH_REMATCH[2] : BASH_REMATCH[2] - 27))
  ((minor >= $2)) || { echo "$version"; return 1; }
}

if ! command -v kubectl >/dev/null; then
  lacks "kubectl is not in PATH"
elif ! kubectl version >/dev/null 2>&1; then
  lacks "no cluster answers: does 'kubectl version' work with the current kubeconfig?"
else
  if ! served services.serving.knative.dev; then
    lacks "Knative Serving is not installed (1.$least_serving or later): knative.dev/docs/install"
  elif ! version=$(recent knative-serving $least_serving); then
    lacks "Knative Serving is $version, and has to be 1.$least_serving or later"
  fi
  if ! version=$(recent knative-eventing $least_eventing); then
    lacks "Knative Eventing is $version, and has to be 1.$least_eventing or later"
  fi
  for crd in brokers triggers eventtypes; do
    served $crd.eventing.knative.dev || lacks "Knative Eventing is not installed ($crd; 1.$least_eventing or later)"
  done
  for crd in apiserversources containersources pingsources sinkbindings; do
    served $crd.sources.knative.dev || lacks "Knative Eventing has no $crd"
  done
  if with kafka; then
    kubectl -n knative-eventing get deployment kafka-broker-receiver >/dev/null 2>&1 ||
      lacks "Knative's Kafka Broker is not installed (deployment knative-eventing/kafka-broker-receiver)"
  elif served brokers.eventing.knative.dev && ! kubectl -n knative-eventing get configmap config-br-defaults >/dev/null 2>&1; then
    lacks "there is no default Broker class: ConfigMap knative-eventing/config-br-defaults"
  fi
  tokens=$(kubectl -n knative-eventing get configmap config-features -o 'jsonpath={.data.authentication-oidc}' 2>/dev/null) || tokens=
  if with oidc; then
    [[ $tokens == enabled ]] || lacks "the overlay oidc needs authentication-oidc: enabled in ConfigMap knative-eventing/config-features"
  elif [[ $tokens != enabled ]]; then
    unverified="Knative has no tokens here (authentication-oidc in ConfigMap knative-eventing/config-features is not enabled)"
  elif [[ $(kubectl -n sluice-system get broker sluice -o name 2>/dev/null) && ! $(kubectl -n sluice-system get configmap functions -o 'jsonpath={.data.OIDC_AUDIENCE}' 2>/dev/null) ]]; then
    # Knative does not bring tokens to all that is there already.
    unverified="Sluice was installed without tokens, which Knative has by now: remove it, and install it anew"
  else
    overlays+=(examples/overlays/oidc)
  fi
  if with hub-kubeconfig && ! kubectl -n sluice-system get secret hub-source hub-sweeper >/dev/null 2>&1; then
    lacks "there are no credentials for the hub: examples/overlays/hub-kubeconfig/credentials.sh makes them"
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

# settings is a sum over what the functions read when they start; nothing where
# there is none yet.
settings() {
  local map secret
  map=$(kubectl -n sluice-system get configmap functions -o 'jsonpath={.data}' 2>/dev/null) || return 0
  secret=$(kubectl -n sluice-system get secret redis -o 'jsonpath={.data}' 2>/dev/null) || return 0
  sha256sum <<<"$map$secret" | cut -c1-16
}
before=$(settings)

# Knative lets nobody change an EventType, and nothing depends on one.
kubectl -n sluice-system delete eventtypes -l app.kubernetes.io/part-of=sluice --ignore-not-found

# A Broker that was there before its channel made one itself, which answers only when
# every subscriber has, and heeds nothing else later. It is made anew, with its Broker;
# the sweeper finds what was on its way.
maker=$(kubectl -n sluice-system get inmemorychannel sluice-kne-trigger -o 'jsonpath={.metadata.annotations.messaging\.knative\.dev/creator}' 2>/dev/null) || maker=
if [[ $maker == system:serviceaccount:knative-eventing:* ]]; then
  kubectl -n sluice-system delete broker sluice --ignore-not-found
  kubectl -n sluice-system delete inmemorychannel sluice-kne-trigger --ignore-not-found
fi

export KO_CONFIG_PATH=${KO_CONFIG_PATH:-ko.yaml}
ko() { go tool -modfile=tools/ko/go.mod ko "$@"; }
if ((${#overlays[@]})); then
  mkdir -p _output/overlay
  {
    echo 'sortOptions: {order: fifo}' # the channel before its Broker
    echo 'resources: [../../config]'
    echo 'components:'
    printf '  - ../../%s\n' "${overlays[@]}"
  } >_output/overlay/kustomization.yaml
  kubectl kustomize _output/overlay >_output/overlay/all.yaml
fi

# The small Redis wants a password, which is made once: it stands where the address
# does, and Redis and functions read it there when they start.
small() { ((${#overlays[@]} == 0)) || grep -q redis-server _output/overlay/all.yaml; }
secured=
if small && [[ -z $(kubectl -n sluice-system get secret redis -o 'jsonpath={.data.password}' 2>/dev/null) ]]; then
  secured=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
  kubectl apply -f config/100-namespace
  kubectl apply --server-side --field-manager=sluice-password -f - <<END
apiVersion: v1
kind: Secret
metadata: {name: redis, namespace: sluice-system}
stringData: {password: "$secured", redis.conf: "requirepass $secured"}
END
fi

if ((${#overlays[@]})); then
  ko apply "$@" -f _output/overlay/all.yaml
else
  ko apply "$@" -R -f config/
fi
# kubectl sluice version says which version this is. A checkout without git knows none.
version=
[[ ! -e .git ]] || version=$(git describe --always --dirty 2>/dev/null) || version=
kubectl annotate --overwrite namespace sluice-system "sluice.dev/version=${version:-unknown}"
# Knative makes new pods where a Service changes, and not where what it refers to
# does: whoever runs on would keep, say, callers unverified. Nor does a Deployment.
after=$(settings)
[[ -z $before || -z $secured ]] || kubectl -n sluice-system rollout restart deployment/redis
if [[ -n $before && $before != "$after" ]]; then
  for service in $(kubectl -n sluice-system get ksvc -l app.kubernetes.io/part-of=sluice -o name); do
    kubectl -n sluice-system patch "$service" --type merge \
      -p '{"spec":{"template":{"metadata":{"annotations":{"sluice.dev/settings":"'"$after"'"}}}}}'
  done
fi
kubectl -n sluice-system wait --for=condition=Ready broker/sluice --timeout=2m
kubectl -n sluice-system wait --for=condition=Ready ksvc --all --timeout=5m
if [[ -n $unverified ]]; then
  printf 'WARNING: functions take events from whoever reaches them in this cluster. %s.\nSee "Who may call" in docs/knative.md.\n' "$unverified" >&2
fi
