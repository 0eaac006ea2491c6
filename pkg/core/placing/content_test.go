// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
)

// read is an object as the API server has it.
func read(t testing.TB, text string) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := yaml.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestC12Scrub(t *testing.T) {
	for name, tc := range map[string]struct{ object, want string }{
		"what the API server writes": {
			object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b, uid: u, resourceVersion: "7", generation: 3, creationTimestamp: "2026-01-01T00:00:00Z",
				managedFields: [{manager: kubectl}], ownerReferences: [{name: o}], labels: {app: shop}, annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}", note: mine}}, data: {a: b}}`,
			want: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b, labels: {app: shop}, annotations: {note: mine}}, data: {a: b}}`,
		},
		"a status": {
			object: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, annotations: {deployment.kubernetes.io/revision: "2"}}, spec: {replicas: 2}, status: {replicas: 1}}`,
			want:   `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 2}}`,
		},
		"what Sluice writes": {
			object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {propagationpolicy.karmada.io/permanent-id: x}, annotations: {sluice.dev/baseline: 7/x}}}`,
			want:   `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`,
		},
		"an address and a node port": {
			object: `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], healthCheckNodePort: 30001, ports: [{port: 80, nodePort: 30000}]}}`,
			want:   `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}`,
		},
		"a service without an address stays one": {
			object: `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: None, clusterIPs: [None]}}`,
			want:   `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: None, clusterIPs: [None]}}`,
		},
		"a generated selector": {
			object: `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {selector: {matchLabels: {batch.kubernetes.io/controller-uid: u}}, template: {metadata: {labels: {controller-uid: u, batch.kubernetes.io/controller-uid: u, app: shop}}}}}`,
			want:   `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {metadata: {labels: {app: shop}}}}}`,
		},
		"a namespace, as released snapshots have it": {
			object: `{apiVersion: v1, kind: Namespace, metadata: {name: test, uid: u, labels: {kubernetes.io/metadata.name: test}}, spec: {finalizers: [kubernetes]}, status: {phase: Active}}`,
			want:   `{apiVersion: v1, kind: Namespace, metadata: {name: test, labels: {kubernetes.io/metadata.name: test}}, spec: {finalizers: [kubernetes]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			obj, before := read(t, tc.object), read(t, tc.object)
			if d := cmp.Diff(read(t, tc.want), placing.Scrub(obj)); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
			if d := cmp.Diff(before, obj); d != "" {
				t.Errorf("the object was changed (-before +after)\n%s", d)
			}
		})
	}
}

func TestC14Order(t *testing.T) {
	want := []propagation.TemplateKey{
		key("scheduling.k8s.io/v1", "PriorityClass", "", "high"),
		key("v1", "Namespace", "", "shop"),
		key("networking.k8s.io/v1", "NetworkPolicy", "shop", "all"),
		key("v1", "ResourceQuota", "shop", "all"),
		key("v1", "ServiceAccount", "shop", "robot"),
		key("v1", "Secret", "shop", "password"),
		key("v1", "ConfigMap", "bank", "z"),
		key("v1", "ConfigMap", "shop", "a"),
		key("v1", "ConfigMap", "shop", "b"),
		key("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets.example.com"),
		key("rbac.authorization.k8s.io/v1", "ClusterRole", "", "reader"),
		key("v1", "Service", "shop", "web"),
		key("apps/v1", "DaemonSet", "shop", "agent"),
		key("apps/v1", "Deployment", "shop", "web"),
		key("batch/v1", "CronJob", "shop", "nightly"),
		key("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "last"),
		key("example.com/v1", "Gadget", "shop", "a"),
		key("example.com/v1", "Widget", "shop", "a"),
		key("example.org/v1", "Gadget", "shop", "a"),
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, placing.Compare)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// anyKey is one of few keys, so that some are equal.
var anyKey = rapid.Custom(func(t *rapid.T) propagation.TemplateKey {
	kind := rapid.SampledFrom([][2]string{{"v1", "ConfigMap"}, {"v1", "Secret"}, {"apps/v1", "Deployment"}, {"example.com/v1", "Widget"}, {"example.com/v2", "Widget"}, {"example.org/v1", "Widget"}, {"v1", "Namespace"}}).Draw(t, "kind")
	namespace := ""
	if kind[1] != "Namespace" {
		namespace = rapid.SampledFrom([]string{"a", "b", "a-b"}).Draw(t, "namespace")
	}
	return key(kind[0], kind[1], namespace, rapid.SampledFrom([]string{"a", "b", "a-b"}).Draw(t, "name"))
})

func TestTheOrderIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := anyKey.Draw(t, "a"), anyKey.Draw(t, "b"), anyKey.Draw(t, "c")
		if placing.Compare(a, b) != -placing.Compare(b, a) {
			t.Errorf("%v and %v are before one another", a, b)
		}
		if (placing.Compare(a, b) == 0) != (a.ID() == b.ID()) {
			t.Errorf("%v and %v are equal, and are not the same", a, b)
		}
		if placing.Compare(a, b) < 0 && placing.Compare(b, c) < 0 && placing.Compare(a, c) >= 0 {
			t.Errorf("%v, %v, %v", a, b, c)
		}
	})
}

