#!/usr/bin/env bash
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Makes the Secrets hub-NAME on the Knative cluster of the current kubeconfig: for
# each of Sluice's accounts on the hub a kubeconfig with a token of its own, which
# ends after $DURATION (8760h, or what the hub allows). Again makes new ones: who
# runs takes them within some minutes, without a restart.
#
#   credentials.sh HUB_KUBECONFIG [SERVER]
#
# SERVER is the hub's address as pods reach it; the kubeconfig's if it is left out.
set -euo pipefail
hub=$1
hub() { kubectl --kubeconfig "$hub" "$@"; }
server=${2:-$(hub config view --minify -o 'jsonpath={.clusters[0].cluster.server}')}
tls=$(hub config view --minify -o 'jsonpath={.clusters[0].cluster.tls-server-name}')
ca=$(hub config view --minify --raw --flatten -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}')

for name in $(hub -n sluice-system get serviceaccounts -l app.kubernetes.io/part-of=sluice -o 'jsonpath={.items[*].metadata.name}'); do
  [[ $name != deadletter ]] || continue
  token=$(hub -n sluice-system create token "$name" --duration="${DURATION:-8760h}")
  kubectl apply -f - >/dev/null <<YAML
apiVersion: v1
kind: Secret
metadata:
  name: hub-$name
  namespace: sluice-system
  labels:
    app.kubernetes.io/part-of: sluice
stringData:
  token: "$token"
  kubeconfig: |
    apiVersion: v1
    kind: Config
    current-context: hub
    clusters: [{name: hub, cluster: {server: "$server", tls-server-name: "$tls", certificate-authority-data: "$ca"}}]
    users: [{name: $name, user: {tokenFile: token}}]
    contexts: [{name: hub, context: {cluster: hub, user: $name}}]
YAML
  echo "Secret sluice-system/hub-$name"
done
