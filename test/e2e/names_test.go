// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var presentName = regexp.MustCompile(`-([0-9a-f]{10})[0-9a-f]{22}$`)

// formerly is the Work under the name that its binding's had when names ended in 40
// bits: the name of the binding, and the first digits of the same hash.
func (s *scenario) formerly(t template, w *unstructured.Unstructured) thing {
	s.Helper()
	hash := presentName.FindStringSubmatch(w.GetName())
	if hash == nil {
		s.Fatalf("the name of Work %s does not end in 128 bits", w.GetName())
	}
	stem := s.Expect(t).binding().GetName()
	if len(stem) > 52 {
		stem = stem[:52]
	}
	former := newThing(works, w.GetNamespace(), stem+"-"+hash[1]).with("spec", w.Object["spec"])
	for _, part := range []string{"labels", "annotations", "finalizers"} {
		former = former.with("metadata."+part, at(w.Object, "metadata."+part))
	}
	return former
}

// named waits until the Work for a member is the one of that name, and applied.
func (s *scenario) named(t template, member, name string) {
	s.Helper()
	s.Expect(t).Work(member, func(w map[string]any) error {
		if is := text(w, "metadata.name"); is != name {
			return fmt.Errorf("the Work is %s, want %s", is, name)
		}
		return isCondition("Applied", "True")(w)
	})
}

// A Work that an earlier Sluice made keeps its name, and is found by it. Made anew it
// has the present one, and beside one of that it has to go. What runs stays all the
// while.
func TestZ34WorksOfFormerNames(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Expect(nginx).Works(members...).Work("member2", isCondition("Applied", "True"))
		before, w := s.uids(nginx, members...), s.Expect(nginx).work("member2")
		former := s.formerly(nginx, w)
		s.whileAway(func() {
			s.Apply(former)
			s.PatchAs("e2e-former", former, asJSON(map[string]any{"status": w.Object["status"]}), "status")
			s.PatchIn("member2", nginx, `{"metadata":{"labels":{"sluice.dev/work":"`+former.name()+`"}}}`)
			s.Patch(asThing(works, w), `{"metadata":{"finalizers":null}}`)
			s.forget("hub", asThing(works, w))
		})
		s.Settle()
		s.named(nginx, "member2", former.name())
		s.goesOn(nginx, 2, before, members...)
		s.named(nginx, "member2", former.name())
		s.Expect(nginx).Labelled("member2", "sluice.dev/work", former.name())

		s.forget("hub", former)
		s.named(nginx, "member2", w.GetName())
		s.Expect(nginx).Labelled("member2", "sluice.dev/work", w.GetName())
		s.goesOn(nginx, 3, before, members...)

		s.Apply(former) // as who restores a backup
		s.Eventually(func() error {
			if s.has(former) {
				return errors.New("two Works are there")
			}
			return nil
		})
		s.named(nginx, "member2", w.GetName())
		s.goesOn(nginx, 4, before, members...)
		s.Delete(nginx)
		s.Expect(nginx).Nowhere().Works()
	})
}
