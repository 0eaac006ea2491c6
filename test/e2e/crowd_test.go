// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"
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
