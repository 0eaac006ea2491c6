// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
)

// Room is how many more replicas of a template fit into a cluster.
type Room struct {
	Cluster  string `json:"cluster"`
	Replicas int64  `json:"replicas"`
	// Short is the resource of which there is the least.
	Short corev1.ResourceName `json:"short,omitempty"`
	// Unknown is why it cannot be told; empty: it can.
	Unknown string `json:"unknown,omitempty"`
}

// String says it for people.
func (r Room) String() string {
	if r.Unknown != "" {
		return "nobody can tell of " + r.Cluster + ": " + r.Unknown
	}
	return fmt.Sprintf("%s has room for %d, by its %s", r.Cluster, r.Replicas, r.Short)
}

// Why a room is not known.
const (
	unrequested = "a replica requests nothing that is measured"
	unmeasured  = "its nodes were not measured"
)

// roomIn is how many replicas fit into what the cluster's pods leave of its nodes, by the
// resource of which there is the least. It is that of all nodes together: no replica may
// fit into any one of them.
func roomIn(c *clusterv1alpha1.Cluster, needs corev1.ResourceList) Room {
	r, s := Room{Cluster: c.Name, Replicas: math.MaxInt32}, c.Status.ResourceSummary
	if s == nil || len(s.Allocated) == 0 {
		r.Unknown = unmeasured
		return r
	}
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		need := needs[name]
		free, measured := s.Allocatable[name]
		if !measured || need.Sign() <= 0 {
			continue
		}
		free = free.DeepCopy()
		free.Sub(s.Allocated[name])
		free.Sub(s.Allocating[name])
		if n := max(0, amount(name, free)/amount(name, need)); n < r.Replicas || r.Short == "" {
			r.Replicas, r.Short = min(n, math.MaxInt32), name
		}
	}
	if r.Short == "" {
		r.Unknown = unrequested
	}
	return r
}

// replicaRequests is what one replica takes of a cluster: what it requests, and a pod.
func replicaRequests(r *workv1alpha2.ReplicaRequirements) corev1.ResourceList {
	one := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(1, resource.DecimalSI)}
	if r != nil {
		maps.Copy(one, r.ResourceRequest)
	}
	return one
}

// amount is a quantity as a number: of the CPU in thousandths.
func amount(name corev1.ResourceName, q resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

// roomsOf are all of them, by the names of the clusters.
func roomsOf(cs []candidate) []Room {
	out := make([]Room, 0, len(cs))
	for _, c := range cs {
		out = append(out, c.room)
	}
	slices.SortFunc(out, func(a, b Room) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return out
}

// fill divides what is to be added to held by the room that there is: in the order of the
// candidates where few of them shall have replicas, else in proportion to it. What is
// held stays. False: it does not fit.
func fill(added int64, few bool, held []int64, cs []candidate) ([]int64, bool) {
	room, all := make([]int64, len(cs)), int64(0)
	for i, c := range cs {
		room[i] = c.room.Replicas
		all += room[i]
	}
	if added > all {
		return held, false
	}
	more := divide(added, room, held)
	if few {
		for i, left := 0, added; i < len(room); i++ {
			more[i] = min(left, room[i])
			left -= more[i]
		}
	}
	for i := range more {
		more[i] += held[i]
	}
	return more, true
}

// noRoom says how many replicas the candidates have no room for.
func noRoom(replicas int64, cs []candidate) string {
	var room int64
	added := replicas
	for _, c := range cs {
		added -= c.held
		room += c.room.Replicas
	}
	return fmt.Sprintf("and have room for %d of %d more replicas", room, added)
}
