// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// A field that was asked for and came back with another value was changed by admission.
// What an API server only writes in another way, adds or leaves out was not.
func TestChanged(t *testing.T) {
	for name, tc := range map[string]struct{ asked, answer, want string }{
		"a number":                        {`{"spec":{"replicas":3}}`, `{"spec":{"replicas":1}}`, "spec.replicas"},
		"no replicas":                     {`{"spec":{"replicas":0}}`, `{"spec":{"replicas":1}}`, "spec.replicas"},
		"an image":                        {`{"spec":{"containers":[{"name":"a","image":"x"},{"name":"b","image":"x"}]}}`, `{"spec":{"containers":[{"name":"b","image":"y"},{"name":"new"},{"name":"a","image":"x"}]}}`, "spec.containers[name=b].image"},
		"a label and an annotation":       {`{"metadata":{"labels":{"a.b/c":"x"},"annotations":{"d":"x"}}}`, `{"metadata":{"labels":{"a.b/c":"y"},"annotations":{"d":"y"}}}`, "metadata.annotations.d, metadata.labels.a.b/c"},
		"data":                            {`{"data":{"key":"x"}}`, `{"data":{"key":"y"}}`, "data.key"},
		"a boolean":                       {`{"spec":{"paused":false}}`, `{"spec":{"paused":true}}`, "spec.paused"},
		"a quantity":                      {`{"limits":{"cpu":"1000m"}}`, `{"limits":{"cpu":"2"}}`, "limits.cpu"},
		"more than are named":             {`{"data":{"a":"x","b":"x","c":"x","d":"x","e":"x","f":"x","g":"x"}}`, `{"data":{"a":"y","b":"y","c":"y","d":"y","e":"y","f":"y","g":"y"}}`, "data.a, data.b, data.c, data.d, data.e and 2 more"},
		"nothing":                         {`{"spec":{"replicas":3}}`, `{"spec":{"replicas":3}}`, ""},
		"fields that are added":           {`{"spec":{"a":{}}}`, `{"spec":{"a":{"b":1},"c":2}}`, ""},
		"fields that are left out":        {`{"spec":{"a":false,"unknown":"x","list":[{"name":"a","x":1}]}}`, `{"spec":{"list":[{"name":"a"}]}}`, ""},
		"a quantity in another form":      {`{"limits":{"cpu":"1000m","memory":"1024Mi"}}`, `{"limits":{"cpu":"1","memory":"1Gi"}}`, ""},
		"a quantity that is rounded":      {`{"limits":{"cpu":"0.0005"}}`, `{"limits":{"cpu":"1m"}}`, ""},
		"a quantity that was a number":    {`{"limits":{"cpu":1}}`, `{"limits":{"cpu":"1"}}`, ""},
		"a number in another form":        {`{"maximum":1}`, `{"maximum":1.0}`, ""},
		"a duration in another form":      {`{"timeout":"60s"}`, `{"timeout":"1m0s"}`, ""},
		"a time in another form":          {`{"at":"2026-01-02T03:04:05+01:00"}`, `{"at":"2026-01-02T02:04:05Z"}`, ""},
		"bytes in lines":                  {`{"data":{"a":"YWJj\nZGVm\n"}}`, `{"data":{"a":"YWJjZGVm"}}`, ""},
		"defaults for what is empty":      {`{"spec":{"clusterIP":"","periodSeconds":0,"x":null}}`, `{"spec":{"clusterIP":"10.0.0.1","periodSeconds":10,"x":1}}`, ""},
		"lists that have no names":        {`{"spec":{"args":["a"],"ports":[{"port":80}]}}`, `{"spec":{"args":["b"],"ports":[{"port":81}]}}`, ""},
		"a list of which two have a name": {`{"spec":{"l":[{"name":"a","x":1},{"name":"a","x":2}]}}`, `{"spec":{"l":[{"name":"a","x":3}]}}`, ""},
		"what is no part of it":           {`{"apiVersion":"a/v1","status":{"x":1},"metadata":{"generation":1,"name":"x"}}`, `{"apiVersion":"a/v2","status":{"x":2},"metadata":{"generation":2,"name":"x"}}`, ""},
		"something of another type":       {`{"spec":{"a":"x","b":{"c":1},"d":["x"]}}`, `{"spec":{"a":{"x":1},"b":"x","d":"x"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var asked, answer map[string]any
			for text, into := range map[string]*map[string]any{tc.asked: &asked, tc.answer: &answer} {
				if err := json.Unmarshal([]byte(text), into); err != nil {
					t.Fatal(err)
				}
			}
			if tc.asked == tc.answer {
				answer = asked
			}
			if got := applying.Changed(asked, answer); got != tc.want {
				t.Errorf("changed %q, want %q", got, tc.want)
			}
		})
	}
}

// What admission changes is said as long as it does, and behind a fight.
func TestChangesAreSaidBehindAFight(t *testing.T) {
	now := time.Unix(1000, 0)
	before := []metav1.Condition{{Type: "Applied", Status: metav1.ConditionTrue}}
	changed := applying.WithChanges(before, []string{"x"}, now)
	w := &propagation.Work{}
	w.Status.Conditions = changed
	if c := applying.FieldsContested(w); c == nil || c.Reason != "ChangedByAdmission" || c.Message != "x" || applying.Fighting(changed) != nil {
		t.Fatalf("it says %v", c)
	}
	if again := applying.WithChanges(applying.WithFieldsContested(changed, nil, true, now.Add(time.Hour)), []string{"x"}, now.Add(time.Hour)); cmp.Diff(changed, again) != "" {
		t.Errorf("an hour later: %s", cmp.Diff(changed, again))
	}
	fight := applying.WithChanges(applying.WithFieldsContested(changed, []string{"rival"}, false, now), []string{"x"}, now)
	if c := applying.Fighting(fight); c == nil || c.Message != "rival" {
		t.Errorf("in a fight it says %v", fight)
	}
	fighter := &propagation.Work{}
	fighter.Status.Conditions = fight
	for _, works := range [][]*propagation.Work{{w, fighter}, {fighter, w}} {
		if c, is := applying.FieldsContestedOf(works, 3); !is || c.Reason != "FieldManagerConflict" || c.Message != "rival; x" {
			t.Errorf("the owner of both says %v", c)
		}
	}
	if c, is := applying.FieldsContestedOf([]*propagation.Work{w}, 3); !is || c.Reason != "ChangedByAdmission" {
		t.Errorf("the owner says %v", c)
	}
	if after := applying.WithChanges(applying.WithFieldsContested(fight, nil, true, now), []string{"x"}, now); cmp.Diff(changed, after) != "" {
		t.Errorf("behind the fight: %s", cmp.Diff(changed, after))
	}
	if after := applying.WithChanges(changed, nil, now); cmp.Diff(before, after) != "" {
		t.Errorf("when it does not change it any more: %s", cmp.Diff(before, after))
	}
}
