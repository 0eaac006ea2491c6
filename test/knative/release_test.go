// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
)

// Of bindings a source tells only that they are gone: what a person writes there is
// found by the sweep.
func TestWhatAPersonReleasesGoesOn(t *testing.T) {
	w := newWorld(t)
	w.policy()
	here, there := w.members[members[0]], w.members[members[1]]

	w.amend(`{"spec":{"activationPreference":"Lazy"}}`)
	w.amend(`{"spec":{"placement":{"clusterAffinity":{"clusterNames":["` + members[0] + `"]}}}}`)
	w.eventually(recovery, func() string {
		if !meta.IsStatusConditionFalse(w.binding("first").Status.Conditions, "Active") {
			return "the binding does not say that something waits"
		}
		return ""
	})
	if w.in(there)["first"] == "" {
		t.Fatalf("%s has lost what nobody released", members[1])
	}
	w.sluice("activate", "configmap/first", "-n", w.namespace, "--timeout", "3m")
	w.eventually(recovery, func() string {
		if value := w.in(there)["first"]; value != "" {
			return members[1] + " still has what the policy takes from it"
		}
		return ""
	})

	w.amend(`{"spec":{"suspension":{"dispatching":true}}}`)
	w.eventually(recovery, func() string {
		if all, _ := w.binding("first").Spec.Suspension.Dispatch(); !all {
			return "the binding is not suspended"
		}
		return ""
	})
	w.template("first", "2")
	name := propagation.WorkName(propagation.BindingKey{Namespace: w.namespace, Name: w.binding("first").Name})
	w.eventually(recovery, func() string {
		work := w.must(w.hub.Resource(works).Namespace("karmada-es-"+members[0]).Get(t.Context(), name, metav1.GetOptions{}))
		if raw, _ := json.Marshal(work.Object["spec"]); !strings.Contains(string(raw), `"value":"2"`) {
			return "the Work does not have what was changed"
		}
		return ""
	})
	if err := w.hub.Resource(policies).Namespace(w.namespace).Delete(t.Context(), "all", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually(recovery, func() string {
		if by := w.binding("first").Labels[propagation.ClaimLabelNamespaced]; by != "" {
			return "a policy that is gone still holds the template"
		}
		return ""
	})
	if value := w.in(here)["first"]; value != "1" {
		t.Fatalf("%s has %q, though it is suspended", members[0], value)
	}
	w.sluice("resume", "configmap/first", "-n", w.namespace)
	w.eventually(recovery, func() string {
		if value := w.in(here)["first"]; value != "2" {
			return members[0] + " has " + value
		}
		return ""
	})
}

// amend changes the policy.
func (w *world) amend(patch string) {
	w.Helper()
	w.must(w.hub.Resource(policies).Namespace(w.namespace).Patch(w.Context(), "all", types.MergePatchType, []byte(patch), metav1.PatchOptions{}))
}

// binding is that of a template.
func (w *world) binding(name string) *workv1alpha2.ResourceBinding {
	w.Helper()
	u := w.must(w.hub.Resource(bindings).Namespace(w.namespace).Get(w.Context(), name+"-configmap", metav1.GetOptions{}))
	b := &workv1alpha2.ResourceBinding{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, b); err != nil {
		w.Fatal(err)
	}
	return b
}

// sluice runs kubectl sluice, which has to succeed.
func (w *world) sluice(args ...string) {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), "kubectl", append([]string{"sluice"}, args...)...)
	cmd.Dir = w.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("kubectl sluice %v: %v\n%s", args, err, out)
	}
}
