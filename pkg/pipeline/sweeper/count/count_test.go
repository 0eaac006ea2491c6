// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package count

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/sweeper/page"
	"sluice.dev/pkg/pipeline/sweeper/tick"
	"sluice.dev/test/pipelinetest/fixture"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// policies are a hub's, of which each holds so many templates, and which takes its time
// to write each.
type policies struct {
	all     []*propagation.Policy
	holding int64
	now     time.Time
	slow    time.Duration
	wrote   map[string]int
	defined map[string]string
	broken  string
	// unknown is the policy of which Redis does not know what it selects.
	unknown string
}

var errBroken = errors.New("broken")

func (p *policies) Policies(context.Context) ([]*propagation.Policy, error) { return p.all, nil }

func (p *policies) Definitions(context.Context) (map[string]string, error) { return p.defined, nil }

func (p *policies) HeldCount(context.Context, propagation.PolicyKey) (int64, error) {
	return p.holding, nil
}

func (p *policies) Says(_ context.Context, of *propagation.Policy) (bool, error) {
	return of.Key.Name != p.unknown, nil
}

func (p *policies) CommitPolicyStatus(_ context.Context, of *propagation.Policy, s policyv1alpha1.PropagationStatus) error {
	p.now = p.now.Add(p.slow)
	p.wrote[of.Key.Name]++
	if of.Key.Name == p.broken {
		return errBroken
	}
	of.Status = s
	return nil
}

func some(n int) *policies {
	p := &policies{holding: 2, now: noon, wrote: map[string]int{}}
	for i := range n {
		p.all = append(p.all, &propagation.Policy{Key: propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: "shop", Name: fmt.Sprintf("p%03d", i)}, ID: fmt.Sprint(i)})
	}
	return p
}

