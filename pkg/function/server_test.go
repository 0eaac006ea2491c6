// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/outcome"
)

// running is a function that runs in this process as Main would run it.
type running struct {
	url string
	err chan error // of run
}

func startFunction(t *testing.T, cfg config, build func(context.Context) (Stage, error)) running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	if cfg.concurrency == 0 {
		cfg.concurrency = 64
	}
	addr, f := make(chan net.Addr, 1), running{err: make(chan error, 1)}
	go func() { f.err <- run(ctx, cfg, "gate", build, func(a net.Addr) { addr <- a }) }()
	_, port, _ := net.SplitHostPort((<-addr).String())
	f.url = "http://localhost:" + port
	t.Cleanup(cancel)
	return f
}

// serve1 starts a function and waits until it is ready.
func serveStage(t *testing.T, cfg config, s stageFunc) running {
	t.Helper()
	f := startFunction(t, cfg, func(context.Context) (Stage, error) { return s, nil })
	for statusOf(t, f.url+"/readyz") != http.StatusOK {
		time.Sleep(time.Millisecond) // another goroutine builds the stage
	}
	return f
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	code, _ := get(t, url)
	return code
}

func send(t *testing.T, url string, e event.Event) *http.Response {
	t.Helper()
	req, err := cehttp.NewHTTPRequestFromEvent(t.Context(), url, e)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func TestAnswers(t *testing.T) {
	oops := errors.New("oops")
	type want struct {
		Status     int
		RetryAfter string
		Body       string // prefix
		Reply      string // type of the event
	}
	tests := map[string]struct {
		emits []string
		err   error
		want  want
	}{
		"nothing to say is accepted without a body":        {want: want{Status: 202}},
		"without a broker one event is the reply":          {emits: []string{events.BindingActivated}, want: want{Status: 200, Reply: events.BindingActivated}},
		"several events without a broker are tried again":  {emits: []string{events.BindingActivated, events.BindingDeferred}, want: want{Status: 503, Body: "Error: several events"}},
		"a transient error is tried again":                 {err: oops, want: want{Status: 503, Body: "Error: oops"}},
		"a known delay is told in whole seconds":           {err: outcome.After(1500*time.Millisecond, oops), want: want{Status: 503, RetryAfter: "2", Body: "Error: oops"}},
		"a lost race is tried again, not answered 409":     {err: outcome.Conflict(oops), want: want{Status: 503, Body: "Conflict: oops"}},
		"a missing index is tried again":                   {err: outcome.ErrNotBuilt, want: want{Status: 503, Body: "IndexNotBuilt: "}},
		"what no retry can mend goes to the dead letters":  {err: outcome.Terminal(oops), want: want{Status: 422, Body: "Rejected: oops"}},
		"what is gone after all is tried again, not a 404": {err: outcome.ErrGone, want: want{Status: 503, Body: "Error: gone"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := serveStage(t, config{}, func(_ context.Context, e event.Event) ([]event.Event, error) {
				var out []event.Event
				for _, typ := range tc.emits {
					out = append(out, emit(t, "gate", e, typ, ""))
				}
				return out, tc.err
			})
			resp := send(t, f.url, claimed(t))
			got := want{Status: resp.StatusCode, RetryAfter: resp.Header.Get("Retry-After"), Reply: resp.Header.Get("Ce-Type")}
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if got.Reply == "" {
				got.Body = string(body)
			}
			if strings.HasPrefix(got.Body, tc.want.Body) && tc.want.Body != "" {
				got.Body = tc.want.Body
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadRequestsAreRefusedAndTheFunctionLivesOn(t *testing.T) {
	f := serveStage(t, config{}, func(context.Context, event.Event) ([]event.Event, error) { return nil, nil })
	const structured = "application/cloudevents+json"
	tests := map[string]struct {
		contentType, body string
		wantReason        string
	}{
		"no event at all":               {"text/plain", "hello", ReasonMalformed},
		"broken JSON":                   {structured, "{", ReasonMalformed},
		"an event without an id":        {structured, `{"specversion":"1.0","type":"x","source":"y"}`, ReasonMalformed},
		"a version that nobody knows":   {structured, `{"specversion":"9.9","id":"1","type":"x","source":"y"}`, ReasonMalformed},
		"an event above the size limit": {structured, `{"specversion":"1.0","id":"1","type":"x","source":"y","data":"` + strings.Repeat("x", events.MaxSize) + `"}`, ReasonTooLarge},
		"a body that never seems to end": {structured, `{"specversion":"1.0","id":"1","type":"x","source":"y","data":"` + strings.Repeat("x", 10*maxBody) + `"}`,
			ReasonTooLarge},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			resp, err := http.Post(f.url, tc.contentType, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != 422 || !strings.HasPrefix(string(body), tc.wantReason+": ") {
				t.Errorf("got %d %s, want 422 %s", resp.StatusCode, body, tc.wantReason)
			}
			if code := send(t, f.url, claimed(t)).StatusCode; code != 202 {
				t.Errorf("a good event afterwards: got %d, want 202", code)
			}
		})
	}
}

func TestEveryEventGoesToTheBroker(t *testing.T) {
	var mu sync.Mutex
	var got []string
	traces := map[string]bool{}
	ingress := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		e, err := cehttp.NewEventFromHTTPRequest(req)
		if err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		traces[fmt.Sprint(e.Extensions()[events.ExtTraceParent])] = true
		got = append(got, e.Extensions()[events.ExtCluster].(string))
		w.WriteHeader(http.StatusAccepted)
	}))
	defer ingress.Close()
	f := serveStage(t, config{sink: ingress.URL}, func(_ context.Context, e event.Event) (out []event.Event, _ error) {
		for _, cluster := range []string{"m1", "m2", "m3"} {
			w := emit(t, "gate", e, events.BindingActivated, "")
			w.SetExtension(events.ExtCluster, cluster)
			out = append(out, w)
		}
		return out, nil
	})
	resp := send(t, f.url, claimed(t))
	slices.Sort(got)
	if diff := cmp.Diff([]string{"m1", "m2", "m3"}, got); diff != "" {
		t.Errorf("posted (-want +got):\n%s", diff)
	}
	if resp.StatusCode != 202 || resp.Header.Get("Ce-Type") != "" {
		t.Errorf("answered %d with %q, want 202 without an event", resp.StatusCode, resp.Header.Get("Ce-Type"))
	}
	if len(traces) != 1 || len(slices.Collect(maps.Keys(traces))[0]) != 55 {
		t.Errorf("posted with traceparents %v, want the one of the event", traces)
	}
}

func TestNoSuccessBeforeTheBrokerHasEverything(t *testing.T) {
	for name, code := range map[string]int{"the broker is overloaded": 503, "the broker refuses": 400} {
		t.Run(name, func(t *testing.T) {
			ingress := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
			defer ingress.Close()
			f := serveStage(t, config{sink: ingress.URL}, func(_ context.Context, e event.Event) ([]event.Event, error) {
				return []event.Event{emit(t, "gate", e, events.BindingActivated, "")}, nil
			})
			if got := send(t, f.url, claimed(t)).StatusCode; got != 503 {
				t.Errorf("got %d, want 503", got)
			}
		})
	}
}

func TestTraceOfTheRequestIsTaken(t *testing.T) {
	const given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	seen := make(chan any, 1)
	f := serveStage(t, config{}, func(_ context.Context, e event.Event) ([]event.Event, error) {
		seen <- e.Extensions()[events.ExtTraceParent]
		return nil, nil
	})
	req, err := cehttp.NewHTTPRequestFromEvent(t.Context(), f.url, claimed(t))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Traceparent", given)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := <-seen; got != given {
		t.Errorf("the stage saw %v, want %s", got, given)
	}
}

// inBackground sends an event, and returns what tells the code of the answer; 0: there
// was none.
func inBackground(t *testing.T, url string) <-chan int {
	answered := make(chan int, 1)
	go func() {
		code := 0
		defer func() { answered <- code }()
		code = send(t, url, claimed(t)).StatusCode
	}()
	return answered
}

// entering waits until the event is being handled.
func entering(t *testing.T, entered <-chan struct{}, answered <-chan int) {
	t.Helper()
	select {
	case <-entered:
	case code := <-answered:
		t.Fatalf("answered with %d before it was handled", code)
	}
}

func TestNoMoreEventsAtOnceThanAllowed(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	f := serveStage(t, config{concurrency: 1}, func(context.Context, event.Event) ([]event.Event, error) {
		entered <- struct{}{}
		<-release
		return nil, nil
	})
	first := inBackground(t, f.url)
	entering(t, entered, first)
	if resp := send(t, f.url, claimed(t)); resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("second event at once: got %d, Retry-After %q, want 429 and when to come back", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	if code := statusOf(t, f.url+"/healthz"); code != 200 {
		t.Errorf("healthz while full: got %d, want 200", code)
	}
	close(release)
	if code := <-first; code != 202 {
		t.Errorf("first event: got %d, want 202", code)
	}
}

// Z33: who sends bodies slowly takes no slot, and delays nobody.
func TestZ33SlowBodiesHoldUpNobody(t *testing.T) {
	f := serveStage(t, config{concurrency: 2}, func(context.Context, event.Event) ([]event.Event, error) { return nil, nil })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := make(chan struct{})
	for range 64 {
		body, dribble := io.Pipe()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/cloudevents+json")
		go func() {
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err == nil {
				resp.Body.Close()
			}
		}()
		go func() {
			_, _ = dribble.Write([]byte("{")) // returns when the server's connection has it
			begun <- struct{}{}
		}()
	}
	for range 64 {
		<-begun
	}
	for range 20 {
		if code := send(t, f.url, claimed(t)).StatusCode; code != 202 {
			t.Fatalf("an event beside 64 slow bodies: got %d, want 202", code)
		}
	}
}

func TestReadyOnlyWhenBuilt(t *testing.T) {
	release := make(chan error)
	f := startFunction(t, config{}, func(context.Context) (Stage, error) {
		return stageFunc(func(context.Context, event.Event) ([]event.Event, error) { return nil, nil }), <-release
	})
	if code := statusOf(t, f.url+"/healthz"); code != 200 {
		t.Errorf("healthz while the stage is built: got %d, want 200", code)
	}
	if code := statusOf(t, f.url+"/readyz"); code != 503 {
		t.Errorf("readyz while the stage is built: got %d, want 503", code)
	}
	if code := send(t, f.url, claimed(t)).StatusCode; code != 503 {
		t.Errorf("an event while the stage is built: got %d, want 503", code)
	}
	oops := errors.New("oops")
	release <- oops
	if err := <-f.err; !errors.Is(err, oops) {
		t.Errorf("run ended with %v, want %v", err, oops)
	}
}

func TestSIGTERMLetsTheRunningEventFinish(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	f := serveStage(t, config{}, func(ctx context.Context, e event.Event) ([]event.Event, error) {
		close(entered)
		<-release
		return []event.Event{emit(t, "gate", e, events.BindingActivated, "")}, ctx.Err()
	})
	answered := inBackground(t, f.url)
	entering(t, entered, answered)
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for refused := false; !refused; { // until nothing new is taken
		c, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
		if refused = err != nil; !refused {
			_ = c.Close()
		}
	}
	select {
	case err := <-f.err:
		t.Fatalf("ended with %v before the event was handled", err)
	default:
	}
	close(release)
	if code := <-answered; code != 200 {
		t.Errorf("running event: got %d, want 200", code)
	}
	if err := <-f.err; err != nil {
		t.Errorf("ended with %v, want nil", err)
	}
}

var _ = promauto.NewCounter(prometheus.CounterOpts{Name: "a_stages_own_total"})

func TestMetricsOfStagesAndOfTheProcessAreThere(t *testing.T) {
	f := serveStage(t, config{}, func(context.Context, event.Event) ([]event.Event, error) { return nil, nil })
	send(t, f.url, claimed(t))
	code, body := get(t, f.url+"/metrics")
	for _, name := range []string{"a_stages_own_total", "go_goroutines", "process_resident_memory_bytes", "sluice_events_total"} {
		if n := strings.Count(body, "# TYPE "+name+" "); code != 200 || n != 1 {
			t.Errorf("%d, %s is there %d times", code, name, n)
		}
	}
}

func TestMetricsCountEvents(t *testing.T) {
	var err error
	f := serveStage(t, config{}, func(context.Context, event.Event) ([]event.Event, error) { return nil, err })
	send(t, f.url, claimed(t))
	foreign := claimed(t)
	foreign.SetType("com.example.anything")
	send(t, f.url, foreign)
	err = outcome.Conflict(errors.New("lost"))
	send(t, f.url, claimed(t))
	_, body := get(t, f.url+"/metrics")
	for _, line := range []string{
		`sluice_events_total{outcome="done",stage="gate",type="dev.sluice.template.claimed"} 1`,
		`sluice_events_total{outcome="done",stage="gate",type="other"} 1`,
		`sluice_events_total{outcome="conflict",stage="gate",type="dev.sluice.template.claimed"} 1`,
		`sluice_handle_seconds_count{stage="gate"} 3`,
		`sluice_retries_total{stage="gate"} 5`,
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
}

func TestConfigFromTheEnvironment(t *testing.T) {
	tests := map[string]struct {
		env     map[string]string
		want    config
		wantErr string
	}{
		"nothing set":           {want: config{port: 8080, concurrency: 64}},
		"what Knative sets":     {env: map[string]string{"PORT": "9000", "K_SINK": "http://broker"}, want: config{port: 9000, concurrency: 64, sink: "http://broker"}},
		"a port that is none":   {env: map[string]string{"PORT": "http"}, wantErr: "PORT"},
		"no event at all":       {env: map[string]string{"CONCURRENCY": "0"}, wantErr: "CONCURRENCY"},
		"a level that is none":  {env: map[string]string{"LOG_LEVEL": "loud"}, wantErr: "LOG_LEVEL"},
		"a level of everything": {env: map[string]string{"LOG_LEVEL": "debug"}, want: config{port: 8080, concurrency: 64, level: -4}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := configFrom(func(k string) string { return tc.env[k] })
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("got error %v, want one about %s", err, tc.wantErr)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(config{})); diff != "" || err != nil {
				t.Errorf("config (-want +got):\n%s\nerror: %v", diff, err)
			}
		})
	}
}

// An event that waited for its turn has the rest of its time, and no more.
func TestTheTimeOfAnEventBeginsWhenItComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const handled = 90 * time.Second
		began := time.Now()
		var ends []time.Duration
		h := newHandler("gate", 2)
		h.stage.Store(&posting{Stage: stageFunc(func(ctx context.Context, _ event.Event) ([]event.Event, error) {
			end, _ := ctx.Deadline()
			ends = append(ends, end.Sub(began))
			time.Sleep(handled)
			return nil, ctx.Err()
		})})
		var all sync.WaitGroup
		for _, eventType := range []string{events.TemplateClaimed, events.ClaimPreempted} {
			req, err := cehttp.NewHTTPRequestFromEvent(t.Context(), "/", about(t, eventType, "nginx"))
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() { h.receive(httptest.NewRecorder(), req) })
			synctest.Wait()
		}
		all.Wait()
		if want := []time.Duration{Timeout, Timeout}; !slices.Equal(ends, want) {
			t.Errorf("their time ends after %v, want %v", ends, want)
		}
	})
}
