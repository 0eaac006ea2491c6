// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/outcome"
)

// maxBody bounds what is read of a request. It leaves room for the JSON form of
// an event of the greatest size, attributes included.
const maxBody = 16 * events.MaxSize

// handler serves one stage over HTTP.
type handler struct {
	http.Handler
	name       string
	runner     Runner
	slots      chan struct{} // one for each event that is here
	serializer serializer
	caller     *caller                 // set before the stage is
	stage      atomic.Pointer[posting] // nil until it is built
}

func newHandler(name string, concurrency int) *handler {
	reg := prometheus.NewRegistry() // the default one has the process's metrics, and those of stages
	h := &handler{name: name, runner: Runner{Metrics: NewMetrics(reg)}, slots: make(chan struct{}, concurrency), serializer: serializer{lanes: map[string]*lane{}}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /", h.receive)
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", h.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(prometheus.Gatherers{reg, prometheus.DefaultGatherer}, promhttp.HandlerOpts{}))
	h.Handler = mux
	return h
}

func (h *handler) ready(w http.ResponseWriter, _ *http.Request) {
	if h.stage.Load() == nil {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
	}
}

// receive handles one event. Timeout is counted from its arrival, not from its turn:
// its sender does not wait longer than that.
func (h *handler) receive(w http.ResponseWriter, req *http.Request) {
	within, cancel := context.WithTimeout(req.Context(), Timeout)
	defer cancel()
	stage := h.stage.Load()
	if stage == nil {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	if err := h.caller.check(req); err != nil {
		res := resultOf(nil, err)
		h.runner.record(req.Context(), h.name, event.New(), res)
		answer(w, req, res)
		return
	}
	// The body is read before a slot is taken, so that a slow sender delays nobody.
	e, err := read(w, req)
	if err != nil {
		res := resultOf(nil, err)
		h.runner.record(req.Context(), h.name, e, res)
		answer(w, req, res)
		return
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many events at once", http.StatusTooManyRequests)
		return
	}
	res := h.run(within, stage, e)
	res.Events = stage.reply(res.Events)
	answer(w, req, res)
}

// run takes an event through the stage, after those before it in its lane.
func (h *handler) run(ctx context.Context, stage *posting, e event.Event) Result {
	ran := false
	res := h.serializer.do(ctx, LaneOf(stage.Stage, e), e, func(ctx context.Context) Result {
		ran = true
		return h.runner.Run(ctx, stage, e)
	})
	if !ran {
		h.runner.record(ctx, h.name, e, res)
	}
	return res
}

// read decodes the event of a request. The trace context may stand in a header
// of the request, where the broker puts its own.
func read(w http.ResponseWriter, req *http.Request) (event.Event, error) {
	req.Body = http.MaxBytesReader(w, req.Body, maxBody)
	e, err := cehttp.NewEventFromHTTPRequest(req)
	if err != nil {
		if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
			return event.New(), outcome.Terminal(fmt.Errorf("%w: %w", errTooLarge, err))
		}
		return event.New(), fmt.Errorf("%w: %w", events.ErrMalformed, err)
	}
	if tp := req.Header.Get(events.ExtTraceParent); tp != "" && e.Extensions()[events.ExtTraceParent] == nil {
		e.SetExtension(events.ExtTraceParent, tp)
	}
	return *e, nil
}

// answer tells the broker how it ended.
func answer(w http.ResponseWriter, req *http.Request, res Result) {
	code := status(res)
	switch {
	case res.Err != nil:
		if after := retryAfter(res.Delay); after != "" {
			w.Header().Set("Retry-After", after)
		}
		http.Error(w, res.Reason+": "+brief(res.Err), code)
	case len(res.Events) == 0:
		w.WriteHeader(code) // and no body: a broker takes any for a malformed event
	default:
		reply := binding.ToMessage(&res.Events[0])
		if err := cehttp.WriteResponseWriter(req.Context(), reply, code, w); err != nil {
			// The broker got no whole reply and sends the event again.
			Logger(req.Context()).Debug("reply not written", keyError, err)
		}
	}
}
