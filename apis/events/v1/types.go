// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1

// The types of Sluice's events.
const (
	// TemplateTouched: something that a template's claim depends on changed.
	TemplateTouched = "dev.sluice.template.touched"
	// TemplateClaimed: a policy holds the template.
	TemplateClaimed = "dev.sluice.template.claimed"
	// TemplateReleased: no policy holds the template any more, or it is gone.
	TemplateReleased = "dev.sluice.template.released"
	// TemplateWaiting: no policy holds the template, none may take it now.
	TemplateWaiting = "dev.sluice.template.waiting"
	// TemplateContested: a policy is entitled to take the template from another.
	TemplateContested = "dev.sluice.template.contested"
	// ClaimPreempted: a policy took the template from another.
	ClaimPreempted = "dev.sluice.claim.preempted"
	// BindingActivated: what the binding holds is in force.
	BindingActivated = "dev.sluice.binding.activated"
	// BindingDeferred: a newer policy is claimed and waits.
	BindingDeferred = "dev.sluice.binding.deferred"
	// BindingRemoved: the binding is gone; its Works have to go.
	BindingRemoved = "dev.sluice.binding.removed"
	// BindingScheduled: the binding's clusters are chosen.
	BindingScheduled = "dev.sluice.binding.scheduled"
	// WorkRendered: a member's Work holds what that member shall get.
	WorkRendered = "dev.sluice.work.rendered"
	// WorkRemoved: a member shall no longer have the Work's objects.
	WorkRemoved = "dev.sluice.work.removed"
	// WorkApplied: the member has what the Work says.
	WorkApplied = "dev.sluice.work.applied"
	// WorkHeld: the Work is suspended; the member was not touched.
	WorkHeld = "dev.sluice.work.held"
	// WorkFailed: the member does not have what the Work says, and why.
	WorkFailed = "dev.sluice.work.failed"
	// WorkDeleted: the Work and its objects in the member are gone.
	WorkDeleted = "dev.sluice.work.deleted"
	// TemplateReported: the status of the template is up to date.
	TemplateReported = "dev.sluice.template.reported"
	// ClusterChanged: a cluster joined, left, changed its labels or readiness.
	ClusterChanged = "dev.sluice.cluster.changed"
	// PolicyChanged: the policy may select other templates than before, or, with Continue,
	// the fan-out of its change goes on (paged).
	PolicyChanged = "dev.sluice.policy.changed"
	// PlacementTouched: something that a placement's selection depends on changed.
	PlacementTouched = "dev.sluice.placement.touched"
	// PlacementSnapshotted: the placement's snapshots say what it selects and
	// where it wants that.
	PlacementSnapshotted = "dev.sluice.placement.snapshotted"
	// PlacementScheduled: the placement's clusters are picked.
	PlacementScheduled = "dev.sluice.placement.scheduled"
	// PlacementWaiting: the rollout of the placement waits, and for what.
	PlacementWaiting = "dev.sluice.placement.waiting"
	// PlacementBound: what one member shall get of a placement is settled.
	PlacementBound = "dev.sluice.placement.bound"
	// PlacementReported: the status of a placement is up to date.
	PlacementReported = "dev.sluice.placement.reported"
	// OverridesChanged continues the fan-out of an override's change (paged).
	OverridesChanged = "dev.sluice.overrides.changed"
	// GatesChanged: a feature gate was switched.
	GatesChanged = "dev.sluice.gates.changed"
	// SourcesChanged: sources start anew, and tell of nothing meanwhile.
	SourcesChanged = "dev.sluice.sources.changed"
	// IndexLost: Redis lost its data and has to be rebuilt.
	IndexLost = "dev.sluice.index.lost"
)

// The types of Knative's sources that the stages consume.
const (
	// ResourceAdded, ResourceUpdated and ResourceDeleted are ApiServerSource's
	// in Reference mode.
	ResourceAdded   = "dev.knative.apiserver.ref.add"
	ResourceUpdated = "dev.knative.apiserver.ref.update"
	ResourceDeleted = "dev.knative.apiserver.ref.delete"
	// Ping is PingSource's.
	Ping = "dev.knative.sources.ping"
)

// The names of the extensions, for filters.
const (
	ExtAPIVersion    = "apiversion"    // of the template or object
	ExtKind          = "kind"          // of the template or object
	ExtName          = "name"          // of the template or object
	ExtNamespace     = "namespace"     // of the template or object
	ExtCluster       = "cluster"       // the member concerned, where it is one
	ExtClusters      = "clusters"      // the members whose Works are concerned, one or more, each between commas: ",member1,member2,"
	ExtPolicy        = "policy"        // "namespace/name" or "name"
	ExtPlacement     = "placement"     // the name of a ClusterResourcePlacement
	ExtSchedulerName = "schedulername" // of the binding
	ExtBulk          = "bulk"          // "true": it is of a change that concerns many templates, and gives way to what concerns one; "false": it is of what somebody did to one template, and the others make room for it
	ExtApplier       = "applier"       // who brings the Works to their members, where that is not Sluice's own applier
	ExtPartitionKey  = "partitionkey"  // what must stay in order
	ExtReason        = "reason"        // from the fixed list of reasons
	ExtTraceParent   = "traceparent"   // W3C trace context
)

// NotBulk is the value of the extension bulk for what somebody did to one template. An
// event without the extension is of neither, or nobody knows.
const NotBulk = "false"

// MaxSize is the size that no event of ours exceeds, in bytes.
const MaxSize = 4 << 10

// ReasonFollowsNobody is the reason of a binding.scheduled that the sweeper emits:
// the binding follows parents that are missing, or nobody needs it, for a while.
const ReasonFollowsNobody = "FollowsNobody"

// ReasonRevisited is the reason of a work.rendered that the sweeper emits where it
// cannot be known what a member has: it was away, or the hub was restored.
const ReasonRevisited = "Revisited"

// ReasonAlone is the reason of a work.rendered or work.removed of one member that
// the applier emits: with those of others it could not be done, for the member did
// not answer in time, or something else failed.
const ReasonAlone = "Alone"

// ReasonRest is the reason of a binding.scheduled that the renderer emits: some of the
// binding's Works could not be written or taken away, and the others do not wait for
// that.
const ReasonRest = "Rest"

// ReasonHandedOver is the reason of a work.rendered or work.removed that the applier
// emits: the Clusters say that another one looks after these members.
const ReasonHandedOver = "HandedOver"

// ReasonContinued is the reason of a work.rendered or work.removed that the applier emits:
// the member takes longer for all objects of the Work than an event has, and this one goes
// on behind those that are done.
const ReasonContinued = "Continued"

// ReasonUnfinished is the reason of a work.rendered that the sweeper emits: the
// Work has no conclusion yet, and it is time that it has one.
const ReasonUnfinished = "Unfinished"

// ReasonDrift is the reason of a work.rendered event if somebody changed or deleted the
// object in the member.
const ReasonDrift = "Drift"
