// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/propagation"
)

// Evidence is what the hub says about an object, read immediately before the decision
// and not taken from an earlier watch event.
type Evidence struct {
	// Work that applied the object to the member.
	Work *propagation.Work
	// Template of the Work, the binding that the Work belongs to, and the member's
	// Cluster.
	Template Read[*propagation.Template]
	// Defined is when the kind's CustomResourceDefinition was made, if the template does
	// not exist; zero: there is none, or nobody knows.
	Defined time.Time
	Binding Read[*propagation.Binding]
	Cluster Read[*clusterv1alpha1.Cluster]
	// Aliases are the other names under which the member is joined (AliasesOf).
	Aliases []string
	// Settled reports that the binding's clusters are those that its placement asks for
	// (scheduling.Settled).
	Settled bool
	// Parents are the bindings that record that their templates refer to this one. It is
	// propagated along with them, also if its own binding does not say so yet, for example
	// because it was created again.
	Parents []*propagation.Binding
	// Successor is the Work that replaces this one, if there is one
	// (propagation.Work.Successor).
	Successor Read[*propagation.Work]
	// Others are the objects that other Works of the member want.
	Others Read[Others]
	Now    time.Time
}

// Proof says why an object may leave its member. Only this package can make a Proof
// that holds.
type Proof struct {
	reason Reason
	// template reports that the template is gone, or may be: then an object that is to
	// be preserved stays.
	template bool
}

// Holds reports whether the object may leave its member.
func (p Proof) Holds() bool { return p.reason != "" }

// Reason returns why the object may leave; empty for the zero Proof.
func (p Proof) Reason() Reason { return p.reason }

// Finding is what follows from the evidence: the object may leave (Proof), this Work
// has to keep it (Wanted), another Work has it (Elsewhere), it stays because nothing
// manages it any more (Left, Abandoned), or none of these, which means that it is not
// known.
type Finding struct {
	Proof Proof
	// Wanted: a binding in force wants the object in the member by this very Work. The
	// Work is being deleted, and stays until it is created again: until then it is the
	// only record of the object, and the binding may change meanwhile.
	Wanted bool
	// Elsewhere: the member has the object by another Work of the same placement or
	// binding, or under another name of the member.
	Elsewhere bool
	// Left: the cluster is unjoined, or the placement was removed without its finalizer
	// or along with its kind. The objects stay as they are.
	Left bool
	// Abandoned: nothing says any more where the template has to be, and nothing will.
	Abandoned bool
	// Untold: the hub does not serve the template's kind, or refuses to tell whether the
	// template exists; of a placement, something that says whether the object has to stay is
	// missing or not served. That may last, so the Work does not wait where it holds up
	// others (Input.Blocking).
	Untold bool
	// Outlives: the template went with a former definition of its kind, which was defined
	// anew. That lasts until the template is made again.
	Outlives bool
	// Ending: the object's placement is being deleted, and has waited long enough. A
	// Holder with objects of others in it stays.
	Ending bool
	// Heir is another Work that wants the object that may leave; nil: none does.
	// AsksOthers: the object may leave, depending on which other Works want it, and
	// that was not read.
	Heir       *propagation.WorkKey
	AsksOthers bool
	Reason     Reason
	Message    string
}

// Settling is how long it may take until it is known where a template goes that was
// created again under its old name, or whose binding is missing.
const Settling = 10 * time.Second

// Returning is how long the object of a dependency stays after its template is gone:
// the template may be created again, and those that refer to it go on running.
const Returning = 4 * time.Second

// Examine returns whether the object may leave its member. The template is checked
// first: if it is gone, nothing can want the object. If the template was deleted and
// created again, the former one is gone, but the new one may take over its objects. An
// object that another Work wants is passed on.
func Examine(e Evidence) Finding {
	object, err := e.Work.Template()
	if err != nil {
		return e.examine()
	}
	return e.examine().alone(e.Others, object)
}

