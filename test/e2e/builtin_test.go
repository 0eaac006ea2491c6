// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"sigs.k8s.io/yaml"
)

// builtins are kinds that every API server serves, each with what people write
// in it, and among that what an API server writes in another form.
var builtins = []struct {
	resource
	body string
}{
	{resource{group: "apps", version: "v1", kind: "StatefulSet", plural: "statefulsets"}, `
spec:
  serviceName: web
  replicas: 1
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec: {containers: [{name: c, image: nginx, resources: {requests: {cpu: 0.5, memory: 1024Mi}}}]}`},
	{resource{group: "apps", version: "v1", kind: "DaemonSet", plural: "daemonsets"}, `
spec:
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}, creationTimestamp: null}
    spec: {containers: [{name: c, image: nginx, ports: [{containerPort: 80}]}]}`},
	{resource{group: "apps", version: "v1", kind: "ReplicaSet", plural: "replicasets"}, `
spec:
  replicas: 1
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec: {containers: [{name: c, image: nginx}]}`},
	{resource{version: "v1", kind: "Pod", plural: "pods"}, `
spec: {containers: [{name: c, image: nginx, resources: {limits: {cpu: 1000m}}}]}`},
	{resource{group: "batch", version: "v1", kind: "Job", plural: "jobs"}, `
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}`},
	{resource{group: "batch", version: "v1", kind: "CronJob", plural: "cronjobs"}, `
spec:
  schedule: "0 0 1 1 *"
  jobTemplate:
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}`},
	{resource{version: "v1", kind: "PersistentVolumeClaim", plural: "persistentvolumeclaims"}, `
spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1024Mi}}}`},
	{resource{version: "v1", kind: "LimitRange", plural: "limitranges"}, `
spec: {limits: [{type: PersistentVolumeClaim, max: {storage: 2048Gi}}]}`},
	{resource{version: "v1", kind: "ResourceQuota", plural: "resourcequotas"}, `
spec: {hard: {count/leases.coordination.k8s.io: "1000"}}`},
	{resource{group: "networking.k8s.io", version: "v1", kind: "Ingress", plural: "ingresses"}, `
spec:
  defaultBackend: {service: {name: web, port: {number: 80}}}`},
	{resource{group: "networking.k8s.io", version: "v1", kind: "NetworkPolicy", plural: "networkpolicies"}, `
spec: {podSelector: {}, policyTypes: [Ingress]}`},
	{resource{group: "policy", version: "v1", kind: "PodDisruptionBudget", plural: "poddisruptionbudgets"}, `
spec: {minAvailable: 1, selector: {matchLabels: {app: x}}}`},
	{resource{group: "autoscaling", version: "v2", kind: "HorizontalPodAutoscaler", plural: "horizontalpodautoscalers"}, `
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}
  maxReplicas: 3`},
	{resource{group: "rbac.authorization.k8s.io", version: "v1", kind: "Role", plural: "roles"}, `
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`},
	{resource{group: "rbac.authorization.k8s.io", version: "v1", kind: "RoleBinding", plural: "rolebindings"}, `
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: none}
subjects: [{kind: ServiceAccount, name: default}]`},
	{resource{group: "rbac.authorization.k8s.io", version: "v1", kind: "ClusterRoleBinding", plural: "clusterrolebindings", clusterScoped: true}, `
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: none}
subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: nobody}]`},
	{resource{group: "scheduling.k8s.io", version: "v1", kind: "PriorityClass", plural: "priorityclasses", clusterScoped: true}, `
value: 7`},
	{resource{group: "storage.k8s.io", version: "v1", kind: "StorageClass", plural: "storageclasses", clusterScoped: true}, `
provisioner: example.org/none`},
	{resource{group: "networking.k8s.io", version: "v1", kind: "IngressClass", plural: "ingressclasses", clusterScoped: true}, `
spec: {controller: example.org/none}`},
	{resource{version: "v1", kind: "PersistentVolume", plural: "persistentvolumes", clusterScoped: true}, `
spec:
  capacity: {storage: 1024Mi}
  accessModes: [ReadWriteOnce]
  storageClassName: none
  hostPath: {path: /tmp/none}`},
}

