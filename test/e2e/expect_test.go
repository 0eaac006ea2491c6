// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// expectation waits for what has to become of a template.
type expectation struct {
	s *scenario
	thing
}

// Expect starts an expectation. Each of its methods waits, and fails the test
// if it waits in vain.
func (s *scenario) Expect(a applied) expectation { return expectation{s, a.itself()} }

// In is exactly these members: the object is in each of them, and in no other.
func (e expectation) In(want ...string) expectation {
	e.s.Helper()
	e.s.Eventually(func() error {
		if d := cmp.Diff(want, e.where()); d != "" {
			return fmt.Errorf("%s is in %v, want it in %v", e.thing, e.where(), want)
		}
		return nil
	})
	return e
}

// Nowhere is in no member, with no Work that would bring it there.
func (e expectation) Nowhere() expectation {
	e.s.Helper()
	return e.In().Works()
}

// where are the members that have the object.
func (e expectation) where() []string {
	var in []string
	for _, m := range members {
		if e.inMember(m) != nil {
			in = append(in, m)
		}
	}
	return in
}

func (e expectation) inMember(m string) *unstructured.Unstructured {
	return e.s.lab.clusters[m].mirror(e.resource).get(e.key())
}

// NeverIn is a member that the object never was in.
func (e expectation) NeverIn(member string) expectation {
	e.s.Helper()
	for _, c := range e.s.lab.clusters[member].mirror(e.resource).since(e.s.ns, 0) {
		if keyOf(c.after) == e.key() {
			e.s.Errorf("%s was in %s, where it never had to be: %s", e.thing, member, c.kind)
			return e
		}
	}
	return e
}

// At is the content that these members have; all that have the object, if none
// is named.
func (e expectation) At(n int64, in ...string) expectation {
	e.s.Helper()
	e.s.Eventually(func() error {
		if len(in) == 0 {
			in = e.where()
		}
		for _, m := range in {
			o := e.inMember(m)
			if o == nil {
				return fmt.Errorf("%s is not in %s", e.thing, m)
			}
			if got := e.content(o); got != fmt.Sprint(n) {
				return fmt.Errorf("%s in %s has content %s, want %d", e.thing, m, got, n)
			}
		}
		return nil
	})
	return e
}

func (e expectation) content(o *unstructured.Unstructured) string {
	c := contentOf(e.resource, o.Object)
	if e.resource == secrets {
		if raw, err := base64.StdEncoding.DecodeString(c); err == nil {
			return string(raw)
		}
	}
	return c
}

// Member waits until the object in a member satisfies the check.
func (e expectation) Member(member string, check func(obj map[string]any) error) expectation {
	e.s.Helper()
	e.s.Eventually(func() error {
		o := e.inMember(member)
		if o == nil {
			return fmt.Errorf("%s is not in %s", e.thing, member)
		}
		if err := check(o.Object); err != nil {
			return fmt.Errorf("%s in %s: %w", e.thing, member, err)
		}
		return nil
	})
	return e
}

// Labelled has the label with the value in a member; an empty value: has it not.
func (e expectation) Labelled(member, key, value string) expectation {
	e.s.Helper()
	return e.Member(member, func(obj map[string]any) error {
		if got := (&unstructured.Unstructured{Object: obj}).GetLabels()[key]; got != value {
			return fmt.Errorf("label %s is %q, want %q", key, got, value)
		}
		return nil
	})
}

// Works are exactly in these members' namespaces.
func (e expectation) Works(want ...string) expectation {
	e.s.Helper()
	e.s.Eventually(func() error {
		var have []string
		for _, m := range members {
			if e.work(m) != nil {
				have = append(have, m)
			}
		}
		if !slices.Equal(have, want) {
			return fmt.Errorf("%s has Works for %v, want %v", e.thing, have, want)
		}
		return nil
	})
	return e
}

// work is the Work that brings the object to a member, or nil.
func (e expectation) work(member string) *unstructured.Unstructured {
	for _, w := range e.s.lab.hub.mirror(works).of(e.s.ns) {
		m := manifestOf(w)
		if w.GetNamespace() == "karmada-es-"+member && m.GetKind() == e.kind && m.GetAPIVersion() == e.apiVersion() && keyOf(m) == e.key() {
			return w
		}
	}
	return nil
}

// binding of the template, or nil.
func (e expectation) binding() *unstructured.Unstructured {
	r := bindings
	if e.clusterScoped {
		r = clusterBindings
	}
	m := e.s.lab.hub.mirror(r)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.objects {
		ref, _ := at(b.Object, "spec.resource").(map[string]any)
		if ref["kind"] == e.kind && ref["apiVersion"] == e.apiVersion() && ref["name"] == e.name() && text(ref, "namespace") == e.namespace() {
			return b
		}
	}
	return nil
}

// Binding waits until the template's binding satisfies the check.
func (e expectation) Binding(check func(b map[string]any) error) expectation {
	e.s.Helper()
	e.s.Eventually(func() error {
		b := e.binding()
		if b == nil {
			return fmt.Errorf("%s has no binding", e.thing)
		}
		if err := check(b.Object); err != nil {
			return fmt.Errorf("binding %s: %w", keyOf(b), err)
		}
		return nil
	})
	return e
}

