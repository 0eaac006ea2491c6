// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gating_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest/fixture"
)

// after is the binding that the gate left for the template under the policy.
func after(t fixture.TemplateBuilder, p fixture.PolicyBuilder) *propagation.Binding {
	return gating.Decide(gating.Input{Template: t.ClaimedBy(p).Template(), Policy: p.Policy()}).Next
}

// renamed is the binding as somebody left it who edited whose it is.
func renamed(b *propagation.Binding) *propagation.Binding {
	b.Spec.Resource.Name = "other"
	return b
}

func TestDecide(t *testing.T) {
	var (
		nginx  = fixture.Deployment("nginx")
		lazy   = fixture.Policy("p").Lazy().To("member1")
		eager  = fixture.Policy("p").To("member1")
		other  = fixture.Policy("q").Lazy().To("member2")
		static = propagation.Features{Static: true}
		huge   = strings.Repeat("x", 1500<<10)
	)
	for name, tc := range map[string]struct {
		template fixture.TemplateBuilder
		policy   *fixture.PolicyBuilder
		binding  *propagation.Binding
		features propagation.Features
		want     gating.Verdict
		reason   gating.Reason
		pending  bool
		// where is the placement in force; empty: none.
		where string
		// same: nothing is to be written.
		same bool
	}{
		"nobody holds what was never propagated":                                           {template: nginx, want: gating.Idle, reason: gating.NoPolicy},
		"Z29 what is too large for a Work is not acted on, and its binding says so":        {template: nginx.Label("x", huge), policy: &eager, want: gating.Closed, reason: gating.TooLarge, pending: true},
		"Z29 what grew too large stays as it was":                                          {template: nginx.Label("x", huge), policy: &eager, binding: after(nginx, eager), want: gating.Closed, reason: gating.TooLarge, pending: true, where: "member1", same: true},
		"Z29 what was too large and is no more acts":                                       {template: nginx, policy: &eager, binding: after(nginx.Label("x", huge), eager), want: gating.Open, reason: gating.FirstPropagation, where: "member1"},
		"L2 an immediate policy acts at once":                                              {template: nginx, policy: &eager, want: gating.Open, reason: gating.FirstPropagation, where: "member1"},
		"L28 a Lazy policy that was first acts at once":                                    {template: nginx, policy: &lazy, want: gating.Open, reason: gating.FirstPropagation, where: "member1"},
		"L29 a Lazy policy that came second waits":                                         {template: nginx.Baseline(), policy: &lazy, want: gating.Closed, reason: gating.WaitingForTemplateChange, pending: true},
		"L38 and acts with the template's change":                                          {template: nginx.Baseline().Label("refresh-time", "1"), policy: &lazy, want: gating.Open, reason: gating.FirstPropagation, where: "member1"},
		"L30 L23 a Lazy policy's change waits":                                             {template: nginx, policy: ptr.To(lazy.To("member2").Generation(2)), binding: after(nginx, lazy), want: gating.Closed, reason: gating.WaitingForTemplateChange, pending: true, where: "member1", same: true},
		"L40 what turns Lazy waits with what it changed":                                   {template: nginx, policy: ptr.To(eager.Lazy().To("member2").Generation(2)), binding: after(nginx, eager), want: gating.Closed, reason: gating.WaitingForTemplateChange, pending: true, where: "member1", same: true},
		"L39 what is Lazy no more acts at once":                                            {template: nginx, policy: ptr.To(eager.To("member2").Generation(2)), binding: after(nginx, lazy), want: gating.Open, reason: gating.Immediate, where: "member2"},
		"L13 L50 the user's change activates the policy as it is then":                     {template: nginx.Label("refresh-time", "1"), policy: ptr.To(lazy.To("member2").Generation(2)), binding: after(nginx, lazy), want: gating.Open, reason: gating.TemplateChanged, where: "member2"},
		"L49 L51 nothing changed: a restart or a duplicate activates nothing":              {template: nginx, policy: &lazy, binding: after(nginx, lazy), want: gating.Closed, reason: gating.WaitingForTemplateChange, where: "member1", same: true},
		"L11 a label of the system is no change":                                           {template: nginx.Label("policy.karmada.io/x", "1"), policy: ptr.To(lazy.To("member2")), binding: after(nginx, lazy), want: gating.Closed, reason: gating.WaitingForTemplateChange, pending: true, where: "member1", same: true},
		"L16 a mixed change is the user's":                                                 {template: nginx.Label("policy.karmada.io/x", "1").Label("x", "1"), policy: ptr.To(lazy.To("member2")), binding: after(nginx, lazy), want: gating.Open, reason: gating.TemplateChanged, where: "member2"},
		"L17 skip-auto-propagation is the user's":                                          {template: nginx.Label("namespace.karmada.io/skip-auto-propagation", "true"), policy: ptr.To(lazy.To("member2")), binding: after(nginx, lazy), want: gating.Open, reason: gating.TemplateChanged, where: "member2"},
		"L14 a change of the spec activates":                                               {template: nginx.Replicas(7), policy: ptr.To(lazy.To("member2")), binding: after(nginx, lazy), want: gating.Open, reason: gating.TemplateChanged, where: "member2"},
		"L41 a Lazy successor records its claim and waits":                                 {template: nginx.Baseline(), policy: &other, binding: after(nginx, lazy), want: gating.Closed, reason: gating.WaitingForTemplateChange, pending: true, where: "member1"},
		"L41 and acts with the template's change":                                          {template: nginx.Baseline().Label("x", "1"), policy: &other, binding: after(nginx, lazy), want: gating.Open, reason: gating.TemplateChanged, where: "member2"},
		"L36 a change that nobody carried is no change for a Lazy policy that comes later": {template: nginx.Replicas(5).Baseline(), policy: &other, binding: after(nginx, lazy), want: gating.Closed, reason: gating.WaitingForTemplateChange, pending: true, where: "member1"},
		"a change back to what was acted on is a change":                                   {template: nginx.Replicas(5).Baseline().Replicas(2), policy: &other, binding: after(nginx, lazy), want: gating.Open, reason: gating.TemplateChanged, where: "member2"},
		"L31 L37 nobody follows: what is in force stays":                                   {template: nginx, binding: after(nginx, lazy), want: gating.Closed, reason: gating.NoPolicy, where: "member1"},
		"ST9 a change that nobody carries is pending":                                      {template: nginx.Replicas(5), binding: after(nginx, lazy), want: gating.Closed, reason: gating.NoPolicy, pending: true, where: "member1"},
		"L54 a template made anew under its name is another":                               {template: nginx.UID("anew"), policy: &lazy, binding: after(nginx, lazy), want: gating.Open, reason: gating.FirstPropagation, where: "member1"},
		"a template that is being deleted gets nothing":                                    {template: nginx.Deleting(), policy: &eager, want: gating.Closed, reason: gating.TemplateDeleting, pending: true},
		"Z34 a binding of that name that is another template's stays as it is":             {template: nginx, policy: &eager, binding: after(fixture.Deployment("another"), eager), want: gating.Closed, reason: gating.NameTaken, pending: true, where: "member1", same: true},
		"Z4 a binding whose template somebody renamed is this one's still":                 {template: nginx, policy: ptr.To(eager.To("member2")), binding: renamed(after(nginx, eager)), want: gating.Open, reason: gating.Immediate, where: "member2"},
		"Z4 also where the gate is closed":                                                 {template: nginx, policy: ptr.To(lazy.To("member2")), binding: renamed(after(nginx, lazy)), want: gating.Closed, reason: gating.WaitingForTemplateChange, pending: true, where: "member1"},
		"Z34 and where nobody holds this one there is nothing to say":                      {template: nginx, binding: after(fixture.Deployment("another"), eager), want: gating.Idle, reason: gating.NoPolicy},

		"ST5 ST14 Static: a policy's change waits":                          {template: nginx, policy: ptr.To(eager.To("member2")), binding: after(nginx, eager), features: static, want: gating.Closed, reason: gating.StaticPolicy, pending: true, where: "member1", same: true},
		"ST14 Static: the template's change activates":                      {template: nginx.Replicas(5), policy: ptr.To(eager.To("member2")), binding: after(nginx, eager), features: static, want: gating.Open, reason: gating.TemplateChanged, where: "member2"},
		"ST13 Static: what was never propagated goes at once":               {template: nginx, policy: &eager, features: static, want: gating.Open, reason: gating.FirstPropagation, where: "member1"},
		"ST30 Static: a label of the system is no change":                   {template: nginx.Label("policy.karmada.io/x", "1"), policy: ptr.To(eager.To("member2")), binding: after(nginx, eager), features: static, want: gating.Closed, reason: gating.StaticPolicy, pending: true, where: "member1", same: true},
		"Y4 Static and Lazy: never propagated, the policy second: it waits": {template: nginx.Baseline(), policy: &lazy, features: static, want: gating.Closed, reason: gating.WaitingForTemplateChange, pending: true},
	} {
		t.Run(name, func(t *testing.T) {
			in := gating.Input{Binding: tc.binding, Features: tc.features}
			if tc.policy != nil {
				in.Policy = tc.policy.Policy()
				tc.template = tc.template.ClaimedBy(*tc.policy)
			}
			in.Template = tc.template.Template()
			got := gating.Decide(in)
			if got.Verdict != tc.want || got.Reason != tc.reason || got.Pending() != tc.pending {
				t.Errorf("got %s/%s, pending %t; want %s/%s, pending %t (%s)", got.Verdict, got.Reason, got.Pending(), tc.want, tc.reason, tc.pending, got.Message)
			}
			if w := where(got.Next); w != tc.where {
				t.Errorf("in force: %q; want %q", w, tc.where)
			}
			if same := tc.binding != nil && got.Next == tc.binding; same != tc.same {
				t.Errorf("unchanged: %t; want %t", same, tc.same)
			}
			if got.Next != nil {
				again := gating.Decide(gating.Input{Template: in.Template, Policy: in.Policy, Binding: got.Next, Features: in.Features})
				if again.Next != got.Next {
					t.Errorf("a second look changes the binding again: %+v", again)
				}
			}
		})
	}
}

