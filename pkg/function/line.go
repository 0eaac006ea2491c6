// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
)

// The keys of log lines.
const (
	keyStage    = "stage"
	keyEvent    = "event"
	keyType     = "type"
	keyObject   = "object"
	keyOutcome  = "outcome"
	keyReason   = "reason"
	keyDuration = "ms"
	keyTrace    = "traceparent"
	keyError    = "error"
	keyStack    = "stack"
)

// Line is what there is to say of one handled event.
type Line struct {
	Stage    string
	Event    string // id
	Type     string
	Object   string // for people, see Object
	Outcome  Outcome
	Reason   string
	Err      error
	Duration time.Duration
}

type loggerKey struct{}

// WithLogger gives the logger to everything that is called with the context.
func WithLogger(ctx context.Context, l *slog.Logger) context.Context {
	return context.WithValue(ctx, loggerKey{}, l)
}

// Logger is that of WithLogger, or the default one.
func Logger(ctx context.Context) *slog.Logger {
	if l, ok := ctx.Value(loggerKey{}).(*slog.Logger); ok {
		return l
	}
	return slog.Default()
}

// Object names for people what e is about: "Deployment shop/nginx", with
// " in member1" or " in 3 members" behind it where it is about their parts of it,
// "policy shop/p", "cluster member1", else the subject or the source.
func Object(e event.Event) string {
	x := e.Extensions()
	get := func(name string) string { s, _ := x[name].(string); return s }
	cluster := get(events.ExtCluster)
	switch {
	case get(events.ExtName) != "":
		s := get(events.ExtKind) + " " + strings.TrimPrefix(get(events.ExtNamespace)+"/"+get(events.ExtName), "/")
		if n := strings.Count(get(events.ExtClusters), ",") - 1; n > 1 {
			return fmt.Sprintf("%s in %d members", s, n)
		}
		if cluster != "" {
			s += " in " + cluster
		}
		return s
	case get(events.ExtPolicy) != "":
		return "policy " + get(events.ExtPolicy)
	case cluster != "":
		return "cluster " + cluster
	case e.Subject() != "":
		return e.Subject()
	}
	return e.Source()
}

// record says once, to each that wants to know, how handling e ended.
func (r Runner) record(ctx context.Context, stage string, e event.Event, res Result) {
	l := Line{
		Stage: stage, Event: e.ID(), Type: e.Type(), Object: Object(e),
		Outcome: res.Outcome, Reason: res.Reason, Err: cmp.Or(res.Err, res.Passed), Duration: res.Duration,
	}
	l.log(ctx, e)
	r.Metrics.handled(l)
	if r.Observe != nil {
		r.Observe(l)
	}
}

func (l Line) log(ctx context.Context, e event.Event) {
	level := slog.LevelInfo
	if l.Outcome == Terminal || l.Outcome == Refused || l.Reason == ReasonPartly {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{
		slog.String(keyStage, l.Stage), slog.String(keyEvent, l.Event), slog.String(keyType, l.Type),
		slog.String(keyObject, l.Object), slog.String(keyOutcome, string(l.Outcome)), slog.String(keyReason, l.Reason),
		slog.Float64(keyDuration, float64(l.Duration.Microseconds())/1000),
	}
	if tp, ok := e.Extensions()[events.ExtTraceParent].(string); ok {
		attrs = append(attrs, slog.String(keyTrace, tp))
	}
	if l.Err != nil {
		attrs = append(attrs, slog.String(keyError, l.Err.Error()))
	}
	if p := (*panicError)(nil); errors.As(l.Err, &p) {
		level = slog.LevelError
		attrs = append(attrs, slog.String(keyStack, string(p.stack)))
	}
	Logger(ctx).LogAttrs(ctx, level, "event handled", attrs...)
}
