// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An apply of version 1, which no object has, creates what is not there, and nothing else.
func TestAnApplyOfAVersionThatNoObjectHasOnlyCreates(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		u := object("v1", "ConfigMap", "a", "data: {k: v}")
		u.SetResourceVersion("1")
		first := w.apply(w.maps(), u, "sluice", true)
		if v := first.GetResourceVersion(); v == "1" || v == "" {
			t.Errorf("created in version %q", v)
		}
		_, err := w.maps().Apply(t.Context(), "a", u, metav1.ApplyOptions{FieldManager: "person", Force: true})
		if !apierrors.IsConflict(err) {
			t.Errorf("applied over what is there: %v", err)
		}
		u.SetResourceVersion("")
		if again := w.apply(w.maps(), u, "sluice", true); !cmp.Equal(first, again) {
			t.Errorf("it was changed:\n%s", cmp.Diff(first, again))
		}
	})
}
