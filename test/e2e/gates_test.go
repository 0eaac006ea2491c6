// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// gating is how the gates stand, by their key in the ConfigMap; what is not
// named is "false".
type gating struct{ preemption, static, failover bool }

var (
	gatesOff   = gating{}
	preemption = gating{preemption: true}
	static     = gating{static: true}
)

// gates lets scenarios that want the same gates run together, some at once, and
// switches when nobody runs or waits who needs them as they are.
type gates struct {
	lab   *lab
	slots int

	mu      sync.Mutex
	turn    *sync.Cond
	now     gating
	known   bool
	running int
	waiting map[gating]int
}

func newGates(l *lab) *gates {
	g := &gates{lab: l, slots: slots, waiting: map[gating]int{}}
	g.turn = sync.NewCond(&g.mu)
	return g
}

// need waits until the gates are as wanted and few enough others run, and keeps them so
// until the test ends.
func (g *gates) need(t *testing.T, want gating) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting[want]++
	for g.running == g.slots || g.now != want && (g.running > 0 || g.waiting[g.now] > 0) {
		g.turn.Wait()
	}
	g.waiting[want]--
	if !g.known || g.now != want {
		if err := g.set(t.Context(), want); err != nil {
			g.turn.Broadcast() // another may try
			t.Fatalf("switch the gates: %v", err)
		}
		g.now, g.known = want, true
	}
	g.running++
	t.Cleanup(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.running--
		g.turn.Broadcast()
	})
}

// set writes the ConfigMap, and waits until the pipeline must have read it: it
// reads live, so a template that is made after the write and gets through all
// stages has met the new gates in each of them.
func (g *gates) set(ctx context.Context, want gating) error {
	data := map[string]string{
		"PropagationPolicyPreemption": strconv.FormatBool(want.preemption),
		"StaticPolicy":                strconv.FormatBool(want.static),
		"Failover":                    strconv.FormatBool(want.failover),
	}
	patch, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return err
	}
	c := g.lab.hub.on(configMaps, systemNamespace)
	_, err = c.Patch(ctx, "config-features", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "e2e"})
	if apierrors.IsNotFound(err) {
		o := newThing(configMaps, systemNamespace, "config-features").object()
		for k, v := range data {
			if err := unstructured.SetNestedField(o.Object, v, "data", k); err != nil {
				return err
			}
		}
		_, err = c.Create(ctx, o, metav1.CreateOptions{FieldManager: "e2e"})
	}
	if err != nil {
		return fmt.Errorf("write config-features: %w", err)
	}
	pause(ctx, quiet)
	return nil
}

// quiet is how long no request must be seen before it is said that all is at rest, and
// how long a switched gate may take to be seen everywhere. It is some ten times
// what a change takes from the hub to a member.
const quiet = time.Second
