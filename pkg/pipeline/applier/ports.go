// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/pipeline/carrying"
	"sluice.dev/pkg/pipeline/proving"
	"sluice.dev/pkg/redis/suspension"
)

// Works reads and writes Works.
type Works interface {
	Work(ctx context.Context, key propagation.WorkKey) (*propagation.Work, error)
	// WorkNow is Work, read from the API server.
	WorkNow(ctx context.Context, key propagation.WorkKey) (*propagation.Work, error)
	CommitWorkStatus(ctx context.Context, w *propagation.Work, status workv1alpha1.WorkStatus) (*propagation.Work, error)
	CommitRivals(ctx context.Context, w *propagation.Work, rivals []propagation.Rival) (*propagation.Work, error)
	ReleaseWork(ctx context.Context, w *propagation.Work) error
	Contents(ctx context.Context, key propagation.WorkKey) (*propagation.KeptContents, error)
}

// Inputs reads what else a decision depends on.
type Inputs interface {
	Binding(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error)
	Namespace(ctx context.Context, name string) (labels map[string]string, err error)
	// WorksLeave reports whether the namespace of the Work, or the kind Work, is being
	// deleted at this moment.
	WorksLeave(ctx context.Context, key propagation.WorkKey) (bool, error)
	Identity(ctx context.Context) (string, error)
	// Cluster may come from a watch.
	Cluster(ctx context.Context, name string) (*clusterv1alpha1.Cluster, error)
	// Kinds returns what is known of kinds; for a binding's template, what its owner said when
	// it was bound.
	Kinds(ctx context.Context, b *propagation.Binding) (kinds.Table, error)
}

// Placements reads what decisions about the objects of placements' Works depend on, and
// writes their results.
type Placements interface {
	carrying.Hub
	PlacementNow(ctx context.Context, name string) (*placementv1.ClusterResourcePlacement, error)
	PlacementsRetired(ctx context.Context) (bool, error)
	MemberNow(ctx context.Context, name string) (*memberclusterv1.MemberCluster, error)
	PlacementBindingsNow(ctx context.Context, placement string) ([]*placementv1.ClusterResourceBinding, error)
	// PlacementHeads returns the Works of placements in a member, without their
	// manifests.
	PlacementHeads(ctx context.Context, cluster string) ([]*propagation.Work, error)
	WorksOfPlacementOn(ctx context.Context, placement, cluster string) ([]*propagation.Work, error)
	PolicySnapshotsNow(ctx context.Context, placement string) ([]*placementv1.ClusterSchedulingPolicySnapshot, error)
	CommitWorkResults(ctx context.Context, w *propagation.Work, status placementv1.WorkStatus) (*propagation.Work, error)
}

// Hub is the control plane's API.
type Hub interface {
	Works
	Placements
	Inputs
	proving.Hub
	Record(ctx context.Context, about hub.About, eventType, reason, message string)
	Mention(ctx context.Context, about hub.About, reason, message string)
}

// Suspensions reads the suspensions of policies and bindings in Redis.
type Suspensions interface {
	// Check returns the suspension. It also records the version of the Work that the
	// decision is based on, as a version that the hub has reached.
	Check(ctx context.Context, t propagation.TemplateKey, b propagation.BindingKey, cluster string, version uint64) (suspension.Verdict, error)
}

// Member is one cluster.
type Member interface {
	Look(ctx context.Context, ref member.Ref, how member.Looking) (applying.Read[*applying.Observed], error)
	// Known returns what a watch told last of the object; nil: nothing.
	Known(ref member.Ref) *applying.Observed
	// Create is Write where there is no object of that name; otherwise it changes nothing,
	// and the error is member.ErrExists.
	Create(ctx context.Context, w *propagation.Work, hub string, manifest map[string]any) (*applying.Observed, error)
	Write(ctx context.Context, w *propagation.Work, hub string, manifest map[string]any, live *applying.Observed) (*applying.Observed, error)
	Delete(ctx context.Context, ref member.Ref, r applying.Removal) (gone bool, err error)
	// Pass marks an object as another Work's, or as nobody's.
	Pass(ctx context.Context, ref member.Ref, p applying.Passing) error
	// Inside returns the objects in a Holder that the account does not account for.
	Inside(ctx context.Context, h applying.Holder, a applying.Account) (applying.Read[[]applying.Inhabitant], error)
	EnsureNamespace(ctx context.Context, name string, labels map[string]string) error
}

// Members returns the client for a cluster; outcome.ErrGone if it is not joined.
type Members func(ctx context.Context, cluster string) (Member, error)
