// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

var (
	placements = schema.GroupVersionResource{Group: "placement.kubernetes-fleet.io", Version: "v1", Resource: "clusterresourceplacements"}
)

// placed is how long a placement may take: changes are collected for 15 seconds, at
// least 30 lie between two snapshots, and a tick, once a minute, finds what was lost.
const placed = 2 * time.Minute

// The seed's sample, examples/placement: two of three members, one of each env. It
// comes, changes and goes with its placement.
func TestC45PlacementOfANamespace(t *testing.T) {
	w := newWorld(t)
	third := w.connect(filepath.Join(os.Getenv("SLUICE_KNATIVE_DIR"), "run", "e2e", "kubeconfig", "member3"))
	all := map[string]dynamic.Interface{members[0]: w.members[members[0]], members[1]: w.members[members[1]], "member3": third}
	w.label("env", map[string]string{members[0]: "prod", members[1]: "canary", "member3": "canary"})
	w.template("settings", "1")
	var crp *unstructured.Unstructured
	for _, u := range w.manifests(filepath.Join("..", "..", "examples", "placement", "placement.yaml")) {
		crp = u
	}
	crp.SetNamespace("")
	crp.SetName(w.namespace)
	if err := unstructured.SetNestedSlice(crp.Object, []any{map[string]any{"group": "", "version": "v1", "kind": "Namespace", "name": w.namespace}}, "spec", "resourceSelectors"); err != nil {
		t.Fatal(err)
	}
	w.must(w.hub.Resource(placements).Create(t.Context(), crp, metav1.CreateOptions{}))
	t.Cleanup(func() { w.displace(all) })

	has := func(value string) string {
		var in []string
		for name, m := range all {
			if w.in(m)["settings"] == value {
				in = append(in, name)
			}
		}
		if len(in) != 2 || !slices.Contains(in, members[0]) {
			return fmt.Sprintf("%q is in %v, want it in %s and one of the others", value, in, members[0])
		}
		return ""
	}
	w.eventually(placed, func() string { return has("1") })
	w.eventually(placed, func() string { return w.says(crp.GetName(), "ClusterResourcePlacementAvailable") })
	w.template("settings", "2")
	w.eventually(placed, func() string { return has("2") })
	w.eventually(placed, func() string { return w.says(crp.GetName(), "ClusterResourcePlacementAvailable") })
}

// says waits for a condition of a placement that is True of its present generation.
func (w *world) says(name, condition string) string {
	w.Helper()
	p := w.must(w.hub.Resource(placements).Get(w.Context(), name, metav1.GetOptions{}))
	all, _, err := unstructured.NestedSlice(p.Object, "status", "conditions")
	if err != nil {
		w.Fatal(err)
	}
	for _, c := range all {
		if c, ok := c.(map[string]any); ok && c["type"] == condition && c["status"] == "True" && c["observedGeneration"] == p.GetGeneration() {
			return ""
		}
	}
	return fmt.Sprintf("%s is not True: %v", condition, all)
}

// label labels Clusters until the end of the test.
func (w *world) label(key string, values map[string]string) {
	w.Helper()
	set := func(ctx context.Context, name, value string) error {
		_, err := w.hub.Resource(clusters).Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":{"`+key+`":`+value+`}}}`), metav1.PatchOptions{FieldManager: "user"})
		return err
	}
	for name, value := range values {
		if err := set(w.Context(), name, `"`+value+`"`); err != nil {
			w.Fatal(err)
		}
		w.Cleanup(func() {
			if err := set(context.Background(), name, "null"); err != nil {
				w.Errorf("take the label off %s: %v", name, err)
			}
		})
	}
}

// displace deletes the test's placement and waits until it is gone, and what it placed.
func (w *world) displace(all map[string]dynamic.Interface) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*placed)
	defer cancel()
	if err := w.hub.Resource(placements).Delete(ctx, w.namespace, metav1.DeleteOptions{}); err != nil {
		w.Errorf("delete the placement: %v", err)
		return
	}
	for tick := time.NewTicker(time.Second); ; {
		_, err := w.hub.Resource(placements).Get(ctx, w.namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			w.Errorf("the placement is still there: %v", err)
			return
		}
	}
	for name, m := range all {
		list, err := m.Resource(configMaps).Namespace(w.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=test"})
		if err != nil || len(list.Items) > 0 {
			w.Errorf("%s has %d objects of a placement that is gone, %v", name, len(list.Items), err)
		}
	}
}
