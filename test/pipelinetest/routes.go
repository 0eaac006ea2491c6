// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	"knative.dev/eventing/pkg/eventfilter"
	"knative.dev/eventing/pkg/eventfilter/subscriptionsapi"
	"sigs.k8s.io/yaml"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/config"
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
	f, err := all(t.Spec.Filters, eventfilter.FailFilter)
	if err != nil {
		return fmt.Errorf("trigger %s: %w", t.Name, err)
	}
	r.all = append(r.all, Route{Trigger: t.Name, Stage: t.Spec.Subscriber.Ref.Name, filter: f})
	return nil
}

// For are the routes that an event takes. What filters look at is the type and
// the extensions here, so that equal ones need one look.
func (r *Routes) For(e event.Event) []Route {
	var key strings.Builder
	key.WriteString(e.Type())
	x := e.Extensions()
	for _, name := range []string{events.ExtAPIVersion, events.ExtKind, events.ExtCluster, events.ExtSchedulerName, events.ExtApplier} {
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

// all is the sequence of filters: "all" is decided by the first that fails,
// "any" by the first that passes. Knative's own forms of these reorder
// themselves while they run, which would not be the same twice.
func all(filters []eventingv1.SubscriptionsAPIFilter, decisive eventfilter.FilterResult) (eventfilter.Filter, error) {
	s := sequence{decisive: decisive}
	for _, f := range filters {
		c, err := compile(f)
		if err != nil {
			return nil, err
		}
		s.filters = append(s.filters, c)
	}
	return s, nil
}

func compile(f eventingv1.SubscriptionsAPIFilter) (eventfilter.Filter, error) {
	switch {
	case len(f.Exact) > 0:
		return subscriptionsapi.NewExactFilter(f.Exact)
	case len(f.Prefix) > 0:
		return subscriptionsapi.NewPrefixFilter(f.Prefix)
	case len(f.Suffix) > 0:
		return subscriptionsapi.NewSuffixFilter(f.Suffix)
	case len(f.All) > 0:
		return all(f.All, eventfilter.FailFilter)
	case len(f.Any) > 0:
		return all(f.Any, eventfilter.PassFilter)
	case f.Not != nil:
		inner, err := compile(*f.Not)
		if err != nil {
			return nil, err
		}
		return subscriptionsapi.NewNotFilter(inner), nil
	case f.CESQL != "":
		return subscriptionsapi.NewCESQLFilter(f.CESQL)
	}
	return nil, errors.New("a filter is empty")
}

type sequence struct {
	filters  []eventfilter.Filter
	decisive eventfilter.FilterResult
}

// Filter is Knative's.
func (s sequence) Filter(ctx context.Context, e event.Event) eventfilter.FilterResult {
	for _, f := range s.filters {
		if f.Filter(ctx, e) == s.decisive {
			return s.decisive
		}
	}
	if s.decisive == eventfilter.FailFilter {
		return eventfilter.PassFilter
	}
	return eventfilter.FailFilter
}

// Cleanup is Knative's.
func (s sequence) Cleanup() {}
