// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/mirroring"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/core/rollout"
)

// Placed is a placement with its snapshots and bindings.
type Placed struct {
	Placement *placementv1.ClusterResourcePlacement
	Policies  []*placementv1.ClusterSchedulingPolicySnapshot
	Snapshots []*placementv1.ClusterResourceSnapshot // without their content
	Bindings  []*placementv1.ClusterResourceBinding
	// Runs are those of staged updates that have not ended, as they are carried out.
	Runs []*placementv1.ClusterStagedUpdateRun
	// LastRun is the one that ended last; nil: none has.
	LastRun *placementv1.ClusterStagedUpdateRun
	// Evictions are those of all placements.
	Evictions []*placementv1.ClusterResourcePlacementEviction
	// Clusters are the clusters that joined the hub, whether placements see them or
	// not.
	Clusters []*clusterv1alpha1.Cluster
	// Works are those of the placement, where one of its bindings is being deleted.
	Works []*propagation.Work
	// Unserved are the kinds of snapshots of overrides that the hub does not serve,
	// although the placement has such overrides.
	Unserved []string
}

// Leaves reports whether one of the bindings is being deleted.
func (p Placed) Leaves() bool {
	return slices.ContainsFunc(p.Bindings, func(b *placementv1.ClusterResourceBinding) bool { return b.DeletionTimestamp != nil })
}

// PlacementReport is the state of a placement.
type PlacementReport struct {
	Name string `json:"name"`
	// Deleting is since when it is being deleted, which ends when no member has anything
	// of it; absent: it is not.
	Deleting *metav1.Time `json:"deleting,omitempty"`
	// Suspended: "all", or the members; empty: not suspended.
	Suspended string `json:"suspended,omitempty"`
	// RolledBack is the index that it is rolled back to; empty: it is not.
	RolledBack string `json:"rolledBack,omitempty"`
	Selected   int    `json:"selected"`
	Snapshot   string `json:"snapshot,omitempty"` // the index of the newest
	// External: clusters get something only by a run of a staged update.
	External bool           `json:"external,omitempty"`
	Runs     []PlacementRun `json:"runs,omitempty"`
	// LastRun is the one that ended last; absent: none has, or one is carried out.
	LastRun   *PlacementRun       `json:"lastRun,omitempty"`
	Evictions []PlacementEviction `json:"evictions,omitempty"`
	// Rollout says what the members that do not have the newest yet wait for; empty:
	// none waits, or runs of staged updates say it.
	Rollout string            `json:"rollout,omitempty"`
	Stages  []PlacementStage  `json:"stages"`
	Members []PlacementMember `json:"members"`
	// Failed are objects that could not be applied, or are not available, and Differs
	// those that members hold otherwise, and that are left so.
	Failed  []PlacementObject `json:"failed,omitempty"`
	Differs []PlacementObject `json:"differs,omitempty"`
}

