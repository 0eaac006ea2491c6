// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// stageFunc is a stage called "gate".
type stageFunc func(ctx context.Context, e event.Event) ([]event.Event, error)

func (stageFunc) Name() string { return "gate" }

func (f stageFunc) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	return f(ctx, e)
}

var nginx = propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"}

// claimed is an event that a gate gets.
func claimed(t *testing.T) event.Event {
	t.Helper()
	cause := event.New()
	cause.SetID("cause")
	return emit(t, "detector", cause, events.TemplateClaimed, "Claimed")
}

func emit(t *testing.T, stage string, cause event.Event, eventType, reason string) event.Event {
	t.Helper()
	e, err := events.New(stage, cause, eventType, events.Data{
		Template: &nginx,
		Policy:   &propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: "shop", Name: "p"},
		Binding:  &propagation.BindingKey{Namespace: "shop", Name: "nginx-deployment"},
		Reason:   reason,
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestRunClassifiesHowItEnded(t *testing.T) {
	oops := errors.New("oops")
	huge := claimed(t)
	if err := huge.SetData("application/json", map[string]string{"x": strings.Repeat("x", events.MaxSize)}); err != nil {
		t.Fatal(err)
	}
	anonymous := claimed(t)
	anonymous.SetID("")
	tests := map[string]runTest{
		"nothing to do is done":                               {want: want{Outcome: Done, Attempts: 1}},
		"the reason is that of the first event that has one":  {out: []event.Event{emit(t, "gate", claimed(t), events.BindingActivated, ""), emit(t, "gate", claimed(t), events.BindingDeferred, "Lazy")}, want: want{Outcome: Done, Reason: "Lazy", Emitted: 2, Attempts: 1}},
		"an error is assumed transient":                       {err: oops, want: want{Outcome: Retry, Reason: ReasonError, Attempts: 1}, wantErr: oops},
		"who knows when to try again is listened to":          {err: outcome.After(time.Minute, oops), want: want{Outcome: Retry, Reason: ReasonError, Delay: time.Minute, Attempts: 1}, wantErr: oops},
		"an index that is not built is waited for":            {err: fmt.Errorf("get claim: %w", outcome.ErrNotBuilt), want: want{Outcome: Retry, Reason: ReasonNotBuilt, Attempts: 1}, wantErr: outcome.ErrNotBuilt},
		"a lost race is read again a few times, then later":   {err: fmt.Errorf("commit: %w", outcome.Conflict(oops)), want: want{Outcome: Conflict, Reason: ReasonConflict, Attempts: 1 + conflictRetries}, wantErr: oops},
		"what no retry can mend is terminal":                  {err: outcome.Terminal(oops), want: want{Outcome: Terminal, Reason: ReasonRejected, Attempts: 1}, wantErr: oops},
		"a malformed event is terminal, marked so or not":     {err: fmt.Errorf("decode: %w", events.ErrMalformed), want: want{Outcome: Terminal, Reason: ReasonMalformed, Attempts: 1}, wantErr: events.ErrMalformed},
		"a panic is a retry":                                  {panics: oops, want: want{Outcome: Retry, Reason: ReasonPanic, Attempts: 1}, wantErr: cmpopts.AnyError},
		"an oversized event never reaches the stage":          {event: huge, want: want{Outcome: Terminal, Reason: ReasonTooLarge}, wantErr: errTooLarge},
		"an event that is no CloudEvent never reaches it":     {event: anonymous, want: want{Outcome: Terminal, Reason: ReasonMalformed}, wantErr: events.ErrMalformed},
		"an event without even a version never reaches it":    {event: event.Event{DataEncoded: []byte("x")}, want: want{Outcome: Terminal, Reason: ReasonMalformed}, wantErr: events.ErrMalformed},
		"a stage may not emit what no stage would take":       {out: []event.Event{huge}, want: want{Outcome: Terminal, Reason: ReasonTooLarge, Attempts: 1}, wantErr: errTooLarge},
		"what an unsuccessful stage returns is not passed on": {out: []event.Event{claimed(t)}, err: oops, want: want{Outcome: Retry, Reason: ReasonError, Attempts: 1}, wantErr: oops},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { synctest.Test(t, tc.check) })
	}
}

type want struct {
	Outcome  Outcome
	Reason   string
	Emitted  int
	Delay    time.Duration
	Attempts int
}

type runTest struct {
	event   event.Event // by default a good one
	out     []event.Event
	err     error
	panics  any
	want    want
	wantErr error
}

func (tc runTest) check(t *testing.T) {
	e := tc.event
	if e.Context == nil && e.DataEncoded == nil {
		e = claimed(t)
	}
	var lines []Line
	attempts := 0
	r := Runner{Observe: func(l Line) { lines = append(lines, l) }}
	res := r.Run(t.Context(), stageFunc(func(context.Context, event.Event) ([]event.Event, error) {
		attempts++
		if tc.panics != nil {
			panic(tc.panics)
		}
		return tc.out, tc.err
	}), e)
	got := want{Outcome: res.Outcome, Reason: res.Reason, Emitted: len(res.Events), Delay: res.Delay, Attempts: attempts}
	if diff := cmp.Diff(tc.want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tc.wantErr, res.Err, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	if len(lines) != 1 || lines[0].Outcome != res.Outcome {
		t.Errorf("observed %v, want one line with the outcome", lines)
	}
}

func TestRunReadsALostRaceAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		res := Run(t.Context(), stageFunc(func(context.Context, event.Event) ([]event.Event, error) {
			if attempts++; attempts < 3 {
				return nil, outcome.Conflict(errors.New("lost"))
			}
			return []event.Event{emit(t, "gate", claimed(t), events.BindingActivated, "")}, nil
		}), claimed(t))
		if res.Outcome != Done || attempts != 3 || len(res.Events) != 1 {
			t.Errorf("got %s after %d attempts with %d events, want done after 3 with 1", res.Outcome, attempts, len(res.Events))
		}
	})
}

func TestRunEndsWhatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res := Run(t.Context(), stageFunc(func(ctx context.Context, _ event.Event) ([]event.Event, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("get: %w", ctx.Err())
		}), claimed(t))
		if res.Outcome != Retry || res.Reason != ReasonTimeout || res.Duration != Timeout {
			t.Errorf("got %s, %s after %v, want retry, %s after %v", res.Outcome, res.Reason, res.Duration, ReasonTimeout, Timeout)
		}
	})
}

func TestTraceIsBegunOnceAndCarriedOn(t *testing.T) {
	seen := func(e event.Event) (in, out string) {
		res := Run(t.Context(), stageFunc(func(_ context.Context, e event.Event) ([]event.Event, error) {
			in, _ = e.Extensions()[events.ExtTraceParent].(string)
			return []event.Event{emit(t, "gate", e, events.BindingActivated, "")}, nil
		}), e)
		out, _ = res.Events[0].Extensions()[events.ExtTraceParent].(string)
		return in, out
	}
	e := claimed(t)
	in, out := seen(e)
	if len(in) != 55 || in != out {
		t.Errorf("first stage saw %q and passed on %q, want one trace context", in, out)
	}
	if again, _ := seen(e); again != in {
		t.Errorf("a redelivery began the trace %q, want %q again", again, in)
	}
	if _, touched := e.Extensions()[events.ExtTraceParent]; touched {
		t.Error("the caller's event was changed")
	}
	const given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	e.SetExtension(events.ExtTraceParent, given)
	if in, out := seen(e); in != given || out != given {
		t.Errorf("stage saw %q and passed on %q, want %q", in, out, given)
	}
}

func TestRunLogsOneLine(t *testing.T) {
	var buf bytes.Buffer
	ctx := WithLogger(t.Context(), slog.New(slog.NewJSONHandler(&buf, nil)))
	e := claimed(t)
	Run(ctx, stageFunc(func(context.Context, event.Event) ([]event.Event, error) { panic("boom") }), e)

	var got map[string]any
	if err := json.Unmarshal(buf.Bytes(), &got); err != nil {
		t.Fatalf("log is not one line of JSON: %v\n%s", err, buf.String())
	}
	if s, _ := got[keyStack].(string); !strings.Contains(s, "function_test.go") {
		t.Errorf("stack %q does not say where it panicked", s)
	}
	for _, k := range []string{"time", keyDuration, keyStack, keyTrace} {
		if got[k] == nil {
			t.Errorf("line lacks %q", k)
		}
		delete(got, k)
	}
	want := map[string]any{
		"level": "ERROR", "msg": "event handled", keyStage: "gate", keyEvent: e.ID(), keyType: events.TemplateClaimed,
		keyObject: "Deployment shop/nginx", keyOutcome: "retry", keyReason: ReasonPanic, keyError: "panic: boom",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

func TestStageLogsWithItsEvent(t *testing.T) {
	var buf bytes.Buffer
	ctx := WithLogger(t.Context(), slog.New(slog.NewTextHandler(&buf, nil)))
	e := claimed(t)
	Run(ctx, stageFunc(func(ctx context.Context, _ event.Event) ([]event.Event, error) {
		Logger(ctx).Info("looked")
		return nil, nil
	}), e)
	if first, _, _ := strings.Cut(buf.String(), "\n"); !strings.Contains(first, "msg=looked stage=gate event="+e.ID()) {
		t.Errorf("the stage's line %q does not name stage and event", first)
	}
}

func TestObjectNamesForPeople(t *testing.T) {
	member := claimed(t)
	member.SetExtension(events.ExtCluster, "member1")
	several := claimed(t)
	several.SetExtension(events.ExtClusters, ",member1,member2,")
	other := event.New()
	other.SetSource("/apis/v1/pings")
	policy, cluster, subject := other.Clone(), other.Clone(), other.Clone()
	policy.SetExtension(events.ExtPolicy, "shop/p")
	cluster.SetExtension(events.ExtCluster, "member1")
	subject.SetSubject("something")
	tests := map[string]struct {
		event event.Event
		want  string
	}{
		"a template is kind, namespace and name":  {claimed(t), "Deployment shop/nginx"},
		"its part in a member names the member":   {member, "Deployment shop/nginx in member1"},
		"its parts in several members":            {several, "Deployment shop/nginx in 2 members"},
		"a policy is a policy":                    {policy, "policy shop/p"},
		"a cluster is a cluster":                  {cluster, "cluster member1"},
		"a foreign event is its subject":          {subject, "something"},
		"an event about nothing is its source":    {other, "/apis/v1/pings"},
		"an event without anything has no object": {event.Event{}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Object(tc.event); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
