// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	placementv1 "sluice.dev/apis/placement/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/claims"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/standing"
)

// Fleet is the hub's clusters.
type Fleet interface {
	Cluster(ctx context.Context, name string) (*clusterv1alpha1.Cluster, error)
	Clusters(ctx context.Context) ([]*clusterv1alpha1.Cluster, error)
	CommitClusterStatus(ctx context.Context, c *clusterv1alpha1.Cluster, status clusterv1alpha1.ClusterStatus) error
	EnsureNamespace(ctx context.Context, name string) error
	// Namespaces are those with these labels.
	Namespaces(ctx context.Context, selector string) ([]string, error)
}

// Works are what members get.
type Works interface {
	Work(ctx context.Context, key propagation.WorkKey) (*propagation.Work, error)
	// Works are those of policies, PlacementWorks those of placements.
	Works(ctx context.Context) ([]*propagation.Work, error)
	PlacementWorks(ctx context.Context) ([]*propagation.Work, error)
	WorksOf(ctx context.Context, key propagation.BindingKey) ([]*propagation.Work, error)
	WorksOn(ctx context.Context, cluster string) ([]*propagation.Work, error)
	Contents(ctx context.Context, key propagation.WorkKey) (*propagation.KeptContents, error)
	DeleteWork(ctx context.Context, w *propagation.Work) error
	ReleaseWork(ctx context.Context, w *propagation.Work) error
}

// Versioned tells how far the hub's versions have come.
type Versioned interface {
	Version(ctx context.Context) (uint64, error)
}

// Objects are what claims and bindings are made of.
type Objects interface {
	Binding(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error)
	Bindings(ctx context.Context) ([]*propagation.Binding, error)
	CommitBinding(ctx context.Context, old, next *propagation.Binding) (*propagation.Binding, error)
	Template(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error)
	// Watched are the kinds of templates that this process watches.
	Watched() []schema.GroupVersionKind
	ListTemplates(ctx context.Context, gvk schema.GroupVersionKind, namespace string, limit int64, cont string) ([]*propagation.Template, string, error)
	Policy(ctx context.Context, key propagation.PolicyKey) (*propagation.Policy, error)
	Policies(ctx context.Context) ([]*propagation.Policy, error)
	CommitPolicyStatus(ctx context.Context, p *propagation.Policy, status policyv1alpha1.PropagationStatus) error
	Features(ctx context.Context) (propagation.Features, error)
	Record(ctx context.Context, about hub.About, eventType, reason, message string)
}

// Hub is the control plane's API.
type Hub interface {
	Versioned
	Fleet
	Works
	Objects
}

// Index is Redis.
type Index interface {
	standing.Index
	Built(ctx context.Context) (bool, error)
	Reset(ctx context.Context) error
	HeldCount(ctx context.Context, key propagation.PolicyKey) (int64, error)
	Rebuild(ctx context.Context, load func(ctx context.Context, r *claims.Rebuild) error) error
}

// Probe asks a member whether it is ready, and which version it runs.
type Probe func(ctx context.Context, cluster string) (version string, err error)

// ChangingHub is a hub that this process does not watch.
type ChangingHub interface {
	Changes(ctx context.Context, gvk schema.GroupVersionKind, since string) (hub.Changes, error)
	Ours(ctx context.Context, key propagation.TemplateKey) (bool, error)
	Namespaces(ctx context.Context, selector string) ([]string, error)
	Placements(ctx context.Context) ([]*placementv1.ClusterResourcePlacement, error)
	KindsInNamespaces(ctx context.Context) ([]schema.GroupVersionKind, error)
}

// Positions is how far the changes of each kind have been announced, and how far
// sweeps have come.
type Positions interface {
	Load(ctx context.Context) (map[string]string, error)
	Save(ctx context.Context, name, position string) error
}

// DeadLetters are the events that no stage could handle.
type DeadLetters interface {
	Some(ctx context.Context, n int) ([]event.Event, error)
	Drop(ctx context.Context, letters []event.Event) error
}

// Rights tells what Sluice's accounts may do on the hub.
type Rights interface {
	// Missing are the rights that are needed for the templates of the policy, and that
	// are not there.
	Missing(ctx context.Context, p *propagation.Policy) ([]propagation.Right, error)
}

// Sources are what tells of changes while all is well.
type Sources interface {
	// Follow has them watch the kinds, on the hub and in members; keep: what else
	// they watch, too. It returns which labels the namespaces of templates have
	// (empty: all are), and whether a source has to start anew.
	Follow(ctx context.Context, kinds []schema.GroupVersionKind, keep bool) (selector string, changed bool, err error)
}

// Publish returns nil once the broker has accepted every event.
type Publish func(ctx context.Context, out []event.Event) error