func (e Evidence) examine() Finding {
	if !e.Work.Confirmed() {
		return nobodys(e.Work, e.Now)
	}
	switch c := e.Cluster; {
	case c.Answer == Absent, c.Answer == Found && c.Value.DeletionTimestamp != nil:
		return Finding{Left: true, Reason: ReasonClusterLeft, Message: "the cluster has left"}
	case c.Answer != Found:
		return unknown(ReasonCannotTell, "whether "+e.Work.Key.Cluster+" is a member cannot be told: "+because(c))
	}
	t, former := e.Template, e.former()
	switch {
	case t.Answer == Absent && e.Work.Predates(e.Defined):
		f := e.unserved("its kind was defined anew, and its template went with the former definition")
		f.Outlives = true
		return f
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
		return e.unserved("whether its template is there cannot be told: " + because(t))
	}
	return e.placed()
}

// unserved is the finding about a template of which the hub does not tell whether
// somebody deleted it.
func (e Evidence) unserved(why string) Finding {
	f := unknown(ReasonCannotTell, why)
	f.Untold = e.settledDown() && (e.Template.Answer != CannotTell || e.Template.Why == string(metav1.StatusReasonForbidden))
	return f
}

// mayReturn reports whether the Work belongs to a dependency and was deleted less than
// Returning ago. A wrong clock may shorten that time, and never lengthens it.
func (e Evidence) mayReturn() bool {
	since := e.Now.Sub(e.Work.Deleted)
	return e.Work.FollowsOthers() && e.Work.Deleting && since >= 0 && since < Returning
}

// former returns the uid of the template that the Work was created for; empty: the Work
// does not record it, and its binding is not the one it was created for.
func (e Evidence) former() types.UID {
	if uid := e.Work.Annotations[propagation.AnnotationTemplateUID]; uid != "" {
		return types.UID(uid)
	}
	if b := e.Binding; b.Answer == Found && string(b.Value.UID) == e.Work.Annotations[propagation.AnnotationBindingUID] {
		return b.Value.TemplateUID()
	}
	return ""
}

