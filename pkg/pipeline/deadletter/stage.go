// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package deadletter

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/function"
)

// Name of the stage.
const Name = "deadletter"

// The extensions in which Knative says where and how an event failed.
const (
	extDestination = "knativeerrordest"
	extCode        = "knativeerrorcode"
	extAnswer      = "knativeerrordata"
)

// Letters stores an event until it is sent once more; false: there are too many.
type Letters interface {
	Keep(ctx context.Context, e event.Event) (bool, error)
}

// Stage receives dead letters.
type Stage struct{ letters Letters }

// New makes the stage.
func New(l Letters) Stage { return Stage{l} }

// Name returns the name of the stage's function.
func (Stage) Name() string { return Name }

// stages are those whose events are sent again. If somebody else's subscriber fails,
// that is its owner's problem: sent again, its event would go to all subscribers with
// every tick.
var stages = []string{"applier", "dependencies", "detector", "gate", "placer", "preemptor", "renderer", "reporter", "rollout", "scheduler", "sweeper"}

// Ours reports whether an event was for a stage: for its Trigger at the Broker's
// filter, or for its Service. If the broker does not say, the event was on its way back
// to the Broker, and counts as Sluice's.
func Ours(destination string) bool {
	if destination == "" {
		return true
	}
	u, err := url.Parse(destination)
	if err != nil {
		return false
	}
	name, at, _ := strings.Cut(u.Hostname(), ".")
	if path := strings.Split(u.Path, "/"); len(path) > 3 && path[1] == "triggers" {
		name, at = path[3], path[2]
	}
	return (at == system || strings.HasPrefix(at, system+".")) && slices.ContainsFunc(stages, func(s string) bool { return name == s || strings.HasPrefix(name, s+"-") })
}

// genuine returns nil for an event that a stage may have failed to handle: one of the
// contract, or of a source. Others would take the space that such events need.
func genuine(e event.Event) error {
	switch e.Type() {
	case events.ResourceAdded, events.ResourceUpdated, events.ResourceDeleted:
		_, err := events.DecodeResource(e)
		return err
	case events.Ping:
		return fmt.Errorf("%w: the next tick comes by itself", events.ErrMalformed)
	}
	_, err := events.Decode(e)
	return err
}

// system is the namespace in which the stages run.
const system = "sluice-system"

// Handle logs an event that no stage could handle, and stores it unless its stage would
// never accept it.
func (s Stage) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	ext := e.Extensions()
	kept, why := false, error(nil)
	destination, _ := ext[extDestination].(string)
	if fmt.Sprint(ext[extCode]) != strconv.Itoa(http.StatusUnprocessableEntity) && Ours(destination) {
		if why = genuine(e); why == nil {
			kept, why = s.letters.Keep(ctx, e)
		}
	}
	function.Logger(ctx).Error("dead letter",
		"id", e.ID(), "type", e.Type(), "source", e.Source(), "subject", e.Subject(),
		"destination", ext[extDestination], "code", ext[extCode], "answer", ext[extAnswer], "kept", kept, "error", why)
	return nil, nil
}
