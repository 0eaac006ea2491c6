// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/sweeper/page"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

// large is a fleet of so many members, each with so many Works that the member refused,
// and which lacks one.
type large struct {
	Hub
	bindings []*propagation.Binding
	works    map[string][]*propagation.Work
	ready    map[string]bool
	opened   int // Works, by one sweep
}

func fleetOf(members, works int) *large {
	l := &large{works: map[string][]*propagation.Work{}, ready: map[string]bool{}}
	for m := range members {
		cluster := fmt.Sprintf("m%02d", m)
		l.ready[cluster] = true
		for i := range works + 1 {
			name := fmt.Sprintf("%s-%03d", cluster, i)
			b := &propagation.Binding{
				Key: propagation.BindingKey{Namespace: "shop", Name: name}, ResourceVersion: "1",
				Annotations: map[string]string{propagation.AnnotationContentHash: "h", propagation.AnnotationRevision: "r", propagation.AnnotationActivePolicy: "p"},
			}
			b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name, UID: "u"}
			b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: cluster}}
			l.bindings = append(l.bindings, b)
			if i == works {
				continue // which is missing
			}
			w := &propagation.Work{
				Key: propagation.WorkKey{Cluster: cluster, Name: propagation.WorkName(b.Key)}, Generation: 1,
				Annotations: map[string]string{
					propagation.AnnotationBindingNamespace: "shop", propagation.AnnotationBindingName: name, propagation.AnnotationRevision: "r",
					propagation.AnnotationTemplate: `{"apiVersion":"v1","kind":"ConfigMap","namespace":"shop","name":"` + name + `"}`,
				},
			}
			w.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.ConditionApplied, Status: metav1.ConditionFalse, Reason: "RefusedByMember", ObservedGeneration: 1}}
			l.works[cluster] = append(l.works[cluster], w)
		}
	}
	return l
}

func (l *large) PolicyWorksOn(_ context.Context, cluster string) ([]*propagation.Work, error) {
	l.opened += len(l.works[cluster])
	return l.works[cluster], nil
}

func (l *large) Namespaces(context.Context, string) ([]string, error) { return nil, nil }

// Of a fleet that one sweep cannot look at the members take turns, whoever sweeps: what
// is missing is found, each Work that fails has its turn, whose member is to be looked at
// is, and no sweep opens more than it may and one member's.
func TestALargeFleetIsLookedAtByTurns(t *testing.T) {
	const members, works, most = 7, 60, 130
	for name, atOnce := range map[string]int{"as a whole": worksAtOnce, "by turns": most} {
		t.Run(name, func(t *testing.T) {
			l, at, now := fleetOf(members, works), map[string]string{}, noon
			missing, failing, revisited := map[string]bool{}, map[string]bool{}, map[string]bool{}
			for sweep := range 60 {
				a := New(l, nil, func() time.Time { return now })
				a.atOnce, l.opened = atOnce, 0
				one := tick.New(event.New(), maps.Clone(at), now)
				if sweep == 0 {
					one.Revisit("m05")
				}
				books, err := a.Open(t.Context(), one, page.All(l.bindings), l.ready)
				if err != nil {
					t.Fatal(err)
				}
				if err := a.Sweep(t.Context(), one, books); err != nil {
					t.Fatal(err)
				}
				if l.opened > atOnce+works {
					t.Errorf("a sweep opens %d Works", l.opened)
				}
				for _, e := range told(t, one, at) {
					d, err := events.Decode(e)
					switch {
					case err != nil:
						t.Fatal(err)
					case e.Type() == events.TemplateTouched:
						missing[d.Template.Name] = true
					case d.Reason == events.ReasonRevisited:
						revisited[d.Template.Name] = true
					case d.Reason == events.ReasonUnfinished:
						failing[d.Template.Name] = true
					}
				}
				now = now.Add(time.Second)
			}
			if len(missing) != members || len(failing) != members*works || len(revisited) != works {
				t.Errorf("found %d of %d that are missing, %d of %d that fail, %d of %d to look at", len(missing), members, len(failing), members*works, len(revisited), works)
			}
		})
	}
}

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// Whoever was to come next may have left.
func TestATurnOfAMemberThatLeftIsTheFirstsAgain(t *testing.T) {
	l, at := fleetOf(3, 5), map[string]string{positionMembers: `{"after":"z"}`}
	a := New(l, nil, func() time.Time { return noon })
	a.atOnce = 1
	one := tick.New(event.New(), at, noon)
	books, err := a.Open(t.Context(), one, page.All(nil), l.ready)
	if err != nil || !books.Here["m00"] || len(books.Here) != 1 {
		t.Errorf("here are %v, %v; want m00", books.Here, err)
	}
}
