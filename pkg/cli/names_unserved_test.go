// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"sluice.dev/test/pipelinetest/fixture"
)

// The definition of a kind was deleted: what was propagated of it stays in the members.
func TestZ2AKindThatIsGoneIsToldOf(t *testing.T) {
	hub := serve(t, "hub").shop()
	p := fixture.Policy("web").Kind().To("member1")
	b := hub.propagated(fixture.Deployment("one"), p)
	b.Spec.Resource.APIVersion, b.Spec.Resource.Kind = "example.com/v1", "Widget"
	hub.binding(b)
	const kept = "; 1 object is propagated of it: members keep what they have"
	for arg, want := range map[string]string{
		"widget":                 kept,
		"widgets":                kept,
		"Widget":                 kept,
		"widgets.example.com":    kept,
		"widgets.v1.example.com": kept,
		"widgets.example.org":    "",
		"gadgets":                "",
	} {
		for _, args := range [][]string{{"explain", arg + "/one"}, {"get", arg}} {
			a := run(t, hub, args...)
			a.wants(t, `the hub serves no kind "`+arg+`"`)
			if told := strings.Contains(a.err, "members keep"); told != (want != "") || !strings.Contains(a.err, want) {
				t.Errorf("%v says %q, want %q", args, a.err, want)
			}
		}
	}
}
