// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
)

// A Work says once that it is kept, beside what it says of its member, and no more when
// it is not.
func TestZ11AWorkSaysThatItIsKept(t *testing.T) {
	w := workOf()
	applied := []metav1.Condition{{Type: workv1alpha1.ConditionApplied, Status: metav1.ConditionTrue, Reason: "AppliedSuccessful"}}
	w.Status.Conditions = applied
	if applying.Kept(w) != nil {
		t.Error("it says so before it is")
	}
	w.Status.Conditions = applying.Keeping(w, true, start)
	c := applying.Kept(w)
	if c == nil || c.Status != metav1.ConditionTrue || c.Reason != "CannotTell" || c.Message == "" || !c.LastTransitionTime.Time.Equal(start) {
		t.Errorf("it says %+v", c)
	}
	if diff := cmp.Diff(w.Status.Conditions, applying.Keeping(w, true, start.Add(time.Hour))); diff != "" {
		t.Errorf("it says something else later: %s", diff)
	}
	if diff := cmp.Diff(applied, applying.Keeping(w, false, start)); diff != "" {
		t.Errorf("it is not kept (-want +got): %s", diff)
	}
}
