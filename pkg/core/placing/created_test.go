// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
)

var born = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func bornAt(apiVersion, kind, name string, at time.Time) placing.Item {
	meta := map[string]any{"namespace": "shop", "name": name}
	if !at.IsZero() {
		meta["creationTimestamp"] = at.Format(time.RFC3339)
	}
	obj := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": meta}
	i, err := placing.NewItem(propagation.KeyOf(obj), obj)
	if err != nil {
		panic(err)
	}
	return i
}

func TestZ11AnObjectIsOlderThanItsDefinition(t *testing.T) {
	for sentence, tc := range map[string]struct {
		item    placing.Item
		defined time.Time
		want    bool
	}{
		"it was there before":                   {bornAt("example.org/v1", "Widget", "w", born), born.Add(time.Second), true},
		"it came with the definition":           {bornAt("example.org/v1", "Widget", "w", born), born, false},
		"it came later":                         {bornAt("example.org/v1", "Widget", "w", born), born.Add(-time.Hour), false},
		"nobody knows when the kind was made":   {item: bornAt("example.org/v1", "Widget", "w", born)},
		"nobody knows when the object was made": {bornAt("example.org/v1", "Widget", "w", time.Time{}), born, true},
		"its kind can have no definition":       {bornAt("apps/v1", "Deployment", "w", born), born.Add(time.Second), false},
	} {
		if got := tc.item.Predates(tc.defined); got != tc.want {
			t.Errorf("%s: it predates it: %t", sentence, got)
		}
	}
}

// What a part says of its objects is read back; where it says nothing, or nothing that
// fits, its own creation counts.
func TestZ11AStoredPartIsDated(t *testing.T) {
	items := []placing.Item{bornAt("v1", "ConfigMap", "c", born), bornAt("example.org/v1", "Widget", "v", born), bornAt("example.org/v1", "Widget", "w", born.Add(time.Hour)), bornAt("example.org/v1", "Widget", "x", time.Time{})}
	content := placing.NewContent(items)
	made := born.Add(2 * time.Hour)
	plan := placing.Stored{Placement: "crp", Seen: -1, Limit: 1, Now: made}.Next(&content)
	if len(plan.Create) != 1 {
		t.Fatalf("%d parts", len(plan.Create))
	}
	says := plan.Create[0].Annotations[placing.AnnotationCreated]
	for sentence, tc := range map[string]struct {
		says string
		want []time.Time
	}{
		"as it was written":  {says, []time.Time{{}, born, born.Add(time.Hour), made}},
		"it says nothing":    {"", []time.Time{{}, made, made, made}},
		"it says too little": {"1,2", []time.Time{{}, made, made, made}},
		"it says nonsense":   {"?,-1,1", []time.Time{{}, made, made, time.Unix(1, 0)}},
	} {
		stored := make([]placing.Item, len(items))
		for n, i := range content.Items() {
			var err error
			if stored[n], err = placing.ReadItem(i.Raw); err != nil {
				t.Fatal(err)
			}
		}
		placing.Dated(&metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(made), Annotations: map[string]string{placing.AnnotationCreated: tc.says}}, stored)
		for n, i := range stored {
			if !i.Created.Equal(tc.want[n]) {
				t.Errorf("%s: %s was created at %s, want %s", sentence, i.Key, i.Created, tc.want[n])
			}
		}
	}
	if _, again := placing.Redated(content.Items(), content); again {
		t.Error("nothing was created again")
	}
	newer := content.With([]placing.Item{bornAt("example.org/v1", "Widget", "v", made)})
	if next, again := placing.Redated(content.Items(), newer); !again || next == says {
		t.Errorf("v was created again: %q, %t", next, again)
	}
	if newer.Hash() != content.Hash() {
		t.Error("when an object was created is part of the content")
	}
}
