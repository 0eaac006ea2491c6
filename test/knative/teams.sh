#!/usr/bin/env bash
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# What teams build on the events (examples/teams), installed as they would, tested
# and removed again; sourced by run.

# The order is that of examples/teams/README.md: the Trigger of the gate is led
# through the change window once that is there.
teams_up() {
  say "what teams build on the events"
  kubectl apply -f "$ROOT/examples/teams/namespaces.yaml" -f "$ROOT/examples/teams/bounds" >/dev/null
  with_ko ko apply -f examples/teams/audit.yaml -f examples/teams/scheduler -f examples/teams/changewindow \
    -f test/knative/testdata/notifier.yaml
  kubectl apply -f "$ROOT/examples/teams/notify-preempted.yaml" >/dev/null
  kubectl -n shop-tools wait --for=condition=Ready ksvc,sinkbinding,pingsource --all --timeout=300s >/dev/null
  kubectl -n shop-tools wait --for=condition=Available deployment/notifier --timeout=180s >/dev/null
  kubectl -n sluice-system wait --for=condition=Available deployment/audit --timeout=180s >/dev/null
  # By hand, for the overlay would apply all of Sluice again.
  kubectl -n sluice-system patch trigger gate --type=json --patch-file "$ROOT/examples/teams/changewindow/reroute/patch.json" >/dev/null
  kubectl -n sluice-system wait --for=condition=Ready trigger --all --timeout=180s >/dev/null
}

teams_down() {
  kubectl apply -f "$ROOT/config/600-eventing/trigger-gate.yaml" >/dev/null
  kubectl delete --ignore-not-found -f "$ROOT/examples/teams/notify-preempted.yaml" -f "$ROOT/examples/teams/audit.yaml" \
    -f "$ROOT/test/knative/testdata/notifier.yaml" -f "$ROOT/examples/teams/scheduler" -f "$ROOT/examples/teams/changewindow" \
    -f "$ROOT/examples/teams/bounds" -f "$ROOT/examples/teams/namespaces.yaml" >/dev/null
}

# teams [FLAGS] does all of it; what failed stays up.
teams() {
  teams_up
  (cd "$ROOT" && SLUICE_KNATIVE_DIR=$OUT twice -- -count=1 -v ./test/knative -timeout 30m -run '^TestTeam' "$@")
  teams_down
}
