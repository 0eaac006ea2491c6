// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// directory is where a playground and its lab live.
type directory string

func (d directory) absolute() (directory, error) {
	abs, err := filepath.Abs(string(d))
	return directory(abs), err
}

func (d directory) path(elem ...string) string {
	return filepath.Join(append([]string{string(d)}, elem...)...)
}

func (d directory) kubeconfig(cluster string) string { return d.path("kubeconfig", cluster) }
func (d directory) log(name string) string           { return d.path("log", name+".log") }
func (d directory) ready() string                    { return d.path("ready") }

// The files that are there only while the playground is up.
const (
	socketFile  = "playground.sock"
	pidFile     = "pipeline.pid"
	addressFile = "pipeline.address"
)

// errTaken means that the directory has a playground already.
var errTaken = errors.New("a playground is already up")

// take makes the directory this program's own until give is called. What a
// playground that was killed left is removed.
func (d directory) take() (give func(), err error) {
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(d.path("playground.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w in %s", errTaken, relative(string(d)))
		}
		return nil, fmt.Errorf("lock %s: %w", d, err)
	}
	d.clear()
	if err := os.RemoveAll(d.path("log")); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if err := os.Mkdir(d.path("log"), 0o755); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return func() {
		d.clear()
		_ = lock.Close() // and with it the lock
	}, nil
}

func (d directory) clear() {
	for _, name := range []string{socketFile, pidFile, addressFile} {
		_ = os.Remove(d.path(name))
	}
	_ = os.Remove(d.ready())
}

// save writes a small file, whole or not at all.
func (d directory) save(name, content string) error {
	tmp := d.path(name + ".tmp")
	if err := os.WriteFile(tmp, []byte(content+"\n"), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, d.path(name))
}

// relative shortens a path below the working directory.
func relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// binary finds a program in bin, or beside this program where bin is empty.
func binary(bin, name string) (string, error) {
	if bin == "" {
		self, err := os.Executable()
		if err != nil {
			return "", err
		}
		bin = filepath.Dir(self)
	}
	path, err := filepath.Abs(filepath.Join(bin, name))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s is missing, make build builds it: %w", name, err)
	}
	return path, nil
}
