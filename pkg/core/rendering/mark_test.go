// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// Clients of the released API find what they look for on a Work and on what it brings
// to the member; a binding that was let through before there was any of it renders as
// it did then.
func TestReleasedMarks(t *testing.T) {
	const content = `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}]}}`
	for sentence, tc := range map[string]struct {
		id, policy string
		want       string
		wantLabel  string
	}{
		"the id of the binding, the name of the policy in force, and the hub's node port": {
			id: "id1", policy: "Namespaced/shop/web", wantLabel: "id1",
			want: `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop, labels: {resourcebinding.karmada.io/permanent-id: id1},
  annotations: {propagationpolicy.karmada.io/namespace: shop, propagationpolicy.karmada.io/name: web}}, spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}]}}`,
		},
		"of a cluster policy its name alone": {
			id: "id1", policy: "Cluster//web", wantLabel: "id1",
			want: `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop, labels: {resourcebinding.karmada.io/permanent-id: id1},
  annotations: {clusterpropagationpolicy.karmada.io/name: web}}, spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}]}}`,
		},
		"what follows others has no policy": {
			id: "id1", wantLabel: "id1",
			want: `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop, labels: {resourcebinding.karmada.io/permanent-id: id1}},
  spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}]}}`,
		},
		"without an id all is as it was": {
			policy: "Namespaced/shop/web",
			want:   `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {type: NodePort, ports: [{port: 80}]}}`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := object(t, content)
			b := &propagation.Binding{
				Key: propagation.BindingKey{Namespace: "shop", Name: "web-service"}, UID: "u", Labels: map[string]string{},
				Annotations: map[string]string{propagation.AnnotationActivePolicy: tc.policy, propagation.AnnotationActivePolicyID: "p1"},
			}
			if tc.id != "" {
				b.Labels[propagation.LabelBindingID] = tc.id
			}
			k := keyOf(obj)
			b.Spec.Resource.APIVersion, b.Spec.Resource.Kind, b.Spec.Resource.Namespace, b.Spec.Resource.Name = k.APIVersion, k.Kind, k.Namespace, k.Name
			w, err := Render(kinds.Table{}, b, obj, member1(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := w.Labels[propagation.LabelBindingID]; got != tc.wantLabel {
				t.Errorf("the Work is labelled %q, want %q", got, tc.wantLabel)
			}
			var got any
			if err := json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, &got); err != nil {
				t.Fatal(err)
			}
			var want any
			raw, err := json.Marshal(object(t, tc.want))
			if err == nil {
				err = json.Unmarshal(raw, &want)
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("the manifest (-want +got):\n%s", d)
			}
			var manifest map[string]any
			if err := json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, &manifest); err != nil {
				t.Fatal(err)
			}
			if meta := child(Unmarked(manifest), "metadata"); len(meta) != 2 {
				t.Errorf("without its marks the manifest has the metadata %v", meta)
			}
			if d := cmp.Diff(object(t, content), obj); d != "" {
				t.Errorf("the content was changed:\n%s", d)
			}
		})
	}
}
