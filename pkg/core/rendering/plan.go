// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"cmp"
	"slices"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// Action is what happens to a Work.
type Action string

// The actions.
const (
	// Create the Work: the cluster has none.
	Create Action = "Create"
	// Update the Work: it says something else.
	Update Action = "Update"
	// Keep the Work: it is as it shall be, or its manifest cannot be made.
	Keep Action = "Keep"
	// Hold the Work: its cluster is no target any more, and is suspended.
	Hold Action = "Hold"
	// Delete the Work: its cluster is no target any more.
	Delete Action = "Delete"
	// Doubt whether the Work has to be: nothing wants it, and nothing proves that
	// it may go. It stays.
	Doubt Action = "Doubt"
	// Leave the Work: it is being deleted already, and nothing wants it, or it cannot
	// be made anew yet.
	Leave Action = "Leave"
	// Remake the Work: it is being deleted, and its cluster is a target. It is let
	// go and made anew, and what it put into the member stays there.
	Remake Action = "Remake"
)

// Wants reports whether a binding in force wants the Work that is there, or holds it.
func Wants(a Action) bool { return a == Update || a == Keep || a == Hold }

// Step is what happens to one Work.
type Step struct {
	Action Action
	// Existing is the Work as it was read; nil for Create.
	Existing *propagation.Work
	// Desired is the Work to write, for Create, Update and Remake, and for Leave the
	// one that takes its place when it is gone; else nil.
	Desired *propagation.Work
	// Contents are what the Work's Secrets hold, where the Work is as it was
	// rendered; nil: what is kept of them stays as it is.
	Contents propagation.Contents
}

// Key is that of the step's Work.
func (s Step) Key() propagation.WorkKey {
	if s.Existing != nil {
		return s.Existing.Key
	}
	return s.Desired.Key
}

// Plan compares the Works that exist with those desired, by cluster. Where the
// manifest of a cluster could not be made (failed), its Work stays as it is, but for
// the suspension, which does not wait for that. What
// is not desired goes if leaves says so, and if it is not suspended while its
// binding lives: only the end of the template passes that. A Work that has the
// binding's former name keeps it, unless it is being deleted: then it is made anew
// under the present one. Where both are there, the former one goes. Steps are sorted
// by cluster; what goes comes after what comes.
func Plan(b *propagation.Binding, existing []*propagation.Work, desired map[string]*propagation.Work, failed map[string]bool, leaves func(*propagation.Work) bool) []Step {
	var steps []Step
	there := map[propagation.WorkKey]bool{}
	for _, w := range existing {
		there[w.Key] = true
	}
	for _, w := range existing {
		wants := desired[w.Key.Cluster]
		if former(b, w) {
			switch {
			case there[present(b, w)]:
				steps = append(steps, superseded(w))
				continue
			case wants != nil && w.Deleting && !again(w, wants):
				there[wants.Key] = true
				steps = append(steps, remake(w, wants))
				continue
			case wants != nil:
				there[wants.Key] = true
				wants = under(w.Key.Name, wants)
			}
		}
		s := step(b, w, wants, failed[w.Key.Cluster])
		if s.Action == Delete && !leaves(w) {
			s.Action = Doubt
		}
		steps = append(steps, s)
	}
	for _, w := range desired {
		if !there[w.Key] {
			steps = append(steps, Step{Action: Create, Desired: w, Contents: w.Contents})
		}
	}
	slices.SortFunc(steps, func(x, y Step) int {
		return cmp.Or(cmp.Compare(rank(x.Action), rank(y.Action)), cmp.Compare(x.Key().Cluster, y.Key().Cluster), cmp.Compare(x.Key().Name, y.Key().Name))
	})
	return steps
}

// former tells whether the Work has the former name of the binding, which is in force.
func former(b *propagation.Binding, w *propagation.Work) bool {
	return b != nil && !b.Deleting && w.Key.Name == propagation.FormerWorkName(b.Key)
}

// present is the key of the Work of the binding's present name in the same cluster.
func present(b *propagation.Binding, w *propagation.Work) propagation.WorkKey {
	return propagation.WorkKey{Cluster: w.Key.Cluster, Name: propagation.WorkName(b.Key), Form: w.Key.Form}
}

// superseded takes away a Work whose object another one gives to the member: that
// it stays there, the applier sees to.
func superseded(w *propagation.Work) Step {
	if w.Deleting {
		return Step{Action: Leave, Existing: w}
	}
	return Step{Action: Delete, Existing: w}
}

// under is the Work under another name.
func under(name string, w *propagation.Work) *propagation.Work {
	renamed := *w
	renamed.Key.Name = name
	return &renamed
}

// step decides on a Work that exists. A Work of another name is not the desired
// one.
func step(b *propagation.Binding, w, desired *propagation.Work, failed bool) Step {
	alive := b != nil && !b.Deleting
	if desired != nil && desired.Key != w.Key {
		desired = nil
	}
	switch {
	case w.Deleting && desired != nil && !again(w, desired):
		return remake(w, desired)
	case w.Deleting:
		return Step{Action: Leave, Existing: w}
	case desired != nil && again(w, desired):
		return Step{Action: Delete, Existing: w}
	case desired != nil && !Equal(w, desired):
		return Step{Action: Update, Existing: w, Desired: merge(w, desired), Contents: desired.Contents}
	case desired != nil:
		return Step{Action: Keep, Existing: w, Contents: desired.Contents}
	case alive && failed:
		return suspendOnly(w, b.SuspendedOn(w.Key.Cluster))
	case alive && b.SuspendedOn(w.Key.Cluster):
		return hold(w)
	}
	return Step{Action: Delete, Existing: w}
}

// remake makes a Work anew that is being deleted, unless somebody else keeps it.
func remake(w, desired *propagation.Work) Step {
	if len(w.OthersFinalizers()) > 0 {
		return Step{Action: Leave, Existing: w, Desired: desired}
	}
	return Step{Action: Remake, Existing: w, Desired: desired, Contents: desired.Contents}
}

// again tells whether the Work is of a former template whose object has done what
// it was to do: that of the present one has to do it again, and cannot take it over.
func again(w, desired *propagation.Work) bool {
	was := w.Annotations[propagation.AnnotationTemplateUID]
	k, err := desired.Template()
	return err == nil && applying.RunsOnce(k) && was != "" && was != desired.Annotations[propagation.AnnotationTemplateUID]
}

// hold keeps a Work back. It is written once where it does not say so itself.
func hold(w *propagation.Work) Step {
	if w.Suspended() {
		return Step{Action: Hold, Existing: w}
	}
	return suspendOnly(w, true)
}

// suspendOnly keeps a Work as it is, but for its suspension.
func suspendOnly(w *propagation.Work, suspended bool) Step {
	if w.Suspended() == suspended {
		return Step{Action: Keep, Existing: w}
	}
	next := *w
	next.Spec.SuspendDispatching = nil
	if suspended {
		next.Spec.SuspendDispatching = new(true)
	}
	return Step{Action: Update, Existing: w, Desired: &next}
}

func rank(a Action) int {
	if a == Delete || a == Leave {
		return 1
	}
	return 0
}
