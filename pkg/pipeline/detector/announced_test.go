// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package detector_test

import (
	"context"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/redis/go-redis/v9"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/coalesce"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/detector"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/pkg/redis/positions"
	"sluice.dev/pkg/redis/suspension"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
	"sluice.dev/test/redistest"
)

// scene is a detector that has told of a policy and of the Deployment that it holds.
type scene struct {
	*testing.T
	hub       *pipelinetest.Hub
	redis     *redis.Client
	index     *claims.Map
	positions *positions.Map
	now       time.Time
	detector  *detector.Stage
	template  propagation.TemplateKey
	policy    propagation.PolicyKey
	heard     int
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{T: t, now: fixture.Start, template: fixture.Deployment("nginx").Template().Key}
	s.hub = pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return s.now }})
	s.redis = redistest.Embedded(t).Client(t)
	s.index, s.positions = claims.New(s.redis), positions.New(s.redis)
	s.rebuild()
	s.detector = s.detectorOf(s.hub)

	s.edit(func(obj map[string]any) { obj["spec"] = map[string]any{"replicas": int64(2)} })
	p := fixture.Policy("p").Kind().To("m1").Policy()
	s.policy = p.Key
	s.hub.PutPolicy(p.Key, p.Spec)
	s.hear(events.ResourceAdded, s.aboutPolicy(), "")
	if got := s.hear(events.ResourceAdded, s.template, ""); len(got) != 1 || got[0].Type() != events.TemplateClaimed {
		t.Fatalf("the template is not claimed: %v", got)
	}
	s.now = s.now.Add(2 * time.Second)
	return s
}

// detectorOf is a detector that reads from this hub.
func (s *scene) detectorOf(h detector.Hub) *detector.Stage {
	return detector.New(h, s.index, s.index, suspension.New(s.redis))
}

// rebuild builds Redis from the hub.
func (s *scene) rebuild() {
	s.Helper()
	err := s.index.Rebuild(s.Context(), func(ctx context.Context, r *claims.Rebuild) error {
		for _, p := range s.hub.LivePolicies() {
			if err := r.IndexPolicy(ctx, p, claims.SelectorsOf(p)); err != nil {
				return err
			}
		}
		t := s.hub.Live(s.template)
		if t == nil || !t.Claim.Held() {
			return nil
		}
		return r.Record(ctx, t.Key, t.Claim, propagation.Sighting{}.Of(t))
	})
	if err != nil {
		s.Fatal(err)
	}
}

func (s *scene) aboutPolicy() propagation.TemplateKey {
	about := hub.AboutPolicy(s.hub.LivePolicy(s.policy))
	return propagation.TemplateKey{APIVersion: about.APIVersion, Kind: about.Kind, Namespace: about.Namespace, Name: about.Name}
}

// hear has the detector handle what a source tells, and with it what else tells the
// same; id: none is a new event.
func (s *scene) hear(eventType string, key propagation.TemplateKey, id string, with ...string) []event.Event {
	s.Helper()
	out, err := s.handle(eventType, key, id, with...)
	if err != nil {
		s.Fatal(err)
	}
	return out
}

// handle is hear, and tells what went wrong.
func (s *scene) handle(eventType string, key propagation.TemplateKey, id string, with ...string) ([]event.Event, error) {
	s.Helper()
	e, err := events.NewResource("https://hub", eventType, events.Object{TemplateKey: key, Version: "1"})
	if err != nil {
		s.Fatal(err)
	}
	if s.heard++; id == "" {
		id = "event " + string(rune('a'+s.heard))
	}
	e.SetID(id)
	return s.detector.Handle(coalesce.Covering(s.Context(), append(with, id)), e)
}

func (s *scene) edit(edit func(obj map[string]any)) { s.hub.Apply(s.template, edit) }

func (s *scene) report(replicas int64) {
	s.Helper()
	if _, err := s.hub.CommitTemplateStatus(s.Context(), s.hub.Live(s.template), map[string]any{"replicas": replicas}); err != nil {
		s.Fatal(err)
	}
}

func (s *scene) change(change func(*policyv1alpha1.PropagationSpec)) {
	spec := *s.hub.LivePolicy(s.policy).Spec.DeepCopy()
	change(&spec)
	s.hub.PutPolicy(s.policy, spec)
}

func TestWhatSluiceWroteItselfIsTakenOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		happens func(s *scene)
		id      string   // of the event; empty: a new one
		with    []string // what else tells the same
		told    bool
	}{
		"the claim": {happens: func(*scene) {}},
		"the status that members report": {
			happens: func(s *scene) { s.report(2) },
		},
		"a status in the second of somebody else's write": {
			happens: func(s *scene) { s.now = fixture.Start; s.report(2) }, told: true,
		},
		"a status that somebody else wrote": {
			happens: func(s *scene) {
				s.edit(func(obj map[string]any) { obj["status"] = map[string]any{"replicas": int64(9)} })
			}, told: true,
		},
		"the user's change, and a status on top": {
			happens: func(s *scene) {
				s.edit(func(obj map[string]any) { obj["spec"] = map[string]any{"replicas": int64(3)} })
				s.now = s.now.Add(2 * time.Second)
				s.report(3)
			},
			told: true,
		},
		"the user's change that was taken back, and a status on top: who was told may have read the change": {
			happens: func(s *scene) {
				for _, replicas := range []int64{3, 2} {
					s.edit(func(obj map[string]any) { obj["spec"] = map[string]any{"replicas": replicas} })
				}
				s.now = s.now.Add(2 * time.Second)
				s.report(2)
			},
			told: true,
		},
		"the claim that somebody else took off": {
			happens: func(s *scene) {
				s.edit(func(obj map[string]any) { delete(obj["metadata"].(map[string]any), "labels") })
			},
			told: true,
		},
		"the second delivery of what was told":              {happens: func(*scene) {}, id: "event c", told: true},
		"another update that a second delivery waited with": {happens: func(*scene) {}, with: []string{"event c"}, told: true},
		"another update that another one has waited with":   {happens: func(*scene) {}, with: []string{"event z"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			tt.happens(s)
			if out := s.hear(events.ResourceUpdated, s.template, tt.id, tt.with...); len(out) > 0 != tt.told {
				t.Errorf("told %v, want any: %t", out, tt.told)
			}
		})
	}
}

func TestAPolicysTemplatesAreToldOnceOfEachGeneration(t *testing.T) {
	count := func(s *scene) {
		p := s.hub.LivePolicy(s.policy)
		status := p.Status
		status.Templates.Claimed++
		if err := s.hub.CommitPolicyStatus(s.Context(), p, status); err != nil {
			s.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		happens func(s *scene)
		id      string
		with    []string
		told    bool
	}{
		"its count of templates": {happens: count},
		"its spec": {
			happens: func(s *scene) { s.change(func(p *policyv1alpha1.PropagationSpec) { p.PropagateDeps = true }) }, told: true,
		},
		"its spec, and its count on top": {
			happens: func(s *scene) {
				s.change(func(p *policyv1alpha1.PropagationSpec) { p.PropagateDeps = true })
				count(s)
			},
			told: true,
		},
		"another one of its name": {
			happens: func(s *scene) {
				spec := s.hub.LivePolicy(s.policy).Spec
				s.hub.DropPolicy(s.policy)
				s.hub.PutPolicy(s.policy, spec)
			},
			told: true,
		},
		"the second delivery of what was told":              {happens: func(*scene) {}, id: "event b", told: true},
		"another update that a second delivery waited with": {happens: func(*scene) {}, with: []string{"event b"}, told: true},
		"another update that another one has waited with":   {happens: func(*scene) {}, with: []string{"event z"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			tt.happens(s)
			if out := s.hear(events.ResourceUpdated, s.aboutPolicy(), tt.id, tt.with...); len(out) > 0 != tt.told {
				t.Errorf("told %v, want any: %t", out, tt.told)
			}
		})
	}
}

// What somebody does to one template is told as that; what a sweep finds, and what follows
// from a policy, is not.
func TestWhatSomebodyDidToOneTemplateSaysSo(t *testing.T) {
	s := newScene(t)
	s.edit(func(obj map[string]any) { obj["spec"] = map[string]any{"replicas": int64(3)} })
	if got := s.hear(events.ResourceUpdated, s.template, ""); len(got) != 1 || !events.Single(got[0]) {
		t.Errorf("somebody changed it, and it is not told as that: %v", got)
	}
	touched, err := events.New(detector.Name, event.New(), events.TemplateTouched, events.Data{Template: &s.template, Reason: "PolicyChanged"})
	if err != nil {
		t.Fatal(err)
	}
	found, err := events.NewResource(events.Source("sweeper"), events.ResourceUpdated, events.Object{TemplateKey: s.template, Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	for what, e := range map[string]event.Event{"what follows from a policy": touched, "what a sweep finds": found} {
		if got, err := s.detector.Handle(t.Context(), e); err != nil || len(got) != 1 || events.Single(got[0]) {
			t.Errorf("%s: %v, %v; somebody is said to wait for it", what, got, err)
		}
	}
}
