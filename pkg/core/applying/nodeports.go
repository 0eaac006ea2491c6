// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"fmt"
	"slices"

	"sluice.dev/pkg/core/propagation"
)

// A Service has its template's node ports in every member. The exception is a Service
// that was created in a member while Sluice left node ports out: the member chose them,
// clients use them, so they stay.

// LeaveNodePorts removes the template's node ports from the Service if the member chose
// others for the same ports.
func LeaveNodePorts(obj map[string]any, live *Observed) {
	if live == nil || live.NodePorts || !isService(obj) {
		return
	}
	chosen := map[string]any{}
	for _, port := range ports(live.Object) {
		if n, ok := port["nodePort"]; ok {
			chosen[portKey(port)] = n
		}
	}
	if len(chosen) == 0 || !slices.ContainsFunc(ports(obj), func(p map[string]any) bool { return p["nodePort"] != nil }) {
		return
	}
	spec := part(obj, "spec")
	kept := []any{}
	for _, port := range ports(obj) {
		if _, has := chosen[portKey(port)]; has {
			port = without(port, "nodePort")
		}
		kept = append(kept, port)
	}
	spec["ports"] = kept
}

func isService(obj map[string]any) bool {
	k := propagation.KeyOf(obj)
	return k.Kind == "Service" && k.APIVersion == "v1"
}

// ports returns the ports of a Service, skipping entries that are not objects.
func ports(obj map[string]any) []map[string]any {
	spec, _ := obj["spec"].(map[string]any)
	list, _ := spec["ports"].([]any)
	var out []map[string]any
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// portKey is what identifies a port of a Service: its number and protocol.
func portKey(port map[string]any) string {
	protocol, _ := port["protocol"].(string)
	if protocol == "" {
		protocol = "TCP"
	}
	return fmt.Sprint(port["port"]) + "/" + protocol
}

func without(m map[string]any, key string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		if k != key {
			out[k] = v
		}
	}
	return out
}

// setsNodePorts reports whether an entry of the managed fields sets a node port.
func setsNodePorts(spec map[string]any) bool {
	list, _ := spec["f:ports"].(map[string]any)
	for _, e := range list {
		if port, ok := e.(map[string]any); ok {
			if _, sets := port["f:nodePort"]; sets {
				return true
			}
		}
	}
	return false
}
