// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"

	"sluice.dev/test/members"
)

// simulatedChild has this program play members: what follows are their number and
// the folder of the lab.
const simulatedChild = "simulated-members"

func runSimulated(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return members.Run(ctx, members.Options{Dir: args[1], Names: members.Names(n), Audit: true}, func() { fmt.Println("ready") })
}

// simulate starts simulated members in a process of their own, so that what they
// compute is not counted as anybody else's.
func (l *lab) simulate(n int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, simulatedChild, strconv.Itoa(n), l.dir)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := onSpawner(cmd.Start); err != nil {
		return fmt.Errorf("start the simulated members: %w", err)
	}
	l.simulated = cmd
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("they ended")
		}
		return fmt.Errorf("start the simulated members: %w", err)
	}
	return nil
}

// endSimulated ends them, where there are some.
func (l *lab) endSimulated() {
	if l.simulated == nil {
		return
	}
	_ = l.simulated.Process.Kill() // it may have ended by itself
	_ = l.simulated.Wait()         // it was killed
	l.simulated = nil
}