func TestTheBindingOfAFormerTemplateGoesFirst(t *testing.T) {
	nginx, p := fixture.Deployment("nginx"), fixture.Policy("p")
	required := func(b *propagation.Binding) *propagation.Binding {
		b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: fixture.Namespace, Name: "parent"}}
		delete(b.Annotations, propagation.AnnotationActivePolicy)
		return b
	}
	for sentence, tc := range map[string]struct {
		binding *propagation.Binding
		want    bool
	}{
		"there is none":                             {nil, false},
		"it is this template's":                     {after(nginx, p), false},
		"it is of a former template of the name":    {after(nginx.UID("former"), p), true},
		"that one is there for others, and stays":   {required(after(nginx.UID("former"), p)), false},
		"it is another template's of the same name": {after(fixture.Deployment("another"), p), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			in := gating.Input{Template: nginx.Template(), Binding: tc.binding}
			if got := in.Former() != nil; got != tc.want {
				t.Errorf("it goes: %t, want %t", got, tc.want)
			}
			if next := in.WithoutFormer().Binding; (next == nil) != (tc.want || tc.binding == nil) {
				t.Errorf("then there is %v", next)
			}
		})
	}
}

func where(b *propagation.Binding) string {
	if b == nil || b.Spec.Placement == nil || b.Spec.Placement.ClusterAffinity == nil {
		return ""
	}
	return b.Spec.Placement.ClusterAffinity.ClusterNames[0]
}