// NoBinding waits until the template has none.
func (e expectation) NoBinding() expectation {
	e.s.Helper()
	e.s.Eventually(func() error {
		if b := e.binding(); b != nil {
			return fmt.Errorf("%s has binding %s", e.thing, keyOf(b))
		}
		return nil
	})
	return e
}

// Work waits until the Work for a member satisfies the check.
func (e expectation) Work(member string, check func(w map[string]any) error) expectation {
	e.s.Helper()
	e.s.Eventually(func() error {
		w := e.work(member)
		if w == nil {
			return fmt.Errorf("%s has no Work for %s", e.thing, member)
		}
		if err := check(w.Object); err != nil {
			return fmt.Errorf("Work %s: %w", keyOf(w), err)
		}
		return nil
	})
	return e
}

// Template waits until the template satisfies the check.
func (e expectation) Template(check func(t map[string]any) error) expectation {
	e.s.Helper()
	e.s.Eventually(func() error {
		t := e.template()
		if t == nil {
			return fmt.Errorf("%s is not on the hub", e.thing)
		}
		return check(t.Object)
	})
	return e
}

func (e expectation) template() *unstructured.Unstructured {
	return e.s.lab.hub.mirror(e.resource).get(e.key())
}

// isCondition is a check for a condition whose reason and message hold all of
// the words.
func isCondition(kind, status string, words ...string) func(obj map[string]any) error {
	return func(obj map[string]any) error {
		c := conditionOf(obj, kind)
		if c == nil {
			return fmt.Errorf("has no condition %s", kind)
		}
		said := text(c, "reason") + ": " + text(c, "message")
		if text(c, "status") != status {
			return fmt.Errorf("condition %s is %s (%s), want %s", kind, text(c, "status"), said, status)
		}
		for _, w := range words {
			if !strings.Contains(said, w) {
				return fmt.Errorf("condition %s=%s says %q, want it to tell of %q", kind, status, said, w)
			}
		}
		return nil
	}
}

// conditionOf is an object's condition, or nil.
func conditionOf(obj map[string]any, kind string) map[string]any {
	for _, c := range items(obj, "status.conditions") {
		if c["type"] == kind {
			return c
		}
	}
	return nil
}

// Where a claim is recorded.
const (
	ppID   = "propagationpolicy.karmada.io/permanent-id"
	cppID  = "clusterpropagationpolicy.karmada.io/permanent-id"
	ppNS   = "propagationpolicy.karmada.io/namespace"
	ppName = "propagationpolicy.karmada.io/name"
	cppNam = "clusterpropagationpolicy.karmada.io/name"
)

// claim is what labels and annotations say about who holds an object.
func claim(o *unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	for _, k := range []string{ppID, cppID} {
		if v, ok := o.GetLabels()[k]; ok {
			out[k] = v
		}
	}
	for _, k := range []string{ppNS, ppName, cppNam} {
		if v, ok := o.GetAnnotations()[k]; ok {
			out[k] = v
		}
	}
	return out
}

// ClaimedBy is held by the policy: the template says so and its binding, if it
// has one, and neither says anything of another policy.
func (e expectation) ClaimedBy(p policy) expectation {
	e.s.Helper()
	live := e.s.Live(p)
	want := map[string]string{cppID: live.GetLabels()[cppID], cppNam: p.name()}
	id := cppID
	if !p.clusterScoped {
		id = ppID
		want = map[string]string{ppID: live.GetLabels()[ppID], ppNS: p.namespace(), ppName: p.name()}
	}
	if want[id] == "" {
		want[id] = string(live.GetUID())
	}
	return e.claims(want)
}

// Unclaimed is held by no policy.
func (e expectation) Unclaimed() expectation {
	e.s.Helper()
	return e.claims(map[string]string{})
}

func (e expectation) claims(want map[string]string) expectation {
	e.s.Helper()
	e.s.Eventually(func() error {
		t := e.template()
		if t == nil {
			return fmt.Errorf("%s is not on the hub", e.thing)
		}
		if d := cmp.Diff(want, claim(t)); d != "" {
			return fmt.Errorf("claim on %s (-want +got):\n%s", e.thing, d)
		}
		if b := e.binding(); b != nil {
			if d := cmp.Diff(want, claim(b)); d != "" {
				return fmt.Errorf("claim on binding %s (-want +got):\n%s", keyOf(b), d)
			}
		}
		return nil
	})
	return e
}

// Told waits for a Kubernetes event about the template, or about its Works,
// whose reason and message hold the words.
func (s *scenario) Told(a applied, eventType, reason string, words ...string) {
	s.Helper()
	o := a.itself()
	s.Eventually(func() error {
		var said []string
		for _, e := range s.events(o) {
			line := text(e, "type") + " " + text(e, "reason") + ": " + text(e, "message")
			said = append(said, line)
			if text(e, "type") == eventType && text(e, "reason") == reason && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
				return nil
			}
		}
		return errors.New("no event " + eventType + " " + reason + " with " + fmt.Sprint(words) + " about " + o.String() + ", but:\n" + strings.Join(said, "\n"))
	})
}

// events are those on the hub about an object.
func (s *scenario) events(o thing) []map[string]any {
	var out []map[string]any
	m := s.lab.hub.mirror(k8sEvents)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.objects {
		ref, _ := at(e.Object, "involvedObject").(map[string]any)
		if ref["kind"] == o.kind && ref["name"] == o.name() && text(ref, "namespace") == o.namespace() {
			out = append(out, e.Object)
		}
	}
	return out
}
