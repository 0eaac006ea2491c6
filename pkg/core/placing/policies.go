// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	placementv1 "sluice.dev/apis/placement/v1"
)

// defaultHistory is how many snapshots are kept if the placement does not set a limit.
const defaultHistory = 10

// History returns how many snapshots of either kind the placement keeps.
func History(p *placementv1.ClusterResourcePlacement) int {
	if p.Spec.RevisionHistoryLimit == nil || *p.Spec.RevisionHistoryLimit < 1 {
		return defaultHistory
	}
	return int(*p.Spec.RevisionHistoryLimit)
}

// PolicyEdit is a change of a stored policy snapshot's metadata: whether it is the
// latest, and its annotations, of which one with an empty value is removed.
type PolicyEdit struct {
	*placementv1.ClusterSchedulingPolicySnapshot
	Latest      bool
	Annotations map[string]string
}

// PolicyPlan lists the writes to be done, in this order.
type PolicyPlan struct {
	// Create is the new snapshot; nil: the newest one has the policy already.
	Create *placementv1.ClusterSchedulingPolicySnapshot
	Edit   []PolicyEdit
	Prune  []*placementv1.ClusterSchedulingPolicySnapshot
	// Latest is the name of the latest snapshot after these writes.
	Latest string
}

// NextPolicy plans the writes after which the latest policy snapshot has the
// placement's policy. The number of clusters is an annotation of the snapshot, so a
// change of it needs no new snapshot.
func NextPolicy(p *placementv1.ClusterResourcePlacement, stored []*placementv1.ClusterSchedulingPolicySnapshot) PolicyPlan {
	all, _ := GenuinePolicies(p, stored)
	slices.SortFunc(all, func(a, b *placementv1.ClusterSchedulingPolicySnapshot) int { return policyIndex(b) - policyIndex(a) }) // the newest first
	spec, index := policySpec(p), 0
	if len(all) > 0 {
		index = policyIndex(all[0])
	}
	var plan PolicyPlan
	left := History(p)
	if len(all) == 0 || string(all[0].Spec.PolicyHash) != string(spec.PolicyHash) || all[0].DeletionTimestamp != nil {
		if len(all) > 0 {
			index++
		}
		plan.Create = newPolicy(p, spec, index)
		left--
	}
	plan.Latest = policyName(p.Name, index)
	for _, s := range all {
		if left == 0 {
			plan.Prune = append(plan.Prune, s)
			continue
		}
		left--
		if e, needed := edit(p, s, policyIndex(s) == index); needed {
			plan.Edit = append(plan.Edit, e)
		}
	}
	return plan
}

// PolicyWaits reports whether the placement's policy differs from the one in force.
func PolicyWaits(p *placementv1.ClusterResourcePlacement, stored []*placementv1.ClusterSchedulingPolicySnapshot) bool {
	latest := LatestPolicy(p, stored)
	return latest != nil && (string(latest.Spec.PolicyHash) != string(policySpec(p).PolicyHash) ||
		latest.Annotations[placementv1.AnnotationNumberOfClusters] != policyAnnotations(p)[placementv1.AnnotationNumberOfClusters])
}

// policyIndex returns the index of a policy snapshot; -1: it has none.
func policyIndex(s *placementv1.ClusterSchedulingPolicySnapshot) int {
	index, err := strconv.Atoi(s.Labels[placementv1.LabelPolicyIndex])
	if err != nil || index < 0 {
		return -1
	}
	return index
}

func policySpec(p *placementv1.ClusterResourcePlacement) placementv1.SchedulingPolicySnapshotSpec {
	var spec placementv1.SchedulingPolicySnapshotSpec
	if p.Spec.Policy != nil {
		policy := *p.Spec.Policy
		policy.NumberOfClusters = nil
		spec.Policy = &policy
	}
	spec.PolicyHash = hashPolicy(spec.Policy)
	return spec
}

func hashPolicy(policy *placementv1.PlacementPolicy) []byte {
	raw, err := json.Marshal(policy)
	if err != nil { // API types always encode; anything else is equal to nothing
		raw = []byte(err.Error())
	}
	sum := sha256.Sum256(raw)
	return []byte(hex.EncodeToString(sum[:]))
}

func policyName(placement string, index int) string {
	return fmt.Sprintf("%s-%d", placement, index)
}

// policyAnnotations returns the annotations of a policy snapshot; one with an empty
// value must be absent.
func policyAnnotations(p *placementv1.ClusterResourcePlacement) map[string]string {
	a := map[string]string{placementv1.AnnotationCRPGeneration: strconv.FormatInt(p.Generation, 10), placementv1.AnnotationNumberOfClusters: ""}
	if p.Spec.Policy != nil && p.Spec.Policy.NumberOfClusters != nil {
		a[placementv1.AnnotationNumberOfClusters] = strconv.Itoa(int(*p.Spec.Policy.NumberOfClusters))
	}
	return a
}

func newPolicy(p *placementv1.ClusterResourcePlacement, spec placementv1.SchedulingPolicySnapshotSpec, index int) *placementv1.ClusterSchedulingPolicySnapshot {
	s := &placementv1.ClusterSchedulingPolicySnapshot{Spec: spec}
	s.Name = policyName(p.Name, index)
	s.Labels = map[string]string{
		placementv1.LabelParentCRP: p.Name, placementv1.LabelPolicyIndex: strconv.Itoa(index), placementv1.LabelIsLatestSnapshot: "true",
	}
	s.Annotations = map[string]string{}
	for key, value := range policyAnnotations(p) {
		if value != "" {
			s.Annotations[key] = value
		}
	}
	Seal(p, &s.ObjectMeta, string(spec.PolicyHash))
	return s
}

func edit(p *placementv1.ClusterResourcePlacement, s *placementv1.ClusterSchedulingPolicySnapshot, latest bool) (PolicyEdit, bool) {
	e := PolicyEdit{ClusterSchedulingPolicySnapshot: s, Latest: latest}
	if latest {
		for key, value := range policyAnnotations(p) {
			if s.Annotations[key] != value {
				e.Annotations = policyAnnotations(p)
			}
		}
	}
	return e, e.Annotations != nil || (s.Labels[placementv1.LabelIsLatestSnapshot] == "true") != latest
}
