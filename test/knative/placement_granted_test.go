// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A placement of a kind that comes with no right says what is lacking, and what the
// command line prints mends it: then nothing is said of it any more.
func TestZ28APlacementOfAKindThatIsNotGranted(t *testing.T) {
	w := newWorld(t)
	classes := schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}
	class := object("scheduling.k8s.io/v1", "PriorityClass", "", w.namespace, map[string]any{"value": int64(7)})
	w.must(w.hub.Resource(classes).Create(t.Context(), class, metav1.CreateOptions{}))
	w.dropAtEnd(classes, w.namespace)
	w.must(w.hub.Resource(placements).Create(t.Context(), object("placement.kubernetes-fleet.io/v1", "ClusterResourcePlacement", "", w.namespace, map[string]any{
		"spec": map[string]any{
			"resourceSelectors": []any{map[string]any{"group": "scheduling.k8s.io", "version": "v1", "kind": "PriorityClass", "name": w.namespace}},
			"policy":            map[string]any{"placementType": "PickFixed", "clusterNames": []any{members[0]}},
		},
	}), metav1.CreateOptions{}))
	t.Cleanup(func() { w.displace(nil) })

	const says = "account placer may not get priorityclasses.scheduling.k8s.io in all namespaces"
	status := func() string {
		raw, _ := json.Marshal(w.must(w.hub.Resource(placements).Get(t.Context(), w.namespace, metav1.GetOptions{})).Object["status"])
		return string(raw)
	}
	w.eventually(placed, func() string {
		if said := status(); !strings.Contains(said, says) || !strings.Contains(said, "KindsGranted") {
			return "the placement does not say what is missing: " + said
		}
		return ""
	})
	if said := w.sluice("explain", "crp/"+w.namespace); !strings.Contains(said, "KindNotGranted") {
		t.Errorf("explain does not say what is missing:\n%s", said)
	}
	w.grant("priorityclasses.scheduling.k8s.io")
	w.eventually(2*placed, func() string {
		if said := status(); strings.Contains(said, "KindsGranted") || !strings.Contains(said, `"kind":"PriorityClass"`) {
			return "the placement goes on saying it: " + said
		}
		return ""
	})
}
