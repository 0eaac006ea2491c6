// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/pkg/redis/suspension"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// suspends is a suspension of one template; other templates have none. down: nobody can tell.
type suspends struct {
	template propagation.TemplateKey
	down     error
}

func (b suspends) Check(_ context.Context, t propagation.TemplateKey, _ propagation.BindingKey, _ string, _ uint64) (suspension.Verdict, error) {
	return suspension.Verdict{Suspended: t == b.template, By: "policy p"}, b.down
}

// The applier brings the member up to the Work, behind the suspension, and says on the Work
// how that went: what is asked for again is not written again.
func TestApplier(t *testing.T) {
	other := propagation.TemplateKey{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "other"}
	for name, tc := range map[string]struct {
		suspends suspends
		bound    bool // the Work's binding is there
		says     int  // how often it is written into the Work's status
		noWork   bool
		copied   bool // it is a copy of the Work under another name
		theirs   bool // the member has another's object of that name
		twice    bool
		claims   *propagation.TemplateKey // another template than the Work's
		tells    []string
		has      bool
		writes   int
		fails    bool
	}{
		"the member gets what the Work says":                        {tells: []string{events.WorkApplied}, has: true, writes: 1, says: 1},
		"the same event again writes nothing":                       {twice: true, tells: []string{events.WorkApplied, events.WorkApplied}, has: true, writes: 1, says: 1},
		"what is suspended is not written, and says so":             {suspends: suspends{template: secretKey}, bound: true, tells: []string{events.WorkHeld}, says: 1},
		"without a binding nobody says when it goes on: it is held": {suspends: suspends{template: secretKey}, tells: []string{events.WorkHeld}},
		"where nobody can tell, nothing is written":                 {suspends: suspends{down: errors.New("redis is down")}, fails: true},
		"another's suspension does not hold it":                     {suspends: suspends{template: other}, tells: []string{events.WorkApplied}, has: true, writes: 1, says: 1},
		"what is not ours is left alone, and told":                  {theirs: true, tells: []string{events.WorkFailed}, has: true, says: 1},
		"a Work that is gone is nobody's":                           {noWork: true, tells: []string{events.WorkDeleted}},
		"Z3: what is in a copy is not written, and it says so":      {copied: true, twice: true, tells: []string{events.WorkFailed, events.WorkFailed}, says: 1},
		"an event that names another's template is none":            {suspends: suspends{template: secretKey}, claims: &other, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := secretBrought(t)
			b.keep(propagation.Contents{b.hash: b.whole})
			if tc.noWork {
				b.hub.RemoveWork(b.work)
			}
			if tc.copied {
				w, err := b.hub.Work(t.Context(), b.work)
				if err != nil {
					t.Fatal(err)
				}
				w.Key.Name = "copy"
				if w, err = b.hub.CommitWork(t.Context(), nil, w); err != nil {
					t.Fatal(err)
				}
				b.work = w.Key
			}
			if tc.theirs {
				b.member.Plant(b.key, map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "shop", "name": "token"}})
			}
			if tc.bound {
				if _, err := b.hub.CommitBinding(t.Context(), nil, &propagation.Binding{Key: propagation.BindingOf(b.key)}); err != nil {
					t.Fatal(err)
				}
			}
			writes, says := 0, 0
			b.member.Wrote = func(context.Context, pipelinetest.MemberWrite) { writes++ }
			b.hub.Wrote = func(context.Context, pipelinetest.Write) { says++ }
			stage := applier.New(b.hub, tc.suspends, func(context.Context, string) (applier.Member, error) { return b.member, nil }, func() time.Time { return fixture.Start })
			binding, template := propagation.BindingOf(b.key), b.key
			if tc.claims != nil {
				template = *tc.claims
			}
			e, err := events.New("renderer", event.New(), events.WorkRendered, events.Data{Template: &template, Binding: &binding, Work: &b.work, Cluster: "m1"})
			if err != nil {
				t.Fatal(err)
			}
			var tells []string
			for range map[bool]int{false: 1, true: 2}[tc.twice] {
				out, err := stage.Handle(t.Context(), e)
				if (err != nil) != tc.fails {
					t.Fatalf("it ends with %v", err)
				}
				for _, o := range out {
					tells = append(tells, o.Type())
				}
			}
			if d := cmp.Diff(tc.tells, tells); d != "" {
				t.Errorf("told (-want +got):\n%s", d)
			}
			if has := b.member.Object(b.key) != nil; has != tc.has || writes != tc.writes {
				t.Errorf("the member has it %t, after %d writes; want %t, after %d", has, writes, tc.has, tc.writes)
			}
			if says != tc.says {
				t.Errorf("the Work says %d times what became of it, want %d", says, tc.says)
			}
		})
	}
}

// secretKey is the template of the Work of secretBrought.
var secretKey = propagation.TemplateKey{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "token"}

// Whatever an event says: who is asked for the suspension is the Work's own template, and of
// a Work of another binding there is nothing to do.
func TestZ33TheSuspensionIsThatOfTheWorksTemplate(t *testing.T) {
	b := secretBrought(t)
	b.keep(propagation.Contents{b.hash: b.whole})
	for name, tc := range map[string]struct{ template propagation.TemplateKey }{
		"another version of it": {propagation.TemplateKey{APIVersion: "v9", Kind: "Secret", Namespace: "shop", Name: "token"}},
		"another binding's":     {propagation.TemplateKey{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "other"}},
	} {
		t.Run(name, func(t *testing.T) {
			writes := 0
			b.member.Wrote = func(context.Context, pipelinetest.MemberWrite) { writes++ }
			b.hub.Wrote = func(_ context.Context, w pipelinetest.Write) {
				if w.String() != "update status of work m1/"+b.work.Name {
					t.Errorf("%s", w)
				}
			}
			stage := applier.New(b.hub, suspends{template: secretKey}, func(context.Context, string) (applier.Member, error) { return b.member, nil }, func() time.Time { return fixture.Start })
			binding := propagation.BindingOf(tc.template)
			e, err := events.New("renderer", event.New(), events.WorkRendered, events.Data{Template: &tc.template, Binding: &binding, Work: &b.work, Cluster: "m1"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := stage.Handle(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			if writes > 0 {
				t.Errorf("it was written, though it is suspended")
			}
		})
	}
}
