// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
)

func TestTwoReplicasOfEveryStage(t *testing.T) {
	w := newWorld(t)
	stages := []string{"applier", "detector", "gate", "renderer", "reporter", "scheduler", "sweeper"}
	defer w.autoscale(map[string]any{"min-scale": "2"}, stages...)() // before the test's context ends
	w.policy()
	w.load(50, nil)
	w.arrive(recovery, 51)
	w.once(51)
}

// The renderer is told again and again of a binding that it has rendered: it gets
// more replicas, and gives them back, while every other stage has at most one.
func TestOneStageScalesAlone(t *testing.T) {
	w := newWorld(t)
	w.policy()
	// As whoever runs it would: one pod for a tenth of an event at a time.
	defer w.autoscale(map[string]any{"target": "0.1", "window": "6s", "max-scale": "3"}, "renderer")()
	others := func() string {
		for name, n := range w.running() {
			if n > 1 && name != "renderer" {
				return fmt.Sprintf("%s has %d pods", name, n)
			}
		}
		return ""
	}
	w.eventually(3*time.Minute, func() string {
		if n := w.running()["renderer"]; n != 1 {
			return fmt.Sprintf("the renderer begins with %d pods", n)
		}
		return others()
	})

	loading, stop := context.WithCancel(t.Context())
	defer stop()
	told := w.tell(loading, w.scheduled("first"))
	w.eventually(3*time.Minute, func() string {
		if why := others(); why != "" {
			t.Fatalf("the load is on the renderer alone, and %s", why)
		}
		if n := w.running()["renderer"]; n < 2 {
			return fmt.Sprintf("under load the renderer has %d pods", n)
		}
		return ""
	})
	stop()
	t.Logf("the renderer scaled out alone under %d events", <-told)
	w.eventually(3*time.Minute, func() string {
		if n := w.running()["renderer"]; n != 1 {
			return fmt.Sprintf("without load the renderer has %d pods", n)
		}
		return ""
	})
	w.once(1)
}

// scheduled is the event that the clusters of a ConfigMap's binding are chosen.
func (w *world) scheduled(name string) event.Event {
	w.Helper()
	tmpl := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: name}
	key := propagation.BindingOf(tmpl)
	b := w.must(w.hub.Resource(bindings).Namespace(w.namespace).Get(w.Context(), key.Name, metav1.GetOptions{}))
	e, err := events.New("scheduler", event.New(), events.BindingScheduled, events.Data{
		Template: &tmpl, Binding: &key, BindingVersion: b.GetResourceVersion(),
	})
	if err != nil {
		w.Fatal(err)
	}
	return e
}

// broker is where the Broker takes events.
func (w *world) broker() string {
	w.Helper()
	ingress := w.must(w.hub.Resource(kubeServices).Namespace("knative-eventing").Get(w.Context(), "broker-ingress", metav1.GetOptions{}))
	return "http://" + w.text(ingress, "spec", "clusterIP") + "/" + system + "/sluice"
}

// tell publishes an event thirty times a second, under a new id each time, until
// ctx ends; it tells how often that was.
func (w *world) tell(ctx context.Context, e event.Event) <-chan int {
	w.Helper()
	client, err := cloudevents.NewClientHTTP(cloudevents.WithTarget(w.broker()))
	if err != nil {
		w.Fatal(err)
	}
	told := make(chan int, 1)
	go func() {
		n := 0
		defer func() { told <- n }()
		for tick := time.NewTicker(time.Second / 30); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			e.SetID(w.namespace + strconv.Itoa(n))
			if result := client.Send(ctx, e); cloudevents.IsACK(result) {
				n++
			} else if ctx.Err() == nil {
				w.Logf("the broker does not take an event: %v", result)
			}
		}
	}()
	return told
}
