// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// One's trouble is one's own.

// What a member refuses for good, many times, delays nobody: what fails beside it
// for another reason comes back as soon as that is mended.
func TestZ27ManyThatFailForGood(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		s.refuse("member2", "member2 wants no such thing")
		s.refusing("member2")
		s.Apply(s.Policy("pp").SelectingKind(s.ConfigMap("any")).toAll())
		const many = 60
		var last template
		for i := range many {
			last = s.ConfigMap(fmt.Sprintf("bad-%03d", i)).Label("bad", "true")
			s.Apply(last)
		}
		s.Expect(last).In("member1", "member3").Work("member2", isCondition("Applied", "False", "wants no such thing"))
		good := s.ConfigMap("z-good")
		s.Apply(good)
		s.Expect(good).In(members...)
		// What nobody tells of is found by a sweep, though it stands behind all of them.
		s.DeleteIn("member2", good)
		s.Expect(good).In(members...)
	})
}

// What never becomes healthy is told as applied, with its health, within 10 s of being
// there, however many of them there are, and while others arrive.
func TestZ30NeverHealthy(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) { // who else loads the machine has no part in the ten seconds
		s.Apply(s.Policy("pp").SelectingKind(s.Deployment("any")).toAll())
		const many, few = 200, 20 // a few at a time: it is not how much the machine can carry that is tested
		ailing := make([]template, many)
		for i := range ailing {
			ailing[i] = s.Deployment(fmt.Sprintf("ailing-%03d", i)).set("spec.template.spec.nodeSelector", map[string]any{"there-is": "none"})
		}
		for group := range slices.Chunk(ailing, few) {
			s.Apply(asApplied(group)...)
			for _, d := range group {
				s.Expect(d).In(members...)
			}
		}
		s.Eventually(func() error {
			for _, d := range ailing {
				for _, m := range members {
					if err := s.toldUnhealthy(d, m); err != nil {
						return fmt.Errorf("%s in %s: %w", d.name(), m, err)
					}
				}
			}
			return nil
		})
		for _, d := range ailing {
			for _, m := range members {
				there := s.Expect(d).inMember(m).GetCreationTimestamp()
				told, err := time.Parse(time.RFC3339, text(conditionOf(s.Expect(d).work(m).Object, "Applied"), "lastTransitionTime"))
				if err != nil {
					s.Fatal(err)
				}
				if late := told.Sub(there.Time); late > 11*time.Second { // both are whole seconds
					s.Errorf("%s in %s is told of after %v; want it within 10 s", d.name(), m, late)
				}
			}
		}
	})
}

// toldUnhealthy tells what a Work lacks that says that its object is applied, and is not
// healthy.
func (s *scenario) toldUnhealthy(d template, member string) error {
	w := s.Expect(d).work(member)
	if w == nil {
		return errors.New("there is no Work")
	}
	if err := isCondition("Applied", "True")(w.Object); err != nil {
		return err
	}
	if health := items(w.Object, "status.manifestStatuses"); len(health) != 1 || health[0]["health"] != "Unhealthy" {
		return fmt.Errorf("health %v", health)
	}
	return nil
}

func asApplied(templates []template) []applied {
	out := make([]applied, len(templates))
	for i, t := range templates {
		out[i] = t
	}
	return out
}

// A namespace that is made in a member lets its Pods do no more than the hub's.
func TestZ38PodSecurity(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		home := newThing(namespaces, "", s.ns)
		s.Patch(home, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted","pod-security.kubernetes.io/enforce-version":"latest"}}}`)
		config := s.ConfigMap("config")
		s.Apply(s.Policy("pp").Selecting(config).toAll(), config)
		s.Expect(config).In(members...)
		for _, m := range members {
			s.Expect(home).Member(m, func(obj map[string]any) error {
				labels := (&unstructured.Unstructured{Object: obj}).GetLabels()
				if labels["pod-security.kubernetes.io/enforce"] != "restricted" || labels["pod-security.kubernetes.io/enforce-version"] != "latest" {
					return fmt.Errorf("its labels are %v", labels)
				}
				return nil
			})
		}
	})
}
