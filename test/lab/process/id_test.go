// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// headless has this test binary end its first thread and go on with the others, until its
// input ends.
const headless = "SLUICE_TEST_HEADLESS"

func init() {
	if os.Getenv(headless) == "" {
		return
	}
	runtime.LockOSThread() // the first: an init function runs on it
	go func() {
		_, err := os.Stdout.WriteString("runs\n")
		if err == nil {
			_, err = io.Copy(io.Discard, os.Stdin)
		}
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}()
	_, _, err := syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0) // of this thread alone
	panic(err)                                                 // it does not return where it does what it says
}

func TestAProcessIsAliveUntilItsLastThreadEnds(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), headless+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close() // whatever becomes of the test, the process ends with its input
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
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
