#!/usr/bin/env bash
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Brings up a one-node Kubernetes (real kubelet, containerd, runc) with Knative
# Eventing and Serving, a registry, and members beside it. Needs root, and
# from Debian what `run` installs.
set -euo pipefail
source "$(dirname "$0")/env.sh"
network() {
  say "network: namespace $NS, veth to it, bridge for pods"
  ip netns add $NS
  ip link add sluice-kn0 type veth peer name eth0 netns $NS
  ip addr add $HOST_IP/30 dev sluice-kn0
  ip link set sluice-kn0 up
  ip -n $NS link set lo up
  ip -n $NS addr add $NODE_IP/30 dev eth0
  ip -n $NS link set eth0 up
  ip -n $NS route add default via $HOST_IP
  ip -n $NS link add cni0 type bridge
  ip -n $NS addr add $POD_GW/24 dev cni0
  ip -n $NS link set cni0 up
  nsenter --net=/run/netns/$NS sysctl -qw net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1
  # So that programs outside (a test, curl) reach pods and Services by address.
  ip route add $POD_NET via $NODE_IP
  ip route add $SVC_NET via $NODE_IP
  cat >"$RUN/cni/10-bridge.conflist" <<CNI
{"cniVersion": "1.0.0", "name": "$NS", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$RUN/ipam", "ranges": [[{"subnet": "$POD_NET", "gateway": "$POD_GW"}]],
            "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
CNI
}

# The registry is spoken to without TLS. It stands in for docker.io, too, so
# that the manifests name the images that a cluster elsewhere would pull.
registry() {
  local r
  for r in "$REGISTRY" docker.io; do
    mkdir -p "$RUN/certs.d/$r"
    printf 'server = "http://%s"\n[host."http://%s"]\ncapabilities = ["pull", "resolve"]\n' $REGISTRY $REGISTRY >"$RUN/certs.d/$r/hosts.toml"
  done
  mkdir -p "$OUT/registry"
  outside registry crane registry serve --address $REGISTRY --disk "$OUT/registry"
}

container_runtime() {
  local pause
  read -r _ pause <"$IMAGES/pause.map"
  cat >"$RUN/containerd.toml" <<TOML
version = 2
root = "$RUN/containerd"
state = "$SOCK/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
address = "$CONTAINERD_ADDRESS"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "$pause"
# Where root lacks CAP_SYS_RESOURCE (many sandboxes), no process may make
# itself less killable than containerd is.
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "$RUN/certs.d"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "$RUN/cni"
TOML
  start containerd containerd --config "$RUN/containerd.toml"
}

control_plane() {
  local token
  say "etcd, API server"
  start etcd kube etcd --data-dir "$RUN/etcd" --unsafe-no-fsync --log-level warn
  openssl genrsa -out "$RUN/pki/sa.key" 2048 2>/dev/null
  token=$(openssl rand -hex 16)
  echo "$token,admin,admin,system:masters" >"$RUN/pki/tokens.csv"
  start apiserver kube apiserver \
    --etcd-servers http://127.0.0.1:2379 --advertise-address $NODE_IP --secure-port 6443 \
    --cert-dir "$RUN/pki" --token-auth-file "$RUN/pki/tokens.csv" --authorization-mode RBAC \
    --service-cluster-ip-range $SVC_NET --allow-privileged \
    --service-account-issuer https://kubernetes.default.svc.cluster.local \
    --service-account-key-file "$RUN/pki/sa.key" --service-account-signing-key-file "$RUN/pki/sa.key" \
    --kubelet-preferred-address-types InternalIP
  # The API server makes its own certificate, signed by a CA that it appends to
  # the same file; its names are those that pods use.
  until_ok 30 test -s "$RUN/pki/apiserver.crt"
  cat >"$KUBECONFIG" <<KUBE
apiVersion: v1
kind: Config
current-context: knative
clusters: [{name: knative, cluster: {server: "https://$NODE_IP:6443", certificate-authority: "$RUN/pki/apiserver.crt"}}]
users: [{name: admin, user: {token: "$token"}}]
contexts: [{name: knative, context: {cluster: knative, user: admin}}]
KUBE
  ctr images import "$IMAGES/pause.tar" >/dev/null
  until_ok 90 kubectl get --raw /readyz
  start kcm kube kcm --kubeconfig "$KUBECONFIG" --authentication-skip-lookup --use-service-account-credentials \
    --service-account-private-key-file "$RUN/pki/sa.key" --root-ca-file "$RUN/pki/apiserver.crt" --leader-elect=false \
    --flex-volume-plugin-dir "$RUN/volumeplugins"
  start scheduler kube scheduler --kubeconfig "$KUBECONFIG" --authentication-skip-lookup --leader-elect=false
}

worker() {
  say "kubelet, proxy, DNS"
  : >"$RUN/resolv.conf"
  # The kubelet sets these for the whole machine; down.sh puts them back.
  sysctl kernel.panic kernel.panic_on_oops vm.overcommit_memory vm.panic_on_oom kernel.keys.root_maxkeys kernel.keys.root_maxbytes >"$RUN/sysctl"
  cat >"$RUN/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://$CONTAINERD_ADDRESS
failCgroupV1: false
cgroupDriver: cgroupfs
failSwapOn: false
clusterDNS: ["$NODE_IP"]
clusterDomain: cluster.local
resolvConf: $RUN/resolv.conf
podLogsDir: $RUN/pods
volumePluginDir: $RUN/volumeplugins
# Anyone who reaches the node may use the kubelet; the node is in a network
# namespace that only this machine reaches.
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 100Mi}
registryPullQPS: 0
serializeImagePulls: false
maxPods: 110
oomScoreAdj: 0
YAML
  start kubelet node kubelet --config "$RUN/kubelet.yaml" --kubeconfig "$KUBECONFIG" --root-dir "$RUN/kubelet" \
    --cert-dir "$RUN/pki/kubelet" --hostname-override $NS --node-ip $NODE_IP
  start proxy node proxy --kubeconfig "$KUBECONFIG" --hostname-override $NS --cluster-cidr $POD_NET --proxy-mode iptables --oom-score-adj 0 \
    --conntrack-max-per-core 0 --conntrack-tcp-timeout-established 0s --conntrack-tcp-timeout-close-wait 0s
  cat >"$RUN/Corefile" <<CORE
. {
  bind $NODE_IP
  ready $NODE_IP:8181
  errors
  cache 5
  kubernetes cluster.local in-addr.arpa {
    kubeconfig $KUBECONFIG knative
    pods insecure
  }
}
CORE
  start coredns coredns -conf "$RUN/Corefile"
  until_ok 60 kubectl wait --for=condition=Ready node/$NS --timeout=5s
  until_ok 60 curl -sf http://$NODE_IP:8181/ready
}

