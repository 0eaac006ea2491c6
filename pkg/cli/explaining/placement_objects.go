// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/evicting"
	"sluice.dev/pkg/core/propagation"
)

// PlacementObject is an object of a placement, in one member, that needs attention.
type PlacementObject struct {
	Cluster string                  `json:"cluster"`
	Object  propagation.TemplateKey `json:"object"`
	Reason  string                  `json:"reason,omitempty"`
	Message string                  `json:"message,omitempty"`
}

// objects returns the objects that failed in members, and those that differ there.
func (p Placed) objects() (failed, differs []PlacementObject) {
	for _, b := range slices.SortedFunc(slices.Values(p.Bindings), func(a, b *placementv1.ClusterResourceBinding) int {
		return cmp.Compare(a.Spec.TargetCluster, b.Spec.TargetCluster)
	}) {
		for _, f := range b.Status.FailedPlacements {
			failed = append(failed, PlacementObject{b.Spec.TargetCluster, keyOf(f.ResourceIdentifier), f.Condition.Reason, f.Condition.Message})
		}
		for _, d := range b.Status.DiffedPlacements {
			message := "the member has no such object"
			if d.TargetClusterObservedGeneration != nil {
				message = details(d.ObservedDiffs)
			}
			differs = append(differs, PlacementObject{Cluster: b.Spec.TargetCluster, Object: keyOf(d.ResourceIdentifier), Message: message})
		}
	}
	return failed, differs
}

func keyOf(id placementv1.ResourceIdentifier) propagation.TemplateKey {
	return propagation.TemplateKey{
		APIVersion: schema.GroupVersion{Group: id.Group, Version: id.Version}.String(), Kind: id.Kind, Namespace: id.Namespace, Name: id.Name,
	}
}

// details says in which fields a member's object differs. Without both values, as for
// Secrets, only the field is named.
func details(all []placementv1.PatchDetail) string {
	const most = 3
	var out []string
	for i, d := range all {
		if i == most {
			out = append(out, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		if d.ValueInMember+d.ValueInHub == "" {
			out = append(out, d.Path)
			continue
		}
		out = append(out, fmt.Sprintf("%s: %s in the member, %s here", d.Path, cmp.Or(d.ValueInMember, "nothing"), cmp.Or(d.ValueInHub, "nothing")))
	}
	return strings.Join(out, "; ")
}

// PlacementEviction is what came of the eviction of a member.
type PlacementEviction struct {
	Name    string `json:"name"`
	Cluster string `json:"cluster"`
	// Condition is what was said last: Valid or Executed; empty: nothing yet.
	Condition string `json:"condition,omitempty"`
	Status    string `json:"status,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
}

// evictions returns the placement's evictions that are not decided, and those that were
// made since the placement changed last, the oldest first.
func (p Placed) evictions() (out []PlacementEviction) {
	changed := p.changed()
	for _, e := range slices.SortedFunc(slices.Values(p.Evictions), func(a, b *placementv1.ClusterResourcePlacementEviction) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	}) {
		if e.Spec.PlacementName != p.Placement.Name || evicting.Over(e) && e.CreationTimestamp.Time.Before(changed) {
			continue
		}
		line := PlacementEviction{Name: e.Name, Cluster: e.Spec.ClusterName}
		for _, of := range []string{placementv1.ConditionEvictionValid, placementv1.ConditionEvictionExecuted} {
			if c := meta.FindStatusCondition(e.Status.Conditions, of); c != nil {
				line.Condition, line.Status, line.Reason, line.Message = c.Type, string(c.Status), c.Reason, c.Message
			}
		}
		out = append(out, line)
	}
	return out
}

// changed returns when the newest snapshot of the policy or of the content was made.
func (p Placed) changed() (last time.Time) {
	see := func(at metav1.Time) {
		if at.After(last) {
			last = at.Time
		}
	}
	for _, s := range p.Policies {
		see(s.CreationTimestamp)
	}
	for _, s := range p.Snapshots {
		see(s.CreationTimestamp)
	}
	return last
}
