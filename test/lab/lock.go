// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sluice.dev/test/lab/process"
)

// lock is held by the one program that changes the lab: for a moment, or for
// as long as a foreground Up lasts. The kernel lets go of it when the holder
// ends, however that happens.
type lock struct{ f *os.File }

// keeper is the holder of the lock if that is a foreground Up.
type keeper struct{ id process.ID }

const keeperWord = "foreground"

// acquire takes the lock, waiting for short commands. If a foreground Up holds
// it, acquire returns its keeper instead and no lock.
func (l *Lab) acquire(ctx context.Context) (*lock, *keeper, error) {
	if err := os.MkdirAll(l.root(), 0o755); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(filepath.Join(l.root(), "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, nil, err
	}
	for told := false; ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return &lock{f}, nil, f.Truncate(0)
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
		}
		if k := readKeeper(f); k != nil {
			return nil, k, f.Close()
		}
		if !told {
			told = true
			l.say("waiting for another lab command to end")
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
	}
}

func (k *lock) release() { _ = k.f.Close() }

// keep notes that this program is a foreground Up.
func (k *lock) keep() error {
	self, err := process.Self()
	if err != nil {
		return err
	}
	_, err = k.f.WriteAt([]byte(keeperWord+" "+self.String()+"\n"), 0)
	return err
}

func readKeeper(f *os.File) *keeper {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<10))
	if err != nil {
		return nil
	}
	rest, ok := strings.CutPrefix(string(b), keeperWord+" ")
	if !ok {
		return nil
	}
	id, err := process.Parse(rest)
	if err != nil || !id.Alive() {
		return nil // half written, or about to let go
	}
	return &keeper{id}
}

// keeper returns the foreground Up of this lab, nil if there is none.
func (l *Lab) keeper() *keeper {
	f, err := os.Open(filepath.Join(l.root(), "lock"))
	if err != nil {
		return nil
	}
	defer f.Close()
	return readKeeper(f)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
