// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gating_test

import (
	"maps"
	"testing"

	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest/fixture"
)

// A binding gets its permanent id with the first content that acts, and keeps it. One
// that an earlier Sluice made gets it with its next content, and not because Sluice was
// updated: that would write all that members have.
func TestPermanentID(t *testing.T) {
	nginx, eager, lazy := fixture.Deployment("nginx"), fixture.Policy("p").To("member1"), fixture.Policy("p").Lazy().To("member1")
	const given = "given"
	withID := func(b *propagation.Binding, id string) *propagation.Binding {
		was := *b
		was.Labels = maps.Clone(b.Labels)
		if was.Labels[propagation.BindingIDLabel(b.Key)] = id; id == "" {
			delete(was.Labels, propagation.BindingIDLabel(b.Key))
		}
		return &was
	}
	id := propagation.NewPermanentID(propagation.BindingOf(nginx.Template().Key), nginx.Template().UID)
	for sentence, tc := range map[string]struct {
		template fixture.TemplateBuilder
		policy   fixture.PolicyBuilder
		binding  *propagation.Binding
		want     string
		same     bool
	}{
		"a new binding has one":                               {template: nginx, policy: eager, want: id},
		"an earlier one has none while its content stays":     {template: nginx, policy: eager, binding: withID(after(nginx, eager), ""), same: true},
		"nor because its policy changes":                      {template: nginx, policy: eager.To("member2").Generation(2), binding: withID(after(nginx, eager), "")},
		"it gets one with its next content":                   {template: nginx.Replicas(7), policy: eager, binding: withID(after(nginx, eager), ""), want: id},
		"but not while that waits":                            {template: nginx.Baseline(), policy: fixture.Policy("q").Lazy(), binding: withID(after(nginx, lazy), "")},
		"it is kept whatever the content":                     {template: nginx.Replicas(7), policy: eager, binding: withID(after(nginx, eager), given), want: given},
		"it is kept where the template is made anew under it": {template: nginx.UID("anew"), policy: eager, binding: withID(after(nginx, eager), given), want: given},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := gating.Decide(gating.Input{Template: tc.template.ClaimedBy(tc.policy).Template(), Policy: tc.policy.Policy(), Binding: tc.binding})
			if got := d.Next.PermanentID(); got != tc.want {
				t.Errorf("the id is %q, want %q", got, tc.want)
			}
			if same := d.Next == tc.binding; same != tc.same {
				t.Errorf("unchanged: %t, want %t", same, tc.same)
			}
		})
	}
}
