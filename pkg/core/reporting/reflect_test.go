// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// object decodes YAML as an API server's answer is decoded.
func object(t *testing.T, doc string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	var obj map[string]any
	if err := utiljson.Unmarshal(raw, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestReflect(t *testing.T) {
	for name, tc := range map[string]struct {
		obj    string
		status string // empty: none
		health Health
	}{
		"a Deployment that is rolled out": {
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 4}, spec: {replicas: 2}, status: {observedGeneration: 4, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2, conditions: [{type: Available}], terminatingReplicas: 0}}`,
			`{generation: 4, observedGeneration: 4, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2}`, "Healthy"},
		"a Deployment whose controller has not looked": {
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 5}, spec: {replicas: 2}, status: {observedGeneration: 4, replicas: 2, updatedReplicas: 2, availableReplicas: 2}}`,
			`{generation: 5, observedGeneration: 4, replicas: 2, updatedReplicas: 2, availableReplicas: 2}`, "Unhealthy"},
		"a Deployment with an old pod": {
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {}, status: {observedGeneration: 1, replicas: 2, updatedReplicas: 1, availableReplicas: 1}}`,
			`{generation: 1, observedGeneration: 1, replicas: 2, updatedReplicas: 1, availableReplicas: 1}`, "Unhealthy"},
		"a Deployment scaled to nothing is healthy": {
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 0}, status: {observedGeneration: 1}}`,
			`{generation: 1, observedGeneration: 1}`, "Healthy"},
		"a Deployment that is going is unhealthy": {
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1, deletionTimestamp: x}, spec: {replicas: 0}, status: {observedGeneration: 1}}`,
			`{generation: 1, observedGeneration: 1}`, "Unhealthy"},
		"a Deployment without a status": {
			`{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}}`, ``, "Unhealthy"},
		"a StatefulSet that is rolled out": {
			`{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 2}, status: {observedGeneration: 1, replicas: 2, updatedReplicas: 2, readyReplicas: 2}}`,
			`{generation: 1, observedGeneration: 1, replicas: 2, updatedReplicas: 2, readyReplicas: 2}`, "Healthy"},
		"a StatefulSet with a partition": {
			`{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 3, updateStrategy: {rollingUpdate: {partition: 2}}}, status: {observedGeneration: 1, updatedReplicas: 1, readyReplicas: 3}}`,
			`{generation: 1, observedGeneration: 1, updatedReplicas: 1, readyReplicas: 3}`, "Healthy"},
		"a StatefulSet of an old revision": {
			`{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 3}, status: {observedGeneration: 1, updatedReplicas: 1, readyReplicas: 3}}`,
			`{generation: 1, observedGeneration: 1, updatedReplicas: 1, readyReplicas: 3}`, "Unhealthy"},
		"a StatefulSet updated by hand": {
			`{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 1, updateStrategy: {type: OnDelete}}, status: {observedGeneration: 1, readyReplicas: 1}}`,
			`{generation: 1, observedGeneration: 1, readyReplicas: 1}`, "Healthy"},
		"a DaemonSet on all nodes": {
			`{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 2}}`,
			`{generation: 1, observedGeneration: 1, desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 2}`, "Healthy"},
		"a DaemonSet on some nodes": {
			`{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 1}}`,
			`{generation: 1, observedGeneration: 1, desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 1}`, "Unhealthy"},
		"a ReplicaSet": {
			`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 1}, status: {observedGeneration: 1, availableReplicas: 1}}`,
			`{generation: 1, observedGeneration: 1, availableReplicas: 1}`, "Healthy"},
		"a Job that runs":       {`{apiVersion: batch/v1, kind: Job, status: {active: 1, ready: 1}}`, `{active: 1}`, "Unknown"},
		"a Job that is done":    {`{apiVersion: batch/v1, kind: Job, status: {succeeded: 1, conditions: [{type: Complete, status: "True"}]}}`, `{succeeded: 1, conditions: [{type: Complete, status: "True"}]}`, "Healthy"},
		"a Job that failed":     {`{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Failed, status: "True"}]}}`, `{conditions: [{type: Failed, status: "True"}]}`, "Unhealthy"},
		"a CronJob":             {`{apiVersion: batch/v1, kind: CronJob, status: {lastScheduleTime: x}}`, `{lastScheduleTime: x}`, "Healthy"},
		"a Pod that is ready":   {`{apiVersion: v1, kind: Pod, status: {phase: Running, podIP: 1.2.3.4, conditions: [{type: Ready, status: "True"}]}}`, `{phase: Running}`, "Healthy"},
		"a Pod that is not":     {`{apiVersion: v1, kind: Pod, status: {phase: Running}}`, `{phase: Running}`, "Unhealthy"},
		"a Pod that is done":    {`{apiVersion: v1, kind: Pod, status: {phase: Succeeded}}`, `{phase: Succeeded}`, "Healthy"},
		"a Service with an IP":  {`{apiVersion: v1, kind: Service, spec: {clusterIP: 10.0.0.1}, status: {loadBalancer: {}}}`, `{loadBalancer: {}}`, "Healthy"},
		"a load balancer to be": {`{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}, status: {loadBalancer: {}}}`, `{loadBalancer: {}}`, "Unhealthy"},
		"a load balancer": {`{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}}`,
			`{loadBalancer: {ingress: [{ip: 1.2.3.4}]}}`, "Healthy"},
		"a Service that is a name":        {`{apiVersion: v1, kind: Service, spec: {type: ExternalName}}`, ``, "Healthy"},
		"a Knative Service is no Service": {`{apiVersion: serving.knative.dev/v1, kind: Service, status: {url: u}}`, `{url: u}`, "Unknown"},
		"an Ingress without an address":   {`{apiVersion: networking.k8s.io/v1, kind: Ingress}`, ``, "Unhealthy"},
		"a bound claim":                   {`{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Bound}}`, `{phase: Bound}`, "Healthy"},
		"a claim that waits":              {`{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}`, `{phase: Pending}`, "Unhealthy"},
		"a definition that is served": {`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: Established, status: "True"}, {type: NamesAccepted, status: "True"}]}}`,
			`{conditions: [{type: Established, status: "True"}, {type: NamesAccepted, status: "True"}]}`, "Healthy"},
		"a definition that is not": {`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: Established, status: "False"}]}}`, `{conditions: [{type: Established, status: "False"}]}`, "Unhealthy"},
		"a budget that is kept": {`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}, status: {observedGeneration: 1, currentHealthy: 2, desiredHealthy: 2}}`,
			`{generation: 1, observedGeneration: 1, currentHealthy: 2, desiredHealthy: 2}`, "Healthy"},
		"data":                              {`{apiVersion: v1, kind: ConfigMap, data: {a: b}}`, ``, "Healthy"},
		"a kind without a rule":             {`{apiVersion: x.io/v1, kind: Thing, status: {a: {b: c}}}`, `{a: {b: c}}`, "Unknown"},
		"a kind without a rule or a status": {`{apiVersion: x.io/v1, kind: Thing}`, ``, "Unknown"},
		"what has the wrong form":           {`{apiVersion: apps/v1, kind: Deployment, metadata: 3, spec: [], status: {observedGeneration: many, replicas: {}}}`, `{generation: 0, observedGeneration: many, replicas: {}}`, "Unhealthy"},
	} {
		t.Run(name, func(t *testing.T) {
			status, health, err := Reflect(kinds.Table{}, object(t, tc.obj))
			var want map[string]any
			if tc.status != "" {
				want = object(t, tc.status)
			}
			if diff := cmp.Diff(want, status); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if health != tc.health || err != nil {
				t.Errorf("health %s, want %s", health, tc.health)
			}
		})
	}
}

func TestManifestStatus(t *testing.T) {
	manifest := object(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: nginx, namespace: shop}}`)
	s := ManifestStatus(kinds.Table{}, 0, manifest, object(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: nginx, namespace: shop, generation: 1}, status: {observedGeneration: 1, replicas: 1}}`))
	want := workv1alpha1.ResourceIdentifier{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespace: "shop", Name: "nginx"}
	if diff := cmp.Diff(want, s.Identifier); diff != "" {
		t.Errorf("identifier (-want +got):\n%s", diff)
	}
	if got := string(s.Status.Raw); got != `{"generation":1,"observedGeneration":1,"replicas":1}` {
		t.Errorf("status %s", got)
	}
	settings := object(t, `{apiVersion: v1, kind: ConfigMap}`)
	if s := ManifestStatus(kinds.Table{}, 0, settings, settings); s.Status != nil {
		t.Errorf("a status of nothing: %s", s.Status.Raw)
	}
	newer := object(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: one}}`)
	older := object(t, `{apiVersion: example.com/v1beta2, kind: Widget, metadata: {name: one}}`)
	if got := ManifestStatus(kinds.Table{}, 0, newer, older).Identifier.Version; got != "v1" {
		t.Errorf("an object that was read as v1beta2 is told as %s, its manifest says v1", got)
	}

	second := s
	second.Identifier.Ordinal = 1
	list := WithStatus(WithStatus(nil, second), s)
	changed := s
	changed.Health = workv1alpha1.ResourceUnknown
	if got := WithStatus(list, changed); len(got) != 2 || got[0].Health != "Unknown" || got[1].Identifier.Ordinal != 1 || list[0].Health == "Unknown" {
		t.Errorf("list %+v, before %+v", got, list)
	}
}

