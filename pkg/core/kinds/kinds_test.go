// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"sluice.dev/pkg/core/propagation"
)

// abilities of the kinds that Sluice was told about; total: the template's status is
// made of the members'; awaited: placements wait for its health.
const abilities = `
ClusterRole.rbac.authorization.k8s.io: health awaited
ClusterRoleBinding.rbac.authorization.k8s.io: health awaited
ConfigMap: health awaited
CronJob.batch: reports health total refers
CustomResourceDefinition.apiextensions.k8s.io: reports health awaited
DaemonSet.apps: reports observes health total refers awaited
Deployment.apps: prune replicas reports observes health total refers awaited
HorizontalPodAutoscaler.autoscaling: reports health total
Ingress.networking.k8s.io: reports health total refers
IngressClass.networking.k8s.io: health awaited
Job.batch: prune parallelism reports health total refers ends
LimitRange: health awaited
MutatingWebhookConfiguration.admissionregistration.k8s.io: health awaited
Namespace: prune reports health awaited
NetworkPolicy.networking.k8s.io: health awaited
PersistentVolume: prune reports health total
PersistentVolumeClaim: prune reports health total
Pod: reports health total refers
PodDisruptionBudget.policy: reports observes health total awaited
PriorityClass.scheduling.k8s.io: health awaited
APIService.apiregistration.k8s.io: reports health
ReplicaSet.apps: replicas reports observes health total refers
ReplicationController: replicas reports health refers
ResourceQuota: reports health awaited
Role.rbac.authorization.k8s.io: health awaited
RoleBinding.rbac.authorization.k8s.io: health awaited
RuntimeClass.node.k8s.io: health awaited
Secret: prune health awaited
Service: prune unshare reports health total awaited
ServiceAccount: prune health awaited
StatefulSet.apps: replicas reports observes health total refers awaited
StorageClass.storage.k8s.io: health awaited
ValidatingWebhookConfiguration.admissionregistration.k8s.io: health awaited
`

