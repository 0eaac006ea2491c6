// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
)

// Binding is a resource binding of either scope: the policy as it is in force for one
// template, and the clusters chosen.
type Binding struct {
	Key             BindingKey
	UID             types.UID
	ResourceVersion string
	Generation      int64
	Created         time.Time
	Deleting        bool
	Labels          map[string]string
	Annotations     map[string]string
	// Owner is the template that the metadata names as the binding's owner; the zero
	// value: none. Its version may be another than that of Spec.Resource.
	Owner  workv1alpha2.ObjectReference
	Spec   workv1alpha2.ResourceBindingSpec
	Status workv1alpha2.ResourceBindingStatus
}

// Wanting returns the binding with AnnotationNameWanted for that template, or the
// binding itself if it has that already.
func (b *Binding) Wanting(key TemplateKey) *Binding {
	raw, err := json.Marshal(key)
	if err != nil || b.Annotations[AnnotationNameWanted] == string(raw) {
		return b // strings always encode
	}
	next := *b
	next.Annotations = maps.Clone(b.Annotations)
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[AnnotationNameWanted] = string(raw)
	return &next
}

// WantedBy returns the template that waits for the binding's name; false: none does.
// Anybody may write the annotation, so it counts only if the binding of that template
// has this name.
func (b *Binding) WantedBy() (TemplateKey, bool) {
	var key TemplateKey
	if err := json.Unmarshal([]byte(b.Annotations[AnnotationNameWanted]), &key); err != nil {
		return key, false
	}
	return key, BindingOf(key) == b.Key && !b.IsOf(key)
}

// AwaitsTemplate reports whether the binding exists because others refer to a template
// that does not exist.
func (b *Binding) AwaitsTemplate() bool { return b.TemplateUID() == "" }

// OutlivesTemplate reports whether the binding exists only because others depend on its
// template. Then a template that is created again takes the place of the former one, and
// members keep what they have in between.
func (b *Binding) OutlivesTemplate() bool {
	return b.AwaitsTemplate() || len(b.Spec.RequiredBy) > 0 && b.Annotations[AnnotationActivePolicy] == ""
}

// Claim returns the claim that the binding records.
func (b *Binding) Claim() Claim { return ClaimFrom(b.Labels, b.Annotations) }

// ActedHash returns the hash of the content last acted on; empty if there is none yet.
func (b *Binding) ActedHash() string { return b.Annotations[AnnotationContentHash] }

// Revision returns the name of the frozen content; empty if there is none yet.
func (b *Binding) Revision() string { return b.Annotations[AnnotationRevision] }

// Asking returns the binding with LabelAsked, which says that a person asks for something
// in it.
func (b *Binding) Asking() *Binding {
	asking := *b
	asking.Labels = maps.Clone(b.Labels)
	if asking.Labels == nil {
		asking.Labels = map[string]string{}
	}
	asking.Labels[LabelAsked] = "true"
	return &asking
}

// ForeignScheduler returns the scheduler that the binding asks for; empty if that is
// Sluice's own.
func (b *Binding) ForeignScheduler() string {
	if b.Spec.SchedulerName == DefaultScheduler {
		return ""
	}
	return b.Spec.SchedulerName
}

// Lost reports whether the content that is in force is no longer kept, as the gate
// represents such a binding: members keep what they have until the gate passes another
// content. On the hub the binding still names the lost content.
func (b *Binding) Lost() bool {
	return b.ActedHash() == "" && b.Annotations[AnnotationActivePolicy] != ""
}

