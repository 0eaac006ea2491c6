// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// newWork is a Work in the lab's member of that number.
func (l *lab) newWork(member int, b propagation.BindingKey) *propagation.Work {
	return &propagation.Work{
		Key:         propagation.WorkKey{Cluster: fmt.Sprintf("m%d-%s", member, l.namespace), Name: propagation.WorkName(b)},
		Labels:      map[string]string{propagation.LabelBinding: propagation.BindingLabel(b)},
		Annotations: map[string]string{propagation.AnnotationBindingNamespace: b.Namespace, propagation.AnnotationBindingName: b.Name},
		Finalizers:  []string{propagation.FinalizerWork},
		Spec: workv1alpha1.WorkSpec{Workload: workv1alpha1.WorkloadTemplate{Manifests: []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{
			Raw: []byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"settings"},"data":{"a":"<&>"},"nothing":null}`),
		}}}}},
	}
}

// makeMembers makes the namespaces of the lab's members.
func (l *lab) makeMembers(n int) {
	l.t.Helper()
	for i := range n {
		name := propagation.WorkNamespace(fmt.Sprintf("m%d-%s", i, l.namespace))
		l.somebodyMakes(namespaces, "{apiVersion: v1, kind: Namespace, metadata: {name: "+name+"}}")
		l.t.Cleanup(func() { l.somebodyDeletesLater(namespaces, name) })
	}
}

func TestWorks(t *testing.T) {
	for _, watched := range []bool{false, true} {
		t.Run(fmt.Sprintf("watched %t", watched), func(t *testing.T) {
			l := newLab(t)
			l.makeMembers(2)
			if watched {
				l.watch(works.GroupVersion().WithKind("Work"))
				l.watch(placementv1.SchemeGroupVersion.WithKind("Work"))
			}
			one, two := propagation.BindingKey{Namespace: l.namespace, Name: "one-configmap"}, propagation.BindingKey{Name: l.namespace + "-two"}
			var made []*propagation.Work
			former := l.newWork(1, one) // Z34: from before names had 128 bits
			former.Key.Name = propagation.FormerWorkName(one)
			for _, w := range []*propagation.Work{l.newWork(0, one), former, l.newWork(0, two)} {
				w, err := l.CommitWork(l.ctx, nil, w)
				must(t, err)
				made = append(made, w)
			}
			l.requests.take()
			for sentence, tc := range map[string]struct {
				list func() ([]*propagation.Work, error)
				want []*propagation.Work
			}{
				"of one":           {func() ([]*propagation.Work, error) { return l.WorksOf(l.ctx, one) }, made[:2]},
				"of two":           {func() ([]*propagation.Work, error) { return l.WorksOf(l.ctx, two) }, made[2:]},
				"on the first":     {func() ([]*propagation.Work, error) { return l.WorksOn(l.ctx, made[0].Key.Cluster) }, []*propagation.Work{made[2], made[0]}},
				"of nobody's":      {func() ([]*propagation.Work, error) { return l.WorksOf(l.ctx, propagation.BindingKey{Name: "nobody"}) }, nil},
				"on no such place": {func() ([]*propagation.Work, error) { return l.WorksOn(l.ctx, "nowhere") }, nil},
			} {
				got, err := tc.list()
				must(t, err)
				if diff := cmp.Diff(keysOf(tc.want), keysOf(got)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", sentence, diff)
				}
			}
			if n := len(l.requests.take()); watched && n > 0 || !watched && n != 10 { // of a member, either form is asked for; of a binding, either name
				t.Errorf("%d requests", n)
			}
			l.testCommitWork(made[0])
			l.testDeleteWork(made[0].Key)
		})
	}
}

func keysOf(all []*propagation.Work) []propagation.WorkKey {
	var keys []propagation.WorkKey
	for _, w := range all {
		keys = append(keys, w.Key)
	}
	return keys
}

func (l *lab) testCommitWork(w *propagation.Work) {
	l.t.Helper()
	l.requests.take()
	again, err := l.CommitWork(l.ctx, w, l.newWork(0, w.Binding()))
	must(l.t, err)
	l.wantRequests() // made anew from the same: the order of keys does not count
	if again != w {
		l.t.Error("a commit without a difference made another Work")
	}
	suspended := *w
	suspended.Spec.SuspendDispatching = new(true)
	updated, err := l.CommitWork(l.ctx, w, &suspended)
	must(l.t, err)
	if !updated.Suspended() || !cmp.Equal(w.Finalizers, updated.Finalizers) || !cmp.Equal(w.Labels, updated.Labels) {
		l.t.Errorf("updated: %+v", updated)
	}
	if _, err := l.CommitWork(l.ctx, w, &suspended); !outcome.IsConflict(err) {
		l.t.Errorf("on an old version: %v, want a conflict", err)
	}
	status := workv1alpha1.WorkStatus{
		Conditions:       []metav1.Condition{{Type: "Applied", Status: metav1.ConditionTrue, Reason: "Applied", LastTransitionTime: metav1.Now()}},
		ManifestStatuses: []workv1alpha1.ManifestStatus{{Identifier: workv1alpha1.ResourceIdentifier{Kind: "ConfigMap", Version: "v1", Name: "settings", Resource: "configmaps"}}},
	}
	reported, err := l.CommitWorkStatus(l.ctx, updated, status)
	must(l.t, err)
	l.requests.take()
	_, err = l.CommitWorkStatus(l.ctx, reported, status)
	must(l.t, err)
	l.wantRequests()
	l.testRivals(reported)
}

func (l *lab) testRivals(w *propagation.Work) {
	l.t.Helper()
	rivals := []propagation.Rival{{Name: "two-work", Form: propagation.PlacementForm, By: "the placement two"}}
	noted, err := l.CommitRivals(l.ctx, w, rivals)
	must(l.t, err)
	if !cmp.Equal(noted.Rivals(), rivals) {
		l.t.Errorf("noted: %v", noted.Rivals())
	}
	if _, err := l.CommitRivals(l.ctx, w, nil); err != nil {
		l.t.Errorf("what is as it was: %v", err)
	}
	if _, err := l.CommitRivals(l.ctx, w, append(rivals, rivals...)); !outcome.IsConflict(err) {
		l.t.Errorf("on an old version: %v, want a conflict", err)
	}
	l.requests.take()
	_, err = l.CommitRivals(l.ctx, noted, rivals)
	must(l.t, err)
	l.wantRequests()
	settled, err := l.CommitRivals(l.ctx, noted, nil)
	must(l.t, err)
	if _, has := settled.Annotations[propagation.AnnotationRivals]; has {
		l.t.Errorf("settled: %v", settled.Annotations)
	}
}

func (l *lab) testDeleteWork(key propagation.WorkKey) {
	l.t.Helper()
	w, err := l.Work(l.ctx, key)
	must(l.t, err)
	must(l.t, l.DeleteWork(l.ctx, w))
	w, err = l.Work(l.ctx, key)
	must(l.t, err)
	if !w.Deleting {
		l.t.Error("a Work that waits for its release is not deleting")
	}
	must(l.t, l.DeleteWork(l.ctx, w))
	if w, err = l.Work(l.ctx, key); err != nil || !w.Deleting {
		l.t.Errorf("deleted twice: %v", err)
	}
	must(l.t, l.ReleaseWork(l.ctx, w))
	if _, err := l.Work(l.ctx, key); !errors.Is(err, outcome.ErrGone) {
		l.t.Errorf("released: %v, want gone", err)
	}
	must(l.t, l.ReleaseWork(l.ctx, w))
	must(l.t, l.DeleteWork(l.ctx, w))
}

func TestWorkInANamespaceThatIsNotThere(t *testing.T) {
	l := newLab(t)
	if _, err := l.CommitWork(l.ctx, nil, l.newWork(0, propagation.BindingKey{Name: "b"})); !errors.Is(err, outcome.ErrGone) {
		t.Errorf("a member without its namespace: %v, want gone", err)
	}
}

// TestWorkThatLostItsLabel is found all the same: otherwise nobody could make
// it, nor mend it.
func TestWorkThatLostItsLabel(t *testing.T) {
	l := newLab(t)
	l.makeMembers(1)
	b := propagation.BindingKey{Namespace: l.namespace, Name: "one-configmap"}
	w, err := l.CommitWork(l.ctx, nil, l.newWork(0, b))
	must(t, err)
	told := l.watch(works.GroupVersion().WithKind("Work"))
	l.somebodyPatches(works, propagation.WorkNamespace(w.Key.Cluster), w.Key.Name, `{"metadata":{"labels":null,"finalizers":null}}`)
	told.until("Updated " + w.Key.Name)
	got, err := l.WorksOf(l.ctx, b)
	must(t, err)
	if diff := cmp.Diff([]propagation.WorkKey{w.Key}, keysOf(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestZ3PlacementsWorkThatLostItsLabel: it is nobody's until its placement makes it again,
// which takes it over; and one that somebody deleted besides is made anew once it is gone.
func TestZ3PlacementsWorkThatLostItsLabel(t *testing.T) {
	for _, watched := range []bool{false, true} {
		t.Run(fmt.Sprintf("watched %t", watched), func(t *testing.T) {
			l := newLab(t)
			cluster, placement := "m0-"+l.namespace, l.namespace
			key := propagation.WorkKey{Cluster: cluster, Name: propagation.PlacementWorkName(placement, -1), Form: propagation.PlacementForm}
			l.somebodyMakes(namespaces, "{apiVersion: v1, kind: Namespace, metadata: {name: "+key.Namespace()+"}}")
			t.Cleanup(func() { l.somebodyDeletesLater(namespaces, key.Namespace()) })
			if watched {
				l.watch(placementv1.SchemeGroupVersion.WithKind("Work"))
			}
			next := &propagation.Work{Key: key, Labels: map[string]string{placementv1.LabelParentCRP: placement}, Finalizers: []string{propagation.FinalizerWork}}
			made, err := l.CommitWork(l.ctx, nil, next)
			must(t, err)
			if _, err := l.CommitWork(l.ctx, nil, next); !outcome.IsConflict(err) {
				t.Errorf("made twice: %v, want a conflict", err)
			}
			for _, labels := range []string{"null", `{"` + placementv1.LabelParentCRP + `":"another"}`} {
				l.somebodyPatches(placedWorks, key.Namespace(), key.Name, `{"metadata":{"labels":`+labels+`,"finalizers":null}}`)
				again, err := l.CommitWork(l.ctx, nil, next)
				must(t, err)
				if again.UID != made.UID || again.Placement() != placement || !cmp.Equal(again.Finalizers, next.Finalizers) {
					t.Errorf("labels %s: it was not taken over: %+v", labels, again)
				}
				all, err := l.WorksOfPlacementOn(l.ctx, "another", cluster)
				must(t, err)
				if len(all) > 0 {
					t.Errorf("labels %s: it is another placement's", labels)
				}
			}
			l.somebodyPatches(placedWorks, key.Namespace(), key.Name, `{"metadata":{"labels":null}}`)
			l.somebodyDeletes(placedWorks, key.Namespace(), key.Name)
			if _, err := l.CommitWork(l.ctx, nil, next); !outcome.IsConflict(err) {
				t.Errorf("while the former goes: %v, want a conflict", err)
			}
			going, err := l.WorksOfPlacement(l.ctx, placement)
			must(t, err)
			if len(going) != 1 || !going[0].Deleting {
				t.Fatalf("what goes: %+v", going)
			}
			must(t, l.ReleaseWork(l.ctx, going[0]))
		})
	}
}
