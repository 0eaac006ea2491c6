#!/usr/bin/env bash
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Stops what up.sh started and removes all that it left: processes by the pids
# it kept, pods by their cgroup, mounts, routes, the network namespace, and
# kernel settings that the kubelet changed. `down.sh keep` leaves the logs.
set -uo pipefail
source "$(dirname "$0")/env.sh"

[[ ! -x $OUTPUT/bin/lab ]] || lab down --dir "$OUT/members" >/dev/null 2>&1
# The state is thrown away, so nothing needs to end gently. The kubelet goes
# first, or it would start its pods again.
for p in netpol kubelet proxy coredns scheduler kcm apiserver etcd registry $(printf "forward-%s " hub $MEMBERS); do
  [[ -f $RUN/pid/$p ]] && kill -9 "$(cat "$RUN/pid/$p")" 2>/dev/null
done
cgroups() { find /sys/fs/cgroup -maxdepth 2 -type d -name kubepods; }
for _ in {1..20}; do
  pids=$(for c in $(cgroups); do find "$c" -name cgroup.procs -exec cat {} + 2>/dev/null; done | sort -u)
  [[ -z $pids ]] && break
  # shellcheck disable=SC2086 # one word for each process
  kill -9 $pids 2>/dev/null
  sleep 0.1
done
# Shims are children of nobody; they are known by this containerd's address.
for dir in /proc/[0-9]*; do
  [[ -r $dir/cmdline ]] || continue
  cmd=$(tr '\0' ' ' 2>/dev/null <"$dir/cmdline") || continue
  [[ $cmd == *containerd-shim-runc-v2* && $cmd == *"$CONTAINERD_ADDRESS"* ]] && kill -9 "${dir#/proc/}" 2>/dev/null
done
[[ -f $RUN/pid/containerd ]] && kill -9 "$(cat "$RUN/pid/containerd")" 2>/dev/null
sleep 0.3

unmount
for c in $(cgroups); do find "$c" -depth -type d -exec rmdir {} + 2>/dev/null; done
ip link delete sluice-kn0 2>/dev/null # its routes go with it
ip netns delete $NS 2>/dev/null       # and the bridge, veths and firewall rules with this
for f in /var/lib/cni/results/"$NS"-*-eth0; do
  [[ -e $f ]] || continue
  id=${f##*/"$NS"-}
  rm -f "$f" "/var/lib/cni/results/cni-loopback-${id%-eth0}-lo"
done
# The kubelet's device plugin socket has a fixed place.
rm -f /var/lib/kubelet/device-plugins/kubelet.sock
rmdir /var/lib/kubelet/device-plugins /var/lib/kubelet 2>/dev/null
find /var/log/containers -lname "$RUN/*" -delete 2>/dev/null
[[ -s $RUN/sysctl ]] && sysctl -qp "$RUN/sysctl"
rm -rf "$SOCK"
if [[ ${1:-} == keep ]]; then rm -rf "$RUN"/{containerd,etcd,kubelet,pid}; else rm -rf "$RUN"; fi
say "down"
