// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// reports is a binding whose members report these statuses: member1, member2, …
func reports(t *testing.T, statuses ...string) *propagation.Binding {
	t.Helper()
	b := &propagation.Binding{Annotations: map[string]string{propagation.AnnotationContentHash: "now"}}
	for i, s := range statuses {
		name := "member" + string(rune('1'+i))
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: name})
		item := workv1alpha2.AggregatedStatusItem{ClusterName: name, Applied: true}
		if s != "" {
			item.Status = encode(object(t, s))
		}
		b.Status.AggregatedStatus = append(b.Status.AggregatedStatus, item)
	}
	return b
}

func template(t *testing.T, doc string) *propagation.Template {
	t.Helper()
	obj := object(t, doc)
	return &propagation.Template{
		Key:  propagation.TemplateKey{APIVersion: text(obj, "apiVersion"), Kind: text(obj, "kind"), Name: "a"},
		Hash: "now", Object: obj,
	}
}

func TestAggregate(t *testing.T) {
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 7}, status: {conditions: [{type: mine}], observedGeneration: 6, unavailableReplicas: 0}}`
	pending := func(b *propagation.Binding, tm *propagation.Template) { tm.Hash = "newer" }
	failed := func(b *propagation.Binding, tm *propagation.Template) { b.Status.AggregatedStatus[1].Applied = false }
	reversed := func(b *propagation.Binding, tm *propagation.Template) {
		l := b.Status.AggregatedStatus
		l[0], l[1] = l[1], l[0]
	}
	for name, tc := range map[string]struct {
		template string
		members  []string
		given    func(*propagation.Binding, *propagation.Template)
		want     string // empty: not ours to write
	}{
		"replicas add up, and other fields stay": {deployment,
			[]string{`{generation: 2, observedGeneration: 2, replicas: 2, readyReplicas: 1}`, `{generation: 9, observedGeneration: 9, replicas: 1}`}, nil,
			`{conditions: [{type: mine}], observedGeneration: 7, replicas: 3, readyReplicas: 1, unavailableReplicas: 0}`},
		"a member that lags behind holds the generation": {deployment,
			[]string{`{generation: 2, observedGeneration: 2, replicas: 2}`, `{generation: 9, observedGeneration: 8, replicas: 1}`}, nil,
			`{conditions: [{type: mine}], observedGeneration: 6, replicas: 3, unavailableReplicas: 0}`},
		"a member that reports nothing holds it too": {deployment, []string{`{generation: 2, observedGeneration: 2, replicas: 2}`, ``}, nil,
			`{conditions: [{type: mine}], observedGeneration: 6, replicas: 2, unavailableReplicas: 0}`},
		"a change of the template that is pending is not observed": {deployment, []string{`{generation: 2, observedGeneration: 2, replicas: 2}`}, pending,
			`{conditions: [{type: mine}], observedGeneration: 6, replicas: 2, unavailableReplicas: 0}`},
		"a member that could not apply it has not observed it": {deployment, []string{`{generation: 1, observedGeneration: 1}`, `{generation: 1, observedGeneration: 1}`}, failed,
			`{conditions: [{type: mine}], observedGeneration: 6, unavailableReplicas: 0}`},
		"without members there is nothing": {deployment, nil, nil, `{conditions: [{type: mine}], observedGeneration: 6, unavailableReplicas: 0}`},
		"a DaemonSet's counts add up": {`{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, status: {numberReady: 9}}`,
			[]string{`{generation: 1, observedGeneration: 1, numberReady: 1}`, `{generation: 1, observedGeneration: 1, numberReady: 2}`}, nil, `{numberReady: 3, observedGeneration: 1}`},
		"an autoscaler has no generation": {`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {generation: 1}}`, []string{`{currentReplicas: 1, desiredReplicas: 2}`}, nil, `{currentReplicas: 1, desiredReplicas: 2}`},
		"addresses are listed, those without a name get their cluster's": {`{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 9.9.9.9}]}, conditions: []}}`,
			[]string{`{loadBalancer: {ingress: [{ip: 1.1.1.1}]}}`, `{loadBalancer: {ingress: [{hostname: lb.example}, {ip: 2.2.2.2}]}}`}, reversed,
			`{loadBalancer: {ingress: [{ip: 1.1.1.1, hostname: member1}, {hostname: lb.example}, {ip: 2.2.2.2, hostname: member2}]}, conditions: []}`},
		"addresses that are gone are taken out":   {`{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 9.9.9.9}]}}}`, []string{`{loadBalancer: {}}`}, nil, `{loadBalancer: {}}`},
		"a Service without a balancer has none":   {`{apiVersion: v1, kind: Service, spec: {type: ClusterIP}}`, []string{`{loadBalancer: {}}`}, nil, ``},
		"an Ingress has them as a Service has":    {`{apiVersion: networking.k8s.io/v1, kind: Ingress}`, []string{`{loadBalancer: {ingress: [{ip: 1.1.1.1}]}}`}, nil, `{loadBalancer: {ingress: [{ip: 1.1.1.1, hostname: member1}]}}`},
		"a Pod is as its worst":                   {`{apiVersion: v1, kind: Pod, status: {qosClass: Burstable}}`, []string{`{phase: Running}`, `{phase: Pending}`}, nil, `{phase: Pending, qosClass: Burstable}`},
		"a claim is as its worst":                 {`{apiVersion: v1, kind: PersistentVolumeClaim}`, []string{`{phase: Bound}`, `{phase: Lost}`}, nil, `{phase: Lost}`},
		"a claim of which nothing is known":       {`{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}`, []string{``}, nil, `{phase: Pending}`},
		"a CronJob's Jobs are listed":             {`{apiVersion: batch/v1, kind: CronJob}`, []string{`{active: [{name: a}], lastScheduleTime: "2026-01-01T00:00:00Z"}`, `{active: [{name: b}], lastScheduleTime: "2026-01-02T00:00:00Z"}`}, nil, `{active: [{name: a}, {name: b}], lastScheduleTime: "2026-01-02T00:00:00Z"}`},
		"a kind without a rule is not written":    {`{apiVersion: x.io/v1, kind: Thing, status: {a: b}}`, []string{`{a: c}`}, nil, ``},
		"a kind that the hub serves is not":       {`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}`, []string{`{conditions: []}`}, nil, ``},
		"data has no status":                      {`{apiVersion: v1, kind: ConfigMap}`, []string{``}, nil, ``},
		"a kind of that name in another group":    {`{apiVersion: x.io/v1, kind: Deployment}`, []string{`{replicas: 1}`}, nil, ``},
		"what has the wrong form counts for none": {`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: x}, status: 3}`, []string{`{replicas: many, readyReplicas: 2.0}`}, nil, `{readyReplicas: 2}`},
	} {
		t.Run(name, func(t *testing.T) {
			b, tm := reports(t, tc.members...), template(t, tc.template)
			if tc.given != nil {
				tc.given(b, tm)
			}
			got, ok, err := Aggregate(kinds.Table{}, tm, b)
			if ok != (tc.want != "") || err != nil {
				t.Fatalf("ours to write: %v", ok)
			}
			if ok {
				if diff := cmp.Diff(object(t, tc.want), got); diff != "" {
					t.Errorf("status (-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff(object(t, tc.template), tm.Object); diff != "" {
				t.Errorf("the template was changed:\n%s", diff)
			}
		})
	}
}

func TestAggregateJobs(t *testing.T) {
	const (
		running  = `{active: 1, startTime: "2026-01-01T00:00:02Z"}`
		complete = `{succeeded: 1, startTime: "2026-01-01T00:00:01Z", completionTime: "2026-01-01T00:01:00Z", conditions: [{type: SuccessCriteriaMet, status: "True", lastTransitionTime: "2026-01-01T00:01:00Z"}, {type: Complete, status: "True", lastTransitionTime: "2026-01-01T00:01:01Z"}]}`
		slower   = `{succeeded: 1, startTime: "2026-01-01T00:00:03Z", completionTime: "2026-01-01T00:02:00Z", conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-01-01T00:02:00Z"}]}`
		broken   = `{failed: 1, startTime: "2026-01-01T00:00:03Z", conditions: [{type: FailureTarget, status: "True", reason: r, lastTransitionTime: "2026-01-01T00:03:00Z"}, {type: Failed, status: "True", reason: r, lastTransitionTime: "2026-01-01T00:03:01Z"}]}`
	)
	for name, tc := range map[string]struct {
		have    string
		members []string
		want    string
	}{
		"as long as one runs it runs": {`{}`, []string{running, complete}, `{active: 1, succeeded: 1, startTime: "2026-01-01T00:00:01Z"}`},
		"all complete": {`{active: 1}`, []string{complete, slower}, `{active: 0, succeeded: 2, startTime: "2026-01-01T00:00:01Z", completionTime: "2026-01-01T00:02:00Z",
			conditions: [{type: SuccessCriteriaMet, status: "True", lastTransitionTime: "2026-01-01T00:01:00Z"}, {type: Complete, status: "True", lastTransitionTime: "2026-01-01T00:02:00Z"}]}`},
		"one failed, and all have ended": {`{}`, []string{complete, broken}, `{succeeded: 1, failed: 1, startTime: "2026-01-01T00:00:01Z",
			conditions: [{type: FailureTarget, status: "True", reason: r, lastTransitionTime: "2026-01-01T00:03:00Z"}, {type: Failed, status: "True", reason: r, lastTransitionTime: "2026-01-01T00:03:01Z"}]}`},
		"one failed, and one runs":     {`{}`, []string{running, broken}, `{active: 1, failed: 1, startTime: "2026-01-01T00:00:02Z"}`},
		"the start that is told stays": {`{startTime: "2026-01-01T00:00:09Z"}`, []string{running}, `{active: 1, startTime: "2026-01-01T00:00:09Z"}`},
		"an end that is told stays": {`{startTime: s, conditions: [{type: Complete, status: "True"}, {type: SuccessCriteriaMet, status: "True"}]}`, []string{complete},
			`{succeeded: 1, startTime: s, completionTime: "2026-01-01T00:01:00Z", conditions: [{type: Complete, status: "True"}, {type: SuccessCriteriaMet, status: "True"}]}`},
		"nobody has begun": {`{}`, []string{``, ``}, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok, err := Aggregate(kinds.Table{}, template(t, `{apiVersion: batch/v1, kind: Job, status: `+tc.have+`}`), reports(t, tc.members...))
			if diff := cmp.Diff(object(t, tc.want), got); !ok || err != nil || diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

// Any JSON that a member may report is summed up the same twice, and writing
// the sum and summing up again changes nothing.
func TestAggregatingAgainChangesNothing(t *testing.T) {
	all := []string{"apps/v1/Deployment", "apps/v1/StatefulSet", "batch/v1/Job", "batch/v1/CronJob", "networking.k8s.io/v1/Ingress", "v1/Pod", "policy/v1/PodDisruptionBudget"}
	value := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.Int64Range(0, 3), func(n int64) any { return n }), rapid.Just[any]("Running"),
		rapid.Just[any]([]any{map[string]any{"type": "Complete", "status": "True", "ip": "1.1.1.1"}}), rapid.Just[any](map[string]any{"ingress": []any{map[string]any{"ip": "1.1.1.1"}, 3}}))
	field := rapid.SampledFrom([]string{"replicas", "observedGeneration", "generation", "conditions", "startTime", "active", "loadBalancer", "phase", "currentHealthy"})
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(all).Draw(t, "kind")
		cut := len(kind) - 1
		for kind[cut] != '/' {
			cut--
		}
		b := &propagation.Binding{}
		for _, c := range []string{"member1", "member2"} {
			b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: c})
			b.Status.AggregatedStatus = append(b.Status.AggregatedStatus, workv1alpha2.AggregatedStatusItem{ClusterName: c, Applied: true, Status: encode(rapid.MapOf(field, value).Draw(t, c))})
		}
		tm := &propagation.Template{Key: propagation.TemplateKey{APIVersion: kind[:cut], Kind: kind[cut+1:]}, Object: map[string]any{
			"metadata": map[string]any{"generation": int64(2)}, "status": rapid.MapOf(field, value).Draw(t, "have"),
		}}
		first, ok, err := Aggregate(kinds.Table{}, tm, b)
		if !ok || err != nil {
			t.Fatal("no rule", err)
		}
		tm.Object["status"] = first
		if again, _, err := Aggregate(kinds.Table{}, tm, b); err != nil || propagation.HashJSON(again) != propagation.HashJSON(first) {
			t.Fatalf("first %v\nagain %v", first, again)
		}
	})
}