func TestSuspensionIsNeverDeferred(t *testing.T) {
	nginx, lazy := fixture.Deployment("nginx"), fixture.Policy("p").Lazy().To("member1")
	for name, tc := range map[string]struct {
		before, now fixture.PolicyBuilder
		own         *bool // scheduling suspended by a third party
		want        []string
	}{
		"Y2 a Lazy policy suspends at once":                  {before: lazy, now: lazy.Suspending(), want: []string{"member1", "member2"}},
		"S6 only the clusters that are named":                {before: lazy, now: lazy.Suspending("member2"), want: []string{"member2"}},
		"Y2 a Lazy policy resumes at once":                   {before: lazy.Suspending(), now: lazy},
		"Y3 a successor without a suspension lifts it":       {before: lazy.Suspending(), now: fixture.Policy("q").Lazy()},
		"Y3 a successor with a suspension sets it":           {before: lazy, now: fixture.Policy("q").Lazy().Suspending(), want: []string{"member1", "member2"}},
		"S13 suspended scheduling is a third party's affair": {before: lazy.Suspending(), now: lazy, own: ptr.To(true)},
	} {
		t.Run(name, func(t *testing.T) {
			b := after(nginx, tc.before)
			if tc.own != nil {
				b.Spec.Suspension = &workv1alpha2.Suspension{Scheduling: tc.own}
			}
			tmpl := nginx.Baseline().ClaimedBy(tc.now).Template()
			next := gating.Decide(gating.Input{Template: tmpl, Policy: tc.now.Policy(), Binding: b}).Next
			var got []string
			for _, c := range []string{"member1", "member2"} {
				if next.SuspendedOn(c) {
					got = append(got, c)
				}
			}
			if len(got) != len(tc.want) || len(got) > 0 && got[0] != tc.want[0] {
				t.Errorf("suspended on %v, want %v", got, tc.want)
			}
			if next.Spec.Suspension.SchedulingSuspended() != (tc.own != nil) {
				t.Errorf("scheduling suspended: %+v", next.Spec.Suspension)
			}
		})
	}
	t.Run("one template is suspended by itself, as it or its binding says", func(t *testing.T) {
		for name, tc := range map[string]struct {
			template, binding string
			policy            fixture.PolicyBuilder
			want              string
		}{
			"it says so":                          {template: "true", policy: lazy, want: "member1 member2"},
			"its binding says so":                 {binding: "member2", policy: lazy, want: "member2"},
			"each says something":                 {template: "member1", binding: "member2", policy: lazy, want: "member1 member2"},
			"its policy says something else":      {template: "member1", policy: lazy.Suspending("member2"), want: "member1 member2"},
			"nobody does any more":                {policy: lazy},
			"its policy does, and nobody besides": {policy: lazy.Suspending("member1"), want: "member1"},
		} {
			b := after(nginx, lazy).WithSuspendedIn(tc.binding)
			tmpl := nginx.Baseline().ClaimedBy(lazy).Template()
			tmpl.Object = map[string]any{"metadata": map[string]any{"annotations": map[string]any{propagation.AnnotationSuspended: tc.template}}}
			in := gating.Input{Template: tmpl, Policy: tc.policy.Policy(), Binding: b}
			next := gating.Decide(in).Next
			var got []string
			for _, c := range []string{"member1", "member2"} {
				if next.SuspendedOn(c) {
					got = append(got, c)
				}
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("%s: suspended on %q, want %q", name, got, tc.want)
			}
			in.Binding = next
			if again := gating.Decide(in); again.Next != next {
				t.Errorf("%s: a second look changes the binding again", name)
			}
		}
	})
	t.Run("S25 a suspension stays when its policy is gone", func(t *testing.T) {
		b := after(nginx, lazy.Suspending())
		next := gating.Decide(gating.Input{Template: nginx.Template(), Binding: b}).Next
		if !next.SuspendedOn("member1") || next.Claim().Held() {
			t.Errorf("suspended %t, claim %+v", next.SuspendedOn("member1"), next.Claim())
		}
	})
}

