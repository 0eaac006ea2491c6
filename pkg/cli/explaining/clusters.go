// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/core/scheduling/filters"
)

// State is the state of a template in a cluster.
type State string

// The states.
const (
	// Applied: the member has what is in force.
	Applied State = "Applied"
	// Applying: the member has not confirmed what is in force yet.
	Applying State = "Applying"
	// Failed: the member rejected it, or could not be reached.
	Failed State = "Failed"
	// Held: dispatching what is in force is suspended.
	Held State = "Held"
	// Rendering: there is no Work yet, or it is being deleted and has to be made anew.
	Rendering State = "Rendering"
	// NotRendered: no Work can be rendered from what is in force. The member keeps what
	// it has.
	NotRendered State = "NotRendered"
	// Leaving: the object is being removed.
	Leaving State = "Leaving"
	// Kept: the member keeps the object, and the template does not exist: it went with a
	// former definition of its kind.
	Kept State = "Kept"
	// NotChosen: the template does not go there.
	NotChosen State = "NotChosen"
)

// Cluster is the state of a template in one cluster.
type Cluster struct {
	Name     string `json:"name"`
	Replicas int32  `json:"replicas,omitempty"`
	State    State  `json:"state"`
	Health   string `json:"health,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
}

// clusters returns the clusters that the binding names, and those that still have a
// Work.
func clusters(t *propagation.Template, b *propagation.Binding, works []*propagation.Work) []Cluster {
	if b == nil {
		return nil
	}
	replicas := map[string]int32{}
	for _, c := range b.Spec.Clusters {
		replicas[c.Name] = c.Replicas
	}
	targets := b.TargetClusters()
	var out []Cluster
	for _, name := range targets {
		i := slices.IndexFunc(works, func(w *propagation.Work) bool { return w.Key.Cluster == name })
		if i < 0 {
			out = append(out, Cluster{Name: name, Replicas: replicas[name], State: Rendering}.unless(b))
			continue
		}
		c := ClusterOf(b, works[i])
		if works[i].Deleting && !b.Deleting && !t.Deleting {
			c = remade(works[i])
		}
		c.Replicas = replicas[name]
		if b.HoldsRemoval(name) && c.Reason == "" {
			c.Reason, c.Message = clusterv1alpha1.ConditionRemovalHeld, "it would leave, and nobody asked for that by name: 'kubectl sluice get removals' says more"
		}
		out = append(out, c)
	}
	for _, w := range works {
		if !slices.Contains(targets, w.Key.Cluster) {
			c := ClusterOf(b, w)
			if c.State != Held {
				c.State = Leaving
			}
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(x, y Cluster) int { return cmp.Compare(x.Name, y.Name) })
	return out
}

// joins reports whether a cluster of that name is joined.
func (w World) joins(name string) bool {
	return slices.ContainsFunc(w.Clusters, func(c *clusterv1alpha1.Cluster) bool { return c.Name == name })
}

// reached returns those of the clusters that are joined, or still have a Work. A
// binding that no cluster satisfies goes on naming one that is unjoined.
func (w World) reached(all []Cluster, works []*propagation.Work) []Cluster {
	return slices.DeleteFunc(all, func(c Cluster) bool {
		return !w.joins(c.Name) && !slices.ContainsFunc(works, func(one *propagation.Work) bool { return one.Key.Cluster == c.Name })
	})
}

// notChosen returns, with the reason, the joined clusters that the template does not go
// to, and those that it went to and that are unjoined.
func (w World) notChosen(b *propagation.Binding) []Cluster {
	if b == nil || b.ActedHash() == "" || b.Spec.Placement == nil || b.ForeignScheduler() != "" {
		return nil
	}
	affinity := w.affinity(b)
	targets := b.TargetClusters()
	var out []Cluster
	for _, name := range targets {
		if !w.joins(name) {
			out = append(out, Cluster{Name: name, State: NotChosen, Message: "has left"})
		}
	}
	for _, c := range w.Clusters {
		if slices.Contains(targets, c.Name) {
			continue
		}
		why := filters.Reject(filters.Input{Binding: b, Affinity: affinity, Cluster: c})
		out = append(out, Cluster{Name: c.Name, State: NotChosen, Message: cmp.Or(why, "others come first")})
	}
	slices.SortFunc(out, func(x, y Cluster) int { return cmp.Compare(x.Name, y.Name) })
	return out
}

// ClusterOf returns the state that a Work shows for its cluster, compared with what is
// in force.
func ClusterOf(b *propagation.Binding, w *propagation.Work) Cluster {
	c := Cluster{Name: w.Key.Cluster, Health: health(w)}
	applied := meta.FindStatusCondition(w.Status.Conditions, workv1alpha1.ConditionApplied)
	dispatching := meta.FindStatusCondition(w.Status.Conditions, workv1alpha1.ConditionDispatching)
	held := w.Suspended() || dispatching != nil && dispatching.Status == metav1.ConditionFalse
	current := applied != nil && applied.ObservedGeneration >= w.Generation && reporting.UpToDate(b, w)
	switch {
	case w.Deleting:
		return leaving(w)
	case held && !(current && applied.Status == metav1.ConditionTrue):
		c.State = Held
		c.Reason, c.Message = workv1alpha1.ReasonSuspendDispatching, workv1alpha1.MessageSuspendDispatching
	case !reporting.UpToDate(b, w):
		c.State = Applying
		return c.unless(b)
	case !current:
		c.State = Applying
	case applied.Status == metav1.ConditionTrue:
		c.State = Applied
		if why := unrendered(b, c.Name); why != nil { // as with an override that failed since
			c.Reason, c.Message = why.Reason, why.Message
		}
	default:
		c.State, c.Reason, c.Message = Failed, applied.Reason, applied.Message
		if c.Reason == string(applying.ReasonKindNotServed) {
			c.Message += ": install its CustomResourceDefinition there, or have a policy propagate it"
		}
	}
	return c
}

// leaving returns the state of the cluster of a Work that is being deleted, with what
// the applier found that keeps the object.
func leaving(w *propagation.Work) Cluster {
	c := Cluster{Name: w.Key.Cluster, State: Leaving, Health: health(w)}
	if a := meta.FindStatusCondition(w.Status.Conditions, workv1alpha1.ConditionApplied); a != nil && a.Status == metav1.ConditionFalse && a.ObservedGeneration >= w.Generation {
		c.Reason, c.Message = a.Reason, a.Message
	}
	return c
}

// remade returns the state of the cluster of a Work that is being deleted though the
// binding wants it: the member keeps the object, and the Work is made anew.
func remade(w *propagation.Work) Cluster {
	message := "its Work is being deleted, and is made anew when it is gone: the member keeps what it has"
	if why := Detained(w); why != "" {
		message += "; " + why
	}
	return Cluster{Name: w.Key.Cluster, State: Rendering, Health: health(w), Message: message}
}

// Detained says which finalizers of others a Work that is being deleted waits for; empty:
// none.
func Detained(w *propagation.Work) string {
	others := w.OthersFinalizers()
	if len(others) == 0 || !w.Deleting {
		return ""
	}
	return fmt.Sprintf("the Work %s in %s waits for the finalizer %s", w.Key.Name, w.Key.Namespace(), strings.Join(others, ", "))
}

// unless returns the cluster as NotRendered if the binding says that not all of its
// Works can be rendered, and may mean this one, or that nothing is in force, as for a
// dependency that was found while it was being deleted: then there is nothing to wait for.
func (c Cluster) unless(b *propagation.Binding) Cluster {
	if why := meta.FindStatusCondition(b.Status.Conditions, gating.ConditionActive); b.ActedHash() == "" && why != nil && why.Status == metav1.ConditionFalse {
		c.State, c.Reason, c.Message = NotRendered, why.Reason, why.Message
	}
	if why := unrendered(b, c.Name); why != nil {
		c.State, c.Reason, c.Message = NotRendered, why.Reason, why.Message
	}
	return c
}

// unrendered returns the condition that the cluster's Work cannot be rendered; nil: it
// can.
func unrendered(b *propagation.Binding, cluster string) *metav1.Condition {
	why := meta.FindStatusCondition(b.Status.Conditions, rendering.ConditionRendered)
	if !reporting.Unrendered(b) || !rendering.Concerns(*why, cluster) {
		return nil
	}
	return why
}

// health returns the health of the least healthy object of the Work; empty: not known.
func health(w *propagation.Work) string {
	worst := workv1alpha1.ResourceHealth("")
	for _, m := range w.Status.ManifestStatuses {
		switch {
		case m.Health == workv1alpha1.ResourceUnhealthy, worst == "":
			worst = m.Health
		case m.Health != workv1alpha1.ResourceHealthy && worst == workv1alpha1.ResourceHealthy:
			worst = m.Health
		}
	}
	return string(worst)
}
