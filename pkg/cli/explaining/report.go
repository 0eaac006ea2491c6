// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/claiming"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/core/scheduling"
)

// Report is the state of one template.
type Report struct {
	Template propagation.TemplateKey `json:"template"`
	Claim    Claim                   `json:"claim"`
	// Policies that select the template, best first, then those that do not.
	Policies []Policy `json:"policies"`
	Gate     Gate     `json:"gate"`
	// Pending is the pending change; absent: there is none.
	Pending *Pending `json:"pending,omitempty"`
	InForce *InForce `json:"inForce,omitempty"`
	// CannotTell says why nobody can tell whether the template was propagated, though
	// nothing is in force; absent: it was not.
	CannotTell string `json:"cannotTell,omitempty"`
	// Suspended says where dispatching of this template is suspended by itself,
	// whatever its policy says: "all", or the clusters; absent: nowhere.
	Suspended string  `json:"suspended,omitempty"`
	Scheduled Verdict `json:"scheduled"`
	// Rooms lists the room in the clusters that may have the template, if its replicas
	// are divided by room.
	Rooms    []scheduling.Room `json:"rooms,omitempty"`
	Clusters []Cluster         `json:"clusters"`
	// NotChosen are the joined clusters that the template does not go to, and those
	// that are unjoined.
	NotChosen []Cluster `json:"notChosen,omitempty"`
	// Gates lists the invalid keys and values of the feature gates, which hold changes
	// back.
	Gates []string `json:"gates,omitempty"`
	// NotGranted says which rights Sluice lacks to what the template's policy selects.
	NotGranted string `json:"notGranted,omitempty"`
	// Ignored says which of the fields that the template's policy sets have no effect;
	// absent: none.
	Ignored *Ignored `json:"ignored,omitempty"`
	// IgnoredOfBinding says it of those that somebody set on the binding.
	IgnoredOfBinding string `json:"ignoredOfBinding,omitempty"`
	// Contested says who else wants objects that members have because of the template;
	// absent: nobody.
	Contested string `json:"contested,omitempty"`
	// FieldsContested says who changes objects in members back that Sluice corrects;
	// absent: nobody.
	FieldsContested string `json:"fieldsContested,omitempty"`
}

// Ignored are the fields of a policy that have no effect.
type Ignored struct {
	Policy propagation.PolicyKey `json:"policy"`
	Fields string                `json:"fields"`
}