// successor is Examine for a template that is another one of the same name.
func (e Evidence) successor() Finding {
	b, t := e.Binding, e.Template.Value
	switch {
	case t.Deleting, RunsOnce(t.Key):
		return gone(ReasonTemplateReplaced)
	case InForce(b) && b.Value.TemplateUID() == t.UID:
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

// wanted reports whether a binding in force wants the object in the member, and is of
// the present template.
func (e Evidence) wanted() bool {
	b, t := e.Binding, e.Template
	return InForce(b) && (t.Answer != Found || b.Value.TemplateUID() == t.Value.UID) &&
		slices.Contains(b.Value.TargetClusters(), e.Work.Key.Cluster)
}

// alias returns another name of the member under which the binding wants the object
// there.
func (e Evidence) alias() string {
	for _, t := range e.Binding.Value.TargetClusters() {
		if slices.Contains(e.Aliases, t) {
			return t
		}
	}
	return ""
}

// elsewhere is the finding about an object that the member has by a Work under another
// of its names.
func elsewhere(name string) Finding {
	return Finding{Elsewhere: true, Reason: ReasonSameMember, Message: name + " is the same cluster, and has it"}
}

// AliasesOf returns the names of those clusters that are the same member as c by
// spec.id: it was renamed, or joined twice. An object that one of them needs must not
// be removed because of the other.
func AliasesOf(c *clusterv1alpha1.Cluster, clusters []*clusterv1alpha1.Cluster) []string {
	var names []string
	for _, o := range clusters {
		if c.Spec.ID != "" && o.Spec.ID == c.Spec.ID && o.Name != c.Name && o.DeletionTimestamp == nil {
			names = append(names, o.Name)
		}
	}
	return names
}

// stays is the finding about an object that has to stay: by this Work, or by its
// successor.
func (e Evidence) stays(why string) Finding {
	if Superseded(e.Work, e.Successor) {
		return Finding{Elsewhere: true, Reason: ReasonSuperseded, Message: messages[ReasonSuperseded]}
	}
	return Finding{Wanted: true, Reason: ReasonWanted, Message: why}
}

// Superseded reports whether the Work's successor exists and belongs to the same
// binding. Then this Work applies nothing any more: two Works never act on one object.
func Superseded(w *propagation.Work, successor Read[*propagation.Work]) bool {
	by, has := w.Successor()
	if !has || successor.Answer != Found || successor.Value.Key != by {
		return false
	}
	key, err := w.Template()
	return err == nil && successor.Value.IsOf(propagation.BindingOf(key))
}

// placed is Examine for a template that exists, and that no binding is known to want in
// the member.
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
	case !InForce(b) || b.Value.TemplateUID() != e.Template.Value.UID:
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

// abandoned reports whether nothing will create the missing binding again: no policy
// holds the template, or a Lazy one that waits for it to change, and no other template
// refers to it. A Work that is being deleted would wait for ever, and with it its
// namespace.
func (e Evidence) abandoned() bool {
	t := e.Template.Value
	return e.settledDown() && (!t.Claim.Held() || awaitsChange(t)) && len(e.takers()) == 0
}

func (e Evidence) settledDown() bool { return settledDown(e.Work, e.Now) }

// settledDown reports whether the Work was deleted long enough ago for everything that
// follows from that to have been recorded.
func settledDown(w *propagation.Work, now time.Time) bool {
	return w.Deleting && now.Sub(w.Deleted) >= Settling
}

// nobodys is the finding about a Work that does not say whose it is: somebody edited it,
// or made it by hand. Nothing will tell, so one that was deleted does not wait, nor does
// its namespace. A binding that wants the object gives it a Work of its own.
func nobodys(w *propagation.Work, now time.Time) Finding {
	message := messages[ReasonUnknownTemplate]
	if settledDown(w, now) {
		return Finding{Abandoned: true, Reason: ReasonUnknownTemplate, Message: message + ": the object stays"}
	}
	return unknown(ReasonUnknownTemplate, message)
}

// ofFormerBinding reports whether the Work belongs to a dependency, and to an earlier
// binding of it that was deleted. The present binding learns which templates refer to
// this one only from bindings that exist: if it leaves a cluster out, a template
// without a binding may still need the object there.
func (e Evidence) ofFormerBinding() bool {
	uid := e.Work.Annotations[propagation.AnnotationBindingUID]
	return e.Work.FollowsOthers() && uid != "" && uid != string(e.Binding.Value.UID)
}

// awaitsChange reports whether a Lazy policy holds the template with the content that
// it had when it was claimed. Without a binding in force that policy does not act until
// the content changes.
func awaitsChange(t *propagation.Template) bool {
	return t.Claim.Held() && t.AsFound()
}

// takers returns the bindings in force that need the template in the member, because
// their own templates refer to it.
func (e Evidence) takers() []*propagation.Binding {
	key, err := e.Work.Template()
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(e.Parents), func(p *propagation.Binding) bool {
		return !InForce(Have(p)) || !slices.Contains(p.TargetClusters(), e.Work.Key.Cluster) || !dependencies.Refers(p, key)
	})
}

// unheard returns a taker that takes the template to the member without its binding saying
// so: not yet, as one that was created again, or because somebody edited it; nil: none.
func (e Evidence) unheard() *propagation.Binding {
	for _, p := range e.takers() {
		if !dependencies.Takes(e.Binding.Value, p.Key, e.Work.Key.Cluster) {
			return p
		}
	}
	return nil
}

// InForce reports whether the binding was read and says where its template goes.
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

// because says for people why a Read has no answer.
func because[T any](r Read[T]) string {
	switch {
	case r.Answer == NotServed:
		return "the hub does not serve its kind"
	case r.Why == "":
		return "nobody asked"
	}
	return r.Why
}
