// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

const blue = `{apiVersion: example.com/v1, kind: Widget, metadata: {name: blue, namespace: shop}, spec: {size: 6, paused: false}}`

// widgets is what is known of Widgets where their owner says so much.
func widgets(own kinds.Own) kinds.Table {
	return kinds.NewTable(map[schema.GroupKind]kinds.Own{{Group: "example.com", Kind: "Widget"}: own})
}

func bound(t *testing.T) (*propagation.Binding, map[string]any) {
	t.Helper()
	content := object(t, blue)
	key := propagation.KeyOf(content)
	return &propagation.Binding{Key: propagation.BindingOf(key), Spec: workv1alpha2.ResourceBindingSpec{
		Resource: workv1alpha2.ObjectReference{APIVersion: key.APIVersion, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name},
		Replicas: 6, Clusters: []workv1alpha2.TargetCluster{{Name: "member1", Replicas: 2}},
	}}, content
}

func TestAShareIsWrittenWhereTheRuleSays(t *testing.T) {
	b, content := bound(t)
	size := kinds.Path{"spec", "size"}
	own := kinds.Own{SetReplicas: func(obj map[string]any, n int32) error { return size.Put(obj, int64(n)) }}
	w, err := Render(widgets(own), b, content, member1(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(w.Spec.Workload.Manifests[0].Raw); !strings.Contains(got, `"size":2`) {
		t.Errorf("the share is not in %s", got)
	}
	own.SetReplicas = func(map[string]any, int32) error { return errors.New("spec is no object") }
	_, err = Render(widgets(own), b, content, member1(), nil)
	if rule := (*RuleError)(nil); !errors.As(err, &rule) {
		t.Fatalf("a rule that fails: %v", err)
	}
	if c := Rendered([]Failure{{Cluster: "member1", Err: err}}); c.Reason != ReasonRuleFailed || !strings.Contains(c.Message, "spec is no object") {
		t.Errorf("it says %s: %s", c.Reason, c.Message)
	}
}

// Where nobody knows any more where the number stands, the member keeps its share: the content
// has that of all members together.
func TestAShareThatNobodyCanWriteIsNotTheWholeNumber(t *testing.T) {
	b, content := bound(t)
	_, err := Render(kinds.Table{}, b, content, member1(), nil)
	if rule := (*RuleError)(nil); !errors.As(err, &rule) || !errors.Is(err, kinds.ErrNoReplicas) {
		t.Errorf("a share of 2 out of 6, without a rule: %v", err)
	}
	for sentence, change := range map[string]func(){
		"each cluster has all of them": func() { b.Spec.Clusters[0].Replicas = 6 },
		"the binding has no number":    func() { b.Spec.Replicas = 0 },
		"the cluster is none of them":  func() { b.Spec.Clusters[0].Name = "another" },
	} {
		b, content = bound(t)
		change()
		if _, err := Render(kinds.Table{}, b, content, member1(), nil); err != nil {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

// Which fields are the member's is said on the Work; a Work that says others is another.
func TestAWorkSaysWhichFieldsAreTheMembers(t *testing.T) {
	b, content := bound(t)
	b.Spec.Replicas = 0
	render := func(fields ...kinds.Path) *propagation.Work {
		w, err := Render(widgets(kinds.Own{MemberFields: fields}), b, content, member1(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	none, one := render(), render(kinds.Path{"spec", "paused"})
	two := render(kinds.Path{"spec", "paused"}, kinds.Path{"spec", "pool", "a"})
	for want, w := range map[string]*propagation.Work{"": none, "spec.paused": one, "spec.paused,spec.pool.a": two} {
		if got := w.Annotations[propagation.AnnotationMemberFields]; got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
		for _, next := range []*propagation.Work{none, one, two} {
			if Equal(w, next) != (w == next) {
				t.Errorf("%q and %q: equal %v", want, next.Annotations[propagation.AnnotationMemberFields], Equal(w, next))
			}
			if got := merge(w, next); !Equal(got, next) {
				t.Errorf("%q becomes %q", want, got.Annotations[propagation.AnnotationMemberFields])
			}
		}
	}
}

// A Work that others required and that becomes a policy's own does not say any more that
// nobody places it there, and the other way round: then nothing is left to write.
func TestAWorkBecomesAPolicysOwn(t *testing.T) {
	b := binding(propagation.Namespaced)
	own := mustWork(t, b, "member1")
	required := *own
	required.Annotations = maps.Clone(own.Annotations)
	required.Annotations[propagation.AnnotationDependency] = "true"
	if required.FollowsOthers() == own.FollowsOthers() {
		t.Fatal("both are the same")
	}
	for _, change := range [][2]*propagation.Work{{&required, own}, {own, &required}} {
		from, to := change[0], change[1]
		if Equal(from, to) {
			t.Errorf("whether it is a dependency (%v) is no difference", from.FollowsOthers())
		}
		if got := merge(from, to); !Equal(got, to) || got.FollowsOthers() != to.FollowsOthers() {
			t.Errorf("a dependency: %v; becomes %v, want %v", from.FollowsOthers(), got.FollowsOthers(), to.FollowsOthers())
		}
	}
}
