// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// conflict is the API server's answer to a write of what somebody else has just written.
var conflict = apierrors.NewConflict(schema.GroupResource{Resource: "clusterresourcebindings"}, "b", nil)

// nothing is a hub's other half, of which these tests need next to nothing.
type nothing = Hub

// world is a hub that notes each write.
type world struct {
	nothing
	placement *placementv1.ClusterResourcePlacement
	policy    *placementv1.ClusterSchedulingPolicySnapshot
	snapshots []*placementv1.ClusterResourceSnapshot
	bindings  []*placementv1.ClusterResourceBinding
	works     []*propagation.Work
	runs      []*placementv1.ClusterStagedUpdateRun
	now       time.Time
	writes    []string
	// unserved says that the kind of bindings is being removed, late that this process
	// has not seen the placement yet.
	unserved, late bool
	// missing are the other kinds that the hub does not serve.
	missing []string
	// former says that the definition of bindings is that of before overriddenFor.
	former bool
	// undefined says that the definition of Works is gone.
	undefined bool
	// lost is the member of which no binding can be written: somebody else just did.
	lost string
	// failed is how the last event ended.
	failed error
}

func newWorld(picked ...string) *world {
	w := &world{placement: &placementv1.ClusterResourcePlacement{}, policy: &placementv1.ClusterSchedulingPolicySnapshot{}, now: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
	w.placement.Name, w.placement.Finalizers = "shop", []string{placementv1.FinalizerScheduler}
	w.policy.Name, w.policy.Labels = "shop-0", map[string]string{placementv1.LabelPolicyIndex: "0", placementv1.LabelIsLatestSnapshot: "true"}
	w.policy.Status.Conditions = []metav1.Condition{{Type: placementv1.ConditionScheduled, Status: metav1.ConditionTrue}}
	for _, c := range picked {
		w.policy.Status.ClusterDecisions = append(w.policy.Status.ClusterDecisions, placementv1.ClusterDecision{ClusterName: c, Selected: true})
	}
	w.snapshot(0)
	return w
}

func (w *world) snapshot(index int) {
	s := &placementv1.ClusterResourceSnapshot{}
	s.Name = fmt.Sprintf("shop-%d-snapshot", index)
	s.Labels = map[string]string{placementv1.LabelResourceIndex: fmt.Sprint(index), placementv1.LabelIsLatestSnapshot: "true"}
	s.Annotations = map[string]string{placementv1.AnnotationNumberOfResourceSnapshots: "1"}
	w.snapshots = append(w.snapshots, s)
}

// serves is the answer to a request about a kind.
func (w *world) serves(kind string) error {
	if slices.Contains(w.missing, kind) {
		return fmt.Errorf("list %s: %w", kind, outcome.ErrNotServed)
	}
	return nil
}

func (w *world) Placement(ctx context.Context, name string) (*placementv1.ClusterResourcePlacement, error) {
	if w.late {
		return nil, outcome.ErrGone
	}
	return w.PlacementNow(ctx, name)
}

func (w *world) PlacementNow(_ context.Context, name string) (*placementv1.ClusterResourcePlacement, error) {
	if err := w.serves("placements"); err != nil {
		return nil, err
	}
	if w.placement == nil || name != w.placement.Name {
		return nil, outcome.ErrGone
	}
	return w.placement, nil
}

func (w *world) Placements(context.Context) ([]*placementv1.ClusterResourcePlacement, error) {
	if w.placement == nil {
		return nil, w.serves("placements")
	}
	return []*placementv1.ClusterResourcePlacement{w.placement}, w.serves("placements")
}

func (w *world) CommitPlacement(_ context.Context, _, next *placementv1.ClusterResourcePlacement) (*placementv1.ClusterResourcePlacement, error) {
	w.writes = append(w.writes, fmt.Sprintf("placement %q", next.Finalizers))
	w.placement = next
	return next, nil
}

func (w *world) PolicySnapshotsOf(context.Context, string) ([]*placementv1.ClusterSchedulingPolicySnapshot, error) {
	return []*placementv1.ClusterSchedulingPolicySnapshot{w.policy}, w.serves("policies")
}

func (w *world) ResourceSnapshotsOf(context.Context, string) ([]*placementv1.ClusterResourceSnapshot, error) {
	return w.snapshots, w.serves("snapshots")
}

func (w *world) ClusterOverrides(context.Context) ([]*placementv1.ClusterResourceOverride, error) {
	return nil, nil
}

func (w *world) NamespaceOverrides(context.Context) ([]*placementv1.ResourceOverride, error) {
	return nil, nil
}

func (w *world) ClusterOverrideSnapshots(context.Context) ([]*placementv1.ClusterResourceOverrideSnapshot, error) {
	return nil, w.serves("overrides")
}

func (w *world) NamespaceOverrideSnapshots(context.Context) ([]*placementv1.ResourceOverrideSnapshot, error) {
	return nil, nil
}

func (w *world) ClusterOverridesDefined(context.Context) (time.Time, error) { return time.Time{}, nil }

func (w *world) UpdateRuns(context.Context) ([]*placementv1.ClusterStagedUpdateRun, error) {
	return w.runs, nil
}

func (w *world) PlacementBindings(context.Context) ([]*placementv1.ClusterResourceBinding, error) {
	return w.bindings, nil
}

func (w *world) PlacementBindingsOf(context.Context, string) ([]*placementv1.ClusterResourceBinding, error) {
	return slices.Clone(w.bindings), nil
}

func (w *world) WorksOfPlacement(context.Context, string) ([]*propagation.Work, error) {
	if err := w.serves("Work"); err != nil {
		return nil, err
	}
	return w.works, nil
}

func (w *world) PlacementWorksUndefined(context.Context) (bool, error) { return w.undefined, nil }

func (w *world) CommitPlacementBinding(_ context.Context, old, next *placementv1.ClusterResourceBinding) (*placementv1.ClusterResourceBinding, error) {
	if old == nil && w.unserved {
		return nil, outcome.ErrNotServed
	}
	if next.Spec.TargetCluster == w.lost {
		return nil, conflict
	}
	w.writes = append(w.writes, fmt.Sprintf("%s %s %s", next.Spec.TargetCluster, next.Spec.State, next.Spec.ResourceSnapshotName))
	b := next.DeepCopy()
	b.Generation++
	b.ResourceVersion = fmt.Sprint(b.Generation)
	if w.former {
		b.Spec.OverriddenFor = nil
	}
	if old == nil {
		w.bindings = append(w.bindings, b)
		return b, nil
	}
	if equality.Semantic.DeepEqual(old.Spec, b.Spec) && equality.Semantic.DeepEqual(old.Annotations, b.Annotations) {
		return old, nil
	}
	w.bindings[slices.Index(w.bindings, old)] = b
	return b, nil
}

func (w *world) DeletePlacementBinding(_ context.Context, b *placementv1.ClusterResourceBinding) error {
	w.writes = append(w.writes, b.Spec.TargetCluster+" deleted")
	at := metav1.NewTime(w.now)
	b.DeletionTimestamp = &at
	return nil
}

// available says so of each binding.
func (w *world) available(reason string) {
	for _, b := range w.bindings {
		b.Status.Conditions = []metav1.Condition{{
			Type: placementv1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: reason,
			ObservedGeneration: b.Generation, LastTransitionTime: metav1.NewTime(w.now),
		}}
	}
}

// handle gives the stage an event, and is what was written and what it told.
func (w *world) handle(t *testing.T, eventType string) (writes, told []string) {
	t.Helper()
	e := event.New()
	e.SetID("1")
	e.SetSource("/test")
	e.SetType(eventType)
	if eventType != events.Ping {
		if err := e.SetData("application/json", events.Data{Placement: "shop", Cluster: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	w.writes = nil
	out, err := New(w, func() time.Time { return w.now }).Handle(t.Context(), e)
	if w.failed = err; err != nil && len(w.missing) == 0 && w.lost == "" {
		t.Fatal(err)
	}
	for _, o := range out {
		d, err := events.Decode(o)
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, strings.TrimSpace(strings.TrimPrefix(o.Type(), "dev.sluice.placement.")+" "+d.Cluster))
	}
	return w.writes, told
}

func (w *world) want(t *testing.T, eventType string, writes, told []string) {
	t.Helper()
	gotWrites, gotTold := w.handle(t, eventType)
	if diff := cmp.Diff(writes, gotWrites); diff != "" {
		t.Errorf("%s: writes (-want +got):\n%s", eventType, diff)
	}
	if diff := cmp.Diff(told, gotTold); diff != "" {
		t.Errorf("%s: told (-want +got):\n%s", eventType, diff)
	}
}

func TestANewPlacementCostsOneWriteAMember(t *testing.T) {
	w := newWorld("a", "b", "c")
	w.want(t, events.PlacementScheduled,
		[]string{"a Bound shop-0-snapshot", "b Bound shop-0-snapshot", "c Bound shop-0-snapshot"}, []string{"bound a", "bound b", "bound c"})
	t.Run("and nothing when the event comes again, but it is told again", func(t *testing.T) {
		w.want(t, events.PlacementScheduled, nil, []string{"bound a", "bound b", "bound c"})
	})
	t.Run("nor is it told for each report", func(t *testing.T) { w.want(t, events.PlacementReported, nil, nil) })
	w.available(placementv1.ReasonAllWorkAvailable)
	t.Run("nor when all is well", func(t *testing.T) { w.want(t, events.PlacementScheduled, nil, nil) })
}

func TestC64StageUpdatesOneAfterTheOther(t *testing.T) {
	w := newWorld("a", "b", "c")
	w.handle(t, events.PlacementScheduled)
	w.available(placementv1.ReasonAllWorkAvailable)
	w.snapshot(1)
	w.want(t, events.PlacementScheduled, []string{"a Bound shop-1-snapshot"}, []string{"bound a", "waiting"})
	w.want(t, events.PlacementReported, nil, []string{"waiting"})
	w.available(placementv1.ReasonAllWorkAvailable)
	w.want(t, events.PlacementReported, []string{"b Bound shop-1-snapshot"}, []string{"bound b", "waiting"})
}

func TestC65TheTickFindsWhatTheTimeChanged(t *testing.T) {
	w := newWorld("a", "b")
	w.handle(t, events.PlacementScheduled)
	w.available(placementv1.ReasonAllWorkAvailable)
	w.snapshot(1)
	w.handle(t, events.PlacementScheduled)
	w.available(placementv1.ReasonWorkNotTrackable)
	w.want(t, events.Ping, nil, nil)
	w.now = w.now.Add(time.Minute)
	w.want(t, events.Ping, nil, []string{"scheduled"})
	w.want(t, events.PlacementScheduled, []string{"b Bound shop-1-snapshot"}, []string{"bound b"})
}

func TestARollbackIsRolledOutAndPinned(t *testing.T) {
	w := newWorld("a")
	w.snapshot(1)
	w.handle(t, events.PlacementScheduled)
	w.available(placementv1.ReasonAllWorkAvailable)
	w.placement.Annotations = map[string]string{placing.AnnotationRollback: "0"}
	w.want(t, events.PlacementScheduled, []string{"a Bound shop-0-snapshot"}, []string{"bound a"})
	w.snapshot(2)
	w.want(t, events.PlacementReported, nil, nil)
	delete(w.placement.Annotations, placing.AnnotationRollback)
	w.want(t, events.PlacementReported, []string{"a Bound shop-2-snapshot"}, []string{"bound a"})
}

func TestC25HistoryEndsWhenNobodyHasIt(t *testing.T) {
	w := newWorld("a")
	w.placement.Spec.RevisionHistoryLimit = new(int32(1))
	w.handle(t, events.PlacementScheduled)
	w.available(placementv1.ReasonAllWorkAvailable)
	w.snapshot(1) // the first one stays as long as a has it
	w.want(t, events.PlacementScheduled, []string{"a Bound shop-1-snapshot"}, []string{"bound a"})
	w.available(placementv1.ReasonAllWorkAvailable)
	w.want(t, events.PlacementReported, nil, []string{"touched"})
}

func TestC102ADeletedPlacementTakesItsBindingsAlong(t *testing.T) {
	w := newWorld("a", "b")
	w.handle(t, events.PlacementScheduled)
	at := metav1.NewTime(w.now)
	w.placement.DeletionTimestamp = &at
	w.want(t, events.PlacementScheduled, []string{"a deleted", "b deleted"}, []string{"bound a", "bound b"})
	w.want(t, events.PlacementReported, nil, []string{"bound a", "bound b"})
	w.bindings = nil
	w.want(t, events.PlacementReported, []string{"placement []"}, nil)
	w.placement = nil
	w.want(t, events.PlacementReported, nil, nil)
}

// C102: a placement whose Works lost their bindings without going is not let go before
// them: nothing would prove then that members have to lose its objects.
func TestC102ADeletedPlacementWaitsForItsWorks(t *testing.T) {
	w := newWorld("a")
	at := metav1.NewTime(w.now)
	w.placement.DeletionTimestamp = &at
	for _, part := range []string{"shop-work", "shop-1"} {
		w.works = append(w.works, &propagation.Work{Key: propagation.WorkKey{Cluster: "b", Name: part, Form: propagation.PlacementForm}})
	}
	w.want(t, events.PlacementScheduled, nil, []string{"bound b"})
	w.missing = []string{"Work"} // nobody can tell
	w.want(t, events.PlacementScheduled, nil, nil)
	if !errors.Is(w.failed, outcome.ErrNotServed) {
		t.Errorf("it fails with %v, and its Works cannot be listed", w.failed)
	}
	w.undefined = true // they went with it
	w.want(t, events.PlacementScheduled, []string{"placement []"}, nil)
	w.missing = nil
	w.placement.Finalizers = []string{placementv1.FinalizerScheduler}
	for _, work := range w.works {
		work.Deleting, work.Finalizers = true, []string{propagation.FinalizerWork, "example.com/audit"}
	}
	w.want(t, events.PlacementScheduled, nil, []string{"bound b"})
	for _, work := range w.works {
		work.Finalizers = []string{"example.com/audit"} // the applier has let them go
	}
	w.want(t, events.PlacementScheduled, []string{"placement []"}, nil)
	w.works = nil
	w.placement.Finalizers = []string{placementv1.FinalizerScheduler}
	w.want(t, events.PlacementScheduled, []string{"placement []"}, nil)
}

func TestNothingIsDoneBeforeMembersArePicked(t *testing.T) {
	w := newWorld("a")
	w.policy.Status.Conditions = nil
	w.want(t, events.PlacementScheduled, nil, nil)
}

// What a binding names is missing: that was said, and with each event that has the
// placement looked at it is tried again.
func TestWhatIsMissingIsLookedForWithEachEvent(t *testing.T) {
	for _, reason := range []string{placementv1.ReasonSyncWorkFailed, placementv1.ReasonTooLarge} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld("a")
			w.handle(t, events.PlacementScheduled)
			w.bindings[0].Status.Conditions = []metav1.Condition{{
				Type: placementv1.ConditionWorkSynchronized, Status: metav1.ConditionFalse, Reason: reason, ObservedGeneration: w.bindings[0].Generation,
			}}
			w.want(t, events.PlacementScheduled, nil, []string{"bound a"})
			w.want(t, events.PlacementReported, nil, nil)
		})
	}
}

