// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	"knative.dev/eventing/pkg/eventfilter"
	"knative.dev/eventing/pkg/eventfilter/attributes"
	"knative.dev/eventing/pkg/eventfilter/subscriptionsapi"

	events "sluice.dev/apis/events/v1"
)

// FilterOf makes the filter of a Trigger: spec.filters where there are any,
// else spec.filter, else everything passes. It may be used by several at once, and looks
// at what it is made of in the same order each time.
func FilterOf(t eventingv1.TriggerSpec) (eventfilter.Filter, error) {
	f, err := filterTree(t)
	if err != nil {
		return nil, err
	}
	if _, err := passes(f, event.New()); err != nil {
		return nil, err
	}
	return f, nil
}

func filterTree(t eventingv1.TriggerSpec) (eventfilter.Filter, error) {
	switch {
	case len(t.Filters) > 0:
		return combine(t.Filters, eventfilter.FailFilter)
	case t.Filter != nil:
		return attributes.NewAttributesFilter(t.Filter.Attributes), nil
	}
	return subscriptionsapi.NewNoFilter(), nil
}

// clusterOf returns the value that spec.filters require of the extension cluster with
// exact; empty if they require none. Other dialects are not looked at.
func clusterOf(t eventingv1.TriggerSpec) string {
	for _, f := range t.Filters {
		if c := f.Exact[events.ExtCluster]; c != "" {
			return c
		}
	}
	return ""
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
		return combine(f.All, eventfilter.FailFilter)
	case len(f.Any) > 0:
		return combine(f.Any, eventfilter.PassFilter)
	case f.Not != nil:
		inner, err := compile(*f.Not)
		if err != nil {
			return nil, err
		}
		return subscriptionsapi.NewNotFilter(inner), nil
	case f.CESQL != "":
		return subscriptionsapi.NewCESQLFilter(f.CESQL)
	}
	return nil, errors.New("filter is empty")
}

func combine(filters []eventingv1.SubscriptionsAPIFilter, decisive eventfilter.FilterResult) (eventfilter.Filter, error) {
	out := sequence{decisive: decisive}
	for _, f := range filters {
		c, err := compile(f)
		if err != nil {
			return nil, err
		}
		out.filters = append(out.filters, c)
	}
	return out, nil
}

// sequence is "all" (decided by the first that fails) or "any" (by the first
// that passes). Knative's own forms of these two reorder themselves while they
// run, from a goroutine each and under a data race (eventing v0.50); what they
// decide is the same.
type sequence struct {
	filters  []eventfilter.Filter
	decisive eventfilter.FilterResult
}

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

func (s sequence) Cleanup() {}

// passes evaluates f. A CESQL expression that yields no boolean makes Knative's
// filter panic; here it passes nothing.
func passes(f eventfilter.Filter, e event.Event) (ok bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			ok, err = false, fmt.Errorf("evaluate filter: %v", v)
		}
	}()
	return f.Filter(context.Background(), e) != eventfilter.FailFilter, nil
}
