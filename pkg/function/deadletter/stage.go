// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package deadletter

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

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

// Letters keep an event until it is sent once more; false: there are too many.
type Letters interface {
	Keep(ctx context.Context, e event.Event) (bool, error)
}

// Stage is where dead letters arrive.
type Stage struct{ letters Letters }

// New makes the stage.
func New(l Letters) Stage { return Stage{l} }

// Name is that of the stage's function.
func (Stage) Name() string { return Name }

// Handle tells of an event that nobody could handle, and keeps it unless its
// stage would never take it.
func (s Stage) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	ext := e.Extensions()
	kept, why := false, error(nil)
	if fmt.Sprint(ext[extCode]) != strconv.Itoa(http.StatusUnprocessableEntity) {
		kept, why = s.letters.Keep(ctx, e)
	}
	function.Logger(ctx).Error("dead letter",
		"id", e.ID(), "type", e.Type(), "source", e.Source(), "subject", e.Subject(),
		"destination", ext[extDestination], "code", ext[extCode], "answer", ext[extAnswer], "kept", kept, "error", why)
	return nil, nil
}