// Z11: while the kind of bindings is being removed, it is told that members wait.
func TestZ11BindingsThatCannotBeMadeAreTold(t *testing.T) {
	w := newWorld("a", "b")
	w.unserved = true
	w.want(t, events.PlacementScheduled, nil, []string{"waiting"})
	w.unserved = false
	w.want(t, events.PlacementScheduled, []string{"a Bound shop-0-snapshot", "b Bound shop-0-snapshot"}, []string{"bound a", "bound b"})
}

// C61: what was written is told of although the next member's binding could not be, and
// that one has its turn at once. Where nothing was written, the event is tried again.
func TestC61AStepThatFailsAfterOthersWereDone(t *testing.T) {
	w := newWorld("a", "b")
	w.lost = "a"
	w.want(t, events.PlacementReported, nil, nil)
	if !errors.Is(w.failed, conflict) || outcome.IsPartly(w.failed) {
		t.Errorf("the event ends with %v, want it tried again", w.failed)
	}
	w.lost = "b"
	w.want(t, events.PlacementReported, []string{"a Bound shop-0-snapshot"}, []string{"bound a", "scheduled"})
	if !errors.Is(w.failed, conflict) || !outcome.IsPartly(w.failed) {
		t.Errorf("the event ends with %v, want it done in part", w.failed)
	}
	w.lost = ""
	w.available("")
	w.want(t, events.PlacementScheduled, []string{"b Bound shop-0-snapshot"}, []string{"bound b"})
}

