// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

// SystemNamespace is where Sluice keeps its own objects on the hub: the gates,
// the members' credentials, frozen content of cluster-scoped templates.
const SystemNamespace = "sluice-system"

// Labels and annotations that Sluice writes. All of them are the system's own
// in the sense of Content: their change is no change of a template.
const (
	// ClaimLabelNamespaced and ClaimLabelCluster carry the claiming policy's
	// permanent id, on the template and on its binding; never both.
	ClaimLabelNamespaced = "propagationpolicy.karmada.io/permanent-id"
	ClaimLabelCluster    = "clusterpropagationpolicy.karmada.io/permanent-id"

	// Where the claiming policy is. Namespaced policies have both.
	ClaimNamespacedNamespace = "propagationpolicy.karmada.io/namespace"
	ClaimNamespacedName      = "propagationpolicy.karmada.io/name"
	ClaimClusterName         = "clusterpropagationpolicy.karmada.io/name"

	// AnnotationBaseline on a template is the content that a Lazy policy found
	// when it claimed a template that was there before: no change by itself.
	// Its value is "<resourceVersion>/<content hash>"; the version makes each
	// claim's baseline unique.
	AnnotationBaseline = "sluice.dev/baseline"

	// On a binding: what is in force.
	AnnotationActivePolicy     = "sluice.dev/active-policy"            // PolicyKey.ID
	AnnotationActivePolicyID   = "sluice.dev/active-policy-id"         // its permanent id
	AnnotationActiveGeneration = "sluice.dev/active-policy-generation" // its metadata.generation
	AnnotationContentHash      = "sluice.dev/content-hash"             // content acted on
	AnnotationWritten          = "sluice.dev/written"                  // Template.Written of it
	AnnotationRevision         = "sluice.dev/revision"                 // name of the frozen content
	AnnotationConsumedBaseline = "sluice.dev/consumed-baseline"        // AnnotationBaseline when last acted on

	// AnnotationActivate on a binding is a person's request to let the pending
	// policy change act now: "<policy permanent id>/<policy generation>".
	AnnotationActivate = "sluice.dev/activate"

	// AnnotationScheduledFor on a binding is the hash of what its own clusters were
	// chosen for, but for the fleet: while it is the same, nobody asked for others.
	AnnotationScheduledFor = "sluice.dev/scheduled-for"

	// AnnotationAffinity on a binding is the name of the term of clusterAffinities that
	// its own clusters were chosen by; absent: its placement has none.
	AnnotationAffinity = "sluice.dev/affinity"

	// AnnotationSpreadsByGroup on a binding, "true", says that its placement came into
	// force since Sluice spreads by region, zone, provider and label. Without it that is
	// left alone: an update of Sluice moves nothing.
	AnnotationSpreadsByGroup = "sluice.dev/spreads-by-group"

	// AnnotationRemovals on a binding is what is held, or was let go lately, of
	// those removals that nobody asked for: Removals as JSON.
	AnnotationRemovals = "sluice.dev/removals"

	// AnnotationDependencies on a binding is what its template refers to, as a
	// JSON list of TemplateKeys, where that shall follow it.
	AnnotationDependencies = "sluice.dev/dependencies"

	// AnnotationPolicyConflict on the binding of what others refer to is in what their
	// policies want contrary things of it; absent: in nothing.
	AnnotationPolicyConflict = "sluice.dev/policy-conflict"

	// LabelLinked on a binding, "true", says that its template refers to others
	// that follow it, or follows others: these bindings have to be found by what
	// they name, among all of a namespace.
	LabelLinked = "sluice.dev/linked"
	// AnnotationApplier on a Cluster is who brings Works to the member; none: Sluice's
	// own applier.
	AnnotationApplier = "sluice.dev/applier"
	// AnnotationNameWanted on a binding is the template, in JSON, that waits for its
	// name, and has its turn when the binding goes.
	AnnotationNameWanted = "sluice.dev/name-wanted"
	// LabelRemoving on a binding, "true", says that a removal is held, or may go and
	// has not gone yet: so these are found without all others.
	LabelRemoving = "sluice.dev/removing"
	// LabelAsked on a binding says that a person asks for something in it, which the
	// gate hears by taking the label away. Knative's sources watch bindings without
	// it: to them such a binding seems to go, and of that, unlike of all that Sluice
	// writes into bindings, they tell.
	LabelAsked = "sluice.dev/asked"

	// LabelBinding on a Work and on a revision is BindingLabel(key): an index.
	LabelBinding = "sluice.dev/binding"

	// LabelPolicyUID on a revision of a policy is the policy's uid: an index.
	LabelPolicyUID = "sluice.dev/policy-uid"

	// On a Work: its binding and its template, in the released form.
	AnnotationBindingNamespace   = "resourcebinding.karmada.io/namespace"
	AnnotationBindingName        = "resourcebinding.karmada.io/name"
	AnnotationClusterBindingName = "clusterresourcebinding.karmada.io/name"
	AnnotationTemplate           = "sluice.dev/template" // TemplateKey as JSON
	AnnotationBindingUID         = "sluice.dev/binding-uid"
	AnnotationTemplateUID        = "sluice.dev/template-uid"
	AnnotationConflictResolution = "sluice.dev/conflict-resolution"
	AnnotationDependency         = "sluice.dev/dependency" // "true": others refer to its template, and no policy places it there

	// AnnotationMemberFields on a Work are the fields of its object that belong to the
	// member, as "spec.a,spec.b.c".
	AnnotationMemberFields = "sluice.dev/member-fields"
	// LabelBindingID and LabelClusterBindingID hold the permanent id of a binding, on
	// itself, its Works and what these bring to members; never both.
	LabelBindingID        = "resourcebinding.karmada.io/permanent-id"
	LabelClusterBindingID = "clusterresourcebinding.karmada.io/permanent-id"

	// AnnotationApproved on a Work are the removals that a person let go, of those that
	// are held because others would lose what is in the object: applying.Approval of
	// each, separated by commas.
	AnnotationApproved = "sluice.dev/approved"
	// AnnotationRivals on a Work are other Works of its member that want what it has there,
	// which their applier notes: Rival of each, in JSON.
	AnnotationRivals = "sluice.dev/rivals"

	// FinalizerWork keeps a Work until its objects have left the member.
	FinalizerWork = "sluice.dev/member-object"

	// LabelMemberWork on a member's object names the Work that it comes from:
	// without it an object is not ours.
	LabelMemberWork = "sluice.dev/work"

	// LabelRetainReplicas on a template leaves spec.replicas to the members.
	LabelRetainReplicas = "resourcetemplate.karmada.io/retain-replicas"
)

// inheritedSuspension and the label of a binding are the key of an annotation on
// what that binding's template depends on: the clusters, separated by commas,
// on which the binding is suspended, and so what it depends on.
const inheritedSuspension = "suspended-by.sluice.dev/"

// InheritedSuspension is the key of the annotation for one parent.
func InheritedSuspension(parent BindingKey) string { return inheritedSuspension + BindingLabel(parent) }

// DefaultScheduler is the name of Sluice's own scheduler.
const DefaultScheduler = "default-scheduler"

// FieldManager is the owner of Sluice's fields in hub and members.
const FieldManager = "sluice"

// ReplicasManager is the owner of a template's number of replicas where that is brought
// back from the members: what it writes is a change like a user's.
const ReplicasManager = "sluice-replicas"
