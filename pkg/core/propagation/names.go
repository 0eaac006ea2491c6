// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

// SystemNamespace is the namespace of Sluice's own objects on the hub: the feature
// gates, the members' credentials, the frozen content of cluster-scoped templates.
const SystemNamespace = "sluice-system"

// Labels and annotations that Sluice writes. All of them are the system's own as
// Content defines it: changing one does not count as a change of the template.
const (
	// ClaimLabelNamespaced and ClaimLabelCluster carry the claiming policy's
	// permanent id, on the template and on its binding; never both.
	ClaimLabelNamespaced = "propagationpolicy.karmada.io/permanent-id"
	ClaimLabelCluster    = "clusterpropagationpolicy.karmada.io/permanent-id"

	// The key of the claiming policy. Namespaced policies have both.
	ClaimNamespacedNamespace = "propagationpolicy.karmada.io/namespace"
	ClaimNamespacedName      = "propagationpolicy.karmada.io/name"
	ClaimClusterName         = "clusterpropagationpolicy.karmada.io/name"

	// AnnotationBaseline on a template is the content that the template had when a Lazy
	// policy claimed it. That content is no change, so the policy waits for another.
	// The value is "<resourceVersion>/<content hash>"; the version makes each claim's
	// baseline unique.
	AnnotationBaseline = "sluice.dev/baseline"

	// On a binding: what is in force.
	AnnotationActivePolicy     = "sluice.dev/active-policy"            // PolicyKey.ID
	AnnotationActivePolicyID   = "sluice.dev/active-policy-id"         // its permanent id
	AnnotationActiveGeneration = "sluice.dev/active-policy-generation" // its metadata.generation
	AnnotationContentHash      = "sluice.dev/content-hash"             // content acted on
	AnnotationWritten          = "sluice.dev/written"                  // Template.Written of it
	AnnotationRevision         = "sluice.dev/revision"                 // name of the frozen content
	AnnotationConsumedBaseline = "sluice.dev/consumed-baseline"        // AnnotationBaseline when last acted on

	// AnnotationActiveForm, on a binding and on its Works, is what is in force of a policy
	// whose changes wait for the template's, as gating.Form in JSON: with it, a binding
	// that was lost is made again from its Works.
	AnnotationActiveForm = "sluice.dev/active-policy-form"

	// AnnotationActivate on a binding is a person's request to let the pending policy
	// change take effect now: "<policy permanent id>/<policy generation>".
	AnnotationActivate = "sluice.dev/activate"

	// AnnotationScheduledFor on a binding is the hash of what the choice of its own
	// clusters depended on, apart from the clusters themselves. As long as it is the
	// same, nobody asked for other clusters.
	AnnotationScheduledFor = "sluice.dev/scheduled-for"

	// AnnotationAffinity on a binding is the name of the clusterAffinities term that
	// its own clusters were chosen by; absent: its placement has no such terms.
	AnnotationAffinity = "sluice.dev/affinity"

	// AnnotationSpreadsByGroup on a binding, "true", says that its placement came into
	// force when Sluice already supported spreading by region, zone, provider and
	// label. Without it such constraints are ignored, so that updating Sluice moves
	// nothing.
	AnnotationSpreadsByGroup = "sluice.dev/spreads-by-group"

	// AnnotationRemovals on a binding has the removals that nobody asked for by name
	// and that are held, or were allowed recently: Removals as JSON.
	AnnotationRemovals = "sluice.dev/removals"

	// AnnotationDependencies on a binding is what its template refers to and is to be
	// propagated along with it, as a JSON list of TemplateKeys.
	AnnotationDependencies = "sluice.dev/dependencies"

	// AnnotationPolicyConflict on the binding of a dependency names the settings in
	// which the policies of those that refer to it contradict each other; absent: there
	// are none.
	AnnotationPolicyConflict = "sluice.dev/policy-conflict"

	// LabelLinked on a binding, "true", says that its template has dependencies, or is
	// one. Such bindings are found by the names that they contain, so all those of a
	// namespace have to be listed.
	LabelLinked = "sluice.dev/linked"
	// AnnotationApplier on a Cluster names who applies Works to the member; absent:
	// Sluice's own applier.
	AnnotationApplier = "sluice.dev/applier"
	// AnnotationNameWanted on a binding is another template, in JSON, whose binding
	// would have the same name, and which gets it when this binding is deleted.
	AnnotationNameWanted = "sluice.dev/name-wanted"
	// LabelRemoving on a binding, "true", says that a removal is held, or is allowed
	// and not done yet, so that these bindings can be listed by label.
	LabelRemoving = "sluice.dev/removing"
	// LabelAsked on a binding says that a person requests something in it. The gate
	// removes the label when it has seen the request. Knative's sources watch only
	// bindings without the label: such a binding leaves their watch, which they report
	// as a deletion, while they report no other write to bindings.
	LabelAsked = "sluice.dev/asked"

	// LabelBinding on a Work and on a revision is BindingLabel(key), so that they can
	// be listed by binding.
	LabelBinding = "sluice.dev/binding"

	// LabelPolicyUID on a revision of a policy is the policy's uid, so that revisions
	// can be listed by policy.
	LabelPolicyUID = "sluice.dev/policy-uid"

	// On a Work: its binding, under the released names, and its template.
	AnnotationBindingNamespace   = "resourcebinding.karmada.io/namespace"
	AnnotationBindingName        = "resourcebinding.karmada.io/name"
	AnnotationClusterBindingName = "clusterresourcebinding.karmada.io/name"
	AnnotationTemplate           = "sluice.dev/template" // TemplateKey as JSON
	AnnotationBindingUID         = "sluice.dev/binding-uid"
	AnnotationBindingCreated     = "sluice.dev/binding-created" // RFC 3339; only where the kind may have a definition
	AnnotationTemplateUID        = "sluice.dev/template-uid"
	AnnotationConflictResolution = "sluice.dev/conflict-resolution"
	AnnotationDependency         = "sluice.dev/dependency" // "true": others refer to its template, and no policy places it there

	// AnnotationOverrides on a Work lists the overrides that its manifest was made with, by
	// PolicyKey.ID, and when each was made.
	AnnotationOverrides = "sluice.dev/overrides"
	// AnnotationInterpreter on a binding names the ResourceInterpreter by whose rules it was
	// bound, and when that was made, as "widgets/2026-11-30T07:03:36Z".
	AnnotationInterpreter = "sluice.dev/interpreter"
	// AnnotationMemberFields on a Work lists the fields of its object that belong to
	// the member, as "spec.a,spec.b.c".
	AnnotationMemberFields = "sluice.dev/member-fields"
	// LabelBindingID and LabelClusterBindingID hold the permanent id of a binding, on
	// the binding, on its Works and on their objects in members; never both.
	LabelBindingID        = "resourcebinding.karmada.io/permanent-id"
	LabelClusterBindingID = "clusterresourcebinding.karmada.io/permanent-id"

	// AnnotationApproved on a Work lists the removals that a person approved, among
	// those that are held because objects of others would be deleted with the object:
	// applying.Approval of each, separated by commas.
	AnnotationApproved = "sluice.dev/approved"
	// AnnotationRivals on a Work lists other Works of the same member that want an
	// object which this Work has there, as JSON of Rivals. Their applier writes it.
	AnnotationRivals = "sluice.dev/rivals"

	// FinalizerWork keeps a Work until its objects have left the member.
	FinalizerWork = "sluice.dev/member-object"

	// LabelMemberWork on an object in a member names its Work. An object without it is
	// not Sluice's.
	LabelMemberWork = "sluice.dev/work"

	// LabelRetainReplicas on a template leaves spec.replicas to the members.
	LabelRetainReplicas = "resourcetemplate.karmada.io/retain-replicas"
)

// inheritedSuspension begins the key of an annotation on the binding of a dependency;
// the label of the binding that depends on it follows. The value lists the clusters,
// separated by commas, on which that binding is suspended, and therefore the dependency
// too.
const inheritedSuspension = "suspended-by.sluice.dev/"

// InheritedSuspension returns the key of the annotation for one binding that depends on
// this one.
func InheritedSuspension(parent BindingKey) string { return inheritedSuspension + BindingLabel(parent) }

// DefaultScheduler is the name of Sluice's own scheduler.
const DefaultScheduler = "default-scheduler"

// FieldManager is the field manager of what Sluice applies on the hub and in members.
const FieldManager = "sluice"

// ReplicasManager is the field manager of a template's number of replicas if that is
// copied back from a member. What it writes counts as a user's change.
const ReplicasManager = "sluice-replicas"
