// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package functions runs every stage as a process of its own, as on Knative,
// behind a stand-in for the broker that speaks HTTP, and propagates a template
// through all of them on real API servers and a real Redis.
package functions

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"k8s.io/client-go/tools/clientcmd"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/config"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/localbroker"
	"sluice.dev/pkg/outcome"
	"sluice.dev/test/ports"
	"sluice.dev/test/redistest"
)

// stages are the folders of functions that serve a stage.
var stages = []string{"detector", "preemptor", "gate", "dependencies", "scheduler", "renderer", "applier", "reporter", "placer", "rollout", "sweeper"}

func TestEachStageIsAProcess(t *testing.T) {
	p := startAll(t)
	lab := p.lab
	lab.apply(t, lab.hub, quickstart)
	lab.eventually(t, "member1", "get", "configmap", "greeting", "-o", "jsonpath={.data.hello}", "world")
	lab.eventually(t, "hub", "get", "resourcebinding", "greeting-configmap", "-o", "jsonpath={.status.aggregatedStatus[0].applied}", "true")
	lab.run(t, lab.hub, "delete", "configmap", "greeting")
	lab.eventually(t, "member1", "get", "configmap", "greeting", "--ignore-not-found", "-o", "name", "")
	lab.eventually(t, "hub", "get", "works.work.karmada.io", "-A", "-o", "name", "")
}

// pipeline is a lab with all stages as processes, and the broker between them.
type pipeline struct {
	lab     lab
	broker  *localbroker.Broker
	ingress string
	stages  []remote
}

func startAll(t *testing.T) pipeline {
	t.Helper()
	bin := binaries(t)
	p := pipeline{lab: startLab(t, bin), broker: startBroker(t)}
	redis := redistest.Real(t)
	ingress := httptest.NewServer(receive(p.broker))
	t.Cleanup(ingress.Close)
	p.ingress = ingress.URL
	for _, stage := range stages {
		r := startFunction(t, bin, stage, "KUBECONFIG="+p.lab.hub, "REDIS_ADDRESS=unix://"+redis.Client(t).Options().Addr, "K_SINK="+p.ingress)
		p.broker.Register(r)
		p.stages = append(p.stages, r)
	}
	announce(t, p.lab.hub, p.broker)
	return p
}

const quickstart = `
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: greeting, namespace: default}
spec:
  resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: greeting}]
  placement: {clusterAffinity: {clusterNames: [member1]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: greeting, namespace: default}
data: {hello: world}
`

// remote is a stage that runs in another process.
type remote struct{ name, url string }

func (r remote) Name() string { return r.name }

// Handle posts the event, as Knative's dispatcher does, and takes the reply.
func (r remote) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	req, err := cehttp.NewHTTPRequestFromEvent(ctx, r.url, e)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	switch {
	case res.StatusCode == http.StatusUnprocessableEntity:
		return nil, outcome.Terminal(fmt.Errorf("%s answers %s", r.name, res.Status))
	case res.StatusCode >= http.StatusMultipleChoices:
		return nil, fmt.Errorf("%s answers %s", r.name, res.Status)
	}
	reply := cehttp.NewMessageFromHttpResponse(res)
	if reply.ReadEncoding() == binding.EncodingUnknown {
		return nil, nil
	}
	out, err := binding.ToEvent(ctx, reply)
	if err != nil {
		return nil, err
	}
	return []event.Event{*out}, nil
}

// receive is the broker's ingress.
func receive(b *localbroker.Broker) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e, err := cehttp.NewEventFromHTTPRequest(r)
		if err == nil {
			err = b.Publish(r.Context(), *e)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
}

func startBroker(t *testing.T) *localbroker.Broker {
	t.Helper()
	b, err := localbroker.Load(config.Eventing, localbroker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = b.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return b
}

// startFunction starts the function's process and waits until it is ready.
func startFunction(t *testing.T, bin, stage string, env ...string) remote {
	t.Helper()
	address, err := ports.Free()
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(address)
	var log bytes.Buffer
	cmd := exec.Command(filepath.Join(bin, stage))
	cmd.Env = append(os.Environ(), append(env, "PORT="+port)...)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			lines := strings.Split(log.String(), "\n")
			t.Logf("%s:\n%s", stage, strings.Join(lines[max(0, len(lines)-20):], "\n"))
		}
	})
	url := "http://" + address
	wait(t, stage+" is ready", func() bool {
		res, err := http.Get(url + "/readyz")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	return remote{stage, url}
}

// announce is the source: it tells what is there and what changes, and ticks.
func announce(t *testing.T, kubeconfig string, b *localbroker.Broker) {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	h, err := hub.Connect(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	types := map[hub.ChangeType]string{hub.Added: events.ResourceAdded, hub.Updated: events.ResourceUpdated, hub.Deleted: events.ResourceDeleted}
	publish := func(c hub.Change) {
		if e, err := events.NewResource("/test", types[c.Type], events.Object{TemplateKey: c.Key, Version: c.Version}); err == nil {
			_ = b.Publish(ctx, e)
		}
	}
	tick := event.New()
	tick.SetType(events.Ping)
	tick.SetSource("/test")
	go func() {
		for n := 0; ctx.Err() == nil; n++ {
			tick.SetID(fmt.Sprint(n))
			_ = b.Publish(ctx, tick.Clone())
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	for _, gvk := range append(hub.PolicyKinds(), hub.ClusterKind(), configMaps) {
		if err := h.Watch(ctx, gvk, publish); err != nil {
			t.Fatal(err)
		}
	}
}
