// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package staged

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/rollout"
)

// initialize settles in the status what the run does; or it says why that is not
// possible.
func (p *planner) initialize() (mistake string) {
	switch {
	case p.Placement == nil:
		return fmt.Sprintf("there is no ClusterResourcePlacement %s", p.Run.Spec.PlacementName)
	case p.Placement.DeletionTimestamp != nil:
		return fmt.Sprintf("ClusterResourcePlacement %s is being deleted", p.Placement.Name)
	case !p.Placement.Spec.Strategy.External():
		return notExternal(p.Placement)
	case p.Strategy == nil:
		return fmt.Sprintf("there is no ClusterStagedUpdateStrategy %s", p.Run.Spec.StagedUpdateStrategyName)
	case p.Policy == nil:
		return "the placement has not picked its clusters yet"
	case p.Snapshot == "" && p.Run.Spec.ResourceSnapshotIndex != "":
		return fmt.Sprintf("the placement has no complete resource snapshot with index %q", p.Run.Spec.ResourceSnapshotIndex)
	case p.Snapshot == "":
		return "the placement has no resource snapshot yet"
	}
	leaving := p.leaving()
	if len(p.Picked)+len(leaving.Clusters) == 0 {
		return "the placement picks no cluster"
	}
	stages, mistake := p.stages()
	if mistake = cmp.Or(mistake, p.undefined()); mistake != "" {
		return mistake
	}
	status := &p.plan.Status
	status.PolicySnapshotIndexUsed = p.Policy.Labels[placementv1.LabelPolicyIndex]
	status.PolicyObservedClusterCount = len(p.Picked)
	status.ResourceSnapshotIndexUsed = p.Index
	status.UpdateStrategySnapshot = p.Strategy.Spec.DeepCopy()
	status.StagesStatus = stages
	status.DeletionStageStatus = leaving
	return ""
}

// undefined says of whom the overrides went with the definition of their kind: the run would
// give it what nobody asked for.
func (p *planner) undefined() string {
	for _, name := range slices.Sorted(maps.Keys(p.Undefined)) {
		if slices.ContainsFunc(p.Picked, func(d placementv1.ClusterDecision) bool { return d.ClusterName == name }) {
			return "cluster " + name + ": " + rollout.Undefined(p.Undefined[name])
		}
	}
	return ""
}

// place is a member's in a stage.
type place struct {
	name string
	// order is the value of the label by which the stage is sorted; last: it has none.
	order int64
	last  bool
}

// stages divides the members that are picked among the stages.
func (p *planner) stages() (stages []placementv1.StageUpdatingStatus, mistake string) {
	in := map[string]string{} // the stage of a member
	labelled := make(map[string]labels.Set, len(p.Members))
	for _, m := range p.Members {
		labelled[m.Name] = m.Labels
	}
	for _, config := range p.Strategy.Spec.Stages {
		places, mistake := p.places(config, labelled)
		if mistake != "" {
			return nil, mistake
		}
		stage := placementv1.StageUpdatingStatus{StageName: config.Name, Clusters: []placementv1.ClusterUpdatingStatus{}}
		for _, at := range places {
			if other, twice := in[at.name]; twice {
				return nil, fmt.Sprintf("cluster %s is in the stages %s and %s of %s: each cluster has to be in one", at.name, other, config.Name, p.Strategy.Name)
			}
			in[at.name] = config.Name
			o := p.Overrides[at.name]
			stage.Clusters = append(stage.Clusters, placementv1.ClusterUpdatingStatus{
				ClusterName: at.name, ClusterResourceOverrideSnapshots: o.Cluster, ResourceOverrideSnapshots: o.InNames, OverriddenFor: o.For,
			})
		}
		stages = append(stages, stage)
	}
	var none []string
	for _, d := range p.Picked {
		if in[d.ClusterName] == "" {
			none = append(none, d.ClusterName)
		}
	}
	if len(none) > 0 {
		slices.Sort(none)
		return nil, fmt.Sprintf("no stage of %s has %s, which the placement picks", p.Strategy.Name, list(none))
	}
	return stages, ""
}

// places are the members of a stage, in its order; labelled are the labels of all members.
func (p *planner) places(config placementv1.StageConfig, labelled map[string]labels.Set) (places []place, mistake string) {
	selector, err := metav1.LabelSelectorAsSelector(config.LabelSelector)
	if err != nil {
		return nil, fmt.Sprintf("labelSelector of stage %s: %s", config.Name, err)
	}
	for _, d := range p.Picked {
		of := labelled[d.ClusterName]
		if !selector.Matches(of) {
			continue
		}
		at := place{name: d.ClusterName, last: true}
		if key := config.SortingLabelKey; key != nil && of.Has(*key) {
			if at.order, err = strconv.ParseInt(of[*key], 10, 64); err != nil {
				return nil, fmt.Sprintf("stage %s is in the order of label %s, which is %q and no integer on cluster %s", config.Name, *key, of[*key], d.ClusterName)
			}
			at.last = false
		}
		places = append(places, at)
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(compareBool(a.last, b.last), cmp.Compare(a.order, b.order), cmp.Compare(a.name, b.name))
	})
	return places, ""
}

// leaving is the stage of those that have the placement, and are not picked any more.
func (p *planner) leaving() *placementv1.StageUpdatingStatus {
	stage := &placementv1.StageUpdatingStatus{StageName: placementv1.DeletionStage, Clusters: []placementv1.ClusterUpdatingStatus{}}
	picked := map[string]bool{}
	for _, d := range p.Picked {
		picked[d.ClusterName] = true
	}
	var names []string
	for _, b := range p.Bindings {
		if !picked[b.Spec.TargetCluster] && rollout.Given(b) {
			names = append(names, b.Spec.TargetCluster)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		stage.Clusters = append(stage.Clusters, placementv1.ClusterUpdatingStatus{ClusterName: name})
	}
	return stage
}
