// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

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

	// AnnotationActivate on a binding is a person's wish to let the pending
	// policy change act now: "<policy permanent id>/<policy generation>".
	AnnotationActivate = "sluice.dev/activate"

	// AnnotationScheduledFor on a binding is the hash of what its own clusters were
	// chosen for, but for the fleet: while it is the same, nobody asked for others.
	AnnotationScheduledFor = "sluice.dev/scheduled-for"

	// AnnotationAffinity on a binding is the name of the term of clusterAffinities that
	// its own clusters were chosen by; absent: its placement has none.
	AnnotationAffinity = "sluice.dev/affinity"

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
	// LabelAsked on a binding says that a person asks for something in it, which the
	// gate hears by taking the label away. Knative's sources watch bindings without
	// it: to them such a binding seems to go, and of that, unlike of all that Sluice
	// writes into bindings, they tell.
	LabelAsked = "sluice.dev/asked"

	// LabelBinding on a Work and on a revision is BindingLabel(key): an index.
	LabelBinding = "sluice.dev/binding"

	// On a Work: its binding and its template, in the released form.
	AnnotationBindingNamespace   = "resourcebinding.karmada.io/namespace"
	AnnotationBindingName        = "resourcebinding.karmada.io/name"
	AnnotationClusterBindingName = "clusterresourcebinding.karmada.io/name"
	AnnotationTemplate           = "sluice.dev/template" // TemplateKey as JSON
	AnnotationBindingUID         = "sluice.dev/binding-uid"
	AnnotationTemplateUID        = "sluice.dev/template-uid"
	AnnotationConflictResolution = "sluice.dev/conflict-resolution"
	AnnotationDependency         = "sluice.dev/dependency" // "true": others refer to its template, and no policy places it

	// LabelBindingID and LabelClusterBindingID hold the permanent id of a binding, on
	// itself, its Works and what these bring to members; never both.
	LabelBindingID        = "resourcebinding.karmada.io/permanent-id"
	LabelClusterBindingID = "clusterresourcebinding.karmada.io/permanent-id"

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

// BindingName is the deterministic name of a template's binding:
// "<name>-<kind, lower case>" where that is a valid name and can be no other
// kind's; otherwise it is cut and ends in a hash of the group, kind and name.
// Only kinds of the built-in groups, whose kind names differ, get the short
// form, so that two kinds of one name in different groups never collide.
func BindingName(k TemplateKey) string {
	gk := k.GroupVersionKind().GroupKind()
	short := strings.ToLower(k.Name + "-" + gk.Kind)
	if shortNameGroups[gk.Group] && len(validation.IsDNS1123Subdomain(short)) == 0 && short == k.Name+"-"+strings.ToLower(gk.Kind) {
		return short
	}
	return hashedName(k.Name+"-"+gk.Kind, gk.Group+"/"+gk.Kind+"/"+k.Name, validation.DNS1123SubdomainMaxLength, indexHash)
}

// The groups whose kinds may use the short form: no two of them have a kind of
// one name. Custom kinds are hashed, for anybody may add another of that name.
var shortNameGroups = map[string]bool{
	"": true, "apps": true, "batch": true, "autoscaling": true, "policy": true, "networking.k8s.io": true,
	"rbac.authorization.k8s.io": true, "scheduling.k8s.io": true, "storage.k8s.io": true, "apiextensions.k8s.io": true,
}

// BindingOf is the key of the template's binding.
func BindingOf(k TemplateKey) BindingKey {
	return BindingKey{Namespace: k.Namespace, Name: BindingName(k)}
}

// TemplatesOf are the templates of those kinds that the binding may be of. Of a name
// that was cut for a binding's, or had characters that none has, nothing can be told.
func TemplatesOf(b BindingKey, kinds []schema.GroupVersionKind) []TemplateKey {
	stems := []string{b.Name}
	if i := strings.LastIndexByte(b.Name, '-'); i > 0 {
		stems = append(stems, b.Name[:i]) // in front of the hash
	}
	var found []TemplateKey
	for _, kind := range kinds {
		for _, stem := range stems {
			name, is := strings.CutSuffix(stem, "-"+strings.ToLower(kind.Kind))
			k := TemplateKey{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: b.Namespace, Name: name}
			if is && name != "" && BindingOf(k) == b {
				found = append(found, k)
			}
		}
	}
	return found
}

// BindingLabel is the value of LabelBinding. It is an index and no name: of its 40
// bits of hash somebody can make two that are alike, so that what is found by it says
// itself whose it is, and is asked. It stays as it was when Works had such names, for
// no Work and no revision is written because Sluice was updated.
func BindingLabel(k BindingKey) string { return FormerWorkName(k) }

// RevisionName is the name of the frozen content of a binding.
func RevisionName(k BindingKey, contentHash string) string {
	return hashedName(k.Name, contentHash+"/"+k.ID(), validation.DNS1123SubdomainMaxLength, indexHash)
}

// The bytes of the hashes that names end in: enough to tell names apart that nobody
// made alike (and what has such a name is asked whose it is), and enough that nobody
// can make two alike.
const (
	indexHash = 5
	nameHash  = 16
)

// hashedName is stem, made valid and cut to fit into limit, and the first bytes of a
// hash of identity.
func hashedName(stem, identity string, limit, bytes int) string {
	sum := sha256.Sum256([]byte(identity))
	hash := hex.EncodeToString(sum[:bytes])
	var b strings.Builder
	for _, r := range strings.ToLower(stem) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			b.WriteRune(r)
		} else {
			b.WriteByte('-')
		}
	}
	s := b.String()
	if limit -= len(hash) + 1; len(s) > limit {
		s = s[:limit]
	}
	s = strings.Trim(s, "-.")
	if s == "" {
		s = "x"
	}
	return s + "-" + hash
}
