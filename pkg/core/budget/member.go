// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
)

const (
	// least is how many objects may always leave a member within the window, share is the
	// percentage of its objects that may.
	least = 10
	share = 20
)

// Limit returns how many of the objects that a member has may leave it within the window
// though nobody asked for their removal.
func Limit(has int) int { return max(least, has*share/100) }

// Member is what would leave one member.
type Member struct {
	Cluster string
	// Has is how many objects the member has.
	Has int
	// Held are the bindings whose removal from the member is held, Going those whose
	// removal is allowed but not scheduled yet; both are sorted by key.
	Held, Going []*propagation.Binding
	// Coming counts the other bindings that would leave the member out once they are
	// scheduled again.
	Coming int
	// Recent counts the removals that the budget allowed within the window and that are
	// done.
	Recent int
	// Unbound counts the member's Works whose binding is missing or names no cluster: the
	// binding was deleted, and when it is created again the removal may have to be held.
	Unbound int
	// Stands reports that the Cluster's condition RemovalHeld is True already.
	Stands bool
}

// Over reports whether the removals exceed the budget, so that they are held until a
// person approves them. They stay held even if some of the objects are wanted again.
func (m Member) Over(mode propagation.RemovalBudget) bool {
	if len(m.Held) == 0 || mode == propagation.BudgetOff {
		return false
	}
	return m.Stands || m.leaving() > Limit(m.Has)
}

// Unsure reports whether the member cannot be judged yet, since bindings may be about to
// be created again. What is held stays held, and the condition stays as it is.
func (m Member) Unsure(mode propagation.RemovalBudget) bool {
	return mode != propagation.BudgetOff && m.leaving()+m.Unbound > Limit(m.Has)
}

// leaving counts the removals within the window, as if those held were allowed.
func (m Member) leaving() int {
	return len(m.Held) + m.Coming + m.Recent + letGo(m.Going, m.Cluster)
}

// letGo counts the removals in going that the budget allowed, not a person.
func letGo(going []*propagation.Binding, cluster string) int {
	n := 0
	for _, b := range going {
		if !b.Removals()[cluster].Let.IsZero() {
			n++
		}
	}
	return n
}

// World is what the members' budgets depend on.
type World struct {
	Clusters []*clusterv1alpha1.Cluster
	Bindings []*propagation.Binding
	Mode     propagation.RemovalBudget
	Now      time.Time
}

// Quiet reports whether nothing is held and no Cluster says that anything is.
func (w World) Quiet() bool {
	return !slices.ContainsFunc(w.Clusters, Stands) && !slices.ContainsFunc(w.Bindings, func(b *propagation.Binding) bool {
		return len(held(b.Removals())) > 0
	})
}

// Members returns the members that would lose something, and those whose Cluster says
// so, sorted by name. The Works are what each member has now.
func (w World) Members(works []*propagation.Work) []Member {
	members := map[string]*Member{}
	for _, c := range w.Clusters {
		members[c.Name] = &Member{Cluster: c.Name, Stands: Stands(c)}
	}
	bound := make(map[propagation.BindingKey]bool, len(w.Bindings))
	for _, b := range w.Bindings {
		bound[b.Key] = len(b.TargetClusters()) > 0 || b.Spec.Placement == nil
	}
	for _, k := range works {
		m := members[k.Key.Cluster]
		if m == nil {
			continue
		}
		if m.Has++; !k.Deleting && !bound[k.Binding()] {
			m.Unbound++
		}
	}
	for _, b := range w.Bindings {
		for cluster, r := range b.Removals() {
			m := members[cluster]
			switch {
			case m == nil:
			case r.Holds():
				m.Held = append(m.Held, b)
			case r.Goes():
				m.Going = append(m.Going, b)
			case w.Now.Sub(r.Left) < Window:
				m.Recent++
			}
		}
	}
	w.coming(members)
	var out []Member
	for _, m := range members {
		if len(m.Held)+len(m.Going) > 0 || m.Stands {
			slices.SortFunc(m.Held, byKey)
			slices.SortFunc(m.Going, byKey)
			out = append(out, *m)
		}
	}
	slices.SortFunc(out, func(a, b Member) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return out
}

// coming sets Member.Coming where it matters. One change, as of a Cluster's label,
// concerns many bindings, and each is scheduled by itself: those that have not been
// scheduled since are counted, too.
func (w World) coming(members map[string]*Member) {
	matters := func(cluster string) bool {
		m := members[cluster]
		return m != nil && len(m.Held) > 0 && !m.Stands
	}
	for _, b := range w.Bindings {
		asks := func(cluster string) bool { return matters(cluster) && b.Removals()[cluster].Held.IsZero() }
		if !slices.ContainsFunc(b.TargetClusters(), asks) {
			continue
		}
		next, _ := Of(b, w.Clusters).Schedule(w.Mode, w.Now)
		for _, cluster := range next.HeldRemovals() {
			if asks(cluster) {
				members[cluster].Coming++
			}
		}
	}
}

func byKey(a, b *propagation.Binding) int { return cmp.Compare(a.Key.ID(), b.Key.ID()) }

// ReasonExceeded and ReasonNothingHeld are the reasons of the condition RemovalHeld.
const (
	ReasonExceeded    = "BudgetExceeded"
	ReasonNothingHeld = "NothingHeld"
)

// Stands reports whether the Cluster's condition RemovalHeld is True.
func Stands(c *clusterv1alpha1.Cluster) bool {
	return conditions.Is(c.Status.Conditions, clusterv1alpha1.ConditionRemovalHeld, metav1.ConditionTrue)
}

// Condition returns the Cluster's condition RemovalHeld.
func (m Member) Condition(mode propagation.RemovalBudget) metav1.Condition {
	c := metav1.Condition{Type: clusterv1alpha1.ConditionRemovalHeld, Status: metav1.ConditionFalse, Reason: ReasonNothingHeld, Message: "nothing that would leave the cluster is held"}
	if m.Over(mode) {
		c.Status, c.Reason = metav1.ConditionTrue, ReasonExceeded
		c.Message = fmt.Sprintf("%d would leave %s though nobody asked for that by name, and %d may within ten minutes: all of them stay. "+
			"'kubectl sluice get removals' lists them; put back what was changed, or let them go with 'kubectl sluice approve %s'",
			len(m.Held)+m.Coming, m.Cluster, Limit(m.Has), m.Cluster)
	}
	return c
}
