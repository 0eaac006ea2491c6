// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// newBinding is a binding of a new template of that scope, as the gate makes it.
// The template is there: a binding without one is garbage, and is collected.
func (l *lab) newBinding(scope propagation.Scope) *propagation.Binding {
	l.t.Helper()
	key := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: l.namespace, Name: "settings"}
	gvr, manifest := configMaps, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: "+l.namespace+"}}"
	if scope == propagation.Cluster {
		key = propagation.TemplateKey{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: l.namespace}
		gvr, manifest = clusterRoles, "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "+l.namespace+"}}"
		l.t.Cleanup(func() { l.somebodyDeletesLater(gvr, key.Name) })
	}
	return &propagation.Binding{
		Key:         propagation.BindingOf(key),
		Labels:      map[string]string{"one": "1", "two": "2"},
		Annotations: map[string]string{"note": "a"},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource: workv1alpha2.ObjectReference{
				APIVersion: key.APIVersion, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name,
				UID: l.somebodyMakes(gvr, manifest).GetUID(),
			},
			ConflictResolution: policyv1alpha1.ConflictAbort,
			SchedulerName:      "default-scheduler",
		},
	}
}

// changed is a copy of b that f has changed.
func changed(b *propagation.Binding, f func(*propagation.Binding)) *propagation.Binding {
	c := *b
	c.Labels = map[string]string{"one": "1", "three": "3"}
	f(&c)
	return &c
}

func TestBindings(t *testing.T) {
	for _, watched := range []bool{false, true} {
		for _, scope := range propagation.Scopes {
			name := map[bool]string{false: "live ", true: "watched "}[watched] + string(scope)
			t.Run(name, func(t *testing.T) { testBindings(t, scope, watched) })
		}
	}
}

func testBindings(t *testing.T, scope propagation.Scope, watched bool) {
	l := newLab(t)
	kind := map[propagation.Scope]string{propagation.Namespaced: "ResourceBinding", propagation.Cluster: "ClusterResourceBinding"}[scope]
	gvr := bindings
	if scope == propagation.Cluster {
		gvr.Resource = "clusterresourcebindings"
	}
	if watched {
		l.watch(bindings.GroupVersion().WithKind(kind))
	}
	b := l.newBinding(scope)
	if _, err := l.Binding(l.ctx, b.Key); !errors.Is(err, outcome.ErrGone) {
		t.Fatalf("before it is made: %v, want gone", err)
	}
	made, err := l.CommitBinding(l.ctx, nil, b)
	must(t, err)
	t.Cleanup(func() { _ = l.DeleteBinding(l.ctx, made) })
	if owners := l.live(gvr, b.Key.Namespace, b.Key.Name).GetOwnerReferences(); len(owners) != 1 ||
		owners[0].UID != b.Spec.Resource.UID || !*owners[0].Controller || !*owners[0].BlockOwnerDeletion {
		t.Errorf("owners: %+v, want the template", owners)
	}

	l.testSameBinding(made)
	updated := l.testChangedBinding(made)
	reported := l.testBindingStatus(updated)
	l.testDeletedBinding(reported)
}

func (l *lab) testSameBinding(made *propagation.Binding) {
	l.t.Helper()
	l.requests.take()
	again, err := l.CommitBinding(l.ctx, made, made)
	must(l.t, err)
	if again != made {
		l.t.Error("a commit without a difference made another binding")
	}
	_, err = l.CommitBindingStatus(l.ctx, made, made.Status)
	must(l.t, err)
	l.wantRequests()
	if _, err := l.CommitBinding(l.ctx, nil, made); !outcome.IsConflict(err) {
		l.t.Errorf("making it again: %v, want a conflict", err)
	}
}

