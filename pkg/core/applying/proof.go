// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/propagation"
)

// Evidence is what the hub says of an object, read immediately before the
// decision, and not from what a watch told earlier.
type Evidence struct {
	// Work that put the object into the member.
	Work *propagation.Work
	// Template of the Work, of the binding that the Work belongs to, and the
	// member's Cluster.
	Template Read[*propagation.Template]
	Binding  Read[*propagation.Binding]
	Cluster  Read[*clusterv1alpha1.Cluster]
	// Aliases are the other names that the member is joined under (AliasesOf).
	Aliases []string
	// Settled tells that the binding's clusters are those that its placement asks
	// for (scheduling.Settled).
	Settled bool
	// Parents are the linked bindings of the template's namespace: what they refer to
	// follows them, also where its own binding does not say so, as one that was made
	// anew.
	Parents []*propagation.Binding
	// Successor of the Work, where it has one (propagation.Work.Successor).
	Successor Read[*propagation.Work]
	// Others are the other Works of the member, and what they want.
	Others Read[Others]
	Now    time.Time
}

// Proof says why an object may leave its member. Nobody but this package makes
// one that proves anything.
type Proof struct {
	reason Reason
	// template tells that the template is gone, or may be: then what is to be
	// preserved stays.
	template bool
}

// Holds reports whether the object may leave its member.
func (p Proof) Holds() bool { return p.reason != "" }

// Reason returns why the object may leave; empty for the zero Proof.
func (p Proof) Reason() Reason { return p.reason }

// Finding is what follows from the evidence: the object has to leave (Proof), has
// to be there by its Work (Wanted) or by another (Elsewhere), is out of reach for
// good (Left), or none of these: nobody can tell.
type Finding struct {
	Proof Proof
	// Wanted: a binding in force wants it in the member by this Work, which stays,
	// although it is being deleted, until it is made anew: it is all that tells of
	// the object should the binding want something else meanwhile.
	Wanted bool
	// Elsewhere: another Work of the same placement, or of the same binding, gives it
	// to the member now.
	Elsewhere bool
	// Left: the cluster has left, and its objects stay as they are.
	Left bool
	// Abandoned: nobody says any more where the template goes, and nothing will.
	Abandoned bool
	// Ending: who gave the object ends, and has waited for long enough. What holds others
	// stays behind.
	Ending bool
	// Heir is another Work that wants the object which may leave; nil: none does.
	// AsksOthers: the object may leave if there is an answer to who else wants it, which
	// nobody asked.
	Heir       *propagation.WorkKey
	AsksOthers bool
	Reason     Reason
	Message    string
}

// Settling is how long a template that was made anew under its old name, or whose
// binding is missing, may take until it is known where it goes.
const Settling = 10 * time.Second

// Returning is how long a dependency stays whose template is gone: it may be made
// anew, and who refers to it goes on running.
const Returning = 4 * time.Second

// Examine tells whether the object may leave its member. The template comes
// first: nobody wants what is gone. That a template was made anew is the end of
// the former, but what of it is there the new one may take over. What another Work wants
// nobody loses.
func Examine(e Evidence) Finding {
	object, err := e.Work.Template()
	if err != nil {
		return e.examine()
	}
	return e.examine().alone(e.Others, object)
}

func (e Evidence) examine() Finding {
	if key, err := e.Work.Template(); err != nil || !slices.Contains(propagation.WorkNames(propagation.BindingOf(key)), e.Work.Key.Name) {
		return unknown(ReasonUnknownTemplate, "the Work does not say whose it is")
	}
	switch c := e.Cluster; {
	case c.Answer == Absent, c.Answer == Found && c.Value.DeletionTimestamp != nil:
		return Finding{Left: true, Reason: ReasonClusterLeft, Message: "the cluster has left"}
	case c.Answer != Found:
		return unknown(ReasonCannotTell, "whether "+e.Work.Key.Cluster+" is a member cannot be told: "+because(c))
	}
	t, former := e.Template, e.former()
	switch {
	case t.Answer == Absent && e.mayReturn():
		return unknown(ReasonMayReturn, "its template is gone, others refer to it, and it may be made anew")
	case t.Answer == Absent:
		return gone(ReasonTemplateGone)
	case t.Answer == Found && former != "" && t.Value.UID != former:
		return e.successor()
	case t.Answer == Found && t.Value.Deleting:
		return gone(ReasonTemplateDeleting)
	case e.wanted():
		return e.stays(e.Binding.Value.Key.String() + " wants it in " + e.Work.Key.Cluster)
	case t.Answer != Found:
		return unknown(ReasonCannotTell, "whether its template is there cannot be told: "+because(t))
	}
	return e.placed()
}

