// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// recovery is how long everything may take to arrive after a fault: a sweep, and
// what it announces, on a busy machine.
const recovery = 4 * time.Minute

// load makes n templates, a few at a time, and runs fault when half are made.
func (w *world) load(n int, fault func()) {
	w.Helper()
	var wg sync.WaitGroup
	turns := make(chan struct{}, 4)
	for i := range n {
		if i == n/2 && fault != nil {
			fault()
		}
		turns <- struct{}{}
		wg.Go(func() {
			w.template(fmt.Sprintf("load-%03d", i), strconv.Itoa(i))
			<-turns
		})
	}
	wg.Wait()
}

func TestWhateverDiesInTheMiddleAllArriveOnce(t *testing.T) {
	stage := func(name string) []victim { return []victim{{system, "app.kubernetes.io/name=" + name}} }
	for _, tc := range []struct {
		name      string // part of a namespace's
		templates int
		victims   []victim
	}{
		{"source", 100, []victim{{system, "app.kubernetes.io/name=source,sluice.dev/source!=members"}}},
		{"gate", 20, stage("gate")},
		{"renderer", 20, stage("renderer")},
		{"applier", 20, stage("applier")},
		{"redis", 20, stage("redis")},
		{"broker", 20, []victim{
			{"knative-eventing", "eventing.knative.dev/brokerRole=ingress"},
			{"knative-eventing", "eventing.knative.dev/brokerRole=filter"},
			{"knative-eventing", "messaging.knative.dev/role=dispatcher"},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.policy()
			w.load(tc.templates, func() {
				for _, v := range tc.victims {
					w.kill(v.namespace, v.selector)
				}
			})
			w.arrive(recovery, tc.templates+1)
			w.once(tc.templates + 1)
		})
	}
}

// victim are the pods of a namespace with these labels.
type victim struct{ namespace, selector string }

// A stage that fails for longer than the broker tries has its events back when it
// is well.
func TestZ35AnOutageLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.policy()
	rights := w.must(w.hub.Resource(roleBindings).Get(t.Context(), "sluice-renderer", metav1.GetOptions{}))
	rights.SetResourceVersion("")
	rights.SetUID("")
	give := func() {
		if _, err := w.hub.Resource(roleBindings).Create(context.WithoutCancel(t.Context()), rights, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
	}
	if err := w.hub.Resource(roleBindings).Delete(t.Context(), rights.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	given := false
	defer func() {
		if !given {
			give()
		}
	}()
	w.template("late", "1")
	w.eventually(3*time.Minute, func() string {
		for _, line := range w.logged(system, "deadletter") {
			if strings.Contains(line, "dead letter") && strings.Contains(line, w.namespace+"/late") && strings.Contains(line, `"kept":true`) {
				return ""
			}
		}
		return "no event about it is among the dead letters"
	})
	given = true
	give()
	w.arrive(recovery, 2)
	w.once(2)
}

func TestAMemberLeavesAndJoinsAgain(t *testing.T) {
	w := newWorld(t)
	w.policy()
	w.eventually(recovery, func() string { return w.told(1) })
	w.sluice("unjoin", members[1], "--purge")
	w.eventually(recovery, func() string { return w.told(0) })
	w.sluice("join", members[1], "--cluster-kubeconfig", kubeconfig(members[1]), "--timeout", "3m")
	w.eventually(recovery, func() string { return w.told(1) })
	w.template("second", "2")
	w.arrive(recovery, 2)
}
