// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import "slices"

// sums adds up the members' counts.
func sums(fields ...string) func(map[string]any, []Member) map[string]any {
	return func(template map[string]any, members []Member) map[string]any {
		status := copyOf(child(template, "status"))
		for _, f := range fields {
			var sum int64
			for _, m := range members {
				sum += number(m.Status, f)
			}
			setCount(status, f, sum)
		}
		return status
	}
}

// setCount sets a number. An API server may leave out a field that is 0, so a 0 is not
// written to an absent field: that would be no change.
func setCount(status map[string]any, field string, n int64) {
	if _, there := status[field]; there || n != 0 {
		status[field] = n
	}
}

// worstPhase is the first of phases that any member is in.
func worstPhase(phases ...string) func(map[string]any, []Member) map[string]any {
	return func(template map[string]any, members []Member) map[string]any {
		status := copyOf(child(template, "status"))
		for _, p := range phases {
			if slices.ContainsFunc(members, func(m Member) bool { return text(m.Status, "phase") == p }) {
				status["phase"] = p
				break
			}
		}
		return status
	}
}

// addresses lists the load balancers of all members. An address with an IP only gets
// the cluster's name as its hostname, to show where it belongs.
func addresses(template map[string]any, members []Member) map[string]any {
	var found []any
	for _, m := range members {
		for _, address := range elements(m.Status, "loadBalancer", "ingress") {
			address = copyOf(address)
			if text(address, "hostname") == "" {
				address["hostname"] = m.Cluster
			}
			found = append(found, address)
		}
	}
	status := copyOf(child(template, "status"))
	balancer := copyOf(child(status, "loadBalancer"))
	if delete(balancer, "ingress"); len(found) > 0 {
		balancer["ingress"] = found
	}
	status["loadBalancer"] = balancer
	return status
}

// Times of one format and zone are ordered as their texts are.
func earlier(a, b string) bool { return a < b }
func later(a, b string) bool   { return a > b }

// extreme is the earliest or the latest of the members' times; empty: none has one.
func extreme(members []Member, field string, before func(a, b string) bool) string {
	var out string
	for _, m := range members {
		if t := text(m.Status, field); t != "" && (out == "" || before(t, out)) {
			out = t
		}
	}
	return out
}