// Verdict is a decision with its reason.
type Verdict struct {
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Claim is which policy holds the template, and what would be decided about that now.
type Claim struct {
	// Policy that the template's metadata names; absent: none.
	Policy *propagation.PolicyKey `json:"policy,omitempty"`
	// Settled: the claim is as it should be. Otherwise Decision is about to be
	// committed.
	Settled  bool    `json:"settled"`
	Decision Verdict `json:"decision"`
}

// Policy is one policy, from the template's point of view.
type Policy struct {
	Policy propagation.PolicyKey `json:"policy"`
	// Rank numbers the policies that select the template, from 1; 0: it does not.
	Rank     int    `json:"rank,omitempty"`
	Holds    bool   `json:"holds,omitempty"`
	Selects  string `json:"selects,omitempty"`
	Priority int32  `json:"priority"`
	Preempts bool   `json:"preempts,omitempty"`
	Lazy     bool   `json:"lazy,omitempty"`
	// Mismatch says why it does not select the template.
	Mismatch matching.Mismatch `json:"mismatch,omitempty"`
	// Note says, for people, why the policy does not select the template, or why it
	// ranks behind the one before.
	Note string `json:"note,omitempty"`
}

// Gate says whether the present policy and content may take effect.
type Gate struct {
	Verdict
	PolicyPending  bool `json:"policyPending"`
	ContentPending bool `json:"contentPending"`
}

// InForce is what has taken effect.
type InForce struct {
	Policy     *propagation.PolicyKey `json:"policy,omitempty"`
	Generation string                 `json:"generation,omitempty"`
	Hash       string                 `json:"hash,omitempty"`
	Revision   string                 `json:"revision,omitempty"`
	Number     int64                  `json:"revisionNumber,omitempty"`
	RequiredBy []string               `json:"requiredBy,omitempty"`
}

// Pending is the change that waits for the gate.
type Pending struct {
	// PolicyDiff is the difference between the policy in force and the pending one.
	PolicyDiff string `json:"policyDiff,omitempty"`
	// ContentDiff is the difference between the content in force and the template's.
	ContentDiff string `json:"contentDiff,omitempty"`
	// Moves is what happens to the clusters when the change takes effect; absent: it
	// cannot be requested, because no policy holds the template.
	Moves *Moves `json:"moves,omitempty"`
}

// Explain returns the report about one template.
func (w World) Explain(s Subject) Report {
	in := w.Gate(s)
	d := gating.Decide(in)
	if in.Binding != nil && !in.Binding.Of(s.Template) { // the binding belongs to another template
		in.Binding, s.Binding, s.Revision, s.Works = nil, nil, nil, nil
	}
	r := Report{
		Template: s.Template.Key,
		Claim:    w.claim(s),
		Policies: w.rank(s.Template),
		Gate: Gate{
			Verdict:       Verdict{Verdict: string(d.Verdict), Reason: string(d.Reason), Message: d.Message},
			PolicyPending: d.PolicyPending, ContentPending: d.ContentPending && d.Verdict == gating.Closed,
		},
		InForce:   inForce(in.Binding, s.Revision),
		Suspended: told(s.SuspendedIn()),
		Scheduled: w.scheduled(in.Binding),
		Rooms:     w.rooms(in.Binding),
		Clusters:  w.reached(clusters(s.Template, in.Binding, s.Works), s.Works),
		NotChosen: w.notChosen(in.Binding),
		Gates:     w.Unknown,
	}
	r.NotChosen = slices.DeleteFunc(r.NotChosen, func(n Cluster) bool { // it is listed as what it is
		return slices.ContainsFunc(r.Clusters, func(c Cluster) bool { return c.Name == n.Name && c.State == Held })
	})
	if p := w.foremost(in.Policy, s.Template); p != nil {
		r.NotGranted = notGranted(p)
		if fields := reporting.FieldsIgnored(propagation.PolicyFields, &p.Spec); fields != "" {
			r.Ignored = &Ignored{Policy: p.Key, Fields: fields}
		}
	}
	if b := in.Binding; b != nil {
		r.IgnoredOfBinding = reporting.FieldsIgnored(propagation.BindingFields, &b.Spec)
		if c := meta.FindStatusCondition(b.Status.Conditions, applying.ConditionContested); c != nil {
			r.Contested = c.Message
		}
		if c := meta.FindStatusCondition(b.Status.Conditions, applying.ConditionFieldsContested); c != nil {
			r.FieldsContested = c.Message
		}
	}
	if d.Pending() && d.Reason != gating.NameTaken {
		r.Pending = w.pending(in, d, s.Revision)
	}
	switch {
	case d.Verdict == gating.Open:
		r.Gate.Reason, r.Gate.Message = settled(in, d)
	case d.Reason == gating.NoPolicy && matching.Never(s.Template) != "":
		r.Gate.Reason = string(claiming.NeverTemplate)
	}
	return r
}

// GateSays returns the gate's reason for a template that was never propagated, and its
// message, as Explain does.
func (w World) GateSays(s Subject) (reason, message string) {
	in := w.Gate(s)
	d := gating.Decide(in)
	if d.Verdict == gating.Open {
		return settled(in, d)
	}
	return string(d.Reason), d.Message
}

// settled says what an open gate means at the moment.
func settled(in gating.Input, d gating.Decision) (reason, message string) {
	if d.Next == in.Binding {
		return string(gating.UpToDate), gating.InForce(in.Binding)
	}
	return string(d.Reason), "what the policy and the template say is about to act"
}

func (w World) claim(s Subject) Claim {
	d := w.Claim(s)
	c := Claim{
		Settled:  d.Settled(),
		Decision: Verdict{Verdict: string(d.Verdict), Reason: string(d.Reason), Message: d.Message},
	}
	if s.Template.Claim.Held() {
		c.Policy = &s.Template.Claim.Policy
	}
	return c
}

// rank returns every policy, those that select the template first.
func (w World) rank(t *propagation.Template) []Policy {
	if matching.Never(t) != "" {
		return nil
	}
	var out []Policy
	ranked := matching.Rank(w.Policies, t)
	for i, c := range ranked {
		line := policyLine(c.Policy, t)
		line.Rank, line.Selects = i+1, c.By.String()
		if i > 0 {
			line.Note = ranked[i-1].Policy.Key.String() + " comes first: " + matching.Outranks(ranked[i-1], c)
		}
		out = append(out, line)
	}
	for _, p := range w.Policies {
		if _, miss := matching.Select(p, t); miss != "" {
			line := policyLine(p, t)
			line.Mismatch, line.Note = miss, misses[miss]
			out = append(out, line)
		}
	}
	return out
}

// foremost returns the policy that holds the template, or that would.
func (w World) foremost(holder *propagation.Policy, t *propagation.Template) *propagation.Policy {
	if holder != nil || matching.Never(t) != "" {
		return holder
	}
	if ranked := matching.Rank(w.Policies, t); len(ranked) > 0 {
		return ranked[0].Policy
	}
	return nil
}

func policyLine(p *propagation.Policy, t *propagation.Template) Policy {
	return Policy{Policy: p.Key, Holds: t.Claim.By(p), Priority: p.Priority(), Preempts: p.Preempts(), Lazy: p.Lazy()}
}

var misses = map[matching.Mismatch]string{
	matching.OtherKind:      "it selects no object of this kind",
	matching.KindNotServed:  string(matching.KindNotServed) + ": the hub does not serve the version of this kind that it names",
	matching.OtherNamespace: "it selects in another namespace",
	matching.OtherName:      "it selects another name",
	matching.OtherLabels:    "the labels do not match its labelSelector",
	matching.ScopeMismatch:  "a namespaced policy selects nothing cluster-scoped",
	matching.PolicyDeleting: "it is being deleted",
}

func inForce(b *propagation.Binding, r *propagation.Revision) *InForce {
	if b == nil || b.ActedHash() == "" {
		return nil
	}
	f := &InForce{Generation: b.Annotations[propagation.AnnotationActiveGeneration], Hash: b.ActedHash(), Revision: b.Revision()}
	if r != nil {
		f.Number = r.Number
	}
	if key, err := propagation.ParsePolicyID(b.Annotations[propagation.AnnotationActivePolicy]); err == nil {
		f.Policy = &key
	}
	for _, other := range b.Spec.RequiredBy {
		f.RequiredBy = append(f.RequiredBy, propagation.BindingKey{Namespace: other.Namespace, Name: other.Name}.String())
	}
	return f
}

// scheduled returns the scheduler's result, and which spread constraints have no effect
// yet.
func (w World) scheduled(b *propagation.Binding) Verdict {
	v := w.said(b)
	if v.Verdict != "" && b.SpreadsLater() {
		v.Message += " The spread constraints by group came into force before Sluice acted on them: they act with the next change of the placement."
	}
	return v
}

// said returns the scheduler's condition, or what follows from the binding if there is
// none.
func (w World) said(b *propagation.Binding) Verdict {
	if b == nil || b.ActedHash() == "" {
		return Verdict{}
	}
	if c := meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.ConditionScheduled); c != nil {
		return Verdict{Verdict: string(c.Status), Reason: c.Reason, Message: c.Message}
	}
	if s := b.ForeignScheduler(); s != "" {
		return Verdict{Verdict: "Unknown", Message: "scheduler " + s + " has not said"}
	}
	c := scheduling.Decide(scheduling.Input{Binding: b, Clusters: w.Clusters}).Condition
	return Verdict{Verdict: string(c.Status), Reason: c.Reason, Message: c.Message}
}

// rooms returns the room by which additional replicas would be divided now.
func (w World) rooms(b *propagation.Binding) []scheduling.Room {
	if b == nil || b.ActedHash() == "" || b.ForeignScheduler() != "" {
		return nil
	}
	return scheduling.Decide(scheduling.Input{Binding: b, Clusters: w.Clusters}).Rooms
}

// pending returns the pending change, and what it would do.
func (w World) pending(in gating.Input, d gating.Decision, r *propagation.Revision) *Pending {
	p := &Pending{}
	if r != nil {
		p.ContentDiff = contentDiff(in.Template.Key, r.Content, propagation.Content(in.Template.Object))
	}
	if !d.Releasable() {
		return p
	}
	next := Released(in)
	p.PolicyDiff = policyDiff(in.Binding, next)
	moves := w.moves(in.Binding, next)
	p.Moves = &moves
	return p
}

// Selected returns the policies in the report that select the template.
func Selected(r Report) []Policy {
	return slices.DeleteFunc(slices.Clone(r.Policies), func(p Policy) bool { return p.Rank == 0 })
}
