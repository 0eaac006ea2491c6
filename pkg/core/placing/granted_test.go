// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
)

func TestZ28APlacementSaysWhichRightIsMissing(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	stages := []metav1.Condition{{Type: "ClusterResourcePlacementScheduled", Status: "True"}, {Type: "ClusterResourcePlacementApplied", Status: "True"}}
	list := func(resource string) propagation.Right {
		return propagation.Right{Account: "placer", Verb: "list", Namespace: "shop", Resource: schema.GroupResource{Resource: resource}}
	}
	classes := propagation.Right{Account: "placer", Verb: "get", Resource: schema.GroupResource{Group: "scheduling.k8s.io", Resource: "priorityclasses"}}
	var many []propagation.Right
	for i := range 40 {
		many = append(many, list(fmt.Sprintf("widgets%02d", i)))
	}
	for name, tc := range map[string]struct {
		missing []propagation.Right
		says    []string
	}{
		"one":     {[]propagation.Right{classes}, []string{"account placer may not get priorityclasses.scheduling.k8s.io in all namespaces: kubectl sluice grant priorityclasses.scheduling.k8s.io prints the role that gives it"}},
		"Secrets": {[]propagation.Right{list("secrets")}, []string{"account placer may not list secrets in shop: a RoleBinding of the ClusterRole sluice-templates-secrets"}},
		"both":    {[]propagation.Right{list("secrets"), classes}, []string{"grant priorityclasses.scheduling.k8s.io prints the role that gives it; account placer may not list secrets"}},
		"many":    {many, []string{"kubectl sluice grant widgets00 widgets01", "35 kinds more are not granted either"}},
	} {
		t.Run("Z28: "+name, func(t *testing.T) {
			said, changed := placing.Granted(stages, 2, tc.missing, now)
			if len(said) != 3 || !changed {
				t.Fatalf("it says %+v", said)
			}
			c := said[2]
			if c.Type != "KindsGranted" || c.Status != "False" || c.Reason != "KindNotGranted" || c.ObservedGeneration != 2 {
				t.Errorf("it says %+v", c)
			}
			for _, what := range tc.says {
				if !strings.Contains(c.Message, what) {
					t.Errorf("%q is not in %q", what, c.Message)
				}
			}
			if strings.Contains(c.Message, "bytes more") {
				t.Errorf("it is cut: %s", c.Message)
			}
			if again, changed := placing.Granted(said, 2, tc.missing, now.Add(time.Hour)); changed {
				t.Errorf("the same is said again: %+v", again)
			}
			well, changed := placing.Granted(said, 2, nil, now.Add(time.Hour))
			if d := cmp.Diff(stages, well); d != "" || !changed {
				t.Errorf("when it is mended (-want +got)\n%s", d)
			}
			if _, changed := placing.Granted(well, 2, nil, now); changed {
				t.Error("what is well is changed")
			}
		})
	}
}

func TestZ28WhatMayNotBeReadIsTriedMoreAndMoreSeldom(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	missing := []propagation.Right{{Account: "placer", Verb: "list", Resource: schema.GroupResource{Resource: "limitranges"}}}
	for since, want := range map[time.Duration]time.Duration{0: time.Minute, 30 * time.Minute: 3 * time.Minute, 24 * time.Hour: 15 * time.Minute} {
		list, _ := placing.Granted(nil, 1, missing, now.Add(-since))
		if got := placing.TryAgain(list, now).Sub(now); got != want {
			t.Errorf("after %s it is tried in %s, want %s", since, got, want)
		}
	}
	if again := placing.TryAgain(nil, now); !again.IsZero() {
		t.Errorf("what is granted is tried at %s", again)
	}
}
