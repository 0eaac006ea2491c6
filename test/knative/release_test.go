// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
)

// What a person asks for is there within two seconds on a machine that has nothing else
// to do: of three times, once at least. It never takes longer than soon. The sweep comes
// once a minute.
const (
	quick = 2 * time.Second
	soon  = 10 * time.Second
)

// asked has somebody ask for something three times, each time once ready made that
// possible, and waits until it is there.
func (w *world) asked(command string, ready func(turn int) (there func() string)) {
	w.Helper()
	var took []time.Duration
	for turn := range 3 {
		there := ready(turn)
		began := time.Now()
		w.sluice(command, "configmap/first", "-n", w.namespace)
		w.eventually(soon, there)
		took = append(took, time.Since(began))
	}
	w.Logf("%s: there after %s", command, took)
	if slices.Min(took) > quick {
		w.Errorf("%s: there after %s, want %s once at least", command, took, quick)
	}
}

// has waits for what a member has of the template "first".
func (w *world) has(member, want string) func() string {
	return func() string {
		if value := w.in(w.members[member])["first"]; value != want {
			return fmt.Sprintf("%s has %q, want %q", member, value, want)
		}
		return ""
	}
}

// Of bindings a source tells only that they are gone: what a person writes there is
// told by the source, not found by the sweep.
func TestWhatAPersonReleasesGoesOn(t *testing.T) {
	w := newWorld(t)
	w.policy()
	w.eventually(recovery, w.has(members[1], "1"))

	w.amend(`{"spec":{"activationPreference":"Lazy"}}`)
	w.asked("activate", func(turn int) func() string {
		before, clusters, after := "1", members[:1], ""
		if turn%2 == 1 {
			before, clusters, after = "", members[:], "1"
		}
		names, err := json.Marshal(clusters)
		if err != nil {
			t.Fatal(err)
		}
		w.amend(`{"spec":{"placement":{"clusterAffinity":{"clusterNames":` + string(names) + `}}}}`)
		w.eventually(recovery, func() string {
			if !meta.IsStatusConditionFalse(w.binding("first").Status.Conditions, "Active") {
				return "the binding does not say that something waits"
			}
			return ""
		})
		if why := w.has(members[1], before)(); why != "" {
			t.Fatalf("what nobody released has happened: %s", why)
		}
		return w.has(members[1], after)
	})

	w.asked("resume", func(turn int) func() string {
		w.sluice("suspend", "configmap/first", "-n", w.namespace)
		was := fmt.Sprint(turn + 1)
		next := fmt.Sprint(turn + 2)
		w.template("first", next)
		w.worked(next)
		if why := w.has(members[0], was)(); why != "" {
			t.Fatalf("it is suspended: %s", why)
		}
		return w.has(members[0], next)
	})
	w.resumedWithoutAPolicy()
}

// worked waits until the Work of the template "first" has this value.
func (w *world) worked(value string) {
	w.Helper()
	name := propagation.WorkName(propagation.BindingKey{Namespace: w.namespace, Name: w.binding("first").Name})
	w.eventually(recovery, func() string {
		work := w.must(w.hub.Resource(works).Namespace("karmada-es-"+members[0]).Get(w.Context(), name, metav1.GetOptions{}))
		if raw, _ := json.Marshal(work.Object["spec"]); !strings.Contains(string(raw), `"value":"`+value+`"`) {
			return "the Work does not have what was changed"
		}
		return ""
	})
}

