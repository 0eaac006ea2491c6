// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A controller in a member that changes a field back each time that Sluice corrects it is
// corrected once a second, and people read who it is and which field.

const (
	rival = "rival-controller"
	// foughtFor is how long it goes on.
	foughtFor = 10 * time.Second
)

// fights has a controller change the object in member1 to that content, whenever it has
// another one, until stop is called.
func (s *scenario) fights(o template) (stop func()) {
	s.Helper()
	on := s.lab.clusters["member1"].on(o.resource, o.namespace())
	w, err := on.Watch(s.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + o.name()})
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.Context())
	var ended sync.WaitGroup
	ended.Go(func() {
		want := contentOf(o.resource, o.body)
		for e := range w.ResultChan() {
			live, ok := e.Object.(*unstructured.Unstructured)
			if !ok || ctx.Err() != nil || contentOf(o.resource, live.Object) == want {
				continue
			}
			if _, err := on.Apply(ctx, o.name(), o.object(), metav1.ApplyOptions{FieldManager: rival, Force: true}); err != nil && ctx.Err() == nil {
				s.Errorf("the controller in the member: %v", err)
			}
		}
	})
	return func() {
		cancel()
		w.Stop()
		ended.Wait()
	}
}

// corrected is how often the object in member1 got that content back since the mark.
func (s *scenario) corrected(o template, mark int, content string) (n int) {
	for _, c := range s.lab.clusters["member1"].mirror(o.resource).since(s.ns, mark) {
		if keyOf(c.after) == o.key() && c.before != nil && contentOf(o.resource, c.before.Object) != content && contentOf(o.resource, c.after.Object) == content {
			n++
		}
	}
	return n
}

// contested waits until the owner of the Works says, or does not say any more, that their
// fields are contested.
func contested(is bool, words ...string) func(obj map[string]any) error {
	return func(obj map[string]any) error {
		if is {
			return isCondition("FieldsContested", "True", words...)(obj)
		}
		if c := conditionOf(obj, "FieldsContested"); c != nil {
			return fmt.Errorf("it says yet that its fields are contested: %v", c)
		}
		return nil
	}
}

func TestFaultFieldFoughtOver(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Rest()
		mark, told, began := len(s.lab.clusters["member1"].mirror(nginx.resource).since(s.ns, 0)), len(s.lab.hub.mirror(works).since(s.ns, 0)), time.Now()
		stop := s.fights(nginx.At(9))
		s.Expect(nginx).Binding(contested(true, rival, "member1"))
		if out := s.must("explain", nginx.typed(), "-n", s.ns); !strings.Contains(out, rival) {
			s.Errorf("explain does not say who it is:\n%s", out)
		}
		s.Told(asThing(works, s.Expect(nginx).work("member1")), "Warning", "FieldManagerConflict", rival)
		pause(s.Context(), foughtFor-time.Since(began))
		s.pacedSince(nginx, mark, began)
		stop()
		s.Expect(nginx).Binding(contested(false)).Work("member1", contested(false)).At(1, members...)
		if said := s.saidContested(told); len(said) != 2 {
			s.Errorf("the Work said %d times something else of its fields, want twice: %v", len(said), said)
		}
	})
}

// pacedSince checks that the object was corrected about once a second.
func (s *scenario) pacedSince(o template, mark int, began time.Time) {
	s.Helper()
	n, took := s.corrected(o, mark, "1"), time.Since(began)
	s.Logf("%d corrections in %s", n, took)
	if most := int(1.5 * took.Seconds()); n < 5 || n > most {
		s.Errorf("%d corrections in %s, want 5 to %d", n, took, most)
	}
}

// saidContested is what the Works in member1 said of their fields, each time that it was
// something else.
func (s *scenario) saidContested(mark int) (said []string) {
	for _, c := range s.lab.hub.mirror(works).since(s.ns, mark) {
		if c.before == nil || c.after.GetNamespace() != "karmada-es-member1" {
			continue
		}
		was, is := asJSON(conditionOf(c.before.Object, "FieldsContested")), asJSON(conditionOf(c.after.Object, "FieldsContested"))
		if was != is {
			said = append(said, is)
		}
	}
	return said
}

// So it is with what a placement has in a member.
func TestFaultFieldOfAPlacementFoughtOver(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm, p := s.ConfigMap("pages").At(1), s.everywhere()
		s.Apply(cm, p)
		s.Says(p, carried...)
		s.Expect(cm).At(1, members...)
		mark, began := len(s.lab.clusters["member1"].mirror(cm.resource).since(s.ns, 0)), time.Now()
		stop := s.fights(cm.At(9))
		s.Eventually(func() error { return contested(true, rival, "data.version", "member1")(s.Live(p).Object) })
		if out := s.must("explain", "crp/"+p.name()); !strings.Contains(out, rival) {
			s.Errorf("explain does not say who it is:\n%s", out)
		}
		pause(s.Context(), foughtFor-time.Since(began))
		s.pacedSince(cm, mark, began)
		stop()
		s.Expect(cm).At(1, members...)
		s.Says(p, carried...)
	})
}

// Two Clusters that lead to one member, with an override for each: both correct the
// object, each once a second, and say that there are two.
func TestFaultTwoNamesOfOneMemberFight(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		nginx := s.Deployment("nginx")
		p := s.Policy("pp").Selecting(nginx)
		s.Apply(p.To("member1"), nginx)
		s.Expect(nginx).In("member1")
		undo := s.doubled()
		defer undo()
		mirror := s.lab.clusters["member1"].mirror(nginx.resource)
		s.Apply(s.override("first", nginx, "by", "member1", "member1"), s.override("second", nginx, "by", "double", "double"), p.To("member1", "double"))
		s.Expect(nginx).Binding(contested(true, "another Cluster"))
		mark, began := len(mirror.since(s.ns, 0)), time.Now()
		pause(s.Context(), foughtFor)
		n, took := 0, time.Since(began)
		for _, c := range mirror.since(s.ns, mark) {
			if c.before != nil && c.before.GetLabels()["by"] != c.after.GetLabels()["by"] {
				n++
			}
		}
		s.Logf("%d writes in %s", n, took)
		if most := int(2.5 * took.Seconds()); n > most {
			s.Errorf("%d writes in %s, want at most %d", n, took, most)
		}
		s.Apply(p.To("member1"))
		s.Expect(nginx).Labelled("member1", "by", "member1").Binding(contested(false))
	})
}
