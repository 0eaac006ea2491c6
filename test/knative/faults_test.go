// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"
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

func TestTheSourceDiesWhileTemplatesAreMade(t *testing.T) {
	w := newWorld(t)
	w.policy()
	w.load(100, func() { w.kill(system, "app.kubernetes.io/name=source,!sluice.dev/cluster") })
	w.arrive(recovery, 101)
	w.once(101)
}

func TestAFunctionDiesInTheMiddle(t *testing.T) {
	for _, name := range []string{"gate", "renderer", "applier"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.policy()
			w.load(20, func() { w.kill(system, "app.kubernetes.io/name="+name) })
			w.arrive(recovery, 21)
			w.once(21)
		})
	}
}

func TestTheBrokerDiesInTheMiddle(t *testing.T) {
	w := newWorld(t)
	w.policy()
	w.load(20, func() {
		for _, role := range []string{"eventing.knative.dev/brokerRole=ingress", "eventing.knative.dev/brokerRole=filter", "messaging.knative.dev/role=dispatcher"} {
			w.kill("knative-eventing", role)
		}
	})
	w.arrive(recovery, 21)
	w.once(21)
}

func TestRedisIsEmptied(t *testing.T) {
	w := newWorld(t)
	w.policy()
	w.load(20, func() { w.kill(system, "app.kubernetes.io/name=redis") })
	w.arrive(recovery, 21)
	w.once(21)
}

func TestAMemberLeavesAndJoinsAgain(t *testing.T) {
	w := newWorld(t)
	w.policy()
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "kubectl", append([]string{"sluice"}, args...)...)
		cmd.Dir = dir
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			t.Fatalf("kubectl sluice %v: %v\n%s", args, err, out.String())
		}
	}
	w.eventually(time.Second, func() string { return w.parts(1) })
	run("unjoin", members[1], "--purge")
	w.eventually(time.Second, func() string { return w.parts(0) })
	run("join", members[1], "--cluster-kubeconfig", kubeconfig(members[1]), "--timeout", "3m")
	w.eventually(time.Second, func() string { return w.parts(1) })
	w.template("second", "2")
	w.arrive(recovery, 2)
}

func TestTwoReplicasOfEveryStage(t *testing.T) {
	w := newWorld(t)
	two, back := map[string]string{}, map[string]string{}
	for _, name := range []string{"applier", "detector", "gate", "renderer", "reporter", "scheduler", "sweeper"} {
		two[name], back[name] = "2", "1"
	}
	w.scale(two)
	defer w.scale(back) // before the test's context ends
	w.policy()
	w.load(50, nil)
	w.arrive(recovery, 51)
	w.once(51)
}