func (l *lab) testChangedBinding(made *propagation.Binding) *propagation.Binding {
	l.t.Helper()
	next := changed(made, func(b *propagation.Binding) {
		b.Annotations = nil
		b.Spec.SchedulerName = ""
		b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "m1"}, {Name: "m2", Replicas: 2}}
	})
	updated, err := l.CommitBinding(l.ctx, made, next)
	must(l.t, err)
	if diff := cmp.Diff(next.Labels, updated.Labels); diff != "" {
		l.t.Errorf("labels (-want +got):\n%s", diff)
	}
	if len(updated.Annotations) != 0 {
		l.t.Errorf("annotations: %v, want none", updated.Annotations)
	}
	if diff := cmp.Diff(next.Spec, updated.Spec); diff != "" {
		l.t.Errorf("spec (-want +got):\n%s", diff)
	}
	if _, err := l.CommitBinding(l.ctx, made, next); !outcome.IsConflict(err) {
		l.t.Errorf("on an old version: %v, want a conflict", err)
	}
	return updated
}

func (l *lab) testBindingStatus(updated *propagation.Binding) *propagation.Binding {
	l.t.Helper()
	status := workv1alpha2.ResourceBindingStatus{
		SchedulerObservedGeneration: updated.Generation,
		Conditions:                  []metav1.Condition{{Type: "Scheduled", Status: metav1.ConditionTrue, Reason: "Success", LastTransitionTime: metav1.Now()}},
		AggregatedStatus:            []workv1alpha2.AggregatedStatusItem{{ClusterName: "m1", Applied: true, Status: &runtime.RawExtension{Raw: []byte(`{"z":1,"a":null,"m":[{"x":null}]}`)}}},
	}
	reported, err := l.CommitBindingStatus(l.ctx, updated, status)
	must(l.t, err)
	if diff := cmp.Diff(updated.Labels, reported.Labels); diff != "" {
		l.t.Errorf("labels after the status was written (-want +got):\n%s", diff)
	}
	l.requests.take()
	_, err = l.CommitBindingStatus(l.ctx, reported, status)
	must(l.t, err)
	l.wantRequests() // whatever the order of keys, with nulls and fractions of a second
	return reported
}

func (l *lab) testDeletedBinding(b *propagation.Binding) {
	l.t.Helper()
	read, err := l.Binding(l.ctx, b.Key)
	must(l.t, err)
	if diff := cmp.Diff(b, read); diff != "" {
		l.t.Errorf("read (-want +got):\n%s", diff)
	}
	another, old := *read, *read
	another.UID, old.ResourceVersion = "another", "1"
	for sentence, b := range map[string]*propagation.Binding{"another of the name": &another, "an older version": &old} {
		if err := l.DeleteBinding(l.ctx, b); !outcome.IsConflict(err) {
			l.t.Errorf("delete %s: %v, want a conflict", sentence, err)
		}
	}
	if _, err := l.Binding(l.ctx, b.Key); err != nil {
		l.t.Errorf("after what is not there was deleted: %v", err)
	}
	must(l.t, l.DeleteBinding(l.ctx, read))
	must(l.t, l.DeleteBinding(l.ctx, read))
	if _, err := l.Binding(l.ctx, b.Key); !errors.Is(err, outcome.ErrGone) {
		l.t.Errorf("after it was deleted: %v, want gone", err)
	}
	if _, err := l.CommitBinding(l.ctx, read, changed(read, func(b *propagation.Binding) { b.Annotations = b.Labels })); !outcome.IsConflict(err) {
		l.t.Errorf("changing what was deleted: %v, want a conflict", err)
	}
	status := read.Status
	status.Conditions = append(slices.Clone(status.Conditions), metav1.Condition{Type: "Other", Status: metav1.ConditionTrue, Reason: "Other", LastTransitionTime: metav1.Now()})
	if _, err := l.CommitBindingStatus(l.ctx, read, status); !outcome.IsConflict(err) {
		l.t.Errorf("the status of what was deleted: %v, want a conflict", err)
	}
}

