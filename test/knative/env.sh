# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Where things lie and what they are called; sourced by the other scripts.
BOX=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$BOX/../.." && pwd)
OUTPUT=$(mkdir -p "${OUTPUT:-$ROOT/_output}" && cd "${OUTPUT:-$ROOT/_output}" && pwd)
OUT=$OUTPUT/knative           # everything that is written here
BIN=$OUT/bin                  # programs built from Go modules
IMAGES=$OUT/images            # images of pods, as archives
RUN=$OUT/run                  # everything that the running cluster writes
SOCK=/run/sluice-knative      # sockets and container mounts
NS=sluice-knative             # network namespace that the whole node lives in

HOST_IP=10.243.0.1            # this machine's end of the veth pair: registry, members
NODE_IP=10.243.0.2            # the node's end: API server, kubelet, DNS
POD_NET=10.244.0.0/24
POD_GW=10.244.0.1
SVC_NET=10.96.0.0/16
REGISTRY=$HOST_IP:5005
MEMBERS='member1 member2 member3'

export PATH=$BIN:$OUTPUT/bin:$PATH
export KUBECONFIG=$RUN/admin.kubeconfig
export CONTAINERD_ADDRESS=$SOCK/containerd.sock CONTAINERD_NAMESPACE=k8s.io
# As ko and the lab compile, so that nothing is compiled twice.
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath"

say() { printf 'knative: %4d s  %s\n' "$SECONDS" "$*"; }

# spent FILE... deletes what nobody needs again, where the machine is thrown away: a full
# disk there fails in places that do not say so.
spent() { [[ ${CI:-} != true ]] || rm -rf "$@"; }

# start NAME CMD... runs CMD in the background inside the node's network
# namespace (nsenter, not `ip netns exec`, which would remount /sys and hide
# the cgroups), logs to run/log/NAME and keeps its pid in run/pid/NAME.
start() {
  local name=$1
  shift
  nsenter --net=/run/netns/$NS setsid "$@" >"$RUN/log/$name.log" 2>&1 </dev/null &
  echo $! >"$RUN/pid/$name"
}

# outside is start, in this machine's own network namespace.
outside() {
  local name=$1
  shift
  setsid "$@" >"$RUN/log/$name.log" 2>&1 </dev/null &
  echo $! >"$RUN/pid/$name"
}

# until_ok SECONDS CMD... repeats CMD until it succeeds.
until_ok() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || { echo "gave up waiting for: $*" >&2; return 1; }
    sleep 0.2
  done
}

# unmount takes away whatever is mounted below run/ and the sockets' directory.
unmount() {
  awk -v a="$RUN/" -v b="$SOCK/" 'index($2, a) == 1 || index($2, b) == 1 { print $2 }' /proc/mounts | sort -ru |
    while read -r m; do umount -l "$m"; done
}

# resolve LAYER rewrites the ko:// references of standard input to the images
# that build.sh made.
resolve() { images -resolve -map "$IMAGES/$1.map"; }

# modest [CPU] makes the CPU requests of standard input small, for two cores have to
# do for all of Knative and all functions, and leaves out liveness probes: on a busy
# machine they would end what is only slow.
modest() {
  sed -E '/^ *requests:/,/^ *limits:/ s/^( *cpu:) .*/\1 '"${1:-5m}"'/' | awk '
    { match($0, /^ */); indent = RLENGTH }
    /^ *livenessProbe:/ { skip = 1; at = indent; next }
    skip && (indent > at || $0 ~ /^ *$/) { next }
    { skip = 0; print }'
}
