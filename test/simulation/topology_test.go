// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	events "sluice.dev/apis/events/v1"
)

// TestEventsForManyMembers counts what passes the Broker's filters for a new template,
// besides what members tell of their own objects: not a number for each member.
func TestEventsForManyMembers(t *testing.T) {
	l := newLab(t)
	defer func(before []string) { clusters = before }(clusters)
	for _, members := range []int{3, 32, 33, 100} {
		t.Run(fmt.Sprint(members), func(t *testing.T) {
			clusters = nil
			for i := range members {
				clusters = append(clusters, fmt.Sprintf("m%d", i+1))
			}
			w := l.start(climate{keeps: true, flights: 1})
			w.do(said(namespaced("a"), strings.Join(clusters, "+")))
			w.rest()
			w.broker.ever, w.broker.known, w.broker.count = nil, nil, map[string]int{}
			w.do(alone(1))
			w.drain()
			if w.err != nil {
				t.Fatal(w.err)
			}
			for _, c := range clusters {
				if w.members[c].Object(nginx) == nil {
					t.Errorf("%s has not got it", c)
				}
			}
			var told []string
			sum := 0
			for eventType, n := range w.broker.count {
				told = append(told, fmt.Sprintf("%d %s", n, eventType))
				sum += n
			}
			slices.Sort(told)
			// Added, claimed, activated, scheduled; rendered and applied; reported.
			most := 5 + (members+events.MaxClusters-1)/events.MaxClusters*2
			if sum > most {
				t.Errorf("%d events, want at most %d:\n%s", sum, most, strings.Join(told, "\n"))
			}
		})
	}
}
