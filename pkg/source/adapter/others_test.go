// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// written is a ConfigMap that was written by these managers, one a second later than the
// one before it, for the hub.
func written(hub string, managers ...string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	u.SetName("settings")
	u.SetAnnotations(map[string]string{applying.AnnotationHub: hub})
	var fields []metav1.ManagedFieldsEntry
	for i, m := range managers {
		at := metav1.NewTime(time.Date(2026, 11, 29, 12, 0, i, 0, time.UTC))
		fields = append(fields, metav1.ManagedFieldsEntry{Manager: m, Time: &at})
	}
	u.SetManagedFields(fields)
	return u
}

func TestWhatTheHubMadeInAMemberIsNoNews(t *testing.T) {
	const hub, sluice = "this-hub", propagation.FieldManager
	leaving := written(hub, sluice)
	leaving.SetDeletionTimestamp(&metav1.Time{Time: time.Date(2026, 11, 29, 12, 1, 0, 0, time.UTC)})
	sameSecond := written(hub, "kubectl", sluice)
	fields := sameSecond.GetManagedFields()
	fields[1].Time = fields[0].Time
	sameSecond.SetManagedFields(fields)
	for sentence, tc := range map[string]struct {
		watch.Event
		told bool
	}{
		"it was made by the hub":                               {watch.Event{Type: watch.Added, Object: written(hub, sluice)}, false},
		"it was changed under Sluice's name":                   {watch.Event{Type: watch.Modified, Object: written(hub, sluice)}, true},
		"somebody made it, and the hub wrote it last":          {watch.Event{Type: watch.Added, Object: written(hub, "kubectl", sluice)}, false},
		"somebody changed it after the hub":                    {watch.Event{Type: watch.Added, Object: written(hub, sluice, "kubectl")}, true},
		"somebody changed it in the same second":               {watch.Event{Type: watch.Added, Object: sameSecond}, true},
		"another hub made it":                                  {watch.Event{Type: watch.Added, Object: written("another", sluice)}, true},
		"somebody deleted it":                                  {watch.Event{Type: watch.Deleted, Object: written(hub, sluice)}, true},
		"somebody asked for its deletion, and something waits": {watch.Event{Type: watch.Added, Object: leaving}, true},
		"the member says how far it came":                      {watch.Event{Type: watch.Bookmark, Object: written(hub, sluice)}, true},
		"the member says that the watch is over":               {watch.Event{Type: watch.Error, Object: &metav1.Status{Code: 410}}, true},
	} {
		for where, at := range map[string]func(dynamic.NamespaceableResourceInterface) dynamic.ResourceInterface{
			"everywhere":     func(r dynamic.NamespaceableResourceInterface) dynamic.ResourceInterface { return r },
			"in a namespace": func(r dynamic.NamespaceableResourceInterface) dynamic.ResourceInterface { return r.Namespace("shop") },
		} {
			t.Run(sentence+", "+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					came := watch.NewFake()
					client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
					client.PrependWatchReactor("*", clienttesting.DefaultWatchReactor(came, nil))
					w, err := at(others{client, hub}.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"})).Watch(t.Context(), metav1.ListOptions{})
					if err != nil {
						t.Fatal(err)
					}
					came.Action(tc.Type, tc.Object)
					synctest.Wait()
					select {
					case e := <-w.ResultChan():
						if !tc.told || e.Type != tc.Type || e.Object != tc.Object {
							t.Errorf("told %+v", e)
						}
					default:
						if tc.told {
							t.Error("nothing is told")
						}
					}
					w.Stop()
					synctest.Wait()
					if !came.IsStopped() {
						t.Error("the member is still watched")
					}
				})
			})
		}
	}
}

// Who stops listening while something is to be told leaves nothing behind.
func TestAWatchThatNobodyReadsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		came := watch.NewFake()
		client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
		client.PrependWatchReactor("*", clienttesting.DefaultWatchReactor(came, nil))
		w, err := others{client, "this-hub"}.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		came.Delete(written("this-hub", propagation.FieldManager))
		synctest.Wait()
		w.Stop()
		synctest.Wait()
		if !came.IsStopped() {
			t.Error("the member is still watched")
		}
	})
}

func TestWhichHubItIsStandsBesideWhatIsWatched(t *testing.T) {
	for config, want := range map[string]string{
		"": "", `{"mode":"Reference"}`: "", `{"mode":"Reference","hub":"this-hub"}`: "this-hub",
	} {
		if got, err := hubOf(config); got != want || err != nil {
			t.Errorf("of %q it is %q, %v; want %q", config, got, err, want)
		}
	}
	if _, err := hubOf("nothing"); err == nil {
		t.Error("what cannot be read is no error")
	}
}