// C102: of a placement that is gone, with its finalizer taken away or not, no binding is
// left, be it that its event was missed.
func TestC102BindingsOfAPlacementThatIsGoneGo(t *testing.T) {
	w := newWorld("a", "b")
	w.handle(t, events.PlacementScheduled)
	for _, b := range w.bindings {
		b.Labels = map[string]string{placementv1.LabelParentCRP: "shop"}
	}
	w.late = true // another replica made it a moment ago
	w.want(t, events.PlacementScheduled, nil, nil)
	w.placement = nil
	w.want(t, events.Ping, nil, []string{"scheduled"})
	w.want(t, events.PlacementScheduled, []string{"a deleted", "b deleted"}, []string{"bound a", "bound b"})
	w.want(t, events.PlacementScheduled, nil, []string{"bound a", "bound b"})
	w.bindings = nil
	w.want(t, events.Ping, nil, nil)
	w.want(t, events.PlacementScheduled, nil, nil)
}

// Z11, C102: bindings that are being deleted are told whatever else is not known of their
// placement, or the definition of their kind could never go.
func TestZ11BindingsThatAreBeingDeletedDoNotWaitForWhatIsNotKnown(t *testing.T) {
	for sentence, tc := range map[string]struct {
		before  func(w *world)
		missing []string
		want    []string
		fails   bool // so that it is looked at again
	}{
		"nobody is picked yet":                          {before: func(w *world) { w.policy.Status.Conditions = nil }, want: []string{"bound a"}},
		"the hub serves no snapshots of policies":       {missing: []string{"policies"}, want: []string{"bound a"}, fails: true},
		"the hub serves no snapshots":                   {missing: []string{"snapshots"}, want: []string{"bound a"}, fails: true},
		"the hub serves no snapshots of overrides":      {missing: []string{"overrides"}, want: []string{"bound a"}, fails: true},
		"the hub serves no placements":                  {missing: []string{"placements"}, want: []string{"bound a"}, fails: true},
		"the hub serves no placements, and had a watch": {before: func(w *world) { w.late = true }, missing: []string{"placements"}, want: []string{"bound a"}, fails: true},
		"nothing is being deleted, and no placements":   {before: func(w *world) { w.bindings[0].DeletionTimestamp = nil }, missing: []string{"placements"}, fails: true},
		"nothing is being deleted, and not known":       {before: func(w *world) { w.bindings[0].DeletionTimestamp, w.policy.Status.Conditions = nil, nil }},
		"nothing is being deleted, and not served":      {before: func(w *world) { w.bindings[0].DeletionTimestamp = nil }, missing: []string{"policies"}, fails: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld("a", "b")
			w.handle(t, events.PlacementScheduled)
			for _, b := range w.bindings {
				b.Labels = map[string]string{placementv1.LabelParentCRP: "shop"}
			}
			w.available(placementv1.ReasonAllWorkAvailable)
			at := metav1.NewTime(w.now)
			w.bindings[0].DeletionTimestamp = &at
			if tc.before != nil {
				tc.before(w)
			}
			w.missing = tc.missing
			w.want(t, events.PlacementScheduled, nil, tc.want)
			if again := w.failed != nil; again != tc.fails || again && outcome.IsPartly(w.failed) != (len(tc.want) > 0) {
				t.Errorf("it ends with %v", w.failed)
			}
			w.want(t, events.PlacementReported, nil, nil)
			var due []string
			if len(tc.want) > 0 {
				due = []string{"scheduled"}
			}
			w.want(t, events.Ping, nil, due)
		})
	}
}