func TestBindingKeepsWhatIsNotOurs(t *testing.T) {
	l := newLab(t)
	b, err := l.CommitBinding(l.ctx, nil, l.newBinding(propagation.Namespaced))
	must(t, err)
	another := l.somebodyMakes(configMaps, "{apiVersion: v1, kind: ConfigMap, metadata: {name: another, namespace: "+l.namespace+"}}")
	l.somebodyPatches(bindings, b.Key.Namespace, b.Key.Name, `{"metadata":{"finalizers":["example.com/wait"]}}`)
	b, err = l.Binding(l.ctx, b.Key)
	must(t, err)
	b, err = l.CommitBinding(l.ctx, b, changed(b, func(b *propagation.Binding) {
		b.Spec.Resource.Name, b.Spec.Resource.UID = another.GetName(), another.GetUID()
	}))
	must(t, err)
	o := l.live(bindings, b.Key.Namespace, b.Key.Name)
	if diff := cmp.Diff([]string{"example.com/wait"}, o.GetFinalizers()); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	if owners := o.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != another.GetUID() {
		t.Errorf("owners: %+v, want the new template", owners)
	}
	must(t, l.DeleteBinding(l.ctx, b))
	b, err = l.Binding(l.ctx, b.Key)
	must(t, err)
	if !b.Deleting {
		t.Error("a binding that waits for its finalizers is not deleting")
	}
	l.somebodyPatches(bindings, b.Key.Namespace, b.Key.Name, `{"metadata":{"finalizers":null}}`)
}

func TestInvalidIsTerminal(t *testing.T) {
	l := newLab(t)
	b := l.newBinding(propagation.Namespaced)
	b.Spec.ConflictResolution = "Maybe"
	_, err := l.CommitBinding(l.ctx, nil, b)
	if !outcome.IsTerminal(err) {
		t.Errorf("an invalid binding: %v, want terminal", err)
	}
	t.Log(err)
}

// TestBindingsThatAreLinked: what refers to a template, and what a binding requires, is
// the same asked live and watched, and follows what is written.
func TestBindingsThatAreLinked(t *testing.T) {
	l := newLab(t)
	settings := l.newBinding(propagation.Namespaced)
	settings.Labels[propagation.LabelLinked] = "true"
	app := changed(settings, func(b *propagation.Binding) {
		b.Key.Name = "app-deployment"
		b.Labels[propagation.LabelLinked] = "true"
	})
	app = dependencies.Record(app, []propagation.TemplateKey{settings.Template()})
	settings.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: app.Key.Namespace, Name: app.Key.Name}}
	other := changed(settings, func(b *propagation.Binding) { b.Key.Name, b.Spec.RequiredBy = "other-configmap", nil })
	made := map[string]*propagation.Binding{}
	for _, b := range []*propagation.Binding{settings, app, other} {
		b, err := l.CommitBinding(l.ctx, nil, b)
		must(t, err)
		t.Cleanup(func() { _ = l.DeleteBinding(l.ctx, b) })
		made[b.Key.Name] = b
	}
	want := func(who string, referring, required []string) {
		t.Helper()
		to, err := l.BindingsReferringTo(l.ctx, settings.Template())
		must(t, err)
		by, err := l.BindingsRequiredBy(l.ctx, app.Key)
		must(t, err)
		if diff := cmp.Diff([][]string{referring, required}, [][]string{namesOf(to), namesOf(by)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", who, diff)
		}
	}
	want("asked live", []string{"app-deployment"}, []string{"settings-configmap"})
	l.watch(bindings.GroupVersion().WithKind("ResourceBinding"))
	l.requests.take()
	want("watched", []string{"app-deployment"}, []string{"settings-configmap"})
	l.wantRequests()
	_, err := l.CommitBinding(l.ctx, made["app-deployment"], dependencies.Record(made["app-deployment"], nil))
	must(t, err)
	want("once it refers to nothing", nil, []string{"settings-configmap"})
}

func namesOf(bindings []*propagation.Binding) (names []string) {
	for _, b := range bindings {
		names = append(names, b.Key.Name)
	}
	return names
}

