// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

// Run is what a ClusterStagedUpdateRun allows now.
type Run struct {
	// Snapshot that its members get, by the name of its first part, and the overrides
	// of each.
	Snapshot  string
	Overrides map[string]Overrides
	// Turns are the members that get it now; Leaves are those that lose the placement
	// now, if they are not picked.
	Turns, Leaves map[string]bool
	// Message says what the run does, or waits for.
	Message string
}

// setContent has the members get what the run says, in place of the newest.
func (r *Run) setContent(in *Input) {
	if r != nil {
		in.Snapshot, in.Overrides = r.Snapshot, r.Overrides
	}
}

// message is what is told of the members that wait.
func (r *Run) message() string {
	if r == nil {
		return "the rollout is controlled by somebody else: a ClusterStagedUpdateRun gives clusters the latest resources"
	}
	return r.Message
}

// follow says who may be changed now: whose turn it is in the run. Who has nothing
// needs no turn to leave.
func (p *planner) follow() {
	for _, s := range p.subjects {
		_, picked := p.picked[s.cluster]
		switch {
		case !picked && s.old != nil:
			s.move = !Given(s.old) || p.Run != nil && p.Run.Leaves[s.cluster]
		case picked && s.leaving == nil && p.Run != nil && p.Run.Turns[s.cluster]:
			s.move = s.old == nil || !Given(s.old) || p.stale(s)
		}
	}
}
