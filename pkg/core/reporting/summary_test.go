// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// bound is a binding of revision r2 with these targets.
func bound(clusters ...string) *propagation.Binding {
	b := &propagation.Binding{Generation: 3, Annotations: map[string]string{propagation.AnnotationRevision: "r2"}}
	for _, c := range clusters {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: c})
	}
	return b
}

// made is a Work of generation 5 and revision r2, changed.
func made(cluster string, changes ...func(*propagation.Work)) *propagation.Work {
	w := &propagation.Work{
		Key: propagation.WorkKey{Cluster: cluster, Name: "w"}, Generation: 5, Annotations: map[string]string{propagation.AnnotationRevision: "r2"},
		Spec: workv1alpha1.WorkSpec{Workload: workv1alpha1.WorkloadTemplate{Manifests: []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"a": 1}`)}}}}},
	}
	for _, c := range changes {
		c(w)
	}
	return w
}

func with(conditionType string, status metav1.ConditionStatus, generation int64, message string) func(*propagation.Work) {
	return func(w *propagation.Work) {
		w.Status.Conditions = append(w.Status.Conditions, metav1.Condition{Type: conditionType, Status: status, ObservedGeneration: generation, Message: message})
	}
}

var (
	applied   = with("Applied", "True", 5, "")
	appliedAt = func(generation int64) func(*propagation.Work) { return with("Applied", "True", generation, "") }
	refused   = with("Applied", "False", 5, "the member says no")
	heldNow   = with("Dispatching", "False", 5, "")
	going     = func(w *propagation.Work) { w.Deleting = true }
	outdated  = func(w *propagation.Work) { w.Annotations[propagation.AnnotationRevision] = "r1" }
	suspended = func(w *propagation.Work) { w.Spec.SuspendDispatching = new(true) }
	same      = func(w *propagation.Work) {
		w.Status.Applied = &workv1alpha1.AppliedState{ManifestHash: propagation.HashJSON(map[string]any{"a": 1})}
	}
	other = func(w *propagation.Work) { w.Status.Applied = &workv1alpha1.AppliedState{ManifestHash: "other"} }
)

func unrenderedBinding(clusters ...string) *propagation.Binding {
	b := bound(clusters...)
	b.Status.Conditions = []metav1.Condition{{Type: rendering.ConditionRendered, Status: "False"}}
	return b
}

func TestConcluded(t *testing.T) {
	type works = []*propagation.Work
	deleting := bound()
	deleting.Deleting = true
	summedUpIn := func(clusters ...string) *propagation.Binding {
		b := bound(clusters...)
		b.Status.Conditions = []metav1.Condition{{Type: workv1alpha2.ConditionFullyApplied, Status: "True", Reason: workv1alpha2.ReasonFullyAppliedSuccess}}
		for _, c := range clusters {
			b.Status.AggregatedStatus = append(b.Status.AggregatedStatus, workv1alpha2.AggregatedStatusItem{ClusterName: c})
		}
		return b
	}
	toldOf := summedUpIn("left")
	toldOf.Status.AggregatedStatus = nil
	for name, tc := range map[string]struct {
		binding *propagation.Binding
		works   works
		want    bool
	}{
		"applied":               {bound("a"), works{made("a", applied)}, true},
		"refused":               {bound("a"), works{made("a", refused)}, true},
		"held back":             {bound("a"), works{made("a", appliedAt(4), heldNow)}, true},
		"one has no conclusion": {bound("a", "b"), works{made("a", applied), made("b")}, false},
		"the conclusion is about an earlier form":      {bound("a"), works{made("a", appliedAt(4))}, false},
		"dispatching alone is no conclusion":           {bound("a"), works{made("a", with("Dispatching", "True", 5, ""))}, false},
		"a target has no Work":                         {bound("a", "b"), works{made("a", applied)}, false},
		"so has one that has left, and gets none":      {bound("a", "left"), works{made("a", applied)}, true},
		"all targets have left":                        {summedUpIn("left"), nil, true},
		"so they have, and nothing was summed up":      {bound("left"), nil, false},
		"so they have, and the status names none":      {toldOf, nil, false},
		"a Work of an earlier content":                 {bound("a"), works{made("a", applied, outdated)}, false},
		"a target's Work is going, and will come anew": {bound("a"), works{made("a", applied, going)}, false},
		"the Work of a cluster that is no target":      {bound("a"), works{made("a", applied), made("b", outdated)}, true},
		"manifests that cannot be made are not waited": {unrenderedBinding("a", "b", "c"), works{made("a", applied), made("b", applied, outdated)}, true},
		"the others are":                               {unrenderedBinding("a", "b"), works{made("a")}, false},
		"no target any more":                           {summedUpIn(), nil, true},
		"no target, and never was one":                 {bound(), nil, false},
		"the template is gone":                         {deleting, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Concluded(tc.binding, tc.works, without(tc.binding, "left")); got != tc.want {
				t.Errorf("Concluded = %v", got)
			}
		})
	}
}

func TestFinished(t *testing.T) {
	for name, tc := range map[string]struct {
		work *propagation.Work
		want bool
	}{
		"the member has it":                            {made("a", applied), true},
		"the member refused it":                        {made("a", refused), false},
		"nobody has looked":                            {made("a"), false},
		"an earlier form was applied":                  {made("a", appliedAt(4)), false},
		"suspended, and it says so":                    {made("a", suspended, appliedAt(4), heldNow), true},
		"suspended, and it does not say so":            {made("a", suspended, applied), false},
		"suspended, and what is there is not known":    {made("a", suspended, heldNow, with("Applied", "Unknown", 5, "")), false},
		"resumed, and it says that it is held":         {made("a", applied, heldNow), false},
		"resumed with the same content, not yet known": {made("a", appliedAt(4), same), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Finished(tc.work); got != tc.want {
				t.Errorf("Finished = %v", got)
			}
		})
	}
}

func TestSummarize(t *testing.T) {
	type works = []*propagation.Work
	item := func(cluster string, applied bool, message string) workv1alpha2.AggregatedStatusItem {
		return workv1alpha2.AggregatedStatusItem{ClusterName: cluster, Applied: applied, AppliedMessage: message}
	}
	for name, tc := range map[string]struct {
		binding *propagation.Binding
		works   works
		want    []workv1alpha2.AggregatedStatusItem
		full    bool
	}{
		"all applied, sorted by cluster":             {bound("a", "b"), works{made("b", applied), made("a", applied)}, []workv1alpha2.AggregatedStatusItem{item("a", true, ""), item("b", true, "")}, true},
		"one refused, with the member's words":       {bound("a", "b"), works{made("a", applied), made("b", refused)}, []workv1alpha2.AggregatedStatusItem{item("a", true, ""), item("b", false, "the member says no")}, false},
		"held back with what it has":                 {bound("a"), works{made("a", suspended, appliedAt(4), heldNow, same)}, []workv1alpha2.AggregatedStatusItem{item("a", true, "")}, true},
		"held back with something else":              {bound("a"), works{made("a", suspended, appliedAt(4), heldNow, other)}, []workv1alpha2.AggregatedStatusItem{item("a", false, workv1alpha1.MessageSuspendDispatching)}, false},
		"held back and never applied":                {bound("a"), works{made("a", suspended, heldNow)}, []workv1alpha2.AggregatedStatusItem{item("a", false, workv1alpha1.MessageSuspendDispatching)}, false},
		"of an earlier content":                      {unrenderedBinding("a"), works{made("a", applied, outdated)}, []workv1alpha2.AggregatedStatusItem{item("a", false, messageOutdated)}, false},
		"a target without a Work":                    {bound("a", "b"), works{made("a", applied)}, []workv1alpha2.AggregatedStatusItem{item("a", true, "")}, false},
		"a Work that is going says nothing any more": {bound("a"), works{made("a", applied), made("b", applied, going)}, []workv1alpha2.AggregatedStatusItem{item("a", true, "")}, true},
		"one that is held on a former target does":   {bound("a"), works{made("a", applied), made("b", suspended, heldNow)}, []workv1alpha2.AggregatedStatusItem{item("a", true, ""), item("b", false, workv1alpha1.MessageSuspendDispatching)}, true},
		"nobody has looked":                          {bound("a"), works{made("a")}, []workv1alpha2.AggregatedStatusItem{item("a", false, messagePending)}, false},
		"no target":                                  {bound(), nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := Summarize(tc.binding, tc.works, noon)
			if diff := cmp.Diff(tc.want, s.AggregatedStatus); diff != "" {
				t.Errorf("aggregated status (-want +got):\n%s", diff)
			}
			want := metav1.Condition{Type: "FullyApplied", Status: "False", Reason: "FullyAppliedFailed", Message: messageNotFullyApplied, ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(noon)}
			if tc.full {
				want.Status, want.Reason, want.Message = "True", "FullyAppliedSuccess", messageFullyApplied
			}
			if diff := cmp.Diff(&want, meta.FindStatusCondition(s.Conditions, "FullyApplied")); diff != "" {
				t.Errorf("condition (-want +got):\n%s", diff)
			}
			b := *tc.binding
			b.Status = s
			if Verdict(&b) != want.Reason {
				t.Errorf("verdict %s", Verdict(&b))
			}
			if diff := cmp.Diff(s, Summarize(&b, tc.works, noon.Add(time.Hour))); diff != "" {
				t.Errorf("an hour later, with nothing new:\n%s", diff)
			}
		})
	}
	if v := Verdict(bound()); v != "" {
		t.Errorf("verdict %q of what was never summed up", v)
	}
}

func TestY9ABindingSaysWhoElseWantsItsTemplate(t *testing.T) {
	b := bound("a")
	w := made("a", applied).WithRivals([]propagation.Rival{{Name: "two-work", Form: propagation.PlacementForm, Object: propagation.TemplateKey{Kind: "ConfigMap", Namespace: "shop", Name: "pages"}, By: "the placement two"}})
	b.Status = Summarize(b, []*propagation.Work{w}, noon)
	c := meta.FindStatusCondition(b.Status.Conditions, "Contested")
	if c == nil || c.Status != "True" || c.Reason != "WantedByOthers" || c.Message != "ConfigMap shop/pages is wanted by the placement two, too, in a" {
		t.Fatalf("it says %+v", c)
	}
	if d := cmp.Diff(b.Status, Summarize(b, []*propagation.Work{w}, noon.Add(time.Hour))); d != "" {
		t.Errorf("an hour later, with nothing new:\n%s", d)
	}
	b.Status = Summarize(b, []*propagation.Work{made("a", applied)}, noon)
	if c := meta.FindStatusCondition(b.Status.Conditions, "Contested"); c != nil {
		t.Errorf("when it is over it says %+v", c)
	}
}

// Somebody sets on a binding what nobody acts on: it says so, with the rest, as long as
// it is set.
func TestABindingSaysWhichFieldsAreIgnored(t *testing.T) {
	b := bound("m1")
	works := []*propagation.Work{made("m1", applied)}
	b.Status = Summarize(b, works, noon)
	if len(b.Status.Conditions) != 1 {
		t.Errorf("all is acted on, and it says %v", b.Status.Conditions)
	}
	b.Spec.RescheduleTriggeredAt = new(metav1.NewTime(noon))
	b.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "m2"}}
	b.Status = Summarize(b, works, noon)
	c := meta.FindStatusCondition(b.Status.Conditions, ConditionFieldsIgnored)
	if want := "stored and not acted on yet: spec.gracefulEvictionTasks (a cluster that a task names is chosen no more; nobody waits for the grace, or ends the task), spec.rescheduleTriggeredAt"; c == nil || c.Status != metav1.ConditionTrue || c.Message != want {
		t.Errorf("it says %v, want %s", c, want)
	}
	b.Spec.RescheduleTriggeredAt, b.Spec.GracefulEvictionTasks = nil, nil
	if b.Status = Summarize(b, works, noon); len(b.Status.Conditions) != 1 {
		t.Errorf("all is acted on by now, and it says %v", b.Status.Conditions)
	}
}

func TestSummaryCarriesStatusAndHealth(t *testing.T) {
	w := made("a", applied)
	w.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{Status: &runtime.RawExtension{Raw: []byte(`{"replicas":1}`)}, Health: workv1alpha1.ResourceHealthy}}
	b := bound("a")
	b.Status.SchedulerObservedGeneration = 2
	s := Summarize(b, []*propagation.Work{w}, noon)
	if i := s.AggregatedStatus[0]; string(i.Status.Raw) != `{"replicas":1}` || i.Health != workv1alpha2.ResourceHealthy || s.SchedulerObservedGeneration != 2 {
		t.Errorf("summary %+v", s)
	}
}

// Who fights over fields in members stands on the binding as long as a Work says so.
func TestABindingSaysWhoFightsOverItsFields(t *testing.T) {
	b, w := bound("a"), made("a", applied)
	w.Status.Conditions = applying.WithFieldsContested(w.Status.Conditions, []string{"rival sets it"}, false, noon)
	b.Status = Summarize(b, []*propagation.Work{w}, noon)
	if c := meta.FindStatusCondition(b.Status.Conditions, "FieldsContested"); c == nil || c.Status != "True" || c.Reason != "FieldManagerConflict" || c.Message != "rival sets it" {
		t.Fatalf("it says %+v", c)
	}
	if !meta.IsStatusConditionTrue(b.Status.Conditions, "FullyApplied") {
		t.Error("it is not applied any more")
	}
	if d := cmp.Diff(b.Status, Summarize(b, []*propagation.Work{w}, noon.Add(time.Hour))); d != "" {
		t.Errorf("an hour later, with nothing new:\n%s", d)
	}
	b.Status = Summarize(b, []*propagation.Work{made("a", applied)}, noon)
	if c := meta.FindStatusCondition(b.Status.Conditions, "FieldsContested"); c != nil {
		t.Errorf("when it is over it says %+v", c)
	}
}
