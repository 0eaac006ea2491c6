// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"
)

// Whose a binding or a Work is does not depend on words in it, which somebody may edit.

// whose is what a binding says of its template, but for the version of its content.
func (s *scenario) whose(b thing) string {
	s.Helper()
	spec, _ := s.Live(b).Object["spec"].(map[string]any)
	r, _ := spec["resource"].(map[string]any)
	delete(r, "resourceVersion")
	return asJSON(r)
}

// What a binding says of its template is put right, and no member hears of it.
func TestZ4BindingThatNamesAnotherTemplate(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Expect(nginx).ClaimedBy(p).Binding(isCondition("FullyApplied", "True"))
		s.Rest()
		before, b := s.uids(nginx, members...), s.bindingOf(nginx)
		was, made := s.whose(b), s.Live(b).GetUID()
		for i, words := range []string{
			fmt.Sprintf(`"apiVersion":"%s/v9"`, nginx.group), `"apiVersion":"extensions/v1beta1"`, `"apiVersion":"batch/v1"`, `"kind":"StatefulSet"`, `"name":"other"`,
			`"apiVersion":"v1","kind":"ConfigMap","name":"other"`, `"uid":"other"`, `"uid":null`,
		} {
			s.Untouched(func() {
				s.Patch(b, fmt.Sprintf(`{"spec":{"resource":{%s}}}`, words))
				s.Eventually(func() error { return differs("what the binding names", s.whose(b), was) })
			})
			if live := s.Live(b); live.GetUID() != made {
				s.Errorf("the binding was made anew")
			}
			if s.Failed() {
				s.Fatalf("the binding names %s", words)
			}
			s.goesOn(nginx, int64(i+2), before, members...)
		}
		s.Patch(b, `{"spec":{"resource":{"apiVersion":"batch/v1"}}}`)
		s.Delete(nginx)
		s.Expect(nginx).Nowhere().Works()
	})
}
