// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// numbered are n policies for a template, made by many people at once.
func (s *scenario) numbered(n int, made func(i int) policy) {
	s.Helper()
	g, _ := errgroup.WithContext(s.Context())
	g.SetLimit(16)
	for i := range n {
		p := made(i)
		g.Go(func() error { return s.apply(s.lab.hub, p.itself()) })
	}
	if err := g.Wait(); err != nil {
		s.Fatal(err)
	}
}

func TestCrowdThousandPoliciesForOneTemplate(t *testing.T) {
	alone(t, gatesOff, inNamespaces, func(s *scenario) {
		config := s.ConfigMap("config")
		named := func(i int) policy {
			return s.Policy(fmt.Sprintf("p-%04d", i)).Selecting(config).Priority(int64(i % 10))
		}
		s.numbered(1000, func(i int) policy {
			if i == 500 {
				return named(i).Priority(100).To("member2")
			}
			return named(i)
		})
		s.Apply(config)
		s.Expect(config).In("member2").ClaimedBy(named(500))
		s.Delete(named(500))
		// Of those of the highest priority that are left, the first by name.
		s.Expect(config).In("member1").ClaimedBy(named(9))
	})
}

// hundreds makes n ConfigMaps that have the label crowd, named like the namespace.
func (s *scenario) hundreds(n int) []template {
	s.Helper()
	all := make([]template, n)
	g, _ := errgroup.WithContext(s.Context())
	g.SetLimit(16)
	for i := range n {
		all[i] = s.ConfigMap(fmt.Sprintf("crowd-%04d", i)).Label("crowd", s.ns)
		g.Go(func() error { return s.apply(s.lab.hub, all[i].itself()) })
	}
	if err := g.Wait(); err != nil {
		s.Fatal(err)
	}
	return all
}

// A template that is made while a policy takes hundreds of others to another member does
// not come behind them.
func TestCrowdOneTemplateIsBeforeAFanOut(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		const n = 200
		crowd := s.Policy("crowd").SelectingLabel(s.ConfigMap(""), "crowd", s.ns)
		fresh := s.ConfigMap("fresh")
		s.Apply(crowd.To("member1"), s.Policy("one").Selecting(fresh).To("member3"))
		s.hundreds(n)
		arrived := func(member string) int {
			list, err := s.lab.clusters[member].on(configMaps, s.ns).List(s.Context(), metav1.ListOptions{LabelSelector: "crowd=" + s.ns})
			if err != nil {
				return 0 // its namespace is not there yet
			}
			return len(list.Items)
		}
		all := func(member string) func() error {
			return func() error {
				if now := arrived(member); now < n {
					return fmt.Errorf("%d of %d are in %s", now, n, member)
				}
				return nil
			}
		}
		if err := s.within(3*time.Minute, all("member1")); err != nil {
			s.Fatal(err)
		}
		s.Apply(crowd.To("member1", "member2"))
		s.Eventually(func() error {
			if arrived("member2") == 0 {
				return errors.New("the policy does not act yet")
			}
			return nil
		})
		s.Apply(fresh)
		s.Expect(fresh).In("member3")
		if now := arrived("member2"); now == n {
			s.Errorf("all %d that were there before came first", n)
		}
		if err := s.within(3*time.Minute, all("member2")); err != nil {
			s.Error(err)
		}
	})
}