func TestTheTableIsTrue(t *testing.T) {
	var lines []string
	for gk, k := range known {
		has := []string{gk.String() + ":"}
		for _, a := range []struct {
			name string
			has  bool
		}{
			{"prune", k.prune != nil}, {"unshare", k.unshare != nil}, {k.replicas, k.replicas != ""}, {"reports", len(k.reports) > 0}, {"observes", k.Observes()}, {"health", k.health != nil},
			{"total", k.total != nil}, {"refers", k.refers != nil}, {"ends", k.Ends()}, {"awaited", k.Awaited(nil)},
		} {
			if a.has {
				has = append(has, a.name)
			}
		}
		lines = append(lines, strings.Join(has, " "))
	}
	want := strings.Split(strings.TrimSpace(abilities), "\n")
	slices.Sort(want)
	slices.Sort(lines)
	if d := cmp.Diff(want, lines); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := yaml.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestHealth(t *testing.T) {
	thing := func(status string) string {
		return "{apiVersion: x.io/v1, kind: Thing, metadata: {generation: 2}, status: " + status + "}"
	}
	scaler := func(conditions string) string {
		return "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, status: {conditions: " + conditions + "}}"
	}
	for name, tc := range map[string]struct{ obj, want string }{
		"an autoscaler that nobody looked at":            {scaler("[]"), "Unknown"},
		"an autoscaler that scales":                      {scaler(`[{type: AbleToScale, status: "True"}, {type: ScalingActive, status: "True"}, {type: ScalingLimited, status: "False"}]`), "Healthy"},
		"an autoscaler without metrics":                  {scaler(`[{type: AbleToScale, status: "True"}, {type: ScalingActive, status: "False", reason: FailedGetResourceMetric}]`), "Unhealthy"},
		"an autoscaler that is switched off":             {scaler(`[{type: AbleToScale, status: "True"}, {type: ScalingActive, status: "False", reason: ScalingDisabled}]`), "Healthy"},
		"an autoscaler of nothing":                       {scaler(`[{type: AbleToScale, status: "False"}]`), "Unhealthy"},
		"a team's kind without conditions":               {thing("{phase: Good}"), "Unknown"},
		"a team's kind with conditions of its own":       {thing(`{conditions: [{type: Painted, status: "False"}]}`), "Unknown"},
		"a team's kind that is ready":                    {thing(`{conditions: [{type: Ready, status: "True"}]}`), "Healthy"},
		"a team's kind that is not":                      {thing(`{conditions: [{type: Ready, status: "False"}]}`), "Unhealthy"},
		"a team's kind that does not know":               {thing(`{conditions: [{type: Ready, status: Unknown}]}`), "Unhealthy"},
		"a team's kind that is available":                {thing(`{conditions: [{type: Available, status: "True"}]}`), "Healthy"},
		"a team's kind that is not available":            {thing(`{conditions: [{type: Available, status: "False"}]}`), "Unhealthy"},
		"Ready says more than Available":                 {thing(`{conditions: [{type: Available, status: "True"}, {type: Ready, status: "False"}]}`), "Unhealthy"},
		"what it says is of an earlier form":             {thing(`{observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}`), "Unhealthy"},
		"what it says is of this form":                   {thing(`{observedGeneration: 2, conditions: [{type: Ready, status: "True"}]}`), "Healthy"},
		"somebody is at it":                              {thing(`{conditions: [{type: Ready, status: "True"}, {type: Reconciling, status: "True"}]}`), "Unhealthy"},
		"somebody has given up":                          {thing(`{conditions: [{type: Stalled, status: "True"}]}`), "Unhealthy"},
		"whatever is being deleted does its job no more": {`{apiVersion: v1, kind: ConfigMap, metadata: {deletionTimestamp: now}}`, "Unhealthy"},
		"a Job that is deleted before it has ended":      {`{apiVersion: batch/v1, kind: Job, metadata: {deletionTimestamp: now}, status: {active: 1}}`, "Unhealthy"},
		"Z20: one that was complete, and is removed":     {`{apiVersion: batch/v1, kind: Job, metadata: {deletionTimestamp: now}, status: {conditions: [{type: Complete, status: "True"}]}}`, "Healthy"},
		"and one that had failed":                        {`{apiVersion: batch/v1, kind: Job, metadata: {deletionTimestamp: now}, status: {conditions: [{type: Failed, status: "True"}]}}`, "Unhealthy"},
		"conditions of the wrong form say nothing":       {thing(`{conditions: {Ready: "True"}}`), "Unknown"},
	} {
		obj := object(t, tc.obj)
		if got, err := Of(obj).Health(obj); string(got) != tc.want || err != nil {
			t.Errorf("%s: %s, %v, want %s", name, got, err, tc.want)
		}
	}
}

func TestReplicas(t *testing.T) {
	for name, tc := range map[string]struct {
		obj  string
		want int32
		set  string // the spec with 5
	}{
		"a Deployment":                    {`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3}}`, 3, "map[replicas:5]"},
		"a Deployment that does not say":  {`{apiVersion: apps/v1, kind: Deployment, spec: {}}`, 1, "map[replicas:5]"},
		"a Deployment of another group":   {`{apiVersion: x.io/v1, kind: Deployment, spec: {}}`, 0, "map[]"},
		"a Job":                           {`{apiVersion: batch/v1, kind: Job, spec: {parallelism: 2}}`, 2, "map[parallelism:5]"},
		"a DaemonSet has one a node":      {`{apiVersion: apps/v1, kind: DaemonSet, spec: {template: {}}}`, 0, "map[template:map[]]"},
		"a team's kind that runs pods":    {`{apiVersion: x.io/v1, kind: Thing, spec: {replicas: 4, template: {a: b}}}`, 4, "map[replicas:5 template:map[a:b]]"},
		"a team's kind that has no pods":  {`{apiVersion: x.io/v1, kind: Thing, spec: {replicas: 4}}`, 0, "map[replicas:5]"},
		"a team's kind that does not say": {`{apiVersion: x.io/v1, kind: Thing, spec: {template: {a: b}}}`, 0, "map[template:map[a:b]]"},
		"a spec of the wrong form":        {`{apiVersion: apps/v1, kind: Deployment, spec: [a]}`, 1, "[a]"},
	} {
		obj := object(t, tc.obj)
		k := Of(obj)
		if got, err := k.Replicas(obj); got != tc.want || err != nil {
			t.Errorf("%s: %d, %v, want %d", name, got, err, tc.want)
		}
		if err := k.SetReplicas(obj, 5); (err == nil) != strings.Contains(tc.set, "5") {
			t.Errorf("%s: it says %v, and the spec is %v", name, err, obj["spec"])
		}
		if got := fmt.Sprint(obj["spec"]); got != tc.set {
			t.Errorf("%s: the spec is %s, want %s", name, got, tc.set)
		}
	}
}

func TestReferencesOfOneNamespace(t *testing.T) {
	obj := object(t, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {namespace: shop, name: db}
spec:
  volumeClaimTemplates: [{metadata: {name: own}}]
  template: {spec: {serviceAccountName: db, volumes: [
    {configMap: {name: conf}}, {configMap: {name: conf}}, {persistentVolumeClaim: {claimName: own}}, {persistentVolumeClaim: {claimName: others}}, {secret: {secretName: key}}]}}
`)
	want := []propagation.TemplateKey{}
	for _, o := range [][2]string{{"ConfigMap", "conf"}, {"PersistentVolumeClaim", "others"}, {"Secret", "key"}, {"ServiceAccount", "db"}} {
		want = append(want, propagation.TemplateKey{APIVersion: "v1", Kind: o[0], Namespace: "shop", Name: o[1]})
	}
	got, err := Of(obj).References(obj)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v; -want +got\n%s", err, d)
	}
	if got, err := Named(schema.GroupKind{Kind: "ConfigMap"}).References(obj); len(got) > 0 || err != nil {
		t.Errorf("data refers to %v, %v", got, err)
	}
}
