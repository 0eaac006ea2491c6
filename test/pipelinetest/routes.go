// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	"knative.dev/eventing/pkg/eventfilter"
	"sigs.k8s.io/yaml"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/config"
	"sluice.dev/pkg/localbroker"
)

// Route leads the events that pass a Trigger to a stage.
type Route struct {
	// Trigger is its name.
	Trigger string
	// Stage is the name of the stage.
	Stage  string
	filter eventfilter.Filter
}

// Routes are the Triggers of config. They may be used by one goroutine.
type Routes struct {
	all   []Route
	known map[string][]Route
}

// LoadRoutes reads the Triggers of config.
func LoadRoutes() (*Routes, error) {
	r := &Routes{known: map[string][]Route{}}
	err := fs.WalkDir(config.Eventing, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(file) != ".yaml" {
			return err
		}
		raw, err := fs.ReadFile(config.Eventing, file)
		if err != nil {
			return err
		}
		var t eventingv1.Trigger
		if err := yaml.Unmarshal(raw, &t); err != nil || t.Kind != "Trigger" {
			return err
		}
		return r.add(t)
	})
	if err != nil {
		return nil, fmt.Errorf("load the Triggers: %w", err)
	}
	return r, nil
}

func (r *Routes) add(t eventingv1.Trigger) error {
	f, err := localbroker.FilterOf(t.Spec)
	if err != nil {
		return fmt.Errorf("trigger %s: %w", t.Name, err)
	}
	r.all = append(r.all, Route{Trigger: t.Name, Stage: t.Spec.Subscriber.Ref.Name, filter: f})
	return nil
}

// For are the routes that an event takes. What filters look at is the type and
// the extensions here, so that equal ones need one look. None that a filter looks at may
// be missing: an event would take the way of another.
func (r *Routes) For(e event.Event) []Route {
	var key strings.Builder
	key.WriteString(e.Type())
	x := e.Extensions()
	for _, name := range []string{events.ExtAPIVersion, events.ExtKind, events.ExtNamespace, events.ExtName, events.ExtCluster, events.ExtSchedulerName, events.ExtApplier} {
		fmt.Fprintf(&key, "\x00%v", x[name])
	}
	routes, ok := r.known[key.String()]
	if !ok {
		for _, route := range r.all {
			if route.filter.Filter(context.Background(), e) != eventfilter.FailFilter {
				routes = append(routes, route)
			}
		}
		r.known[key.String()] = routes
	}
	return routes
}