// anyItem is an object of a size.
func anyItem(t *rapid.T, label string) placing.Item {
	k := anyKey.Draw(t, label)
	obj := object(k, nil)
	obj["data"] = map[string]any{"value": string(bytes.Repeat([]byte{'x'}, rapid.IntRange(0, 400).Draw(t, label+" size")))}
	item, err := placing.NewItem(k, obj)
	if err != nil {
		t.Fatal(err)
	}
	return item
}

func TestC23EachPartIsBelowTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var items []placing.Item
		for range rapid.IntRange(0, 20).Draw(t, "items") {
			items = append(items, anyItem(t, "item"))
		}
		limit := rapid.IntRange(100, 1000).Draw(t, "limit")
		most := rapid.IntRange(1, 8).Draw(t, "most")
		c := placing.NewContent(items)
		var all []placing.Item
		for i, part := range c.Split(limit, most) {
			size := 0
			for _, item := range part {
				size += len(item.Raw)
			}
			if size > limit && len(part) > 1 || len(part) == 0 && i > 0 || len(part) > most {
				t.Errorf("part %d has %d objects and %d bytes", i, len(part), size)
			}
			all = append(all, part...)
		}
		if d := cmp.Diff(c.Items(), all); d != "" {
			t.Errorf("the parts are not the whole (-want +got)\n%s", d)
		}
	})
}

func TestC23OneByteMoreIsAnotherPart(t *testing.T) {
	item := func(name string, size int) placing.Item {
		return placing.Item{Key: key("v1", "ConfigMap", "a", name), Raw: bytes.Repeat([]byte{' '}, size)}
	}
	for name, tc := range map[string]struct {
		sizes []int
		want  []int // objects in each part
	}{
		"just so":                               {sizes: []int{400 << 10, 400 << 10}, want: []int{2}},
		"one byte more":                         {sizes: []int{400 << 10, 400<<10 + 1}, want: []int{1, 1}},
		"one that is larger":                    {sizes: []int{10, 1400 << 10, 10}, want: []int{1, 1, 1}},
		"nothing":                               {want: []int{0}},
		"the first that is larger, and another": {sizes: []int{900 << 10, 10}, want: []int{1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var items []placing.Item
			for i, size := range tc.sizes {
				items = append(items, item(string(rune('a'+i)), size))
			}
			var got []int
			for _, part := range placing.NewContent(items).Split(placing.SizeLimit, propagation.MaxManifests) {
				got = append(got, len(part))
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestC20TheHashIsOfWhatIsCarried(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var items []placing.Item
		for range rapid.IntRange(0, 8).Draw(t, "items") {
			items = append(items, anyItem(t, "item"))
		}
		c := placing.NewContent(items)
		var again []placing.Item
		for _, i := range c.Items() {
			var indented bytes.Buffer
			if err := json.Indent(&indented, i.Raw, "", "  "); err != nil {
				t.Fatal(err)
			}
			item, err := placing.ReadItem(indented.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			again = append(again, item)
		}
		slices.Reverse(again)
		if d := cmp.Diff(c.Items(), placing.NewContent(again).Items()); d != "" {
			t.Errorf("what a snapshot holds is read otherwise (-want +got)\n%s", d)
		}
		if c.Hash() != placing.NewContent(again).Hash() {
			t.Error("the same content has two hashes")
		}
		if more := c.With([]placing.Item{mustItem(t, key("v1", "ConfigMap", "a", "new"))}); more.Hash() == c.Hash() || len(more.Hash()) != 64 {
			t.Errorf("another content has the hash %s", more.Hash())
		}
	})
}

func mustItem(t interface{ Fatal(...any) }, k propagation.TemplateKey) placing.Item {
	item, err := placing.NewItem(k, object(k, nil))
	if err != nil {
		t.Fatal(err)
	}
	return item
}

func TestC86EnvelopesAreCounted(t *testing.T) {
	obj := func(kind, value string) map[string]any {
		return read(t, `{apiVersion: v1, kind: `+kind+`, metadata: {name: e, namespace: a, annotations: {kubernetes-fleet.io/envelope-configmap: "`+value+`"}}}`)
	}
	for name, tc := range map[string]struct {
		object map[string]any
		want   int
	}{
		"a ConfigMap that says so":     {obj("ConfigMap", "true"), 1},
		"a ConfigMap that says no":     {obj("ConfigMap", "false"), 0},
		"another kind that says so":    {obj("Secret", "true"), 0},
		"a ConfigMap that says naught": {object(key("v1", "ConfigMap", "a", "e"), nil), 0},
	} {
		t.Run(name, func(t *testing.T) {
			item, err := placing.NewItem(key("v1", tc.object["kind"].(string), "a", "e"), tc.object)
			if err != nil {
				t.Fatal(err)
			}
			if got := placing.NewContent([]placing.Item{item}).Envelopes(); got != tc.want {
				t.Errorf("%d envelopes", got)
			}
		})
	}
}
