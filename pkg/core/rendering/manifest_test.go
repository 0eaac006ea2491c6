// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
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

func overrideSpec(t *testing.T, doc string) policyv1alpha1.OverrideSpec {
	t.Helper()
	var spec policyv1alpha1.OverrideSpec
	if err := yaml.UnmarshalStrict([]byte(doc), &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

func keyOf(obj map[string]any) propagation.TemplateKey {
	meta := child(obj, "metadata")
	return propagation.TemplateKey{APIVersion: text(obj["apiVersion"]), Kind: text(obj["kind"]), Namespace: text(meta["namespace"]), Name: text(meta["name"])}
}

func member1() *clusterv1alpha1.Cluster {
	return &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "member1", Labels: map[string]string{"env": "prod"}},
		Spec:       clusterv1alpha1.ClusterSpec{Region: "north"},
	}
}

func TestPrune(t *testing.T) {
	for name, tc := range map[string]struct{ content, want string }{
		"metadata of the API server and the status stay behind": {
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: u, resourceVersion: "7", finalizers: [x], ownerReferences: [{name: o}], labels: {app: a}, annotations: {kubectl.kubernetes.io/last-applied-configuration: x, note: n}}, data: {k: v}, status: {x: y}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, labels: {app: a}, annotations: {note: n}}, data: {k: v}}`,
		},
		"annotations that were none but ours are gone": {
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {}, annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`,
		},
		"a Service loses what the hub allocated, but for its node ports: members share them": {
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], healthCheckNodePort: 3, type: NodePort, ports: [{port: 80, nodePort: 30080}]}}`,
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}]}}`,
		},
		"a headless Service stays headless": {
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: None, clusterIPs: [None]}}`,
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: None, clusterIPs: [None]}}`,
		},
		"a kind of that name in another group is left as it is": {
			`{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: a}, spec: {clusterIP: x}}`,
			`{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: a}, spec: {clusterIP: x}}`,
		},
		"a Job loses its generated selector": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a, labels: {controller-uid: u, app: a}}, spec: {selector: {matchLabels: {controller-uid: u}}, template: {metadata: {labels: {batch.kubernetes.io/controller-uid: u, job-name: a}}, spec: {}}}}`,
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a, labels: {app: a}}, spec: {template: {metadata: {}, spec: {}}}}`,
		},
		"a Job that the hub leaves alone is run by the member": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {managedBy: sluice.dev/hub, manualSelector: true}}`,
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {manualSelector: true}}`,
		},
		"a Job that somebody else looks after stays theirs": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {managedBy: example.com/queue, manualSelector: true}}`,
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {managedBy: example.com/queue, manualSelector: true}}`,
		},
		"a Job with a selector of its own keeps it": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {manualSelector: true, selector: {matchLabels: {app: a}}}}`,
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {manualSelector: true, selector: {matchLabels: {app: a}}}}`,
		},
		"a Deployment loses its revision": {
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, annotations: {deployment.kubernetes.io/revision: "3"}}, spec: {replicas: 1}}`,
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 1}}`,
		},
		"a ServiceAccount loses its generated secrets": {
			`{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, secrets: [{name: a-token}], imagePullSecrets: [{name: pull}]}`,
			`{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, imagePullSecrets: [{name: pull}]}`,
		},
		"the hub's token does not travel": {
			`{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: a, annotations: {kubernetes.io/service-account.name: a, kubernetes.io/service-account.uid: u}}, data: {token: eA==}}`,
			`{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: a, annotations: {kubernetes.io/service-account.name: a}}}`,
		},
		"a claim loses the volume that a controller chose": {
			`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, annotations: {pv.kubernetes.io/bound-by-controller: "yes", pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: pv1, storageClassName: s}}`,
			`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {storageClassName: s}}`,
		},
		"a claim keeps the volume that its owner chose": {
			`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {volumeName: pv1}}`,
			`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {volumeName: pv1}}`,
		},
		"a volume forgets the hub's claim": {
			`{apiVersion: v1, kind: PersistentVolume, metadata: {name: a}, spec: {claimRef: {name: c, namespace: shop, uid: u, resourceVersion: "1"}}}`,
			`{apiVersion: v1, kind: PersistentVolume, metadata: {name: a}, spec: {claimRef: {name: c, namespace: shop}}}`,
		},
		"a Namespace loses its finalizers": {
			`{apiVersion: v1, kind: Namespace, metadata: {name: a}, spec: {finalizers: [kubernetes]}}`,
			`{apiVersion: v1, kind: Namespace, metadata: {name: a}}`,
		},
		"what has the wrong form does no harm": {
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [1, {nodePort: 2}]}, status: 4}`,
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [1, {nodePort: 2}]}}`,
		},
		"what has no metadata does no harm": {`{apiVersion: v1, kind: Job, spec: 3}`, `{apiVersion: v1, kind: Job, spec: 3}`},
	} {
		t.Run(name, func(t *testing.T) {
			content := object(t, tc.content)
			got, err := Manifest(kinds.Table{}, content, member1(), keyOf(content), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(object(t, tc.want), got); diff != "" {
				t.Errorf("manifest (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(object(t, tc.content), content); diff != "" {
				t.Errorf("the content was changed:\n%s", diff)
			}
		})
	}
	if _, err := Manifest(kinds.Table{}, nil, member1(), propagation.TemplateKey{Kind: "X", Name: "a"}, nil, nil); err == nil {
		t.Error("no content is no error")
	}
}

func TestReplicas(t *testing.T) {
	for name, tc := range map[string]struct{ content, want string }{
		"a Deployment gets its share":              {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 9}}`, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 2}}`},
		"a Deployment that says none too":          {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {}}`, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 2}}`},
		"a Job gets its share as parallelism":      {`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {completions: 4}}`, `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {completions: 4, parallelism: 2}}`},
		"a custom kind with replicas gets a share": {`{apiVersion: x.io/v1, kind: Thing, metadata: {name: a}, spec: {replicas: 9}}`, `{apiVersion: x.io/v1, kind: Thing, metadata: {name: a}, spec: {replicas: 2}}`},
		"a kind without replicas has no manifest":  {`{apiVersion: x.io/v1, kind: Thing, metadata: {name: a}, spec: {}}`, ``},
		"nor has a kind without spec":              {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			content := object(t, tc.content)
			got, err := Manifest(kinds.Table{}, content, member1(), keyOf(content), nil, new(int32(2)))
			if tc.want == "" {
				if !errors.Is(err, kinds.ErrNoReplicas) {
					t.Errorf("%v, %v", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(object(t, tc.want), got); diff != "" {
				t.Errorf("manifest (-want +got):\n%s", diff)
			}
		})
	}
}
