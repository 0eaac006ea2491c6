// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

// Run is what a ClusterStagedUpdateRun allows now.
type Run struct {
	// Snapshot that its members get, by the name of its first part, and the overrides
	// of each.
	Snapshot  string
	Overrides map[string]Overrides
	// Updating are the members that get it now; Deleting those that lose the placement
	// now, if they are not picked.
	Updating, Deleting map[string]bool
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

// follow says which members may be changed now: those that the run updates, or deletes
// from. One that has nothing may be left at any time.
func (p *planner) follow() {
	for _, s := range p.subjects {
		_, picked := p.picked[s.cluster]
		switch {
		case !picked && s.old != nil:
			s.move = !Given(s.old) || p.Run != nil && p.Run.Deleting[s.cluster]
		case picked && s.leaving == nil && p.Run != nil && p.Run.Updating[s.cluster]:
			s.move = s.old == nil || !Given(s.old) || p.stale(s)
		}
	}
}