func TestWhatOthersDependOnIsCarried(t *testing.T) {
	nginx, lazy := fixture.Deployment("nginx"), fixture.Policy("p").Lazy().To("member1")
	required := &propagation.Binding{Annotations: map[string]string{}}
	required.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: fixture.Namespace, Name: "parent"}}
	for name, tc := range map[string]struct {
		template fixture.TemplateBuilder
		policy   *propagation.Policy
		where    string
		nothing  bool
	}{
		"L45 without a policy of its own":                 {template: nginx},
		"L46 while a Lazy policy of its own waits":        {template: nginx.Baseline().ClaimedBy(lazy), policy: lazy.Policy()},
		"L46 and its own change activates its own policy": {template: nginx.Baseline().ClaimedBy(lazy).Replicas(5), policy: lazy.Policy(), where: "member1"},
		"but not once it is being deleted":                {template: nginx.Deleting(), nothing: true},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl := tc.template.Template()
			want := tmpl.Hash
			if tc.nothing {
				want = ""
			}
			got := gating.Decide(gating.Input{Template: tmpl, Policy: tc.policy, Binding: required})
			if got.Next.ActedHash() != want || where(got.Next) != tc.where {
				t.Errorf("content %q, want %q; in force %q, want %q", got.Next.ActedHash(), want, where(got.Next), tc.where)
			}
		})
	}
}

