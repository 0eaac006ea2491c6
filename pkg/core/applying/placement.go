// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"time"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

// PlacementEvidence is what the hub says about an object of a placement's Work, read
// immediately before the decision.
type PlacementEvidence struct {
	// Work that applied the object to the member.
	Work    *propagation.Work
	Object  propagation.TemplateKey
	Cluster Read[*clusterv1alpha1.Cluster]
	// Member is the MemberCluster, the cluster as placements see it.
	Member    Read[*memberclusterv1.MemberCluster]
	Placement Read[*placementv1.ClusterResourcePlacement]
	// Retired reports that the kind ClusterResourcePlacement itself is being removed
	// from the hub: then nobody asked to delete this placement.
	Retired bool
	// Binding of the placement to the member.
	Binding Read[*placementv1.ClusterResourceBinding]
	// LeftOut reports that the placement's present decision leaves the member out.
	LeftOut bool
	// Alias is another name of the member that the placement's present decision picks;
	// empty: none (AliasesOf).
	Alias string
	// Gives are the objects that the binding propagates to the member, by ID, each with
	// its Work.
	Gives Read[map[string]propagation.WorkKey]
	// Others are the objects that other Works of the member want.
	Others Read[Others]
	// Holding is since when the Work records that the object holds others; zero: it
	// does not.
	Holding time.Time
	Now     time.Time
}

// ExaminePlacement returns whether the object may leave its member. It may if the
// placement is being deleted, if its present decision leaves the member out, or if the
// binding in force does not contain the object any more. A missing binding proves
// nothing. Nor does a missing placement: a deleted placement stays until its objects
// have left, so somebody bypassed its finalizer. If the cluster no longer takes part in
// placements, its objects stay. An object that another Work wants is passed on.
func ExaminePlacement(e PlacementEvidence) Finding {
	return e.examine().alone(e.Others, e.Object)
}

func (e PlacementEvidence) examine() Finding {
	name := e.Work.Placement()
	switch c, p := e.Cluster, e.Placement; {
	case name == "":
		return nobodys(e.Work, e.Now)
	case c.Answer == Absent, c.Answer == Found && c.Value.DeletionTimestamp != nil:
		return Finding{Left: true, Reason: ReasonClusterLeft, Message: "the cluster has left"}
	case c.Answer != Found:
		return e.untold(ReasonCannotTell, "whether "+e.Work.Key.Cluster+" is a member cannot be told: "+because(c))
	case e.Member.Answer == Absent, e.Member.Answer == Found && e.Member.Value.DeletionTimestamp != nil:
		return Finding{Left: true, Reason: ReasonClusterLeft, Message: "the cluster takes part in no placement any more"}
	case e.Member.Answer != Found:
		return e.untold(ReasonCannotTell, "whether "+e.Work.Key.Cluster+" takes part in placements cannot be told: "+because(e.Member))
	case p.Answer == Absent:
		return Finding{Left: true, Reason: ReasonPlacementMissing, Message: "the placement " + name + " is missing, and was not seen off: what it brought stays"}
	case p.Answer != Found:
		return e.untold(ReasonCannotTell, "whether the placement is there cannot be told: "+because(p))
	case p.Value.DeletionTimestamp != nil && e.Retired:
		return Finding{Left: true, Reason: ReasonPlacementsRetired, Message: "the hub ceases to serve placements: what they brought stays"}
	case p.Value.DeletionTimestamp != nil:
		f := gone(ReasonTemplateDeleting)
		f.Ending = e.Work.Deleting && !e.Holding.IsZero() && e.Now.Sub(e.Work.Deleted) >= Ending && e.Now.Sub(e.Holding) >= Ending
		return f
	}
	b := e.Binding
	switch {
	case b.Answer == Absent && e.LeftOut && e.Alias != "":
		return elsewhere(e.Alias)
	case b.Answer == Absent && e.LeftOut:
		return Finding{Proof: Proof{reason: ReasonLeftOut}, Reason: ReasonLeftOut, Message: "the placement " + name + " leaves " + e.Work.Key.Cluster + " out"}
	case b.Answer == Absent:
		return e.untold(ReasonBindingMissing, "the binding is missing, and the placement does not leave the member out")
	case b.Answer != Found:
		return e.untold(ReasonCannotTell, "what the binding says cannot be told: "+because(b))
	case b.Value.Spec.State != placementv1.BindingStateBound:
		return unknown(ReasonCannotTell, "the binding is not in force")
	case e.Gives.Answer != Found:
		return e.untold(ReasonCannotTell, "what the binding gives cannot be told: "+because(e.Gives))
	}
	if by, ok := e.Gives.Value[e.Object.ID()]; ok {
		here := by == e.Work.Key
		return Finding{Wanted: here, Elsewhere: !here, Reason: ReasonWanted, Message: "the placement " + name + " gives it to " + e.Work.Key.Cluster}
	}
	return Finding{Proof: Proof{reason: ReasonLeftOut}, Reason: ReasonLeftOut, Message: "the placement " + name + " does not give it any more"}
}

// untold is the finding about an object of which it is not known whether it has to stay,
// because something is missing or not served. That may last.
func (e PlacementEvidence) untold(r Reason, message string) Finding {
	f := unknown(r, message)
	f.Untold = settledDown(e.Work, e.Now)
	return f
}