// mayReturn tells whether the Work is a dependency's and was deleted a moment ago. A
// clock that is wrong makes the moment shorter, and never longer.
func (e Evidence) mayReturn() bool {
	since := e.Now.Sub(e.Work.Deleted)
	return e.Work.FollowsOthers() && e.Work.Deleting && since >= 0 && since < Returning
}

// former is the uid of the template that the Work was made for; empty: the Work
// does not say, and the binding that it was made for is another one now.
func (e Evidence) former() types.UID {
	if uid := e.Work.Annotations[propagation.AnnotationTemplateUID]; uid != "" {
		return types.UID(uid)
	}
	if b := e.Binding; b.Answer == Found && string(b.Value.UID) == e.Work.Annotations[propagation.AnnotationBindingUID] {
		return b.Value.Spec.Resource.UID
	}
	return ""
}

// successor is Examine where the template is another of the name.
func (e Evidence) successor() Finding {
	b, t := e.Binding, e.Template.Value
	switch {
	case t.Deleting, RunsOnce(t.Key):
		return gone(ReasonTemplateReplaced)
	case InForce(b) && b.Value.Spec.Resource.UID == t.UID:
		if e.wanted() {
			return e.stays("the template was made anew, and takes over what is there")
		}
		if name := e.alias(); name != "" {
			return elsewhere(name)
		}
		if why := Omitted(b.Value, e.Settled); why != "" {
			return unknown(ReasonCannotTell, why)
		}
		return gone(ReasonTemplateReplaced)
	case b.Answer == CannotTell || b.Answer == NotServed:
		return unknown(ReasonCannotTell, "where the template goes that was made anew cannot be told: "+because(b))
	case awaitsChange(t):
		return gone(ReasonTemplateReplaced)
	case t.Claim.Held(), e.Now.Sub(t.Created) < Settling:
		return unknown(ReasonCannotTell, "the template was made anew, and it is not known yet where it goes")
	}
	return gone(ReasonTemplateReplaced)
}

// wanted tells whether a binding in force, of a template that is there, wants the
// object in the member.
func (e Evidence) wanted() bool {
	b, t := e.Binding, e.Template
	return InForce(b) && (t.Answer != Found || b.Value.Spec.Resource.UID == t.Value.UID) &&
		slices.Contains(b.Value.TargetClusters(), e.Work.Key.Cluster)
}

// alias is another name of the member by which the binding wants the object there.
func (e Evidence) alias() string {
	for _, t := range e.Binding.Value.TargetClusters() {
		if slices.Contains(e.Aliases, t) {
			return t
		}
	}
	return ""
}

// elsewhere is the finding about an object that the member has to have by the Work of
// another name of its own.
func elsewhere(name string) Finding {
	return Finding{Elsewhere: true, Reason: ReasonSameMember, Message: name + " is the same cluster, and has it"}
}

// AliasesOf are the names of those of the clusters that are the same member as c, by
// spec.id: somebody renamed it, or made it join twice. What one of them is to have must
// not be taken away for another.
func AliasesOf(c *clusterv1alpha1.Cluster, clusters []*clusterv1alpha1.Cluster) []string {
	var names []string
	for _, o := range clusters {
		if c.Spec.ID != "" && o.Spec.ID == c.Spec.ID && o.Name != c.Name && o.DeletionTimestamp == nil {
			names = append(names, o.Name)
		}
	}
	return names
}

// stays is the finding about an object that has to be there: by this Work, or by the
// one that stands in for it.
func (e Evidence) stays(why string) Finding {
	if Superseded(e.Work, e.Successor) {
		return Finding{Elsewhere: true, Reason: ReasonSuperseded, Message: messages[ReasonSuperseded]}
	}
	return Finding{Wanted: true, Reason: ReasonWanted, Message: why}
}

// Superseded tells whether the Work's successor is there, and of the same binding.
// Then this one gives its member nothing any more: two Works never act on one object.
func Superseded(w *propagation.Work, successor Read[*propagation.Work]) bool {
	by, has := w.Successor()
	if !has || successor.Answer != Found || successor.Value.Key != by {
		return false
	}
	key, err := w.Template()
	return err == nil && successor.Value.IsOf(propagation.BindingOf(key))
}

