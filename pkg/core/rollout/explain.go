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
	kept, others := []string{}, []string{}
	for _, w := range p.result.Waits {
		if p.keeps(p.next[w.Cluster]) {
			kept = append(kept, w.Cluster)
		} else {
			others = append(others, w.Cluster)
		}
	}
	var parts []string
	if len(others) > 0 {
		parts = append(parts, p.number(others)+p.why())
	}
	switch {
	case len(kept) == 1:
		parts = append(parts, p.number(kept)+": "+Undefined(p.Undefined[kept[0]]))
	case len(kept) > 1:
		parts = append(parts, p.number(kept)+": overrides went with the definition of their kind, and nobody deleted them: the clusters keep what they have; apply them again, or apply them and delete them")
	}
	if p.result.Message = strings.Join(parts, "; "); p.result.Message == "" {
		return
	}
	p.result.Reason = placementv1.ReasonRolloutNotStartedYet
	if p.Placement.Spec.Strategy.External() {
		p.result.Reason = placementv1.ReasonRolloutControlledExternally
	}
}

// number says how many members wait.
func (p *planner) number(waiting []string) string {
	if len(waiting) == 1 {
		return fmt.Sprintf("cluster %s waits", waiting[0])
	}
	return fmt.Sprintf("%d of %d clusters wait", len(waiting), len(p.subjects))
}

// why says what those that may be changed later wait for.
func (p *planner) why() string {
	switch {
	case p.Placement.Spec.Strategy.External():
		return ": " + p.Run.message()
	case p.Snapshot == "":
		return ": there is no snapshot to roll out"
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
	return " for " + p.until(blockers)
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