// TargetClusters returns the names of all clusters that have to have the template, sorted:
// those that its own policy chose, and those of the templates that depend on it.
func (b *Binding) TargetClusters() []string {
	var names []string
	for _, c := range b.Spec.Clusters {
		names = append(names, c.Name)
	}
	for _, r := range b.Spec.RequiredBy {
		for _, c := range r.Clusters {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// OnlyRequiredIn reports whether the cluster has the template because others there refer
// to it, and not by its own placement.
func (b *Binding) OnlyRequiredIn(cluster string) bool {
	named := func(c workv1alpha2.TargetCluster) bool { return c.Name == cluster }
	return !slices.ContainsFunc(b.Spec.Clusters, named) &&
		slices.ContainsFunc(b.Spec.RequiredBy, func(r workv1alpha2.BindingSnapshot) bool { return slices.ContainsFunc(r.Clusters, named) })
}

// SuspendedOn reports whether dispatching to the cluster is suspended: by the binding
// itself, or by a binding that depends on its template.
func (b *Binding) SuspendedOn(cluster string) bool {
	all, clusters := b.Spec.Suspension.Dispatch()
	return all || slices.Contains(clusters, cluster) || slices.Contains(b.InheritedSuspensions(), cluster)
}

// InheritedSuspensions returns the clusters on which a template that depends on this one
// is suspended, sorted.
func (b *Binding) InheritedSuspensions() []string {
	var clusters []string
	for key, value := range b.Annotations {
		if strings.HasPrefix(key, inheritedSuspension) {
			clusters = append(clusters, strings.Split(value, ",")...)
		}
	}
	slices.Sort(clusters)
	return slices.Compact(clusters)
}

// Work is a Work of either form, as it was read: the manifests for one member.
type Work struct {
	Key             WorkKey
	UID             types.UID
	ResourceVersion string
	Generation      int64
	Created         time.Time
	Deleting        bool
	// Deleted is when its deletion was requested.
	Deleted     time.Time
	Labels      map[string]string
	Annotations map[string]string
	Finalizers  []string
	Spec        workv1alpha1.WorkSpec
	Status      workv1alpha1.WorkStatus
	// Strategy says how a placement's objects are applied; nil: by default.
	Strategy *placementv1.ApplyStrategy
	// Results has the outcome for each of a placement's objects.
	Results []placementv1.ManifestCondition
	// Contents has the content of its Secrets if the Work has just been rendered. It is
	// stored beside the Work, not in it.
	Contents Contents
}

// Placement returns the name of the Work's placement, which its label says and its name
// confirms; empty if the Work is a policy's, or if its labels were edited. Nobody makes
// Works another placement's by a label.
func (w *Work) Placement() string {
	if p := w.PlacementNamed(); p == w.Labels[placementv1.LabelParentCRP] {
		return p
	}
	return ""
}

// PlacementNamed returns the placement whose Works alone may have the Work's name; empty
// where there is none.
func (w *Work) PlacementNamed() string {
	if w.Key.Form != PlacementForm {
		return ""
	}
	return placementOfWork(w.Key.Name)
}

// LetGo reports whether the Work is being deleted, and the applier has done its part: what
// keeps it is somebody else's finalizer.
func (w *Work) LetGo() bool { return w.Deleting && !slices.Contains(w.Finalizers, FinalizerWork) }

// OthersFinalizers are the Work's finalizers but Sluice's own.
func (w *Work) OthersFinalizers() []string {
	return slices.DeleteFunc(slices.Clone(w.Finalizers), func(f string) bool { return f == FinalizerWork })
}

// FollowsOthers reports whether the member has the template because others there refer to
// it, and no policy places it there.
func (w *Work) FollowsOthers() bool { return w.Annotations[AnnotationDependency] == "true" }

// Places reports whether the Work tells that the member has the template of that uid by the
// binding's own placement: not as a dependency, and not on its way out.
func (w *Work) Places(key BindingKey, template types.UID) bool {
	return !w.Deleting && !w.FollowsOthers() && w.Binding() == key && template != "" && w.Annotations[AnnotationTemplateUID] == string(template)
}

// Predates reports whether the Work's template was made before its kind was defined as it
// is now: then the template went with the former definition. A template is older than its
// binding, and one that is made again gets a new binding. defined: when that was; zero: the
// kind has no definition, or nobody knows.
func (w *Work) Predates(defined time.Time) bool {
	made, err := time.Parse(time.RFC3339, w.Annotations[AnnotationBindingCreated])
	if err != nil { // a Work from before that was noted
		made = w.Created
	}
	return !made.IsZero() && defined.After(made)
}

// Suspended reports whether the Work's own field suspends it.
func (w *Work) Suspended() bool {
	return w.Spec.SuspendDispatching != nil && *w.Spec.SuspendDispatching
}

// Replicas returns how many replicas the Work's first manifest asks for; false: it says
// nothing of replicas.
func (w *Work) Replicas() (n int32, said bool) {
	var manifest struct {
		Spec struct {
			Replicas    *int32 `json:"replicas"`
			Parallelism *int32 `json:"parallelism"`
		} `json:"spec"`
	}
	all := w.Spec.Workload.Manifests
	if len(all) == 0 || json.Unmarshal(all[0].Raw, &manifest) != nil {
		return 0, false
	}
	for _, n := range []*int32{manifest.Spec.Replicas, manifest.Spec.Parallelism} {
		if n != nil {
			return *n, true
		}
	}
	return 0, false
}
