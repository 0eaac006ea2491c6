// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"maps"
	"slices"

	"sluice.dev/pkg/core/propagation"
)

// member is what one cluster reports.
type member struct {
	cluster string
	status  map[string]any
	// current tells whether the cluster has what the template says now.
	current bool
}

// Aggregate is the whole status of the template, made of what the binding's
// status says of the members. False: the kind's status is not ours to write.
func Aggregate(t *propagation.Template, b *propagation.Binding) (map[string]any, bool) {
	r := rules[kindKey(t.Key.APIVersion, t.Key.Kind)]
	if r.total == nil {
		return nil, false
	}
	have, _ := t.Object["status"].(map[string]any)
	if t.Key.Kind == "Service" && text(t.Object, "spec", "type") != "LoadBalancer" {
		return nil, false // only a load balancer has addresses to report
	}
	members := membersOf(t, b)
	status := r.total(have, members)
	if slices.Contains(r.fields, observedGeneration) && allObserved(b, members) {
		status[observedGeneration] = number(t.Object, "metadata", generation)
	}
	return status, true
}

// membersOf are the members that report, sorted by cluster.
func membersOf(t *propagation.Template, b *propagation.Binding) []member {
	var out []member
	for _, item := range b.Status.AggregatedStatus {
		out = append(out, member{
			cluster: item.ClusterName,
			status:  decode(item.Status),
			current: item.Applied && b.ActedHash() == t.Hash,
		})
	}
	slices.SortFunc(out, func(x, y member) int {
		if x.cluster < y.cluster {
			return -1
		}
		return 1
	})
	return out
}

// allObserved tells whether every target has the template as it is now, and its
// controllers have taken notice.
func allObserved(b *propagation.Binding, members []member) bool {
	seen := map[string]bool{}
	for _, m := range members {
		seen[m.cluster] = m.current && number(m.status, observedGeneration) >= number(m.status, generation) && number(m.status, generation) > 0
	}
	targets := b.TargetClusters()
	return len(targets) > 0 && !slices.ContainsFunc(targets, func(c string) bool { return !seen[c] })
}

// sums adds up the members' counts.
func sums(fields ...string) func(map[string]any, []member) map[string]any {
	return func(have map[string]any, members []member) map[string]any {
		status := copyOf(have)
		for _, f := range fields {
			var sum int64
			for _, m := range members {
				sum += number(m.status, f)
			}
			setCount(status, f, sum)
		}
		return status
	}
}

// setCount sets a number. An API server may leave out a 0 or write it down: a 0
// that is not there is not added.
func setCount(status map[string]any, field string, n int64) {
	if _, there := status[field]; there || n != 0 {
		status[field] = n
	}
}

// worstPhase is the first of phases that any member is in.
func worstPhase(phases ...string) func(map[string]any, []member) map[string]any {
	return func(have map[string]any, members []member) map[string]any {
		status := copyOf(have)
		for _, p := range phases {
			if slices.ContainsFunc(members, func(m member) bool { return text(m.status, "phase") == p }) {
				status["phase"] = p
				break
			}
		}
		return status
	}
}

// addresses lists the load balancers of all members. One that is known by its
// IP alone gets its cluster for a name, so that it can be told whose it is.
func addresses(have map[string]any, members []member) map[string]any {
	var all []any
	for _, m := range members {
		for _, address := range elements(m.status, "loadBalancer", "ingress") {
			address = copyOf(address)
			if text(address, "hostname") == "" {
				address["hostname"] = m.cluster
			}
			all = append(all, address)
		}
	}
	status := copyOf(have)
	balancer := copyOf(asMap(status["loadBalancer"]))
	if delete(balancer, "ingress"); len(all) > 0 {
		balancer["ingress"] = all
	}
	status["loadBalancer"] = balancer
	return status
}

func copyOf(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	maps.Copy(out, m)
	return out
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}