# Members are those of test/lab, on loopback; pods reach them at this machine's
# end of the veth pair. Their certificates name the loopback address. The lab's hub
# is the one that is another API server than Knative's; it rests until run wants it.
members() {
  local m port
  say "members: $MEMBERS"
  lab up --dir "$OUT/members" --members "$(wc -w <<<"$MEMBERS")" >/dev/null
  mkdir -p "$RUN/members"
  for m in hub $MEMBERS; do
    port=$(sed -n 's#.*server: https://127.0.0.1:##p' "$OUT/members/kubeconfig/$m")
    sed "s#\( *\)server: https://127.0.0.1:.*#\1server: https://$HOST_IP:$port\n\1tls-server-name: 127.0.0.1#" \
      "$OUT/members/kubeconfig/$m" >"$RUN/members/$m"
    outside "forward-$m" socat "TCP-LISTEN:$port,bind=$HOST_IP,fork,reuseaddr,nodelay" "TCP:127.0.0.1:$port,nodelay"
  done
  lab member-stop hub --dir "$OUT/members" >/dev/null
  # What the tests take for a lab whose hub is Knative's cluster.
  rm -rf "$RUN/e2e" && mkdir -p "$RUN/e2e/kubeconfig"
  for m in $MEMBERS; do ln -s "$OUT/members/kubeconfig/$m" "$RUN/e2e/kubeconfig/$m"; done
  ln -s "$KUBECONFIG" "$RUN/e2e/kubeconfig/hub"
}

if [[ ${1:-} == members ]]; then
  members
  exit
fi
[[ -e /run/netns/$NS ]] && { echo "already up: end it with test/knative/down.sh" >&2; exit 1; }
unmount # what a box left that ended by itself
rm -rf "$RUN"
mkdir -p "$RUN"/{log,pid,pki,cni,kubelet} "$SOCK"
network
registry
container_runtime
control_plane
worker
say "the node is ready"
members
installs=()
for layer in eventing serving; do
  { "$BOX/$layer/install.sh"; say "Knative $layer is ready"; } &
  installs+=($!)
done
for pid in "${installs[@]}"; do wait "$pid"; done