// What a rule does not tell is said beside what the others do, in Work and binding.
func TestWhatIsHeldBackIsNamedAsItsManifestNamesItNow(t *testing.T) {
	said := func(group, version, name string) []workv1alpha1.ManifestStatus {
		return []workv1alpha1.ManifestStatus{{Identifier: workv1alpha1.ResourceIdentifier{Group: group, Version: version, Kind: "Widget", Namespace: "shop", Name: name}}}
	}
	manifest := object(t, "{apiVersion: example.com/v2, kind: Widget, metadata: {name: a, namespace: shop}}")
	for name, tc := range map[string]struct{ list, want []workv1alpha1.ManifestStatus }{
		"in the present version":     {list: said("example.com", "v2", "a"), want: said("example.com", "v2", "a")},
		"not in the one that it had": {list: said("example.com", "v1", "a"), want: said("example.com", "v2", "a")},
		"another group is another's": {list: said("example.org", "v1", "a"), want: said("example.org", "v1", "a")},
		"another name is another's":  {list: said("example.com", "v1", "b"), want: said("example.com", "v1", "b")},
		"of nothing, nothing":        {},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, Named(tc.list, []map[string]any{manifest})); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestWhatARuleDoesNotTellIsSaid(t *testing.T) {
	failed := errors.New("spec.rules.health.expression: no such key")
	known := kinds.NewTable(map[schema.GroupKind]kinds.Own{{Group: "example.com", Kind: "Widget"}: {
		Health: func(map[string]any) (Health, error) { return workv1alpha1.ResourceUnknown, failed },
		Total:  func(map[string]any, []kinds.Member) (map[string]any, error) { return nil, failed },
	}})
	widget := object(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: blue}, status: {ready: 1}}`)
	s := ManifestStatus(known, 0, widget, widget)
	if s.Health != workv1alpha1.ResourceUnknown || s.Message != failed.Error() || s.Status == nil {
		t.Errorf("the Work says %s, %q, %v", s.Health, s.Message, s.Status)
	}
	w := &propagation.Work{Key: propagation.WorkKey{Cluster: "member1"}, Generation: 1}
	w.Status = Succeeded(w, workv1alpha1.AppliedState{}, []workv1alpha1.ManifestStatus{s}, time.Time{})
	b := reports(t)
	w.Annotations = map[string]string{propagation.AnnotationRevision: b.Revision()}
	if got := Summarize(b, []*propagation.Work{w}, time.Time{}).AggregatedStatus; len(got) != 1 || !got[0].Applied || got[0].AppliedMessage != failed.Error() {
		t.Errorf("the binding says %+v", got)
	}
	if _, ours, err := Aggregate(known, template(t, `{apiVersion: example.com/v1, kind: Widget, status: {ready: 1}}`), b); ours || !errors.Is(err, failed) {
		t.Errorf("the template's status: ours %v, %v", ours, err)
	}
	status, changed := Aggregated(b.Status, failed, time.Time{})
	if c := meta.FindStatusCondition(status.Conditions, ConditionAggregated); !changed || c == nil || c.Reason != ReasonRuleFailed || c.Message != failed.Error() {
		t.Errorf("the binding says %v", c)
	}
	if _, changed := Aggregated(status, failed, time.Time{}.Add(time.Hour)); changed {
		t.Error("the same is said again")
	}
	if status, changed = Aggregated(status, nil, time.Time{}); !changed || len(status.Conditions) > 0 {
		t.Errorf("what is over is still said: %v", status.Conditions)
	}
	if _, changed = Aggregated(status, nil, time.Time{}); changed {
		t.Error("that it is over is said again")
	}
}
