// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
)

// Ending is how long a placement that is deleted waits for what else its namespaces hold
// to go, from when it was found there. Then it ends without them.
const Ending = 10 * time.Second

// Holder is an object of a member with which others go: its kind, and what of it is to be
// known to find these. The zero Holder is none.
type Holder struct {
	// Namespace whose objects go with it.
	Namespace string
	// Definition: the objects of the kind that it defines do, which are at
	// /apis/GROUP/VERSION/PLURAL.
	Definition bool
	Kind       schema.GroupVersionKind
	Plural     string
}

// HolderOf tells what goes with the object.
func HolderOf(object map[string]any) Holder {
	u := unstructured.Unstructured{Object: object}
	switch u.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Namespace"}:
		return Holder{Namespace: u.GetName()}
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return definitionOf(object)
	}
	return Holder{}
}

func definitionOf(object map[string]any) Holder {
	text := func(fields ...string) string { s, _, _ := unstructured.NestedString(object, fields...); return s }
	h := Holder{Definition: true, Kind: schema.GroupVersionKind{Group: text("spec", "group"), Kind: text("spec", "names", "kind")}, Plural: text("spec", "names", "plural")}
	versions, _, _ := unstructured.NestedSlice(object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if served, _ := version["served"].(bool); served {
			h.Kind.Version, _ = version["name"].(string)
			break
		}
	}
	return h
}

// Holds tells whether anything goes with the object.
func (h Holder) Holds() bool { return h.Definition || h.Namespace != "" }

// Inhabitant is an object that a holder holds.
type Inhabitant struct {
	schema.GroupKind
	Namespace, Name     string
	UID                 types.UID
	Labels, Annotations map[string]string
	// Deleting: it goes anyway.
	Deleting bool
	// Owned: it goes with another that is in the same namespace, which counts itself.
	Owned bool
	// Leaves: it goes by a removal of its own, which asks for itself who else wants it.
	Leaves bool
}

// String names it for people.
func (i Inhabitant) String() string {
	name := i.Name
	if i.Namespace != "" {
		name = i.Namespace + "/" + name
	}
	if len(name) > longName {
		name = name[:longName] + "…"
	}
	return i.Kind + " " + name
}

// Lists tells whether objects of the kind count as something in a namespace: not what the
// API server and its controllers note down there, which nobody misses.
func Lists(k schema.GroupKind) bool {
	switch k {
	case schema.GroupKind{Kind: "Event"}, schema.GroupKind{Group: "events.k8s.io", Kind: "Event"},
		schema.GroupKind{Kind: "Endpoints"}, schema.GroupKind{Group: "discovery.k8s.io", Kind: "EndpointSlice"},
		schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"}:
		return false
	}
	return true
}

// everywhere is what is in each namespace of a cluster, made by the cluster itself.
var everywhere = map[schema.GroupKind][]string{
	{Kind: "ConfigMap"}:      {"kube-root-ca.crt", "openshift-service-ca.crt", "istio-ca-root-cert"},
	{Kind: "ServiceAccount"}: {"default", "builder", "deployer"},
}

// Account is what a removal accounts for, beside the holder itself.
type Account struct {
	Hub string
	// Owners are the marks of those whose objects leave, too (the values of
	// propagation.LabelMemberWork).
	Owners []string
	// Apart: each of these objects leaves by a removal of its own, and the holder behind
	// them. Else they go with the holder.
	Apart bool
}

// Own tells whether the object is one of the owners'.
func (a Account) Own(i Inhabitant) bool {
	owner, hub := i.Labels[propagation.LabelMemberWork], i.Annotations[AnnotationHub]
	return owner != "" && slices.Contains(a.Owners, owner) && (a.Hub == "" || hub == "" || hub == a.Hub)
}

