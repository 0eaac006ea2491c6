// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// headless has this test binary end its first thread and go on with the others.
const headless = "SLUICE_TEST_HEADLESS"

func init() {
	if os.Getenv(headless) == "" {
		return
	}
	runtime.LockOSThread() // the first: an init function runs on it
	go func() {
		_, _ = os.Stdout.WriteString("runs\n")
		time.Sleep(time.Hour)
	}()
	_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0) // of this thread alone
}

func TestAProcessIsAliveUntilItsLastThreadEnds(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), headless+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, where all is well
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	id, err := identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		s, err := readStat(id.PID)
		if err != nil {
			t.Fatal(err)
		}
		if s.state == "Z" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("its first thread is in state %s", s.state)
		}
	}
	if !id.Alive() {
		t.Fatal("it counts as dead, and its other threads run")
	}
	if err := id.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if !id.WaitGone(time.Minute) {
		t.Error("it was killed, and counts as alive")
	}
	_ = cmd.Wait() // it was killed
}
