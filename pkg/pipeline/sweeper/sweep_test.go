// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/kinds/rules"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/claims"
)

// crowded is a hub of many Works. What is not in it fails the test.
type crowded struct {
	Hub
	clusters []string
	bindings []*propagation.Binding
	works    []*propagation.Work
	// forbidden are the namespaces whose templates may not be read.
	forbidden string
	// joined is a cluster that joins while members are probed.
	joined string
	let    []propagation.WorkKey
	// bulk is what was announced in bulk.
	bulk []string
}

func (c *crowded) Clusters(context.Context) ([]*clusterv1alpha1.Cluster, error) {
	var out []*clusterv1alpha1.Cluster
	for _, name := range c.clusters {
		one := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		one.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "ClusterReady", Message: "the cluster answers and can be written to"}}
		out = append(out, one)
	}
	return out, nil
}

func (c *crowded) Cluster(_ context.Context, name string) (*clusterv1alpha1.Cluster, error) {
	if name == c.joined {
		return &clusterv1alpha1.Cluster{}, nil
	}
	return nil, outcome.ErrGone
}

func (c *crowded) DeleteWork(_ context.Context, w *propagation.Work) error {
	c.let = append(c.let, w.Key)
	return nil
}

func (c *crowded) Version(context.Context) (uint64, error) { return 1, nil }

func (c *crowded) Work(context.Context, propagation.WorkKey) (*propagation.Work, error) {
	return nil, outcome.ErrGone
}

func (c *crowded) Bindings(context.Context) ([]*propagation.Binding, error) { return c.bindings, nil }
func (c *crowded) Namespaces(context.Context, string) ([]string, error)     { return nil, nil }

func (c *crowded) Works(context.Context) ([]*propagation.Work, error) { return c.works, nil }
func (c *crowded) PolicyWorksOn(_ context.Context, cluster string) (on []*propagation.Work, err error) {
	for _, w := range c.works {
		if w.Key.Cluster == cluster {
			on = append(on, w)
		}
	}
	return on, nil
}

func (c *crowded) WorksOn(ctx context.Context, cluster string) ([]*propagation.Work, error) {
	return c.PolicyWorksOn(ctx, cluster)
}

func (c *crowded) Policies(context.Context) ([]*propagation.Policy, error) { return nil, nil }

// Interpreters are those that owners of kinds wrote: none.
func (c *crowded) Interpreters(context.Context) ([]*rules.Interpreter, error) { return nil, nil }
func (c *crowded) Features(context.Context) (propagation.Features, error) {
	return propagation.Features{}, nil
}

func (c *crowded) CommitPolicyStatus(context.Context, *propagation.Policy, policyv1alpha1.PropagationStatus) error {
	return nil
}

func (c *crowded) Template(_ context.Context, key propagation.TemplateKey) (*propagation.Template, error) {
	if key.Namespace == c.forbidden {
		return nil, errForbidden
	}
	return nil, outcome.ErrGone
}

var errForbidden = errors.New("forbidden")

// built is a Redis that has all.
type built struct{ Index }

func (built) Built(context.Context) (bool, error) { return true, nil }
func (built) Look(context.Context, propagation.TemplateKey) (claims.View, error) {
	return claims.View{}, nil
}

func (built) WentBack(context.Context, string) error { return nil }

// add puts a binding with a Work in each cluster on the hub. Without a condition
// nothing was said of the Works.
func (c *crowded) add(name string, age time.Duration, conditions []metav1.Condition, clusters ...string) {
	b := &propagation.Binding{Key: propagation.BindingKey{Namespace: "shop", Name: name}, Annotations: map[string]string{propagation.AnnotationActivePolicy: "p"}}
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name, UID: "u"}
	c.bindings = append(c.bindings, b)
	for _, cluster := range clusters {
		w := &propagation.Work{
			Key: propagation.WorkKey{Cluster: cluster, Name: name}, Generation: 1, Created: noon.Add(-age),
			Annotations: map[string]string{
				propagation.AnnotationBindingNamespace: b.Key.Namespace, propagation.AnnotationBindingName: b.Key.Name,
				propagation.AnnotationTemplate: `{"apiVersion":"v1","kind":"ConfigMap","namespace":"shop","name":"` + name + `"}`,
			},
		}
		w.Status.Conditions = conditions
		c.works = append(c.works, w)
	}
}

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// memory are positions, and notices, which outlive them.
type memory struct {
	all     map[string]string
	notices []string
}

func (m *memory) Load(context.Context) (map[string]string, error) { return maps.Clone(m.all), nil }

func (m *memory) Save(_ context.Context, name, position string) error {
	m.all[name] = position
	return nil
}

func (m *memory) Raise(_ context.Context, name string, to uint64) error {
	if to > propagation.Version(m.all[name]) {
		m.all[name] = strconv.FormatUint(to, 10)
	}
	return nil
}

func (m *memory) Note(_ context.Context, what string) error {
	m.notices = append(m.notices, what)
	return nil
}

func (m *memory) Noted(_ context.Context, what string) (bool, error) {
	return slices.Contains(m.notices, what), nil
}

func (m *memory) Forget(_ context.Context, what string) error {
	m.notices = slices.DeleteFunc(m.notices, func(n string) bool { return n == what })
	return nil
}

