// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/scheduling"
	"sluice.dev/test/pipelinetest/fixture"
)

// world has the clusters member1 to member3.
func world(policies ...fixture.PolicyBuilder) explaining.World {
	var w explaining.World
	for _, p := range policies {
		w.Policies = append(w.Policies, p.Policy())
	}
	for _, name := range []string{"member1", "member2", "member3"} {
		w.Clusters = append(w.Clusters, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return w
}

// propagated is the template after p acted on it.
func propagated(w explaining.World, t fixture.TemplateBuilder, p fixture.PolicyBuilder) explaining.Subject {
	template := t.ClaimedBy(p).Template()
	b := gating.Decide(gating.Input{Template: template, Policy: p.Policy()}).Next
	b.Spec.Clusters = scheduling.Decide(scheduling.Input{Binding: b, Clusters: w.Clusters}).Targets
	return explaining.Subject{
		Template: template, Binding: b,
		Revision: &propagation.Revision{Name: b.Revision(), Number: 1, Hash: template.Hash, Content: propagation.Content(template.Object)},
	}
}

// then is the subject with another content.
func then(s explaining.Subject, t fixture.TemplateBuilder) explaining.Subject {
	s.Template = t.Template()
	return s
}

func TestExplain(t *testing.T) {
	nginx := fixture.Deployment("nginx")
	lazy := fixture.Policy("p").Lazy().To("member1")
	for name, tc := range map[string]struct {
		world   explaining.World
		subject explaining.Subject
		// want is each non-empty answer: claim, gate, pending, moves, scheduled.
		want []string
	}{
		"nobody selects it": {
			world:   world(fixture.Policy("p").Labelled("app", "other")),
			subject: explaining.Subject{Template: nginx.Template()},
			want:    []string{"Wait NoPolicy", "Idle NoPolicy"},
		},
		"a new template is about to be claimed and propagated": {
			world:   world(fixture.Policy("p").To("member1")),
			subject: explaining.Subject{Template: nginx.Template()},
			want:    []string{"Take BestMatch", "Open FirstPropagation"},
		},
		"all is in force": {
			world:   world(lazy),
			subject: propagated(world(lazy), nginx, lazy),
			want:    []string{"Keep StillSelected", "Closed WaitingForTemplateChange", "True Success"},
		},
		"a changed lazy policy waits, and would move the template": {
			world:   world(lazy.To("member2").Generation(2)),
			subject: propagated(world(lazy), nginx, lazy),
			want:    []string{"Keep StillSelected", "Closed WaitingForTemplateChange", "pending policy", "leaves member1; joins member2", "True Success"},
		},
		"a changed template opens the gate of a lazy policy": {
			world:   world(lazy),
			subject: then(propagated(world(lazy), nginx, lazy), nginx.Replicas(5).ClaimedBy(lazy)),
			want:    []string{"Keep StillSelected", "Open TemplateChanged", "True Success"},
		},
		"a lazy policy that came later waits for a template that was never propagated": {
			world:   world(lazy.At(10, 30)),
			subject: explaining.Subject{Template: nginx.ClaimedBy(lazy).Baseline().Template()},
			want:    []string{"Keep StillSelected", "Closed WaitingForTemplateChange", "pending policy content", "joins member1"},
		},
		"Z14 read in another version than its policy names, it waits as it does in that": {
			world: world(lazy.Selecting(policyv1alpha1.ResourceSelector{APIVersion: "apps/v1beta1", Kind: "Deployment"})),
			subject: func() explaining.Subject {
				t := nginx.ClaimedBy(lazy).Template()
				t.Baseline = propagation.NewBaseline(t.As("apps/v1beta1"))
				return explaining.Subject{Template: t}
			}(),
			want: []string{"Keep StillSelected", "Closed WaitingForTemplateChange", "pending policy content", "joins member1"},
		},
		"the policy is gone and another one follows, lazily": {
			world:   world(fixture.Policy("q").Lazy().To("member3")),
			subject: propagated(world(lazy), nginx, lazy),
			want:    []string{"Take Successor", "Closed WaitingForTemplateChange", "pending policy", "leaves member1; joins member3", "True Success"},
		},
		"Z34 the name of its binding is another template's": {
			world:   world(lazy),
			subject: explaining.Subject{Template: nginx.ClaimedBy(lazy).Template(), Binding: propagated(world(lazy), fixture.Deployment("another"), lazy).Binding},
			want:    []string{"Keep StillSelected", "Closed BindingNameTaken"},
		},
		"no policy carries a changed template": {
			world:   world(),
			subject: then(propagated(world(lazy), nginx, lazy), nginx.Replicas(5)),
			want:    []string{"Wait NoPolicy", "Closed NoPolicy", "pending content", "True Success"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := tc.world.Explain(tc.subject)
			got := []string{r.Claim.Decision.Verdict + " " + r.Claim.Decision.Reason, r.Gate.Verdict.Verdict + " " + r.Gate.Reason}
			if r.Pending != nil {
				pending := "pending"
				if r.Gate.PolicyPending {
					pending += " policy"
				}
				if r.Gate.ContentPending {
					pending += " content"
				}
				got = append(got, pending)
				if r.Pending.Moves != nil {
					got = append(got, r.Pending.Moves.String())
				}
			}
			if s := r.Scheduled; s.Verdict != "" {
				got = append(got, s.Verdict+" "+s.Reason)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%+v", diff, r)
			}
		})
	}
}

func TestExplainSaysWhatOfAPlacementActsLater(t *testing.T) {
	p := fixture.Policy("p").To("member1").Spreading(policyv1alpha1.SpreadConstraint{SpreadByLabel: "rack"})
	w := world(p)
	later := func(s explaining.Subject) bool {
		return strings.Contains(w.Explain(s).Scheduled.Message, "they act with the next change of the placement")
	}
	s := propagated(w, fixture.Deployment("nginx"), p)
	if later(s) {
		t.Error("what acts acts later")
	}
	delete(s.Binding.Annotations, propagation.AnnotationSpreadsByGroup)
	if !later(s) {
		t.Error("it does not say what came into force before Sluice acted on it")
	}
}

func TestRankSaysWhyAndWhyNot(t *testing.T) {
	w := world(
		fixture.ClusterPolicy("all").Kind().Priority(100),
		fixture.Policy("by-label").Labelled("app", "nginx"),
		fixture.Policy("by-name").Named(),
		fixture.Policy("other").Labelled("app", "other"),
		fixture.Policy("gone").Deleting(),
	)
	got := map[string]string{}
	for _, p := range w.Explain(explaining.Subject{Template: fixture.Deployment("nginx").Label("app", "nginx").Template()}).Policies {
		got[p.Policy.Name] = strings.TrimSpace(strings.Repeat("I", p.Rank) + " " + p.Note)
	}
	want := map[string]string{
		"by-name":  "I",
		"by-label": "II policy shop/by-name comes first: it selects by name, the other by labels",
		"all":      "III policy shop/by-label comes first: a namespaced policy comes before a cluster policy",
		"other":    "the labels do not match its labelSelector",
		"gone":     "it is being deleted",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := w.Explain(explaining.Subject{Template: fixture.Deployment("nginx").Template()}); len(explaining.Selected(got)) != 2 {
		t.Errorf("selected by %+v", explaining.Selected(got))
	}
}

func TestPendingShowsDiffs(t *testing.T) {
	old := fixture.Policy("p").Lazy().To("member1")
	w := world(old.To("member2").Generation(2))
	got := w.Explain(propagated(world(old), fixture.Deployment("nginx"), old)).Pending.PolicyDiff
	want := ` placement:
   clusterAffinity:
     clusterNames:
-    - member1
+    - member2
`
	if _, body, _ := strings.Cut(got, "\n"); cmp.Diff(want, body) != "" {
		t.Error(cmp.Diff(want, body))
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	p := fixture.Policy("p").Lazy().To("member1")
	s := propagated(world(p), fixture.Deployment("nginx"), p)
	s.Template.Key.APIVersion, s.Template.Key.Kind = "v1", "Secret"
	s.Binding.Spec.Resource.APIVersion, s.Binding.Spec.Resource.Kind = "v1", "Secret"
	w := world() // the policy is gone: the change stays pending
	content := func(password string) map[string]any {
		return map[string]any{"data": map[string]any{"password": password, "user": "cm9vdA=="}}
	}
	s.Revision.Content, s.Template.Object = content("b2xk"), content("bmV3")
	s.Template.Claim, s.Template.Hash = propagation.Claim{}, "other"
	r := w.Explain(s)
	if r.Pending == nil || !strings.Contains(r.Pending.ContentDiff, "+  password: '*** (after)'") {
		t.Fatalf("the changed key is not shown: %+v", r.Pending)
	}
	for _, secret := range []string{"b2xk", "bmV3", "cm9vdA=="} {
		if strings.Contains(r.Pending.ContentDiff, secret) {
			t.Errorf("%q is shown in\n%s", secret, r.Pending.ContentDiff)
		}
	}
}

func TestExplainPolicy(t *testing.T) {
	old := fixture.Policy("p").Lazy().To("member1").Kind()
	w := world(old.To("member2").Generation(2), fixture.Policy("q").Priority(5).Named().To("member1"))
	failed := propagated(world(old), fixture.Deployment("broken"), old)
	failed.Binding.Status.Conditions = []metav1.Condition{{Type: "Scheduled", Status: metav1.ConditionFalse, Reason: "NoClusterFit", Message: "none"}}
	unrelated := explaining.Subject{Template: fixture.ClusterRole("admin").Template()}
	r := w.ExplainPolicy(w.Policies[0], []explaining.Subject{
		propagated(world(old), fixture.Deployment("web"), old), failed, unrelated,
		{Template: fixture.Deployment("nginx").Template()},
	})
	var got []string
	for _, l := range r.Templates {
		got = append(got, l.Template.Name+" "+string(l.State)+" "+l.Reason)
	}
	want := []string{"broken Failed NoClusterFit", "web Pending WaitingForTemplateChange", "nginx HeldByOther HeldByOther"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, want := r.Templates[2].Message, "priority 5 is higher than 0"; got != want {
		t.Errorf("held by the other because %q, want %q", got, want)
	}
	if diff := cmp.Diff(map[explaining.TemplateState]int{"Failed": 1, "Pending": 1, "HeldByOther": 1}, r.Counts); diff != "" {
		t.Error(diff)
	}
}

func TestCompare(t *testing.T) {
	nginx := fixture.Deployment("nginx")
	eager, lazy := fixture.Policy("p").To("member1"), fixture.Policy("p").Lazy().To("member1")
	for name, tc := range map[string]struct {
		before  explaining.World
		after   fixture.PolicyBuilder
		subject explaining.Subject
		// want is who holds it then, what happens now, and what later.
		want [3]string
	}{
		"an eager policy acts at once":               {before: world(eager), after: eager.To("member2").Generation(2), subject: propagated(world(eager), nginx, eager), want: [3]string{"p", "leaves member1; joins member2"}},
		"a lazy policy acts later":                   {before: world(lazy), after: lazy.To("member2").Generation(2), subject: propagated(world(lazy), nginx, lazy), want: [3]string{"p", "", "leaves member1; joins member2"}},
		"the same policy does nothing":               {before: world(lazy), after: lazy, subject: propagated(world(lazy), nginx, lazy), want: [3]string{"p", "", ""}},
		"a policy that selects it no more lets go":   {before: world(eager), after: eager.Labelled("app", "other").Generation(2), subject: propagated(world(eager), nginx, eager), want: [3]string{"", "", ""}},
		"a new eager policy propagates at once":      {before: world(), after: eager, subject: explaining.Subject{Template: nginx.Template()}, want: [3]string{"p", "joins member1", ""}},
		"a new lazy policy waits":                    {before: world(), after: lazy.At(10, 30), subject: explaining.Subject{Template: nginx.Template()}, want: [3]string{"p", "", "joins member1"}},
		"a suspension that is lifted acts even lazy": {before: world(lazy.Suspending()), after: lazy.Generation(2), subject: propagated(world(lazy), nginx, lazy.Suspending()), want: [3]string{"p", "all → none", ""}},
		"what is suspended is held back":             {before: world(eager), after: eager.To("member2").Suspending("member2").Generation(2), subject: propagated(world(eager), nginx, eager), want: [3]string{"p", "leaves member1; joins member2; held back in member2 none → member2", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			c := tc.before.Compare(tc.before.With(tc.after.Policy()), tc.subject)
			var got [3]string
			if c.To != nil {
				got[0] = c.To.Name
			}
			if c.Now != nil && !c.Now.None() {
				got[1] = c.Now.String()
			}
			got[1] = strings.TrimSpace(got[1] + " " + c.Suspension)
			if c.Later != nil {
				got[2] = c.Later.String()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%+v", diff, c)
			}
			if none := c.None(); none != (tc.want[1] == "" && tc.want[2] == "" && tc.want[0] == "p") {
				t.Errorf("None() = %v of %+v", none, c)
			}
		})
	}
}

// A dependency that is found while it is deleted has a binding and no content.
func TestWhatIsNotInForceIsNotRendered(t *testing.T) {
	p := fixture.Policy("p").To("member1")
	s := propagated(world(p), fixture.Deployment("nginx"), p)
	bound := *s.Binding
	bound.Annotations = maps.Clone(bound.Annotations)
	delete(bound.Annotations, propagation.AnnotationContentHash)
	bound.Status.Conditions = []metav1.Condition{{Type: "Active", Status: "False", Reason: "TemplateDeleting", Message: "it is being deleted"}}
	s.Binding, s.Works = &bound, nil
	want := explaining.Cluster{Name: "member1", Replicas: 2, State: explaining.NotRendered, Reason: "TemplateDeleting", Message: "it is being deleted"}
	if diff := cmp.Diff(want, world(p).Explain(s).Clusters[0]); diff != "" {
		t.Error(diff)
	}
}

func TestReleasedAgreesWithTheGate(t *testing.T) {
	old := fixture.Policy("p").Lazy().To("member1")
	for name, s := range map[string]explaining.Subject{
		"of a template in force":        propagated(world(old), fixture.Deployment("nginx"), old),
		"of one that never propagated":  {Template: fixture.Deployment("nginx").ClaimedBy(old).Baseline().Template()},
		"of one whose content is newer": then(propagated(world(old), fixture.Deployment("nginx"), old), fixture.Deployment("nginx").Replicas(9).ClaimedBy(old)),
	} {
		t.Run(name, func(t *testing.T) {
			in := world(old.To("member3").Generation(2)).Gate(s)
			next := explaining.Released(in)
			if got := next.Spec.Placement.ClusterAffinity.ClusterNames; cmp.Diff([]string{"member3"}, got) != "" {
				t.Errorf("placed on %v", got)
			}
			if _, stays := next.Annotations[propagation.AnnotationActivate]; stays {
				t.Error("the request is not consumed")
			}
			in.Binding = next
			if d := gating.Decide(in); d.Pending() || d.Next != next {
				t.Errorf("something is left: %+v", d)
			}
		})
	}
}

func TestRelease(t *testing.T) {
	old := fixture.Policy("p").Lazy().To("member1")
	now := old.To("member2").Generation(2)
	s := propagated(world(old), fixture.Deployment("nginx"), old)
	requested := s
	requested.Binding = world(now).Release(s).Requested
	for name, tc := range map[string]struct {
		world   explaining.World
		subject explaining.Subject
		want    string
	}{
		"what waits is released":               {world: world(now), subject: s, want: "leaves member1; joins member2"},
		"a request that was noted still waits": {world: world(now), subject: requested, want: "leaves member1; joins member2"},
		"a void request is none":               {world: world(now.To("member3").Generation(3)), subject: requested, want: "leaves member1; joins member3"},
		"what is in force does not wait":       {world: world(old), subject: s},
		"nobody's change is refused":           {world: world(), subject: then(s, fixture.Deployment("nginx").Replicas(9)), want: "no policy holds it: make one that selects it"},
		"what is being deleted is refused":     {world: world(now), subject: then(s, fixture.Deployment("nginx").ClaimedBy(old).Deleting()), want: "it is being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			r := tc.world.Release(tc.subject)
			got := r.Refusal
			if r.Pending {
				got = r.Moves.String()
				if !tc.world.Stands(tc.subject, r.Requested.Annotations[propagation.AnnotationActivate]) {
					t.Error("the request does not stand")
				}
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if world(now.Generation(3)).Stands(s, requested.Binding.Annotations[propagation.AnnotationActivate]) {
		t.Error("a request stands for a policy that changed")
	}
}

func TestAvailable(t *testing.T) {
	p := fixture.Policy("p").To("member1")
	s := propagated(world(p), fixture.Deployment("nginx"), p)
	work := func(applied metav1.ConditionStatus, health workv1alpha1.ResourceHealth) []*propagation.Work {
		return []*propagation.Work{{
			Key: propagation.WorkKey{Cluster: "member1"}, Annotations: map[string]string{propagation.AnnotationRevision: s.Binding.Revision()},
			Status: workv1alpha1.WorkStatus{
				Conditions:       []metav1.Condition{{Type: workv1alpha1.ConditionApplied, Status: applied, Reason: "RefusedByMember", Message: "quota"}},
				ManifestStatuses: []workv1alpha1.ManifestStatus{{Health: health}},
			},
		}}
	}
	elsewhere, suspended := *s.Binding, *s.Binding
	elsewhere.Spec.Clusters = nil
	nowhere := *s.Binding
	nowhere.Spec.Placement = fixture.Policy("p").To("member9").Policy().Spec.Placement.DeepCopy()
	yes := true
	held := work("Unknown", "")
	held[0].Spec.SuspendDispatching = &yes
	for name, tc := range map[string]struct {
		binding *propagation.Binding
		works   []*propagation.Work
		want    string
		done    bool
	}{
		"all is well":                        {works: work("True", "Healthy"), done: true},
		"a health that nobody knows is well": {works: work("True", "Unknown"), done: true},
		"it is not healthy yet":              {works: work("True", "Unhealthy"), want: "waiting for member1"},
		"there is no Work yet":               {want: "waiting for member1"},
		"a suspension is not waited for":     {binding: &suspended, works: held, done: true},
		"the scheduler has not looked yet":   {binding: &elsewhere, works: work("True", "Healthy"), want: "waiting for the scheduler"},
		"a member refused it":                {works: work("False", "Healthy"), want: "member1 refused it: RefusedByMember: quota"},
		"no cluster fits":                    {binding: &nowhere, want: "it cannot be scheduled: 0/3 clusters are available: member9 is not joined; member1 is not in clusterNames; member2 is not in clusterNames; member3 is not in clusterNames"},
	} {
		t.Run(name, func(t *testing.T) {
			s := explaining.Subject{Template: s.Template, Binding: s.Binding, Works: tc.works}
			if tc.binding != nil {
				s.Binding = tc.binding
			}
			done, got, err := world(p).Available(s)
			if err != nil {
				got = err.Error()
			}
			if done != tc.done || got != tc.want {
				t.Errorf("got %v %q, want %v %q", done, got, tc.done, tc.want)
			}
		})
	}
}

func TestNotChosen(t *testing.T) {
	p := fixture.Policy("p").To("member2")
	got := world(p).Explain(propagated(world(p), fixture.Deployment("nginx"), p)).NotChosen
	want := []explaining.Cluster{
		{Name: "member1", State: explaining.NotChosen, Message: "is not in clusterNames"},
		{Name: "member3", State: explaining.NotChosen, Message: "is not in clusterNames"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
