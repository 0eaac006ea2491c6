// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/outcome"
)

// share separates the Works for this applier from those for another one. A Work that
// was handed over is for the applier that has the event.
func (s *Stage) share(ctx context.Context, msg events.Data) (mine, others []events.Data, err error) {
	if msg.Applier != "" {
		return msg.Each(), nil, nil
	}
	for _, d := range msg.Each() {
		c, err := s.hub.Cluster(ctx, d.Work.Cluster)
		if err != nil && !errors.Is(err, outcome.ErrGone) {
			return nil, nil, fmt.Errorf("get cluster %s: %w", d.Work.Cluster, err)
		}
		if d.Applier = applying.Elsewhere(c); d.Applier == "" {
			mine = append(mine, d)
			continue
		}
		d.Reason = handedOver(d.Reason)
		others = append(others, d)
	}
	return mine, others, nil
}

// handedOver returns the reason for a Work that is handed over. ReasonUnfinished is
// kept, since somebody waits for the outcome.
func handedOver(reason string) string {
	if reason == events.ReasonUnfinished {
		return reason
	}
	return events.ReasonHandedOver
}

// handOver emits events for the Works of other appliers, and handles the rest. A Work
// of the rest that fails is tried again in an event of its own, so that the others are
// not handed over again.
func (s *Stage) handOver(ctx context.Context, e event.Event, mine, others []events.Data) ([]event.Event, error) {
	out := events.From(Name, e)
	for _, d := range others {
		out.EmitWork(e.Type(), d)
	}
	var done []event.Event
	if len(mine) > 0 {
		var err error
		done, err = s.bringAll(ctx, e, mine)
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			for _, d := range mine {
				d.Reason = events.ReasonAlone
				out.Emit(e.Type(), d)
			}
		}
	}
	handed, err := out.Events()
	return append(handed, done...), err
}
