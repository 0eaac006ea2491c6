// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package detector_test

import (
	"context"
	"errors"
	"testing"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/pkg/redis/suspension"
	"sluice.dev/test/pipelinetest"
)

// A hub is restored from a backup that is younger than what any sweep saw of it. What
// finds that out is a policy that the API server itself has in an older version than
// Redis knows: then nothing of Redis is believed, until it was built anew. That is so
// once.
func TestZ21ABackupThatIsYoungerThanTheLastSweep(t *testing.T) {
	depends := func(p *policyv1alpha1.PropagationSpec) { p.PropagateDeps = true }
	suspended := func(p *policyv1alpha1.PropagationSpec) {
		p.Suspension = &policyv1alpha1.Suspension{Dispatching: new(true)}
	}
	for sentence, tt := range map[string]struct {
		// lost is what the restoration takes back, and after what happens then.
		lost, after func(s *scene)
		// hears is what the detector hears of; nil: the template.
		hears func(s *scene) propagation.TemplateKey
		found bool
	}{
		"a template's policy is older than it is indexed": {
			lost: func(s *scene) { s.change(depends); s.hear(events.ResourceUpdated, s.aboutPolicy(), "") }, found: true,
		},
		"and the template was written since": {
			lost: func(s *scene) { s.change(depends); s.hear(events.ResourceUpdated, s.aboutPolicy(), "") },
			after: func(s *scene) {
				s.edit(func(obj map[string]any) { obj["spec"] = map[string]any{"replicas": int64(3)} })
			}, found: true,
		},
		"the policy itself is": {
			lost:  func(s *scene) { s.change(depends); s.hear(events.ResourceUpdated, s.aboutPolicy(), "") },
			hears: (*scene).aboutPolicy, found: true,
		},
		"its suspension is older, for the detector ended before it was indexed": {
			lost: func(s *scene) {
				s.change(suspended)
				if err := suspension.New(s.redis).SetPolicy(s.Context(), s.policy, suspension.Of(s.hub.LivePolicy(s.policy))); err != nil {
					s.Fatal(err)
				}
			},
			hears: (*scene).aboutPolicy, found: true,
		},
		"the policy was written since": {
			lost:  func(s *scene) { s.change(depends); s.hear(events.ResourceUpdated, s.aboutPolicy(), "") },
			after: func(s *scene) { s.change(suspended); s.change(depends) },
		},
		"what is indexed is what there is": {},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newScene(t)
			backup := s.hub.Keep()
			if tt.lost != nil {
				tt.lost(s)
			}
			s.hub.Restore(backup)
			s.hub.Restart()
			if tt.after != nil {
				tt.after(s)
			}
			about := s.template
			if tt.hears != nil {
				about = tt.hears(s)
			}
			for range 2 {
				_, err := s.handle(events.ResourceAdded, about, "")
				if errors.Is(err, outcome.ErrNotBuilt) != tt.found || !tt.found && err != nil {
					t.Fatalf("it answers %v, want that Redis is not built: %t", err, tt.found)
				}
				noted, err := s.positions.Noted(t.Context(), claims.NoticeBack)
				if built, failed := s.index.Built(t.Context()); built == tt.found || noted != tt.found || errors.Join(err, failed) != nil {
					t.Errorf("built %t, noted %t, %v", built, noted, errors.Join(err, failed))
				}
			}
			s.rebuild()
			for _, key := range []propagation.TemplateKey{about, s.template} {
				if out := s.hear(events.ResourceAdded, key, ""); len(out) != 1 {
					t.Errorf("when Redis was built anew, it emits %v", out)
				}
			}
		})
	}
}

// What a watch told may be older than what another process indexed. That proves nothing,
// and what the API server says itself counts.
func TestZ21ALateWatchProvesNothing(t *testing.T) {
	s := newScene(t)
	late := s.hub.LivePolicy(s.policy)
	s.change(func(p *policyv1alpha1.PropagationSpec) { p.PropagateDeps = true })
	s.hear(events.ResourceUpdated, s.aboutPolicy(), "")
	s.detector = s.detectorOf(lateHub{s.hub, late})
	out := s.hear(events.ResourceAdded, s.template, "")
	d, err := events.Decode(out[0])
	if now := s.hub.LivePolicy(s.policy).ResourceVersion; err != nil || d.PolicyVersion != now {
		t.Errorf("decided with version %s of the policy, and the API server has %s: %v", d.PolicyVersion, now, err)
	}
}

// A generation comes a second time where the hub went back: it does not tell that the
// templates know what the policy says.
func TestZ21AGenerationThatComesAgainIsTold(t *testing.T) {
	s := newScene(t)
	backup := s.hub.Keep()
	s.change(func(p *policyv1alpha1.PropagationSpec) { p.PropagateDeps = true })
	s.hear(events.ResourceUpdated, s.aboutPolicy(), "")
	was := s.hub.LivePolicy(s.policy).Generation
	s.hub.Restore(backup)
	s.hub.Restart()
	s.change(func(p *policyv1alpha1.PropagationSpec) { p.Priority = new(int32(3)) })
	if is := s.hub.LivePolicy(s.policy).Generation; is != was {
		t.Fatalf("generation %d, and it was %d", is, was)
	}
	s.rebuild()
	if out := s.hear(events.ResourceUpdated, s.aboutPolicy(), ""); len(out) == 0 {
		t.Error("no template is told")
	}
}

// lateHub is a hub of which the watch has not told yet what a policy says.
type lateHub struct {
	*pipelinetest.Hub
	policy *propagation.Policy
}

func (h lateHub) Policy(context.Context, propagation.PolicyKey) (*propagation.Policy, error) {
	return h.policy, nil
}