// That somebody asked is heard, whatever the gate answers: the label goes, with which
// sources tell of it, and nothing else follows from it.
func TestThatSomebodyAskedIsHeard(t *testing.T) {
	p := fixture.Policy("p").To("member1")
	template := fixture.Deployment("nginx")
	for name, tc := range map[string]struct {
		policy   *fixture.PolicyBuilder
		features propagation.Features
	}{
		"the gate is open":       {policy: &p},
		"the gate is closed":     {policy: ptr.To(p.To("member2")), features: propagation.Features{Static: true}},
		"nobody holds it":        {},
		"a Lazy policy waits":    {policy: ptr.To(p.To("member2").Lazy())},
		"the policy is the same": {policy: &p, features: propagation.Features{Static: true}},
	} {
		t.Run(name, func(t *testing.T) {
			b := after(template, p)
			in := gating.Input{Template: template.Template(), Binding: b, Features: tc.features}
			if tc.policy != nil {
				in.Policy, in.Template = tc.policy.Policy(), template.ClaimedBy(*tc.policy).Template()
			}
			quiet := gating.Decide(in)
			in.Binding = b.Asking()
			asked := gating.Decide(in)
			if asked.Next == in.Binding || asked.Next.Labels[propagation.LabelAsked] != "" {
				t.Errorf("it is not heard: %v", asked.Next.Labels)
			}
			if d := cmp.Diff(quiet.Next, asked.Next); d != "" || asked.Verdict != quiet.Verdict {
				t.Errorf("it changes more (-without +with):\n%s", d)
			}
			if b.Labels[propagation.LabelAsked] != "" {
				t.Error("what was read was changed")
			}
		})
	}
}

// Somebody who waits for a template to go is told what holds it, and that members have it until then.
func TestWhatHoldsATemplateIsTold(t *testing.T) {
	eager := fixture.Policy("p").Kind().To("member1")
	in := gating.Input{Template: fixture.Deployment("nginx").ClaimedBy(eager).Deleting().Template(), Policy: eager.Policy()}
	if got := gating.Decide(in).Message; strings.Contains(got, "finalizers") {
		t.Errorf("without finalizers it says %q", got)
	}
	in.Template.Object["metadata"].(map[string]any)["finalizers"] = []any{"example.org/a", "example.org/b"}
	if got := gating.Decide(in).Message; !strings.Contains(got, "as long as it has the finalizers example.org/a, example.org/b") {
		t.Errorf("it says %q", got)
	}
}