// Every kind goes to the member, is changed there, costs nothing as long as
// nobody changes it, and goes again.
func TestKindBuiltIn(t *testing.T) {
	t.Parallel()
	for _, k := range builtins {
		t.Run(k.kind, func(t *testing.T) {
			forms := inNamespaces
			if k.clusterScoped {
				forms = []form{cppcr}
			}
			each(t, gatesOff, forms, func(s *scenario) {
				x := s.builtin(k.resource, k.body)
				s.Apply(s.Policy("pp").Selecting(x).To("member1"), x)
				s.Expect(x).Labelled("member1", "version", "one").Work("member1", isCondition("Applied", "True"))
				before := s.applied(x)
				s.Settle()
				if after := s.applied(x); after != before {
					s.Errorf("applied again although nobody changed anything: first %s, then %s", before, after)
				}
				s.Apply(x.Label("version", "two"))
				s.Expect(x).Labelled("member1", "version", "two")
				s.Delete(x)
				s.Eventually(func() error {
					if o := s.Expect(x).inMember("member1"); o != nil && o.GetDeletionTimestamp() == nil {
						return fmt.Errorf("%s is still in member1", x)
					}
					return nil
				})
			})
		})
	}
}

// The number of replicas is that of the member's own autoscaler as long as there is
// one, and the template's again afterwards.
func TestKindAutoscaler(t *testing.T) {
	each(t, gatesOff, []form{pp}, func(s *scenario) {
		nginx := s.Template("nginx")
		scaler := s.builtin(resource{group: "autoscaling", version: "v2", kind: "HorizontalPodAutoscaler", plural: "horizontalpodautoscalers"}, `
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nginx}
  minReplicas: 3
  maxReplicas: 4`)
		replicas := func(want int64) func(obj map[string]any) error {
			return func(obj map[string]any) error {
				if got := number(obj, "spec.replicas"); got != want {
					return fmt.Errorf("%d replicas, want %d", got, want)
				}
				return nil
			}
		}
		s.Apply(s.Policy("pp").Selecting(nginx, scaler).To("member1"), nginx, scaler)
		s.Expect(nginx).Member("member1", replicas(3))
		s.Settle()
		s.Apply(nginx.At(2).Replicas(2))
		s.Expect(nginx).At(2).Member("member1", replicas(3))
		s.Settle()
		s.Expect(nginx).Member("member1", replicas(3))
		for _, c := range s.lab.clusters["member1"].mirror(nginx.resource).since(s.ns, 0) {
			if got := number(c.after.Object, "spec.replicas"); got == 2 {
				s.Errorf("the template's number of replicas came into the autoscaler's way: %s", c.kind)
			}
		}
		s.Delete(scaler)
		s.Expect(scaler).Nowhere()
		s.Apply(nginx.At(3).Replicas(2))
		s.Expect(nginx).At(3).Member("member1", replicas(2))
	})
}

// A namespace is a template like any other; what else the member has in it
// stays as long as the namespace. Alone, for the namespace controller holds back
// for a minute while kinds come and go.
func TestKindNamespace(t *testing.T) {
	alone(t, gatesOff, []form{cppcr}, func(s *scenario) {
		ns := template{newThing(namespaces, "", s.unique("room")).mark("labels", scenarioLabel, s.ns)}.Label("version", "one")
		s.Apply(s.Policy("pp").Selecting(ns).To("member1", "member2"), ns)
		s.Expect(ns).Labelled("member1", "version", "one").Labelled("member2", "version", "one")
		s.Apply(ns.Label("version", "two"))
		s.Expect(ns).Labelled("member2", "version", "two")
		s.Delete(ns)
		s.Eventually(func() error {
			if o := s.Expect(ns).inMember("member1"); o != nil && o.GetDeletionTimestamp() == nil {
				return errors.New("the namespace is still in member1")
			}
			return nil
		})
	})
}

// applied says when the object was applied in member1, and what. What member1's
// own controllers do to it is no concern of ours.
func (s *scenario) applied(x template) string {
	s.Helper()
	live := s.LiveIn("member1", x)
	for _, f := range live.GetManagedFields() {
		if f.Manager == "sluice" && f.Subresource == "" {
			return fmt.Sprintf("at %s, generation %d", f.Time, live.GetGeneration())
		}
	}
	s.Fatalf("sluice applied nothing of %s", x)
	return ""
}

// builtin is an object with that body.
func (s *scenario) builtin(r resource, body string) template {
	s.Helper()
	raw, err := yaml.YAMLToJSON([]byte(body))
	if err != nil {
		s.Fatal(err)
	}
	var parts map[string]any
	if err := json.Unmarshal(raw, &parts); err != nil {
		s.Fatal(err)
	}
	name, namespace := "x", s.ns
	if r.clusterScoped {
		name, namespace = s.unique("x"), ""
	}
	o := newThing(r, namespace, name).mark("labels", scenarioLabel, s.ns)
	for k, v := range parts {
		o = o.with(k, v)
	}
	return template{o}.Label("version", "one")
}
