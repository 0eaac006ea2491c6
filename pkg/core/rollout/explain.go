// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"

	placementv1 "sluice.dev/apis/placement/v1"
)

// maxNamed is how many members a message names; it counts the others.
const maxNamed = 5

// explain says what the members that are not changed now wait for.
func (p *planner) explain() {
	if len(p.result.Waits) == 0 {
		return
	}
	count := fmt.Sprintf("%d of %d clusters wait", len(p.result.Waits), len(p.subjects))
	if len(p.result.Waits) == 1 {
		count = fmt.Sprintf("cluster %s waits", p.result.Waits[0].Cluster)
	}
	switch {
	case p.Placement.Spec.Strategy.External():
		p.result.Reason = placementv1.ReasonRolloutControlledExternally
		p.result.Message = count + ": " + p.Run.message()
		return
	case p.Snapshot == "":
		p.result.Reason = placementv1.ReasonRolloutNotStartedYet
		p.result.Message = count + ": there is no snapshot to roll out"
		return
	}
	var blockers []string
	for _, s := range p.subjects {
		switch {
		case s.leaving != nil:
			blockers = append(blockers, s.cluster+" is being left")
		case s.old != nil && Given(s.old) && !s.state.available:
			blockers = append(blockers, s.cluster+" "+s.state.why)
		case s.move && s.old != nil && s.state.available:
			blockers = append(blockers, s.cluster+" is changed now")
		}
	}
	p.result.Reason = placementv1.ReasonRolloutNotStartedYet
	p.result.Message = count + " for " + p.until(blockers)
}

// until says what has to happen.
func (p *planner) until(blockers []string) string {
	if len(blockers) == 0 {
		return "a strategy that lets a cluster be unavailable, or one more have it: maxUnavailable and maxSurge allow neither"
	}
	if rest := len(blockers) - maxNamed; rest > 0 {
		blockers = append(blockers[:maxNamed], fmt.Sprintf("and %d more", rest))
	}
	return "others to be available: " + strings.Join(blockers, "; ")
}
