// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package schema says what Sluice keeps in Redis, and guards it: the keys, the
// form of the values, the answers of scripts, and the check in front of each.
// It is shared by the packages that have scripts, and means nothing to others.
//
// Invariants:
//   - Every key is named in this file and has the one hash tag, so that a script
//     finds them all on one node of a Redis cluster.
//   - The set of keys is fixed, whatever is stored: emptying is one command.
//   - A script made by Guarded does nothing unless its guard holds: the epoch,
//     which says that Redis was built, or the lock of a rebuild.
//   - All of it can be rebuilt from the hub. Redis must therefore lose
//     everything or nothing: no eviction (maxmemory-policy noeviction), and
//     either no persistence or one that keeps each acknowledged write.
//
// The tag has a number, which is raised when the format of the data changes: two
// releases that run side by side must not read each other's data, and each can rebuild
// its own from the hub.
//
// It must not decide anything, nor know what policies and templates are.
package schema

// The keys. "\n" stands between the two parts of a member of a sorted set, whose
// scores are all 0: a range by prefix lists what belongs to the first part.
const (
	// Epoch is a string: the token of the rebuild that built the rest. Where it
	// is missing, nothing else may be believed.
	Epoch = "{sluice3}:epoch"
	// Lock is a string with an expiry: the token of the rebuild that is running.
	Lock = "{sluice3}:lock"
	// Progress is a hash with an expiry: part of what a rebuild loads → where it goes
	// on; empty: nowhere. It is there while a rebuild has begun and not ended.
	Progress = "{sluice3}:progress"
	// Revision is an integer that grows with each change of Index and of
	// Templates. A rebuild starts it at the time in microseconds, so that no number
	// comes twice.
	Revision = "{sluice3}:revision"
	// Indexed is the revision of the last change of Index.
	Indexed = "{sluice3}:indexed"
	// Policies is a hash: policy id → "version since digest".
	Policies = "{sluice3}:policies"
	// Selectors is a hash: policy id → its entries in Index, one a line.
	Selectors = "{sluice3}:selectors"
	// Index is a sorted set: entry "\n" policy id.
	Index = "{sluice3}:index"
	// Templates is a hash: template id → revision of its last change "\n" record;
	// the record's first line is the id of the policy that holds the template,
	// empty while it waits.
	Templates = "{sluice3}:templates"
	// Held is a sorted set: policy id "\n" template id.
	Held = "{sluice3}:held"
	// Waiting is a sorted set: place "\n" template id; two places a template.
	Waiting = "{sluice3}:waiting"
	// PolicySuspensions is a hash: policy id → version "\n" suspension.
	PolicySuspensions = "{sluice3}:suspended-policies"
	// BindingSuspensions is a hash: binding id → version "\n" suspension.
	BindingSuspensions = "{sluice3}:suspended-bindings"
	// Positions is a hash: kind → the version up to which its changes have been
	// announced.
	Positions = "{sluice3}:positions"
	// Raised is a sorted set: kind → a position that only grows, a number below 2^53.
	Raised = "{sluice3}:raised"
	// PositionHub is the member of Raised that holds the newest version of the hub that is
	// known.
	PositionHub = "hub"
	// Notices is a set: what was noticed of the hub and has not been acted on yet. A
	// rebuild leaves it, for it may be what the rebuild is for.
	Notices = "{sluice3}:notices"
	// DeadLetters is a hash: what an event says, as a hash → the event as JSON.
	DeadLetters = "{sluice3}:dead-letters"
	// Placements is a hash: placement → "token known lost first held last selected", see
	// pkg/redis/pending.
	Placements = "{sluice3}:placements"
	// PlacementChanges is a sorted set: placement "\n" "new" or "held" "\n" object.
	PlacementChanges = "{sluice3}:placement-changes"
)

// Data lists the keys that a rebuild empties: all but Epoch, Lock and Notices. Of them one that
// goes on where another ended leaves Progress and what that is about, which are the
// third to the sixth.
func Data() []string {
	return []string{Revision, Indexed, Progress, Templates, Held, Waiting, Policies, Selectors, Index, PolicySuspensions, BindingSuspensions, Positions, Raised, DeadLetters, Placements, PlacementChanges}
}