// Counts tells whether the object must not be lost with the holder: it is somebody else's,
// or leaves by itself.
func (a Account) Counts(h Holder, i Inhabitant) bool {
	switch owner := i.Labels[propagation.LabelMemberWork]; {
	case i.Deleting:
		return false
	case a.Own(i):
		return a.Apart
	case h.Definition, owner != "":
		return true
	case i.Owned, slices.Contains(everywhere[i.GroupKind], i.Name):
		return false
	}
	account := i.Annotations["kubernetes.io/service-account.name"]
	return i.GroupKind != schema.GroupKind{Kind: "Secret"} || !slices.Contains(everywhere[schema.GroupKind{Kind: "ServiceAccount"}], account)
}

const (
	// named is how many of those inside are named.
	named = 3
	// longName is how much of a name is shown.
	longName = 100
)

// Approval is what is written in propagation.AnnotationApproved of a Work so that a
// removal goes which is held with that message: whoever approves it has read no other.
func Approval(message string) string {
	return propagation.HashJSON(conditions.Message(message))[:16]
}

// holds decides about a holder that has to leave: it stays while it holds what others put
// there, or that cannot be told. False: nothing is in the way.
func (in Input) holds() (Decision, bool) {
	if !HolderOf(in.Live.Value.Object).Holds() {
		return Decision{}, false
	}
	u := unstructured.Unstructured{Object: in.Live.Value.Object}
	what := fmt.Sprintf("%s %s in %s", u.GetKind(), u.GetName(), in.Work.Key.Cluster)
	if first := in.leaveFirst(); len(first) > 0 {
		return decision(Wait, ReasonInsideLeaves, what+" holds what leaves before it does: "+several(first)), true
	}
	switch {
	case in.Inside.Answer == CannotTell && in.Inside.Why == "":
		d := decision(Wait, ReasonCannotTell, "nobody asked what "+what+" holds")
		d.AsksInside = true
		return d, true
	case in.Inside.Answer != Found:
		what = "what " + what + " holds cannot be told" + in.contents() + ": " + because(in.Inside)
	case len(in.Inside.Value) == 0:
		return Decision{}, false
	default:
		what += " holds what is not removed with it: " + several(in.Inside.Value) + in.contents()
	}
	message := what + "; 'kubectl sluice approve " + in.Work.Key.Cluster + " " + strings.ToLower(u.GetKind()) + "/" + u.GetName() + "' removes it with all that is in it"
	switch {
	case in.Work.Approves(Approval(message)):
		return Decision{}, false
	case in.Finding.Ending:
		return decision(Release, ReasonHoldsOthers, what+"; it stays, and is nobody's"), true
	case in.Blocking:
		return decision(Release, ReasonWorksLeaving, messages[ReasonWorksLeaving]), true
	}
	return decision(Wait, ReasonHoldsOthers, message), true
}

// leaveFirst are those inside that leave by themselves. The holder waits for them as long
// as they do, whatever anybody approved: who else wants them is not its own to ask.
func (in Input) leaveFirst() []Inhabitant {
	return slices.DeleteFunc(slices.Clone(in.Inside.Value), func(i Inhabitant) bool { return !i.Leaves })
}

// contents stands for the holder and all that was found in it, so that an approval, which
// is for the message that has it, is for these very objects.
func (in Input) contents() string {
	all := []string{string(in.Live.Value.UID)}
	for _, i := range sorted(in.Inside.Value) {
		all = append(all, i.GroupKind.String(), i.Namespace, i.Name, string(i.UID))
	}
	return " (contents " + propagation.HashJSON(all)[:12] + ")"
}

func sorted(all []Inhabitant) []Inhabitant {
	return slices.SortedFunc(slices.Values(all), func(x, y Inhabitant) int {
		return cmp.Or(strings.Compare(x.Kind, y.Kind), strings.Compare(x.Group, y.Group), strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Name, y.Name))
	})
}

// several names some of them, always the same.
func several(all []Inhabitant) string {
	all = sorted(all)
	var names []string
	for _, i := range all[:min(len(all), named)] {
		names = append(names, i.String())
	}
	text := strings.Join(names, ", ")
	switch more := len(all) - len(names); {
	case len(all) >= MostInside:
		return text + " and many more"
	case more > 0:
		return fmt.Sprintf("%s and %d more", text, more)
	}
	return text
}

// MostInside is of how many a holder holds it is told how many they are.
const MostInside = 20