// placed is Examine where the template is there and no binding is known to want
// it in the member.
func (e Evidence) placed() Finding {
	b := e.Binding
	switch {
	case b.Answer == NotServed:
		return unknown(ReasonBindingsNotServed, "the hub does not serve bindings")
	case b.Answer == Absent && e.abandoned():
		return Finding{Abandoned: true, Reason: ReasonAbandoned, Message: messages[ReasonAbandoned]}
	case b.Answer == Absent:
		return unknown(ReasonBindingMissing, "the binding is missing, and the template is there")
	case b.Answer != Found:
		return unknown(ReasonCannotTell, "what the binding says cannot be told: "+because(b))
	case !InForce(b) || b.Value.Spec.Resource.UID != e.Template.Value.UID:
		return unknown(ReasonCannotTell, "the binding is not in force")
	}
	if why := Omitted(b.Value, e.Settled); why != "" {
		return unknown(ReasonCannotTell, why)
	}
	if name := e.alias(); name != "" {
		return elsewhere(name)
	}
	if p := e.unheard(); p != nil {
		return unknown(ReasonCannotTell, p.Key.String()+" refers to it, and its own binding does not say so yet")
	}
	if e.ofFormerBinding() {
		if e.settledDown() {
			return Finding{Abandoned: true, Reason: ReasonAbandoned, Message: "its binding was made anew, and does not know who took it to " + e.Work.Key.Cluster + ": the object stays, and is nobody's"}
		}
		return unknown(ReasonCannotTell, "its binding was made anew, and who took it to "+e.Work.Key.Cluster+" may not have said so yet")
	}
	return Finding{
		Proof:  Proof{reason: ReasonLeftOut, template: e.former() == ""},
		Reason: ReasonLeftOut, Message: b.Value.Key.String() + " leaves " + e.Work.Key.Cluster + " out",
	}
}

// abandoned tells whether nothing brings back the binding that is missing: no policy
// holds the template, or a Lazy one that waits for it to change, and no other template
// takes it along. A Work that was deleted then would wait for ever, and with it the
// namespace that it is in.
func (e Evidence) abandoned() bool {
	t := e.Template.Value
	return e.settledDown() && (!t.Claim.Held() || awaitsChange(t)) && len(e.takers()) == 0
}

// settledDown tells whether the Work was deleted long enough ago for all that follows
// from what people did to have been said.
func (e Evidence) settledDown() bool {
	return e.Work.Deleting && e.Now.Sub(e.Work.Deleted) >= Settling
}

// ofFormerBinding tells whether the Work is a dependency's, and of a binding that people
// deleted. The one that was made since knows who refers to the template only from those
// whose own bindings are there: that it leaves a cluster out says nothing of the others,
// which go on running.
func (e Evidence) ofFormerBinding() bool {
	uid := e.Work.Annotations[propagation.AnnotationBindingUID]
	return e.Work.FollowsOthers() && uid != "" && uid != string(e.Binding.Value.UID)
}

// awaitsChange tells whether a Lazy policy holds the template with the content that it
// found, and, where no binding is in force, never acts on that.
func awaitsChange(t *propagation.Template) bool {
	return t.Claim.Held() && t.Baseline != "" && t.Baseline.Hash() == t.Hash
}

// takers are the bindings in force that take the template to the member, because theirs
// refers to it.
func (e Evidence) takers() []*propagation.Binding {
	key, err := e.Work.Template()
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(e.Parents), func(p *propagation.Binding) bool {
		return !InForce(Have(p)) || !slices.Contains(p.TargetClusters(), e.Work.Key.Cluster) || !slices.Contains(dependencies.Recorded(p), key)
	})
}

// unheard is a taker of which the template's binding knows nothing, as one that was made
// anew; nil: there is none.
func (e Evidence) unheard() *propagation.Binding {
	for _, p := range e.takers() {
		if !slices.ContainsFunc(e.Binding.Value.Spec.RequiredBy, func(r workv1alpha2.BindingSnapshot) bool {
			return r.Namespace == p.Key.Namespace && r.Name == p.Key.Name
		}) {
			return p
		}
	}
	return nil
}

// InForce tells whether the binding was read, and says where its template goes.
func InForce(b Read[*propagation.Binding]) bool {
	return b.Answer == Found && !b.Value.Deleting && !b.Value.AwaitsTemplate() && b.Value.ActedHash() != ""
}

// Omitted returns why a cluster that the binding does not name may still have to have
// the template; empty where the binding leaves the cluster out. A binding that was
// created again names no cluster until it is scheduled, and one that cannot be scheduled
// moves nothing.
func Omitted(b *propagation.Binding, settled bool) string {
	switch {
	case !settled:
		return "the binding is not scheduled yet"
	case b.Spec.Placement != nil && len(b.TargetClusters()) == 0:
		return "no cluster satisfies the placement"
	}
	return ""
}

func gone(r Reason) Finding {
	return Finding{Proof: Proof{reason: r, template: true}, Reason: r, Message: messages[r]}
}

func unknown(r Reason, message string) Finding { return Finding{Reason: r, Message: message} }

// because is why a Read does not tell.
func because[T any](r Read[T]) string {
	switch {
	case r.Answer == NotServed:
		return "the hub does not serve its kind"
	case r.Why == "":
		return "nobody asked"
	}
	return r.Why
}