// sweep is one by a replica that has just started.
func (p *policies) sweep(t *testing.T, at fixture.Positions) error {
	t.Helper()
	one := tick.New(event.New(), maps.Clone(at), p.now)
	err := New(p, p, func() time.Time { return p.now }).Sweep(t.Context(), one, page.All(nil), nil)
	if err := one.Save(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	return err
}

func TestPoliciesAreCountedByTurnsWhoeverSweeps(t *testing.T) {
	p, at := some(20), fixture.Positions{}
	p.slow = 300 * time.Millisecond
	sweeps := 0
	for ; len(p.wrote) < 20 && sweeps < 20; sweeps++ {
		before, began := len(p.wrote), p.now
		if err := p.sweep(t, at); err != nil {
			t.Fatal(err)
		}
		if took := p.now.Sub(began); took > during+p.slow || len(p.wrote) == before {
			t.Errorf("sweep %d takes %s, and writes %d", sweeps, took, len(p.wrote)-before)
		}
	}
	for name, n := range p.wrote {
		if n != 1 {
			t.Errorf("%s was written %d times", name, n)
		}
	}
	if len(p.wrote) != 20 || p.all[0].Status.Templates.Pending != 2 {
		t.Errorf("after %d sweeps %d of 20 are counted; the first says %+v", sweeps, len(p.wrote), p.all[0].Status.Templates)
	}
}

func TestCountsAreWrittenEveryFewSecondsAtMost(t *testing.T) {
	p, at := some(1), fixture.Positions{}
	for _, tc := range []struct {
		after  time.Duration
		writes int
	}{{0, 1}, {time.Second, 1}, {every - time.Second, 2}, {every, 2}} { // the last changes nothing
		p.now = p.now.Add(tc.after)
		if tc.writes > p.wrote["p000"] {
			p.holding++
		}
		if err := p.sweep(t, at); err != nil || p.wrote["p000"] != tc.writes {
			t.Errorf("after %s %d writes, want %d; %v", tc.after, p.wrote["p000"], tc.writes, err)
		}
	}
}

func TestOnePolicyThatCannotBeWrittenHoldsUpNoOther(t *testing.T) {
	p, at := some(3), fixture.Positions{}
	p.broken = "p001"
	if err := p.sweep(t, at); !errors.Is(err, errBroken) || len(p.wrote) != 3 {
		t.Errorf("%d written, %v; want all tried, and the failure told", len(p.wrote), err)
	}
}

// A policy that preempts names kinds that the hub does not serve: that is written and told
// once, and not again with each count.
func TestZ1APolicyOfKindsThatAreNotServedIsWrittenOnce(t *testing.T) {
	p, at, told := some(1), fixture.Positions{}, 0
	p.all[0].Spec.Preemption = policyv1alpha1.PreemptAlways
	p.all[0].NotServed = []schema.GroupVersionKind{{Group: "example.com", Version: "v1", Kind: "Gear"}, {Group: "apps", Version: "v9", Kind: "Deployment"}}
	for range 10 {
		one := tick.New(event.New(), maps.Clone(at), p.now)
		if err := errors.Join(New(p, p, func() time.Time { return p.now }).Sweep(t.Context(), one, page.All(nil), nil), one.Save(t.Context(), at)); err != nil {
			t.Fatal(err)
		}
		emitted, err := one.Out.Events()
		if err != nil {
			t.Fatal(err)
		}
		told, p.now = told+len(emitted), p.now.Add(every)
	}
	if written := p.wrote["p000"]; written != 1 || told != 1 {
		t.Errorf("written %d times, told %d times, want once each", written, told)
	}
}

// Z14: a policy is announced when what it names begins to be served, or ceases to be, and
// not again with each count.
func TestZ14APolicyIsAnnouncedWhenWhatItNamesIsServedOrNot(t *testing.T) {
	p, at := some(1), fixture.Positions{}
	for i, tc := range []struct{ served, announced bool }{{true, false}, {false, true}, {false, false}, {true, true}, {true, false}} {
		if p.all[0].NotServed = nil; !tc.served {
			p.all[0].NotServed = []schema.GroupVersionKind{{Group: "example.com", Version: "v1beta1", Kind: "Gear"}}
		}
		p.holding, p.now = p.holding+1, p.now.Add(every)
		one := tick.New(event.New(), maps.Clone(at), p.now)
		if err := New(p, p, func() time.Time { return p.now }).Sweep(t.Context(), one, page.All(nil), nil); err != nil {
			t.Fatal(err)
		}
		if err := one.Save(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		told, err := one.Out.Events()
		if err != nil {
			t.Fatal(err)
		}
		if announced := len(told) == 1 && told[0].Type() == events.PolicyChanged; announced != tc.announced || len(told) > 1 {
			t.Errorf("%d, served: %t: announced %v", i, tc.served, told)
		}
	}
}

// Z14: a version is served no more, somebody decides, and it is served again, all between
// two sweeps. What the policy names is served then as it was; that its definition was
// changed is what is left of it.
func TestZ14APolicyIsAnnouncedWhenTheDefinitionOfWhatItNamesWasChanged(t *testing.T) {
	p, at := some(3), fixture.Positions{}
	for i, apiVersion := range []string{"example.com/v1", "other.com/v1", "apps/v1"} {
		p.all[i].Spec.ResourceSelectors = []policyv1alpha1.ResourceSelector{{APIVersion: apiVersion, Kind: "Gear"}}
	}
	for i, tc := range []struct {
		defined map[string]string
		want    []string
	}{
		{map[string]string{"example.com": "1", "other.com": "1"}, []string{"p000", "p001"}}, // what came before is not known
		{map[string]string{"example.com": "1", "other.com": "1"}, nil},
		{map[string]string{"example.com": "2", "other.com": "1", "third.com": "1"}, []string{"p000"}},
		{map[string]string{"example.com": "2", "other.com": "1"}, nil},
		{map[string]string{"example.com": "2"}, []string{"p001"}}, // it was deleted
	} {
		p.defined, p.now = tc.defined, p.now.Add(every)
		one := tick.New(event.New(), maps.Clone(at), p.now)
		if err := errors.Join(New(p, p, func() time.Time { return p.now }).Sweep(t.Context(), one, page.All(nil), nil), one.Save(t.Context(), at)); err != nil {
			t.Fatal(err)
		}
		told, err := one.Out.Events()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range told {
			d, err := events.Decode(e)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, d.Policy.Name)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%d: announced (-want +got)\n%s", i, diff)
		}
	}
}

func TestNothingIsWrittenOnAPolicyBeforeRedisKnowsWhatItSelects(t *testing.T) {
	p, at := some(3), fixture.Positions{}
	p.unknown = "p001"
	if err := p.sweep(t, at); err != nil || p.wrote["p001"] != 0 || len(p.wrote) != 2 {
		t.Errorf("written %v, %v; want all others", p.wrote, err)
	}
	p.unknown, p.now = "", p.now.Add(every)
	if err := p.sweep(t, at); err != nil || p.wrote["p001"] != 1 {
		t.Errorf("written %v, %v; want what waited", p.wrote, err)
	}
}

// Where bindings come by pages, policies say what a whole round has counted, and never
// what a part of one has; a page that is looked at twice counts once.
func TestARoundOfPagesIsCountedAsAWhole(t *testing.T) {
	p, at, s := some(7), fixture.Positions{}, &fixture.BindingLister{}
	p.holding, p.slow = 0, 300*time.Millisecond
	want := map[string]int32{}
	for i := range 40 {
		of := p.all[i%5]
		s.All = append(s.All, &propagation.Binding{
			Key:         propagation.BindingKey{Namespace: "shop", Name: fmt.Sprintf("t%02d", i)},
			Labels:      map[string]string{propagation.ClaimLabelNamespaced: of.ID},
			Annotations: map[string]string{propagation.ClaimNamespacedNamespace: of.Key.Namespace, propagation.ClaimNamespacedName: of.Key.Name},
		})
		want[of.Key.Name]++
	}
	for sweep := range 60 {
		one := tick.New(event.New(), maps.Clone(at), p.now)
		looked, err := page.Open(t.Context(), one, s, 7)
		if err != nil {
			t.Fatal(err)
		}
		if err := New(p, p, func() time.Time { return p.now }).Sweep(t.Context(), one, looked, nil); err != nil {
			t.Fatal(err)
		}
		if sweep%3 == 0 {
			looked.Done("other")
		}
		if err := errors.Join(looked.Turn(one, "other"), one.Save(t.Context(), at)); err != nil {
			t.Fatal(err)
		}
		for _, of := range p.all {
			if got := of.Status.Templates.Claimed; got != 0 && got != want[of.Key.Name] {
				t.Fatalf("sweep %d: %s says %d, want %d", sweep, of.Key.Name, got, want[of.Key.Name])
			}
		}
		p.now = p.now.Add(time.Minute)
	}
	for _, of := range p.all {
		if got := of.Status.Templates.Claimed; got != want[of.Key.Name] || p.wrote[of.Key.Name] > 1 {
			t.Errorf("%s says %d after %d writes, want %d", of.Key.Name, got, p.wrote[of.Key.Name], want[of.Key.Name])
		}
	}
}
