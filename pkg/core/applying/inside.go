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

// Ending is how long the deletion of a placement waits for the other objects in its
// namespaces to go, counted from when they were found. After that the placement is
// deleted without them.
const Ending = 10 * time.Second

// Holder is a member's object whose deletion deletes others, with what is needed to
// list these. The zero Holder is an object that holds nothing.
type Holder struct {
	// Namespace whose objects are deleted with it.
	Namespace string
	// Definition: the object is a CustomResourceDefinition, and all objects of its kind
	// are deleted with it. They are listed at /apis/GROUP/VERSION/PLURAL.
	Definition bool
	Kind       schema.GroupVersionKind
	Plural     string
}

// HolderOf returns what would be deleted with the object.
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

// Holds reports whether anything is deleted with the object.
func (h Holder) Holds() bool { return h.Definition || h.Namespace != "" }

// Inhabitant is an object inside a Holder.
type Inhabitant struct {
	schema.GroupKind
	Namespace, Name     string
	UID                 types.UID
	Labels, Annotations map[string]string
	// Deleting: it is being deleted already.
	Deleting bool
	// Owned: it has an owner in the same namespace, which is counted instead.
	Owned bool
	// Leaves: it has a removal of its own, which checks by itself whether another Work
	// wants it.
	Leaves bool
}

// String names the object for people.
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

// Lists reports whether objects of the kind count as contents of a namespace. Records
// that the API server and its controllers keep there do not: nobody misses them.
func Lists(k schema.GroupKind) bool {
	switch k {
	case schema.GroupKind{Kind: "Event"}, schema.GroupKind{Group: "events.k8s.io", Kind: "Event"},
		schema.GroupKind{Kind: "Endpoints"}, schema.GroupKind{Group: "discovery.k8s.io", Kind: "EndpointSlice"},
		schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"}:
		return false
	}
	return true
}

// everywhere has the objects that a cluster creates by itself in each namespace.
var everywhere = map[schema.GroupKind][]string{
	{Kind: "ConfigMap"}:      {"kube-root-ca.crt", "openshift-service-ca.crt", "istio-ca-root-cert"},
	{Kind: "ServiceAccount"}: {"default", "builder", "deployer"},
}

// Account says which objects a removal accounts for, beside the holder itself.
type Account struct {
	Hub string
	// Owners are the values of propagation.LabelMemberWork on objects that are removed,
	// too.
	Owners []string
	// Apart: the owners' objects are removed one by one first, and the holder after
	// them. Otherwise they are deleted with the holder.
	Apart bool
}

// Own reports whether the object belongs to one of the owners.
func (a Account) Own(i Inhabitant) bool {
	owner, hub := i.Labels[propagation.LabelMemberWork], i.Annotations[AnnotationHub]
	return owner != "" && slices.Contains(a.Owners, owner) && (a.Hub == "" || hub == "" || hub == a.Hub)
}

// Counts reports whether the object keeps the holder from being deleted: it belongs to
// somebody else, or has a removal of its own.
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
	// named is how many of the contained objects a message names.
	named = 3
	// longName is how many bytes of a name are shown.
	longName = 100
)

// Approval returns the value of propagation.AnnotationApproved that approves a removal
// which is held with that message. It depends on the message: a person approves only
// what the message said.
func Approval(message string) string {
	return propagation.HashJSON(conditions.Message(message))[:16]
}

// holds decides about a holder that has to go: it stays while it holds objects of
// others, or while its contents are not known. It returns false if nothing keeps the
// holder.
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

// leaveFirst returns the contained objects that have removals of their own. The holder
// waits for them even if its own removal is approved: whether other Works want them is
// decided by their removals.
func (in Input) leaveFirst() []Inhabitant {
	return slices.DeleteFunc(slices.Clone(in.Inside.Value), func(i Inhabitant) bool { return !i.Leaves })
}

// contents identifies the holder and all that was found in it. As part of the message
// it limits an approval to these very objects.
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

// several names the first few objects, in a fixed order.
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

// MostInside is the number of contained objects of one kind at which the search stops.
// From that number on a message says that there are many more.
const MostInside = 20