func TestLinkedBindings(t *testing.T) {
	l := newLab(t)
	linked := l.newBinding(propagation.Namespaced)
	linked.Labels[propagation.LabelLinked] = "true"
	other := changed(linked, func(b *propagation.Binding) { b.Key.Name = "other-configmap" })
	var made []*propagation.Binding
	for _, b := range []*propagation.Binding{linked, other} {
		b, err := l.CommitBinding(l.ctx, nil, b)
		must(t, err)
		t.Cleanup(func() { _ = l.DeleteBinding(l.ctx, b) })
		made = append(made, b)
	}
	want := func(who string, want ...string) {
		t.Helper()
		found, err := l.LinkedBindings(l.ctx, l.namespace)
		must(t, err)
		if diff := cmp.Diff(want, namesOf(found)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", who, diff)
		}
	}
	want("asked live", linked.Key.Name)
	l.watch(bindings.GroupVersion().WithKind("ResourceBinding"))
	l.requests.take()
	want("watched", linked.Key.Name)
	l.wantRequests()
	_, err := l.CommitBinding(l.ctx, made[1], changed(made[1], func(b *propagation.Binding) { b.Labels[propagation.LabelLinked] = "true" }))
	must(t, err)
	want("as soon as it has the label", other.Key.Name, linked.Key.Name)
	l.somebodyPatches(bindings, l.namespace, linked.Key.Name, `{"metadata":{"labels":{"`+propagation.LabelLinked+`":null}}}`)
	l.waitFor("the label is gone", func() bool {
		found, err := l.LinkedBindings(l.ctx, l.namespace)
		return err == nil && len(found) == 1 && found[0].Key == other.Key
	})
}

// Of both scopes.
func TestRemovingBindings(t *testing.T) {
	l := newLab(t)
	var want []propagation.BindingKey
	for _, scope := range propagation.Scopes {
		b := l.newBinding(scope)
		held := b.WithRemovals(map[string]propagation.Removal{"m1": {Held: time.Now()}})
		let := changed(b.WithRemovals(map[string]propagation.Removal{"m1": {Left: time.Now()}}), func(b *propagation.Binding) { b.Key.Name = "other-" + b.Key.Name })
		for _, b := range []*propagation.Binding{held, let} {
			made, err := l.CommitBinding(l.ctx, nil, b)
			must(t, err)
			t.Cleanup(func() { _ = l.DeleteBinding(l.ctx, made) })
		}
		want = append(want, held.Key)
	}
	found, err := l.RemovingBindings(l.ctx)
	must(t, err)
	for _, key := range want {
		if !slices.ContainsFunc(found, func(b *propagation.Binding) bool { return b.Key == key }) {
			t.Errorf("%s is not found", key)
		}
	}
	if i := slices.IndexFunc(found, func(b *propagation.Binding) bool { return strings.HasPrefix(b.Key.Name, "other-") }); i >= 0 {
		t.Errorf("%s is found, and nothing of it is held", found[i].Key)
	}
}

func TestListBindings(t *testing.T) {
	l := newLab(t)
	var want []string
	for i := range 5 {
		b := &propagation.Binding{Key: propagation.BindingKey{Namespace: l.namespace, Name: fmt.Sprint("b", i)}}
		b.Spec.Resource.APIVersion, b.Spec.Resource.Kind, b.Spec.Resource.Namespace, b.Spec.Resource.Name = "v1", "ConfigMap", l.namespace, b.Key.Name
		_, err := l.CommitBinding(l.ctx, nil, b)
		must(t, err)
		want = append(want, b.Key.Name)
	}
	all := func(limit int64, cont string) (names []string) {
		t.Helper()
		for {
			page, next, err := l.ListBindings(l.ctx, l.namespace, limit, cont)
			must(t, err)
			if int64(len(page)) > limit {
				t.Errorf("%d bindings, want at most %d", len(page), limit)
			}
			for _, b := range page {
				names = append(names, b.Key.Name)
			}
			if cont = next; cont == "" {
				return names
			}
		}
	}
	for _, watched := range []bool{false, true} {
		if watched {
			l.watch(bindings.GroupVersion().WithKind("ResourceBinding"))
		}
		for limit, pages := range map[int64]int{1: 5, 2: 3, 5: 1, 9: 1} {
			l.requests.take()
			if diff := cmp.Diff(want, all(limit, "")); diff != "" {
				t.Errorf("watched %t, limit %d (-want +got):\n%s", watched, limit, diff)
			}
			if n := len(l.requests.take()); watched && n > 0 || !watched && n != pages {
				t.Errorf("watched %t, limit %d: %d requests", watched, limit, n)
			}
		}
		if diff := cmp.Diff(want, all(5, "Namespaced:nonsense")); diff != "" {
			t.Errorf("from where nobody went on (-want +got):\n%s", diff)
		}
	}
}