// resumedWithoutAPolicy: a policy that suspended a template and is gone has nobody else
// release it.
func (w *world) resumedWithoutAPolicy() {
	w.Helper()
	was := w.in(w.members[members[0]])["first"]
	w.amend(`{"spec":{"activationPreference":null,"suspension":{"dispatching":true}}}`)
	w.eventually(recovery, func() string {
		if all, _ := w.binding("first").Spec.Suspension.Dispatch(); !all {
			return "the binding is not suspended"
		}
		return ""
	})
	w.template("first", "last")
	w.worked("last")
	if err := w.hub.Resource(policies).Namespace(w.namespace).Delete(w.Context(), "all", metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	w.eventually(recovery, func() string {
		if by := w.binding("first").Labels[propagation.ClaimLabelNamespaced]; by != "" {
			return "a policy that is gone still holds the template"
		}
		return ""
	})
	if why := w.has(members[0], was)(); why != "" {
		w.Fatalf("it is suspended: %s", why)
	}
	w.sluice("resume", "configmap/first", "-n", w.namespace)
	w.eventually(soon, w.has(members[0], "last"))
}

// A kind that comes with no right is named with what it lacks, and delays nobody; what
// the command line prints mends it.
func TestZ28GrantAKind(t *testing.T) {
	w := newWorld(t)
	limits := schema.GroupVersionResource{Version: "v1", Resource: "limitranges"}
	w.must(w.hub.Resource(policies).Namespace(w.namespace).Create(t.Context(), object("policy.karmada.io/v1alpha1", "PropagationPolicy", w.namespace, "limits", map[string]any{
		"spec": map[string]any{
			"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "LimitRange"}},
			"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": []any{members[0]}}},
		},
	}), metav1.CreateOptions{}))
	w.put(limits, object("v1", "LimitRange", w.namespace, "small", map[string]any{"spec": map[string]any{"limits": []any{
		map[string]any{"type": "Container", "max": map[string]any{"cpu": "1"}},
	}}}))
	w.eventually(recovery, func() string {
		u := w.must(w.hub.Resource(policies).Namespace(w.namespace).Get(t.Context(), "limits", metav1.GetOptions{}))
		status, _ := json.Marshal(u.Object["status"])
		if !strings.Contains(string(status), "account detector may not patch limitranges in "+w.namespace) {
			return "the policy does not say what is missing: " + string(status)
		}
		return ""
	})
	if said := w.sluice("explain", "limitrange/small", "-n", w.namespace); !strings.Contains(said, "kubectl sluice grant limitranges") {
		t.Errorf("explain does not say what is missing:\n%s", said)
	}
	w.policy() // of another kind, which goes on

	w.grant("limitranges")
	w.eventually(recovery, func() string {
		if _, err := w.members[members[0]].Resource(limits).Namespace(w.namespace).Get(t.Context(), "small", metav1.GetOptions{}); err != nil {
			return members[0] + ": " + err.Error()
		}
		return ""
	})
}

// grant applies the roles that the command line prints for the kind, until the test ends.
func (w *world) grant(kind string) {
	w.Helper()
	roles := exec.CommandContext(w.Context(), "kubectl", "apply", "-f", "-")
	roles.Stdin = strings.NewReader(w.sluice("grant", kind))
	if out, err := roles.CombinedOutput(); err != nil {
		w.Fatalf("apply what grant prints: %v\n%s", err, out)
	}
	for _, role := range []string{"read", "watch", "claim"} {
		w.dropAtEnd(clusterRoles, "sluice-templates-"+role+"-"+kind)
	}
}

// dropAtEnd deletes an object without a namespace when the test ends.
func (w *world) dropAtEnd(of schema.GroupVersionResource, name string) {
	w.Cleanup(func() {
		err := w.hub.Resource(of).Delete(context.WithoutCancel(w.Context()), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			w.Errorf("delete %s %s: %v", of.Resource, name, err)
		}
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

// sluice runs kubectl sluice, which has to succeed, and returns what it prints.
func (w *world) sluice(args ...string) string {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), "kubectl", append([]string{"sluice"}, args...)...)
	cmd.Dir = w.TempDir()
	var said, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &complaints
	if err := cmd.Run(); err != nil {
		w.Fatalf("kubectl sluice %v: %v\n%s%s", args, err, &said, &complaints)
	}
	return said.String()
}
