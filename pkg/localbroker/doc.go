// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package localbroker is the broker of standalone: it routes events among the
// stages of one process as the Broker and the Triggers in config say, with
// Knative's own filters.
//
// A Trigger has a queue of its own, so that a slow or dead subscriber (a member
// that is down) never holds up another Trigger. Within a queue, events of one
// partition key are handled one after the other, others at the same time, as
// many as the annotation sluice.dev/parallelism of the Trigger says. What
// fails is tried again as the Trigger's delivery says, without its lane being
// held meanwhile; what fails to the last, or can never succeed, becomes a dead
// letter.
//
// Invariants:
//   - An accepted event is handled, superseded by a newer one that tells the
//     same, or kept as a dead letter; while the broker runs, it is never lost.
//   - A hint waits once: of events that tell the same (coalesce.Tells), the
//     newest takes the place of the one that waits, be it queued or between two
//     retries. A queue therefore holds at most one entry for each thing there
//     is to tell, whatever the rate; that is the bound of its memory.
//   - Only sources wait: Publish blocks while a queue that took the event holds
//     Capacity entries. Replies never wait, so that no cycle of stages can
//     block itself; a source exceeds the bound by one entry at most.
//   - Two runs never handle events of one partition key of one Trigger at once.
//   - Bulk events (events.Bulk), which follow from a change that concerns many
//     templates, give way to others in each queue. Few of them run at once, and an
//     eighth of these while somebody waits for another (events.Single), which a crowd
//     does not; but they always get their share.
//   - Dead letters are bounded, and counted exactly; one disappears when the
//     same is handled after all, or when its Trigger is removed.
//
// Nothing is kept across restarts: events are hints, and the sweeper announces
// again whatever changed. It must not know what any event means, nor order events of
// one kind by anything but their arrival (the simulation has a broker for that).
package localbroker