// sweeps ticks every two seconds, and returns the names of the Works announced in
// each tick, with their reason.
func (c *crowded) sweeps(t *testing.T, n int) (all []map[string]string, failed []error) {
	t.Helper()
	now := noon
	at := &memory{all: map[string]string{"swept": now.Add(-2 * time.Second).Format(time.RFC3339Nano)}}
	probe := func(context.Context, string) (string, error) { return "", nil }
	for range n {
		// Each sweep is another replica's: what the last one came to is in Redis.
		s := New(c, built{}, at, probe, func() time.Time { return now })
		tick := event.New()
		tick.SetID(now.String())
		tick.SetType(events.Ping)
		tick.SetSource("test")
		out, err := s.Handle(t.Context(), tick)
		if err != nil && !outcome.IsPartly(err) {
			t.Fatal(err)
		}
		announced := map[string]string{}
		for _, e := range out {
			d, err := events.Decode(e)
			if err != nil {
				t.Fatal(err)
			}
			name := d.Template.Name
			if d.Work != nil {
				name = d.Work.Cluster + "/" + d.Work.Name
			}
			announced[name] = d.Reason
			if events.Bulk(e) {
				c.bulk = append(c.bulk, name)
			}
		}
		all, failed = append(all, announced), append(failed, err)
		now = now.Add(2 * time.Second)
	}
	return all, failed
}

var refused = []metav1.Condition{{Type: workv1alpha1.ConditionApplied, Status: metav1.ConditionFalse, Reason: "RefusedByMember", ObservedGeneration: 1}}

func TestZ27ThousandWorksThatFailForGoodDelayNobody(t *testing.T) {
	c := &crowded{clusters: []string{"a", "b"}}
	for i := range 1000 {
		c.add(fmt.Sprintf("failing-%04d", i), time.Hour, refused, "a")
	}
	c.add("z-missed", time.Hour, nil, "a", "b")
	c.add("z-refused", time.Hour, refused, "b")
	all, _ := c.sweeps(t, 30)
	for _, want := range []string{"a/z-missed", "b/z-missed", "b/z-refused"} {
		if _, ok := all[0][want]; !ok {
			t.Errorf("the first sweep does not announce %s", want)
		}
	}
	seen := map[string]bool{}
	for i, announced := range all {
		if len(announced) > 60 {
			t.Errorf("sweep %d announces %d Works: too many for a member that says no to each", i, len(announced))
		}
		for name := range announced {
			seen[name] = true
		}
	}
	if len(seen) != 1003 {
		t.Errorf("in a minute %d of 1003 Works had their turn", len(seen))
	}
}

func TestZ30WhatNeverSettlesIsToldSoon(t *testing.T) {
	c := &crowded{clusters: []string{"a", "b", "c"}}
	for i := range 300 {
		c.add(fmt.Sprintf("ailing-%04d", i), 6*time.Second, nil, "a", "b", "c")
	}
	all, _ := c.sweeps(t, 2)
	seen := map[string]bool{}
	for _, announced := range all {
		for name, reason := range announced {
			if reason == events.ReasonUnfinished {
				seen[name] = true
			}
		}
	}
	if len(seen) != 900 {
		t.Errorf("of 900 Works %d are said in two sweeps", len(seen))
	}
	if len(c.bulk) > 0 {
		t.Errorf("%d are in bulk, %s first: they wait for as long as somebody makes templates", len(c.bulk), c.bulk[0])
	}
}

func TestZ27WhatFailsForOneEndsNoSweep(t *testing.T) {
	c := &crowded{clusters: []string{"a"}, forbidden: "secret"}
	waiting := &propagation.Binding{Key: propagation.BindingKey{Namespace: "secret", Name: "first"}}
	waiting.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "secret", Name: "first", UID: "u"}
	waiting.Status.Conditions = []metav1.Condition{{Type: gating.ConditionActive, Status: metav1.ConditionFalse}}
	c.bindings = append(c.bindings, waiting)
	c.add("z-due", time.Hour, nil, "a")
	c.bindings[1].Status.Conditions = waiting.Status.Conditions
	all, failed := c.sweeps(t, 1)
	if all[0]["a/z-due"] == "" || all[0]["z-due"] != "Due" {
		t.Errorf("announced %v; want the Work and the change that is due", all[0])
	}
	if !errors.Is(failed[0], errForbidden) {
		t.Errorf("the failure is not told: %v", failed[0])
	}
}

func TestZ23AClusterThatJoinsDuringTheSweepLosesNoWorks(t *testing.T) {
	c := &crowded{clusters: []string{"a"}, joined: "b"}
	c.add("x", time.Hour, nil, "a", "b", "left")
	c.sweeps(t, 1)
	if got := fmt.Sprint(c.let); strings.Contains(got, "b/x") || !strings.Contains(got, "left/x") {
		t.Errorf("let go %s; want that of the cluster that left alone", got)
	}
}

// judged is a crowded hub where a Cluster says that removals are held.
type judged struct {
	crowded
	lists int
}

func (j *judged) Clusters(ctx context.Context) ([]*clusterv1alpha1.Cluster, error) {
	all, err := j.crowded.Clusters(ctx)
	for _, c := range all {
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: clusterv1alpha1.ConditionRemovalHeld, Status: metav1.ConditionTrue})
	}
	return all, err
}

func (j *judged) Works(ctx context.Context) ([]*propagation.Work, error) {
	j.lists++
	return j.crowded.Works(ctx)
}

// TestASweepListsWorksOnce: also where it judges removals.
func TestASweepListsWorksOnce(t *testing.T) {
	j := &judged{crowded: crowded{clusters: []string{"m1"}}}
	j.add("a", time.Hour, nil, "m1")
	s := New(j, built{}, &memory{all: map[string]string{}}, func(context.Context, string) (string, error) { return "", nil }, func() time.Time { return noon })
	e := event.New()
	e.SetType(events.Ping)
	if _, err := s.Handle(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if j.lists != 1 {
		t.Errorf("%d lists of all Works, want 1", j.lists)
	}
}
