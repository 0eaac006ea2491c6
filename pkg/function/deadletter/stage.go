// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package deadletter

import (
	"context"

	"github.com/cloudevents/sdk-go/v2/event"

	"sluice.dev/pkg/function"
)

// Name of the stage.
const Name = "deadletter"

// The extensions in which Knative says where an event failed, and how.
const (
	extDestination = "knativeerrordest"
	extCode        = "knativeerrorcode"
	extAnswer      = "knativeerrordata"
)

// Stage is the dead letters' last stop.
type Stage struct{}

// New makes the stage.
func New() Stage { return Stage{} }

// Name is that of the stage's function.
func (Stage) Name() string { return Name }

// Handle tells of an event that nobody could handle.
func (Stage) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	ext := e.Extensions()
	function.Logger(ctx).Error("dead letter",
		"id", e.ID(), "type", e.Type(), "source", e.Source(), "subject", e.Subject(),
		"destination", ext[extDestination], "code", ext[extCode], "answer", ext[extAnswer])
	return nil, nil
}
