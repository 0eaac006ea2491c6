// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	duckv1 "knative.dev/eventing/pkg/apis/duck/v1"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	pkgduckv1 "knative.dev/pkg/apis/duck/v1"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/function"
)

// fake is a stage that does what handle says, and remembers.
type fake struct {
	name   string
	handle func(ctx context.Context, e event.Event) ([]event.Event, error)

	mu    sync.Mutex
	start time.Time
	calls []string // see call
}

func (f *fake) Name() string { return f.name }

func (f *fake) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	f.mu.Lock()
	f.calls = append(f.calls, fmt.Sprintf("%s@%v", nameOf(e), time.Since(f.start)))
	f.mu.Unlock()
	if f.handle == nil {
		return nil, nil
	}
	return f.handle(ctx, e)
}

// seen lists the calls: the name of the template and when it was handled,
// "nginx@100ms" after the start of the broker.
func (f *fake) seen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func nameOf(e event.Event) string {
	s, _ := e.Extensions()[events.ExtName].(string)
	return s
}

// world is a broker that runs within a bubble of synctest.
type world struct {
	*Broker
	t    *testing.T
	stop context.CancelFunc
	end  chan struct{} // closed when Run has returned
}

// inWorld runs the test with a broker that has the stages. Each has a Trigger
// of its name unless there is one among the triggers.
func inWorld(t *testing.T, o Options, stages []*fake, triggers []eventingv1.Trigger, test func(w world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := world{Broker: New(o), t: t, end: make(chan struct{})}
		for _, s := range stages {
			s.start = time.Now()
			w.Register(s)
		}
		for _, tr := range triggers {
			w.add(tr)
		}
		var ctx context.Context
		ctx, w.stop = context.WithCancel(function.WithLogger(context.Background(), slog.New(slog.DiscardHandler)))
		go func() {
			defer close(w.end)
			if err := w.Run(ctx); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		test(w)
		w.stop()
		<-w.end
	})
}

func (w world) add(tr eventingv1.Trigger) {
	w.t.Helper()
	if err := w.AddTrigger(tr); err != nil {
		w.t.Fatal(err)
	}
}

func (w world) publish(all ...event.Event) {
	w.t.Helper()
	for _, e := range all {
		if err := w.Publish(w.t.Context(), e); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w world) idle() {
	w.t.Helper()
	if err := w.Idle(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// trigger hands events of the types to the stage of its name, up to the first
// dash: "applier-m1" is a Trigger of applier.
func trigger(name string, types ...string) eventingv1.Trigger {
	var tr eventingv1.Trigger
	tr.Name, tr.Spec.Broker = name, "sluice"
	stage, _, _ := strings.Cut(name, "-")
	tr.Spec.Subscriber.Ref = &pkgduckv1.KReference{APIVersion: "serving.knative.dev/v1", Kind: "Service", Name: stage, Namespace: "x"}
	var one []eventingv1.SubscriptionsAPIFilter
	for _, typ := range types {
		one = append(one, eventingv1.SubscriptionsAPIFilter{Exact: map[string]string{"type": typ}})
	}
	tr.Spec.Filters = []eventingv1.SubscriptionsAPIFilter{{Any: one}}
	return tr
}

func parallelism(tr eventingv1.Trigger, n string) eventingv1.Trigger {
	tr.Annotations = map[string]string{ParallelismAnnotation: n}
	return tr
}

// delivery retries so often, after 100 ms, 200 ms, 400 ms …
func delivery(retry int32) *duckv1.DeliverySpec {
	policy, delay := duckv1.BackoffPolicyExponential, "PT0.1S"
	return &duckv1.DeliverySpec{Retry: &retry, BackoffPolicy: &policy, BackoffDelay: &delay}
}

var serial atomic.Int64

// tell makes an event about the Deployment shop/name, with an id of its own.
func tell(t *testing.T, eventType, name string, change ...func(*events.Data)) event.Event {
	t.Helper()
	cause := event.New()
	cause.SetID(fmt.Sprint(serial.Add(1)))
	key := propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name}
	binding := propagation.BindingOf(key)
	d := events.Data{Template: &key, Binding: &binding}
	for _, c := range change {
		c(&d)
	}
	e, err := events.New("test", cause, eventType, d)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func inCluster(name string) func(*events.Data) {
	return func(d *events.Data) { d.Cluster = name }
}

func diff(t *testing.T, what string, want, got any, opts ...cmp.Option) {
	t.Helper()
	if d := cmp.Diff(want, got, opts...); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

var errOops = errors.New("oops")

// failing fails the first n times for each template.
func failing(n int) func(context.Context, event.Event) ([]event.Event, error) {
	var mu sync.Mutex
	failed := map[string]int{}
	return func(_ context.Context, e event.Event) ([]event.Event, error) {
		mu.Lock()
		defer mu.Unlock()
		if failed[nameOf(e)]++; failed[nameOf(e)] <= n {
			return nil, errOops
		}
		return nil, nil
	}
}

// slow takes a second for templates called so, and no time for others.
func slow(_ context.Context, e event.Event) ([]event.Event, error) {
	if strings.HasPrefix(nameOf(e), "slow") {
		time.Sleep(time.Second)
	}
	return nil, nil
}

// gather renders what c collects, a line for each value, without labels.
func gather(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, f := range families {
		for _, m := range f.GetMetric() {
			fmt.Fprintln(&out, f.GetName(), m.GetGauge().GetValue()+m.GetCounter().GetValue())
		}
	}
	return out.String()
}
