// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

func overrideLabels(k, v string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{k: v}}
}

func binding(scope propagation.Scope) *propagation.Binding {
	b := &propagation.Binding{
		Key: propagation.BindingKey{Name: "nginx-deployment"}, UID: "u1",
		Annotations: map[string]string{propagation.AnnotationRevision: "nginx-1"},
		Spec:        workv1alpha2.ResourceBindingSpec{Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "nginx", UID: "t1"}},
	}
	if scope == propagation.Namespaced {
		b.Key.Namespace, b.Spec.Resource.Namespace = "shop", "shop"
	}
	return b
}

func suspend(clusters ...string) *workv1alpha2.Suspension {
	return &workv1alpha2.Suspension{DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: clusters}}
}

func mustWork(t *testing.T, b *propagation.Binding, cluster string) *propagation.Work {
	t.Helper()
	w, err := Work(b, cluster, map[string]any{"kind": "Deployment", "spec": map[string]any{"replicas": int64(2)}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWork(t *testing.T) {
	for _, scope := range propagation.Scopes {
		b := binding(scope)
		b.Spec.Suspension = suspend("member2")
		b.Spec.PreserveResourcesOnDeletion = new(true)
		w := mustWork(t, b, "member1")
		if w.Binding() != b.Key {
			t.Errorf("%s: the Work's binding is %v", scope, w.Binding())
		}
		if k, err := w.Template(); err != nil || k != b.Template() {
			t.Errorf("%s: the Work's template is %v (%v)", scope, k, err)
		}
		if w.Annotations[propagation.AnnotationConflictResolution] != "Abort" || w.Annotations[propagation.AnnotationRevision] != "nginx-1" || w.Annotations[propagation.AnnotationBindingUID] != "u1" {
			t.Errorf("%s: annotations %v", scope, w.Annotations)
		}
		if w.Spec.SuspendDispatching != nil || !*w.Spec.PreserveResourcesOnDeletion || len(w.Spec.Workload.Manifests) != 1 {
			t.Errorf("%s: spec %+v", scope, w.Spec)
		}
		if !mustWork(t, b, "member2").Suspended() {
			t.Errorf("%s: the Work of a suspended cluster is not suspended", scope)
		}
	}
}

func TestAWorkSaysThatOthersReferToItsTemplate(t *testing.T) {
	for name, tc := range map[string]struct {
		placed []string
		policy string
		want   string
	}{
		"a policy places it there":     {placed: []string{"member1", "member2"}, policy: "p"},
		"a policy places it elsewhere": {placed: []string{"member2"}, policy: "p", want: "true"},
		"no policy places it":          {want: "true"},
	} {
		t.Run(name, func(t *testing.T) {
			b := binding(propagation.Namespaced)
			b.Annotations = map[string]string{propagation.AnnotationActivePolicy: tc.policy}
			b.Spec.Clusters, b.Spec.RequiredBy = nil, []workv1alpha2.BindingSnapshot{{Clusters: []workv1alpha2.TargetCluster{{Name: "member1"}}}}
			for _, c := range tc.placed {
				b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: c})
			}
			if got := mustWork(t, b, "member1").Annotations[propagation.AnnotationDependency]; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// Z11: a Work notes when its binding was made, where its kind may be defined anew; it is
// not written for that alone.
func TestZ11TheWorkNotesWhenItsBindingWasMade(t *testing.T) {
	made := time.Date(2026, 11, 26, 12, 0, 0, 0, time.FixedZone("", 3600))
	for sentence, tc := range map[string]struct {
		apiVersion string
		made       time.Time
		want       string
	}{
		"a kind that has a definition":       {"example.org/v1", made, "2026-11-26T11:00:00Z"},
		"a kind of the API server's own":     {"apps/v1", made, ""},
		"it is not known when that was made": {"example.org/v1", time.Time{}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := binding(propagation.Namespaced)
			b.Spec.Resource.APIVersion, b.Created = tc.apiVersion, tc.made
			w := mustWork(t, b, "member1")
			if got := w.Annotations[propagation.AnnotationBindingCreated]; got != tc.want {
				t.Errorf("it notes %q, want %q", got, tc.want)
			}
			before := *w
			before.Annotations = maps.Clone(w.Annotations)
			delete(before.Annotations, propagation.AnnotationBindingCreated)
			if !Equal(&before, w) || w.Annotations[propagation.AnnotationBindingCreated] != tc.want {
				t.Errorf("a Work from before that was noted is written for it, or Equal changed it: %v", w.Annotations)
			}
			if got := merge(&before, w).Annotations[propagation.AnnotationBindingCreated]; got != tc.want {
				t.Errorf("a Work that is written notes %q, want %q", got, tc.want)
			}
		})
	}
}

func TestEqual(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(existing *propagation.Work)
		want   bool
	}{
		"the same": {func(*propagation.Work) {}, true},
		"another order and form of the JSON": {func(w *propagation.Work) {
			w.Spec.Workload.Manifests[0].Raw = []byte(`{"spec": {"replicas": 2.0}, "kind": "Deployment"}`)
		}, true},
		"a label and an annotation of others": {func(w *propagation.Work) { w.Labels["x"], w.Annotations["x"] = "y", "y" }, true},
		"false instead of nothing":            {func(w *propagation.Work) { w.Spec.SuspendDispatching = new(false) }, true},
		"another manifest":                    {func(w *propagation.Work) { w.Spec.Workload.Manifests[0].Raw = []byte(`{"kind": "Deployment"}`) }, false},
		"a manifest that is none":             {func(w *propagation.Work) { w.Spec.Workload.Manifests[0].Raw = []byte(`{`) }, false},
		"one manifest more": {func(w *propagation.Work) {
			w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, w.Spec.Workload.Manifests[0])
		}, false},
		"a suspension that shall not be":           {func(w *propagation.Work) { w.Spec.SuspendDispatching = new(true) }, false},
		"objects preserved that shall not be":      {func(w *propagation.Work) { w.Spec.PreserveResourcesOnDeletion = new(true) }, false},
		"a label of ours that somebody removed":    {func(w *propagation.Work) { delete(w.Labels, propagation.LabelBinding) }, false},
		"an annotation of ours, changed":           {func(w *propagation.Work) { w.Annotations[propagation.AnnotationBindingUID] = "u0" }, false},
		"the finalizer that somebody removed":      {func(w *propagation.Work) { w.Finalizers = nil }, false},
		"the finalizer among those of others":      {func(w *propagation.Work) { w.Finalizers = append(w.Finalizers, "x/y") }, true},
		"a dependency's, which it is no more":      {func(w *propagation.Work) { w.Annotations[propagation.AnnotationDependency] = "true" }, false},
		"an empty annotation is not an absent one": {func(w *propagation.Work) { delete(w.Annotations, propagation.AnnotationConflictResolution) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			existing := mustWork(t, binding(propagation.Namespaced), "member1")
			tc.change(existing)
			if got := Equal(existing, mustWork(t, binding(propagation.Namespaced), "member1")); got != tc.want {
				t.Errorf("Equal = %v", got)
			}
		})
	}
}

func TestPlan(t *testing.T) {
	type works = []*propagation.Work
	b := binding(propagation.Namespaced)
	suspended := binding(propagation.Namespaced)
	suspended.Spec.Suspension = suspend("member2")
	onMember9 := binding(propagation.Namespaced)
	onMember9.Spec.Suspension = suspend("member9")
	deleting := binding(propagation.Namespaced)
	deleting.Deleting, deleting.Spec.Suspension = true, suspend("member2")
	work := func(cluster string, changes ...func(*propagation.Work)) *propagation.Work {
		w := mustWork(t, b, cluster)
		w.ResourceVersion = "5"
		for _, c := range changes {
			c(w)
		}
		return w
	}
	old := func(w *propagation.Work) { w.Spec.Workload.Manifests[0].Raw, w.Labels["x"] = []byte(`{}`), "y" }
	dying := func(w *propagation.Work) { w.Deleting = true }
	kept := func(w *propagation.Work) { w.Finalizers = append(w.Finalizers, "example.com/kept") }
	held := func(w *propagation.Work) { w.Spec.SuspendDispatching = new(true) }
	renamed := func(w *propagation.Work) { w.Key.Name = "an-older-name" }
	former := func(w *propagation.Work) { w.Key.Name = propagation.FormerWorkName(b.Key) }

	for name, tc := range map[string]struct {
		binding  *propagation.Binding
		existing works
		desired  []string // clusters
		want     []string // "Action cluster suspended"
		// doubtful: nothing proves that a Work may go.
		doubtful bool
	}{
		"its suspension does not wait for that":                             {onMember9, works{work("member9", old)}, nil, []string{"Update member9 suspended"}, false},
		"nor does its end":                                                  {b, works{work("member9", old, held)}, nil, []string{"Update member9"}, false},
		"nor is it written twice":                                           {onMember9, works{work("member9", old, held)}, nil, []string{"Keep member9 suspended"}, false},
		"Z3, Z11: what nothing proves to be unwanted stays":                 {nil, works{work("member1")}, nil, []string{"Doubt member1"}, true},
		"a Work that cannot be made anew stays":                             {b, works{work("member9", old)}, nil, []string{"Keep member9"}, false},
		"without its template it goes all the same":                         {nil, works{work("member9", old)}, nil, []string{"Delete member9"}, false},
		"new clusters get a Work":                                           {b, nil, []string{"member2", "member1"}, []string{"Create member1", "Create member2"}, false},
		"what is as it shall be is kept":                                    {b, works{work("member1")}, []string{"member1"}, []string{"Keep member1"}, false},
		"what is not is updated":                                            {b, works{work("member1", old)}, []string{"member1"}, []string{"Update member1"}, false},
		"what comes is there before what goes":                              {b, works{work("member1")}, []string{"member2"}, []string{"Create member2", "Delete member1"}, false},
		"what is being deleted is left":                                     {b, works{work("member1", dying)}, nil, []string{"Leave member1"}, false},
		"Z3: what is being deleted and wanted is made anew":                 {b, works{work("member1", dying)}, []string{"member1"}, []string{"Remake member1"}, false},
		"unless somebody else keeps it":                                     {b, works{work("member1", dying, kept)}, []string{"member1"}, []string{"Leave member1"}, false},
		"a Work of another name goes":                                       {b, works{work("member1", renamed)}, []string{"member1"}, []string{"Create member1", "Delete member1"}, false},
		"Z34: a Work of the former name keeps it":                           {b, works{work("member1", former)}, []string{"member1"}, []string{"Keep member1 formerly"}, false},
		"Z34: and is updated under it":                                      {b, works{work("member1", former, old)}, []string{"member1"}, []string{"Update member1 formerly"}, false},
		"Z34: and goes if nothing wants it":                                 {b, works{work("member1", former)}, nil, []string{"Delete member1 formerly"}, false},
		"Z34: and stays if nothing proves that":                             {b, works{work("member1", former)}, nil, []string{"Doubt member1 formerly"}, true},
		"Z34: and is held by a suspension":                                  {suspended, works{work("member2", former)}, nil, []string{"Update member2 formerly suspended"}, false},
		"Z34: one that is being deleted is made anew under the present one": {b, works{work("member1", former, dying)}, []string{"member1"}, []string{"Remake member1 formerly"}, false},
		"Z34: unless somebody else keeps it":                                {b, works{work("member1", former, dying, kept)}, []string{"member1"}, []string{"Leave member1 formerly"}, false},
		"Z34: of two the former goes, and nothing has to prove that":        {b, works{work("member1", former), work("member1")}, []string{"member1"}, []string{"Keep member1", "Delete member1 formerly"}, true},
		"Z34: of two the former goes where none can be made anew":           {b, works{work("member9", former), work("member9")}, nil, []string{"Keep member9", "Delete member9 formerly"}, true},
		"Z34: of two that are both being deleted":                           {b, works{work("member1", former, dying), work("member1", dying)}, []string{"member1"}, []string{"Remake member1", "Leave member1 formerly"}, false},
		"Z34: two in two clusters":                                          {b, works{work("member1", former), work("member2")}, []string{"member1", "member2"}, []string{"Keep member1 formerly", "Keep member2"}, false},
		"Z34: without a binding two are as one":                             {nil, works{work("member1", former), work("member1")}, nil, []string{"Doubt member1 formerly", "Doubt member1"}, true},
		"S27 a dropped cluster that is suspended is held":                   {suspended, works{work("member2", held)}, []string{"member1"}, []string{"Create member1", "Hold member2 suspended"}, false},
		"S27 it is told so where it does not know":                          {suspended, works{work("member2")}, nil, []string{"Update member2 suspended"}, false},
		"S27 it goes when it is resumed":                                    {b, works{work("member2", held)}, nil, []string{"Delete member2 suspended"}, false},
		"S24 deletion of the template passes a suspension":                  {nil, works{work("member2", held)}, nil, []string{"Delete member2 suspended"}, false},
		"S24 a binding that is being deleted is as good as no":              {deleting, works{work("member2", held)}, nil, []string{"Delete member2 suspended"}, false},
		"nothing there and nothing wanted":                                  {nil, nil, nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			desired := map[string]*propagation.Work{}
			for _, c := range tc.desired {
				desired[c] = mustWork(t, b, c)
			}
			var got []string
			for _, s := range Plan(tc.binding, tc.existing, desired, map[string]bool{"member9": true}, func(*propagation.Work) bool { return !tc.doubtful }) {
				w := s.Existing
				if s.Desired != nil {
					w = s.Desired
				}
				line := string(s.Action) + " " + s.Key().Cluster
				if s.Key().Name == propagation.FormerWorkName(b.Key) {
					line += " formerly"
				}
				if w.Key != s.Key() && s.Action == Update || s.Action == Remake && w.Key.Name != propagation.WorkName(b.Key) {
					t.Errorf("%s of %s as %s", s.Action, s.Key(), w.Key)
				}
				if w.Suspended() {
					line += " suspended"
				}
				got = append(got, line)
				if s.Action == Update && (s.Existing == nil || w.ResourceVersion != "5") {
					t.Error("an update without the version that was read")
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// A Job that is made anew has to run anew: its former Work makes room first, under
// whichever name.
func TestZ34AJobOfTheFormerNameIsNotMadeAnewBeforeItIsGone(t *testing.T) {
	b := binding(propagation.Namespaced)
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: "once", UID: "uid-2"}
	desired := map[string]*propagation.Work{"member1": mustWork(t, b, "member1")}
	w := mustWork(t, b, "member1")
	w.Key.Name, w.Annotations[propagation.AnnotationTemplateUID] = propagation.FormerWorkName(b.Key), "uid-1"
	for _, want := range []Action{Delete, Leave} {
		steps := Plan(b, []*propagation.Work{w}, desired, nil, func(*propagation.Work) bool { return true })
		if len(steps) != 1 || steps[0].Action != want {
			t.Errorf("got %+v, want one step: %s", steps, want)
		}
		w.Deleting = true
	}
}

func TestAnUpdateKeepsWhatOthersAdded(t *testing.T) {
	b := binding(propagation.Namespaced)
	existing := mustWork(t, b, "member1")
	existing.Labels["x"], existing.Annotations["x"], existing.Finalizers = "y", "y", []string{"other/finalizer"}
	existing.Spec.SuspendDispatching = new(true)
	before := *existing
	steps := Plan(b, []*propagation.Work{existing}, map[string]*propagation.Work{"member1": mustWork(t, b, "member1")}, nil, nil)
	w := steps[0].Desired
	if w.Labels["x"] != "y" || w.Annotations["x"] != "y" || len(w.Finalizers) != 2 || w.Suspended() {
		t.Errorf("updated to %+v", w)
	}
	if !Equal(w, mustWork(t, b, "member1")) {
		t.Error("what is updated is not equal then")
	}
	if diff := cmp.Diff(before, *existing); diff != "" {
		t.Errorf("the Work that was read was changed:\n%s", diff)
	}
}

func TestRenderGivesEachClusterItsShare(t *testing.T) {
	content := object(t, nginx)
	for name, tc := range map[string]struct {
		replicas int32
		clusters []workv1alpha2.TargetCluster
		want     string
	}{
		"the share of the cluster":              {9, []workv1alpha2.TargetCluster{{Name: "member1", Replicas: 4}}, `"replicas":4`},
		"a template without replicas":           {0, []workv1alpha2.TargetCluster{{Name: "member1"}}, `"replicas":3`},
		"a cluster that only others brought":    {9, nil, `"replicas":3`},
		"a share of nothing is a share as well": {9, []workv1alpha2.TargetCluster{{Name: "member1"}}, `"replicas":0`},
	} {
		t.Run(name, func(t *testing.T) {
			b := binding(propagation.Namespaced)
			b.Spec.Replicas, b.Spec.Clusters = tc.replicas, tc.clusters
			w, err := Render(kinds.Table{}, b, content, member1(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if raw := string(w.Spec.Workload.Manifests[0].Raw); !strings.Contains(raw, tc.want) {
				t.Errorf("%s, want %s", raw, tc.want)
			}
		})
	}
}