// PlacementStage is one condition.
type PlacementStage struct {
	Stage   string `json:"stage"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Stale: it is about an earlier generation.
	Stale bool `json:"stale,omitempty"`
}

// PlacementMember is the state of a placement in one member.
type PlacementMember struct {
	Cluster  string `json:"cluster"`
	Selected bool   `json:"selected"`
	Why      string `json:"why,omitempty"`
	State    string `json:"state,omitempty"`
	// Index of the snapshot that it has or is getting.
	Index string `json:"index,omitempty"`
	// Left is since when placements ignore the member, because somebody deleted its
	// MemberCluster; empty: they do not.
	Left string `json:"left,omitempty"`
	// Waits is the first stage that is not finished in the member, with its message;
	// empty: all are.
	Waits string `json:"waits,omitempty"`
}

// stages are the conditions of a placement, in order.
var stages = []string{
	placementv1.ConditionPlacementScheduled, placementv1.ConditionPlacementRolloutStarted, placementv1.ConditionPlacementOverridden,
	placementv1.ConditionPlacementWorkSynchronized, placementv1.ConditionPlacementApplied, placementv1.ConditionPlacementAvailable,
	placementv1.ConditionPlacementDiffReported,
}

// besides are the conditions that a placement has only while something is wrong.
var besides = []string{reporting.ConditionKindsGranted, applying.ConditionContested, applying.ConditionFieldsContested}

// memberStages are the conditions of a binding, in order.
var memberStages = []string{
	placementv1.ConditionRolloutStarted, placementv1.ConditionOverridden, placementv1.ConditionWorkSynchronized,
	placementv1.ConditionApplied, placementv1.ConditionAvailable, placementv1.ConditionDiffReported,
}

// Report returns the state of the placement.
func (p Placed) Report(now time.Time) PlacementReport {
	crp := p.Placement
	r := PlacementReport{Name: crp.Name, Deleting: crp.DeletionTimestamp, Suspended: crp.Annotations[propagation.AnnotationSuspended], Selected: len(crp.Status.SelectedResources)}
	r.RolledBack = crp.Annotations[placing.AnnotationRollback]
	if r.Suspended == "true" {
		r.Suspended = "all"
	}
	r.External = crp.Spec.Strategy.External()
	for _, run := range p.Runs {
		r.Runs = append(r.Runs, reportRun(run))
	}
	if p.LastRun != nil && len(p.Runs) == 0 {
		last := reportRun(p.LastRun)
		r.LastRun = &last
	}
	r.Evictions = p.evictions()
	r.Failed, r.Differs = p.objects()
	if latest := p.latestSnapshot(); latest != nil {
		r.Snapshot = latest.Labels[placementv1.LabelResourceIndex]
	}
	for _, kind := range slices.Concat(stages, besides) {
		if c := meta.FindStatusCondition(crp.Status.Conditions, kind); c != nil {
			r.Stages = append(r.Stages, PlacementStage{
				Stage: strings.TrimPrefix(kind, placementv1.KindClusterResourcePlacement), Status: string(c.Status), Reason: c.Reason, Message: c.Message,
				Stale: c.ObservedGeneration < crp.Generation,
			})
		}
	}
	plan := p.plan(now)
	r.Rollout, r.Members = plan.Message, p.members(plan.Waits)
	if len(p.Unserved) > 0 {
		r.Rollout = fmt.Sprintf("stands still: the hub does not serve %s, which overrides are rolled out by; 'kubectl apply -f config/300-crds' installs it", strings.Join(p.Unserved, " and "))
	}
	return r
}

// members are the states in all clusters of which the placement or its rollout, which
// waits for some, has to say anything: those that are picked first.
func (p Placed) members(waits []rollout.Wait) []PlacementMember {
	members := map[string]*PlacementMember{}
	at := func(cluster string) *PlacementMember {
		if members[cluster] == nil {
			members[cluster] = &PlacementMember{Cluster: cluster}
		}
		return members[cluster]
	}
	if policy := p.latestPolicy(); policy != nil {
		for _, d := range policy.Status.ClusterDecisions {
			m := at(d.ClusterName)
			m.Selected, m.Why = d.Selected, d.Reason
		}
	}
	for _, b := range p.Bindings {
		p.member(at(b.Spec.TargetCluster), b)
	}
	for _, w := range waits {
		if m := at(w.Cluster); m.Waits == "" {
			m.Waits = placementv1.ConditionRolloutStarted + ": " + w.Message
		}
	}
	for _, c := range p.Clusters {
		if since, left := mirroring.Left(c); left {
			p.left(at(c.Name), since)
		}
	}
	all := make([]PlacementMember, 0, len(members))
	for _, m := range members {
		all = append(all, *m)
	}
	slices.SortFunc(all, func(a, b PlacementMember) int {
		if a.Selected != b.Selected {
			return map[bool]int{true: -1, false: 1}[a.Selected]
		}
		return cmp.Compare(a.Cluster, b.Cluster)
	})
	return all
}

// plan returns what the rollout would do now, and what it waits for; nothing while it is
// not decided who is picked, and where runs of staged updates decide.
func (p Placed) plan(now time.Time) rollout.Plan {
	policy, picked, known := rollout.Picked(p.Placement, p.Policies)
	if !known || p.Placement.Spec.Strategy.External() || p.Placement.DeletionTimestamp != nil {
		return rollout.Plan{}
	}
	in := rollout.Input{Placement: p.Placement, Policy: policy, Picked: picked, Bindings: p.Bindings, Overrides: p.overrides(), Undefined: p.undefined(), Now: now}
	in.Snapshot, in.Index = rollout.Wanted(p.Placement, p.Snapshots)
	return rollout.Next(in)
}

// overrides returns those that members have.
func (p Placed) overrides() map[string]rollout.Overrides {
	all := map[string]rollout.Overrides{}
	for _, b := range p.Bindings {
		all[b.Spec.TargetCluster] = rollout.OverridesOf(b)
	}
	return all
}

// undefined lists, by member, the overrides that went with the definition of their kind.
func (p Placed) undefined() map[string]string {
	all := map[string]string{}
	for _, b := range p.Bindings {
		all[b.Spec.TargetCluster] = b.Annotations[rollout.AnnotationUndefined]
	}
	return all
}

// left says that placements ignore a cluster, and how to change that.
func (p Placed) left(m *PlacementMember, since string) {
	m.Left = since
	m.Why = fmt.Sprintf("somebody deleted its MemberCluster at %s, so placements pass it by: 'kubectl annotate cluster %s %s-' brings it back", since, m.Cluster, mirroring.AnnotationLeft)
}

// member sets the state of a binding's member.
func (p Placed) member(m *PlacementMember, b *placementv1.ClusterResourceBinding) {
	m.State = string(b.Spec.State)
	if b.DeletionTimestamp != nil {
		m.State = "Leaving"
	}
	m.Why = cmp.Or(m.Why, b.Spec.ClusterDecision.Reason)
	for _, s := range p.Snapshots {
		if s.Name == b.Spec.ResourceSnapshotName {
			m.Index = s.Labels[placementv1.LabelResourceIndex]
		}
	}
	if propagation.PlacementSuspended(p.Placement.Annotations, m.Cluster) {
		m.Waits = "suspended: until it is resumed"
		return
	}
	if b.DeletionTimestamp != nil {
		m.Waits = p.leaving(m.Cluster)
		return
	}
	for _, kind := range memberStages {
		c := meta.FindStatusCondition(b.Status.Conditions, kind)
		if c != nil && c.Status != metav1.ConditionTrue {
			m.Waits = kind + ": " + cmp.Or(c.Message, c.Reason)
			return
		}
	}
}

// leaving returns what keeps the placement's objects in a member that they leave; empty:
// nothing that is known.
func (p Placed) leaving(cluster string) string {
	for _, w := range p.Works {
		if w.Key.Cluster != cluster || !w.Deleting {
			continue
		}
		if why := leaving(w); why.Message != "" {
			return placementv1.ConditionApplied + ": " + why.Message
		}
		if why := Detained(w); why != "" {
			return why
		}
	}
	return ""
}

func (p Placed) latestPolicy() *placementv1.ClusterSchedulingPolicySnapshot {
	return placing.LatestPolicy(p.Placement, p.Policies)
}

func (p Placed) latestSnapshot() *placementv1.ClusterResourceSnapshot {
	latest := placing.Latest(placing.PartsOf(p.Placement, p.Snapshots))
	if len(latest) == 0 {
		return nil
	}
	return p.Snapshots[slices.IndexFunc(p.Snapshots, func(s *placementv1.ClusterResourceSnapshot) bool { return s.Name == latest[0].Name })]
}

// PlacementRevision is one snapshot of what a placement selects.
type PlacementRevision struct {
	Index   int       `json:"index"`
	Name    string    `json:"name"`
	Hash    string    `json:"hash"`
	Parts   int       `json:"parts"`
	Latest  bool      `json:"latest"`
	Members []string  `json:"members,omitempty"` // that have it, or are getting it
	Created time.Time `json:"created,omitzero"`
}

// History returns the snapshots, the newest first.
func (p Placed) History() []PlacementRevision {
	byIndex := map[int]*PlacementRevision{}
	for _, s := range p.Snapshots {
		index, err := strconv.Atoi(s.Labels[placementv1.LabelResourceIndex])
		if err != nil {
			continue // somebody else's
		}
		r := byIndex[index]
		if r == nil {
			r = &PlacementRevision{Index: index}
			byIndex[index] = r
		}
		r.Parts++
		if hash, first := s.Annotations[placementv1.AnnotationResourceHash]; first {
			r.Name, r.Hash, r.Created = s.Name, hash, s.CreationTimestamp.Time
			r.Latest = s.Labels[placementv1.LabelIsLatestSnapshot] == "true"
		}
	}
	var all []PlacementRevision
	for _, r := range byIndex {
		for _, b := range p.Bindings {
			if b.Spec.ResourceSnapshotName == r.Name && r.Name != "" {
				r.Members = append(r.Members, b.Spec.TargetCluster)
			}
		}
		slices.Sort(r.Members)
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b PlacementRevision) int { return cmp.Compare(b.Index, a.Index) })
	return all
}

// Suspend returns the annotation that suspends a placement in those members too, or in
// all if none is named. Resume returns the one without them. Resuming some members
// while all are suspended is an error: it would not be defined what a member that joins
// later does.
func Suspend(was string, clusters []string) string {
	if was == "true" || len(clusters) == 0 {
		return "true"
	}
	return joined(append(named(was), clusters...))
}

// Resume returns what is left of a suspension; empty: nothing.
func Resume(was string, clusters []string) (string, error) {
	if len(clusters) == 0 {
		return "", nil
	}
	if was == "true" {
		return was, fmt.Errorf("all members are suspended: resume all, and suspend those that shall wait")
	}
	return joined(slices.DeleteFunc(named(was), func(c string) bool { return slices.Contains(clusters, c) })), nil
}

func named(annotation string) []string {
	return slices.DeleteFunc(strings.Split(annotation, ","), func(c string) bool { return c == "" })
}

func joined(clusters []string) string {
	slices.Sort(clusters)
	return strings.Join(slices.Compact(clusters), ",")
}
