// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"go.uber.org/zap"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	"knative.dev/eventing/pkg/eventfilter"
	"knative.dev/eventing/pkg/eventfilter/subscriptionsapi"
	"pgregory.net/rapid"

	"sluice.dev/config"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
)

func onlyTrigger(tr eventingv1.Trigger) []eventingv1.Trigger { return []eventingv1.Trigger{tr} }

// sluice is the broker that standalone has.
func sluice(t *testing.T) *Broker {
	t.Helper()
	b, err := Load(config.Eventing, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// route is an event and the Triggers that take it.
type route struct {
	event event.Event
	want  []string
}

func checkRoutes(t *testing.T, tests map[string]route) {
	t.Helper()
	b := sluice(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, q := range b.match(tc.event) {
				got = append(got, q.name)
			}
			diff(t, "triggers", tc.want, got)
		})
	}
}

func TestResourcesReachTheStagesTheyConcern(t *testing.T) {
	resource := func(apiVersion, kind, cluster string) event.Event {
		e, err := events.NewResource("source", events.ResourceUpdated, events.Object{
			TemplateKey: propagation.TemplateKey{APIVersion: apiVersion, Kind: kind, Namespace: "shop", Name: "x"}, Cluster: cluster,
		})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	ours := func(name string) event.Event {
		e := resource("apps/v1", "Deployment", "")
		e.SetExtension(events.ExtNamespace, propagation.SystemNamespace)
		e.SetExtension(events.ExtName, name)
		return e
	}
	const policies, works = "policy.karmada.io/v1alpha1", "work.karmada.io/v1alpha2"
	checkRoutes(t, map[string]route{
		"a template":                         {resource("apps/v1", "Deployment", ""), []string{"detector-resources", "placer"}},
		"a template's object in a member":    {resource("apps/v1", "Deployment", "m1"), []string{"reporter"}},
		"a template called like one of ours": {resource("cluster.x-k8s.io/v1beta1", "Cluster", ""), []string{"detector-resources", "placer"}},
		"a policy":                           {resource(policies, "PropagationPolicy", ""), []string{"detector-resources", "sweeper"}},
		"a cluster policy":                   {resource(policies, "ClusterPropagationPolicy", ""), []string{"detector-resources", "sweeper"}},
		"an override":                        {resource(policies, "OverridePolicy", ""), []string{"renderer"}},
		"a cluster override":                 {resource(policies, "ClusterOverridePolicy", ""), []string{"renderer"}},
		"a binding":                          {resource(works, "ResourceBinding", ""), []string{"sweeper"}},
		"a Work":                             {resource("work.karmada.io/v1alpha1", "Work", ""), []string{"sweeper"}},
		"a cluster":                          {resource("cluster.karmada.io/v1alpha1", "Cluster", ""), []string{"sweeper"}},
		"a source of templates that starts":  {ours("apiserversource-templates-1a2b"), []string{"sweeper"}},
		"a source of everything, too":        {ours("templates-deployment"), []string{"sweeper"}},
		"the hub's source that starts":       {ours("hub-deployment"), []string{"sweeper"}},
		"a function that has more pods":      {ours("gate-00001-deployment"), nil},
		"an override that a member has":      {resource(policies, "OverridePolicy", "m1"), []string{"reporter"}},
	})
}

func TestEventsReachTheStagesTheyAreMeantFor(t *testing.T) {
	simple := func(eventType string, extensions ...string) event.Event {
		e := event.New()
		e.SetType(eventType)
		for i := 0; i < len(extensions); i += 2 {
			e.SetExtension(extensions[i], extensions[i+1])
		}
		return e
	}
	checkRoutes(t, map[string]route{
		"the tick":                       {simple(events.Ping), []string{"placer", "rollout", "sweeper"}},
		"a lost index":                   {simple(events.IndexLost), []string{"sweeper"}},
		"a switched gate":                {simple(events.GatesChanged), []string{"sweeper"}},
		"sources that start":             {simple(events.SourcesChanged), []string{"sweeper"}},
		"the fan-out of a policy":        {simple(events.PolicyChanged), []string{"detector-events"}},
		"a template that is concerned":   {simple(events.TemplateTouched), []string{"detector-events"}},
		"a claim":                        {simple(events.TemplateClaimed), []string{"gate"}},
		"a release":                      {simple(events.TemplateReleased), []string{"gate"}},
		"a wait":                         {simple(events.TemplateWaiting), []string{"gate"}},
		"a contest":                      {simple(events.TemplateContested), []string{"preemptor"}},
		"a preemption":                   {simple(events.ClaimPreempted), []string{"gate"}},
		"an activation":                  {simple(events.BindingActivated), []string{"scheduler"}},
		"an activation for a team's own": {simple(events.BindingActivated, events.ExtSchedulerName, "team"), nil},
		"a deferral":                     {simple(events.BindingDeferred), nil},
		"a schedule":                     {simple(events.BindingScheduled), []string{"dependencies", "renderer"}},
		"a removed binding":              {simple(events.BindingRemoved), []string{"dependencies", "renderer"}},
		"rendered Works of many members": {simple(events.WorkRendered, events.ExtClusters, ",m1,m2,"), []string{"applier"}},
		"a removed Work of one":          {simple(events.WorkRemoved, events.ExtCluster, "m2"), []string{"applier"}},
		"an applied Work":                {simple(events.WorkApplied, events.ExtCluster, "m1"), []string{"reporter"}},
		"a held Work":                    {simple(events.WorkHeld, events.ExtCluster, "m1"), []string{"reporter"}},
		"a failed Work":                  {simple(events.WorkFailed, events.ExtCluster, "m1"), []string{"reporter"}},
		"a deleted Work":                 {simple(events.WorkDeleted, events.ExtCluster, "m1"), []string{"renderer", "reporter"}},
		"a changed cluster":              {simple(events.ClusterChanged, events.ExtCluster, "m1"), []string{"scheduler"}},
		"a changed override, next page":  {simple(events.OverridesChanged), []string{"renderer"}},
		"a report":                       {simple(events.TemplateReported), nil},
		"a stranger":                     {simple("com.example.order"), nil},
	})
}

// The combinations that Knative's package cannot evaluate without a data race
// are evaluated here; they must decide as Knative does.
func TestFiltersDecideAsKnativeDoes(t *testing.T) {
	names, values := []string{"type", "subject", "cluster", "kind", "absent"}, []string{"a", "b", "ab"}
	var filter func(depth int) *rapid.Generator[eventingv1.SubscriptionsAPIFilter]
	filter = func(depth int) *rapid.Generator[eventingv1.SubscriptionsAPIFilter] {
		return rapid.Custom(func(rt *rapid.T) (f eventingv1.SubscriptionsAPIFilter) {
			one := map[string]string{rapid.SampledFrom(names).Draw(rt, "name"): rapid.SampledFrom(values).Draw(rt, "value")}
			dialects := []string{"exact", "prefix", "suffix", "cesql", "all", "any", "not"}
			if depth == 0 {
				dialects = dialects[:4]
			}
			switch rapid.SampledFrom(dialects).Draw(rt, "dialect") {
			case "exact":
				f.Exact = one
			case "prefix":
				f.Prefix = one
			case "suffix":
				f.Suffix = one
			case "cesql":
				f.CESQL = rapid.SampledFrom([]string{"EXISTS cluster", "NOT EXISTS kind", "type = 'a'", "absent = 'a'"}).Draw(rt, "cesql")
			case "all":
				f.All = rapid.SliceOfN(filter(depth-1), 1, 3).Draw(rt, "all")
			case "any":
				f.Any = rapid.SliceOfN(filter(depth-1), 1, 3).Draw(rt, "any")
			case "not":
				n := filter(depth-1).Draw(rt, "not")
				f.Not = &n
			}
			return f
		})
	}
	rapid.Check(t, func(rt *rapid.T) {
		spec := eventingv1.TriggerSpec{Filters: rapid.SliceOfN(filter(2), 0, 3).Draw(rt, "filters")}
		ours, err := FilterOf(spec)
		if err != nil {
			rt.Fatal(err)
		}
		e := event.New()
		for _, name := range names[:4] {
			if v := rapid.SampledFrom(append(values, "")).Draw(rt, name); name == "type" {
				e.SetType(v)
			} else if name == "subject" {
				e.SetSubject(v)
			} else if v != "" {
				e.SetExtension(name, v)
			}
		}
		theirs := subscriptionsapi.CreateSubscriptionsAPIFilters(zap.NewNop(), spec.Filters)
		want := theirs.Filter(context.Background(), e) != eventfilter.FailFilter
		if got, err := passes(ours, e); got != want || err != nil {
			rt.Errorf("got %v, %v, want %v", got, err, want)
		}
	})
}

func TestAttributesFilterAndNoFilter(t *testing.T) {
	byType := eventingv1.TriggerSpec{Filter: &eventingv1.TriggerFilter{Attributes: map[string]string{"type": "a", "cluster": ""}}}
	both := byType
	both.Filters = []eventingv1.SubscriptionsAPIFilter{{Exact: map[string]string{"type": "b"}}}
	a, b := event.New(), event.New()
	a.SetType("a")
	a.SetExtension("cluster", "m1")
	b.SetType("b")
	tests := map[string]struct {
		spec eventingv1.TriggerSpec
		want []string
	}{
		"without a filter everything passes":   {eventingv1.TriggerSpec{}, []string{"a", "b"}},
		"attributes match, an empty value any": {byType, []string{"a"}},
		"filters override the filter":          {both, []string{"b"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f, err := FilterOf(tc.spec)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range []event.Event{a, b} {
				if ok, _ := passes(f, e); ok {
					got = append(got, e.Type())
				}
			}
			diff(t, "passed", tc.want, got)
		})
	}
}

func TestBadTriggersAreRefused(t *testing.T) {
	change := func(f func(*eventingv1.Trigger)) eventingv1.Trigger {
		tr := trigger("scheduler", events.BindingActivated)
		f(&tr)
		return tr
	}
	filters := func(f ...eventingv1.SubscriptionsAPIFilter) eventingv1.Trigger {
		return change(func(tr *eventingv1.Trigger) { tr.Spec.Filters = f })
	}
	negative := int32(-1)
	tests := map[string]eventingv1.Trigger{
		"no broker":                         change(func(tr *eventingv1.Trigger) { tr.Spec.Broker = "" }),
		"no subscriber":                     change(func(tr *eventingv1.Trigger) { tr.Spec.Subscriber.Ref = nil }),
		"a negative number of retries":      change(func(tr *eventingv1.Trigger) { tr.Spec.Delivery = delivery(negative) }),
		"a parallelism that is no number":   parallelism(trigger("scheduler", "x"), "many"),
		"a parallelism of nothing":          parallelism(trigger("scheduler", "x"), "0"),
		"an empty filter":                   filters(eventingv1.SubscriptionsAPIFilter{}),
		"an empty filter inside":            filters(eventingv1.SubscriptionsAPIFilter{Not: &eventingv1.SubscriptionsAPIFilter{}}),
		"a filter for an empty value":       filters(eventingv1.SubscriptionsAPIFilter{Any: []eventingv1.SubscriptionsAPIFilter{{Exact: map[string]string{"type": ""}}}}),
		"an expression that does not parse": filters(eventingv1.SubscriptionsAPIFilter{CESQL: "type ="}),
		"an expression that is no question": filters(eventingv1.SubscriptionsAPIFilter{CESQL: "1 + 1"}),
	}
	for name, tr := range tests {
		t.Run(name, func(t *testing.T) {
			b := New(Options{})
			if err := b.AddTrigger(tr); err == nil {
				t.Error("got nil, want an error")
			}
			diff(t, "queues", 0, len(b.queues))
		})
	}
}

func TestAFilterThatPanicsLaterPassesNothing(t *testing.T) {
	f, err := FilterOf(eventingv1.TriggerSpec{Filters: []eventingv1.SubscriptionsAPIFilter{{CESQL: "count"}}})
	if err != nil {
		t.Fatal(err)
	}
	e := event.New()
	e.SetExtension("count", 5)
	if ok, err := passes(f, e); ok || err == nil {
		t.Errorf("got %v, %v, want false and an error", ok, err)
	}
}

func TestConfigHasATriggerForEveryStage(t *testing.T) {
	want := []string{"applier", "dependencies", "detector-events", "detector-resources", "gate", "placer", "preemptor", "renderer", "reporter", "rollout", "scheduler", "sweeper"}
	diff(t, "triggers", want, slices.Sorted(maps.Keys(sluice(t).queues)))
}
