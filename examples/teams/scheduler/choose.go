// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
)

// LabelPrice on a Cluster is what an hour costs there, a whole number.
const LabelPrice = "shop.example.com/price"

// Choose picks the cheapest of the clusters that the placement allows: the one
// with the least price; of equals the one that has the template already, then the
// first by name. It gets all replicas. Where there is none, why says so. While
// somebody holds back the scheduling, the clusters stay as they are.
func Choose(b *workv1alpha2.ResourceBinding, fleet []clusterv1alpha1.Cluster) (target []workv1alpha2.TargetCluster, why string) {
	if b.Spec.Suspension.SchedulingSuspended() {
		return b.Spec.Clusters, ""
	}
	allowed, why := affinity(b.Spec.Placement)
	if why != "" {
		return nil, why
	}
	type offer struct {
		name  string
		price int
		moves int // 0 where the template is already
	}
	var offers []offer
	for _, c := range fleet {
		price, err := strconv.Atoi(c.Labels[LabelPrice])
		if err != nil || c.DeletionTimestamp != nil || !allowed(&c) {
			continue
		}
		o := offer{c.Name, price, 1}
		if slices.ContainsFunc(b.Spec.Clusters, func(t workv1alpha2.TargetCluster) bool { return t.Name == c.Name }) {
			o.moves = 0
		}
		offers = append(offers, o)
	}
	if len(offers) == 0 {
		return nil, fmt.Sprintf("none of %d clusters is allowed and has a price (label %s)", len(fleet), LabelPrice)
	}
	best := slices.MinFunc(offers, func(x, y offer) int {
		return cmp.Or(cmp.Compare(x.price, y.price), cmp.Compare(x.moves, y.moves), cmp.Compare(x.name, y.name))
	})
	return []workv1alpha2.TargetCluster{{Name: best.name, Replicas: b.Spec.Replicas}}, ""
}

// affinity is what the placement says of clusters. What this scheduler does not
// understand it refuses: to ignore it would be worse.
func affinity(p *policyv1alpha1.Placement) (func(*clusterv1alpha1.Cluster) bool, string) {
	if p == nil || p.ClusterAffinity == nil && len(p.ClusterAffinities)+len(p.SpreadConstraints) == 0 {
		return func(*clusterv1alpha1.Cluster) bool { return true }, ""
	}
	a := p.ClusterAffinity
	if a == nil || a.FieldSelector != nil || len(p.SpreadConstraints) > 0 {
		return nil, "the placement says more than this scheduler understands: clusterNames, exclude, labelSelector"
	}
	selector := labels.Everything()
	if a.LabelSelector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(a.LabelSelector); err != nil {
			return nil, "labelSelector: " + err.Error()
		}
	}
	return func(c *clusterv1alpha1.Cluster) bool {
		named := len(a.ClusterNames) == 0 || slices.Contains(a.ClusterNames, c.Name)
		return named && !slices.Contains(a.ExcludeClusters, c.Name) && selector.Matches(labels.Set(c.Labels))
	}, ""
}
