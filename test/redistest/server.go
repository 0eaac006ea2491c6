// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package redistest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// howToGet is what to tell somebody whose machine has no redis-server.
const howToGet = "redis-server is not installed: apt-get install redis-server, or have it in PATH"

// Real starts a redis-server that keeps nothing on disk.
func Real(t testing.TB) *Server {
	t.Helper()
	return launched(t, "--appendonly", "no")
}

// Durable starts a redis-server that has each write on disk before it answers.
func Durable(t testing.TB) *Server {
	t.Helper()
	return launched(t, "--appendonly", "yes", "--appendfsync", "always")
}

func launched(t testing.TB, persistence ...string) *Server {
	t.Helper()
	binary, err := find()
	if err != nil {
		if os.Getenv("CI") == "true" || os.Getenv("SLUICE_REQUIRE_REDIS") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "redis") // t.TempDir is longer than the path of a socket may be
	if err != nil {
		t.Fatalf("make a folder for redis-server: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &Server{Network: "unix", Addr: filepath.Join(dir, "redis.sock")}
	var p *process
	s.start = func(t testing.TB) {
		t.Helper()
		p = launch(t, binary, dir, s, persistence)
	}
	s.stop = func(testing.TB) { p.end() }
	s.start(t)
	t.Cleanup(func() { p.end() })
	return s
}

// find is the path of redis-server, which is installed first where it is missing
// and we may.
var find = sync.OnceValues(lookOrInstall)

func lookOrInstall() (string, error) {
	if path, err := exec.LookPath("redis-server"); err == nil {
		return path, nil
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return "", errors.New(howToGet)
	}
	// apt-get update waits for nobody, and tests of several packages run at once.
	lock, err := os.OpenFile(filepath.Join(os.TempDir(), "redistest.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }() // and with it the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	if path, err := exec.LookPath("redis-server"); err == nil {
		return path, nil // somebody else was quicker
	}
	for _, args := range [][]string{{"update"}, {"install", "-y", "--no-install-recommends", "redis-server"}} {
		cmd := exec.Command(apt, append([]string{"-q", "-o", "DPkg::Lock::Timeout=120"}, args...)...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s; apt-get %s: %w\n%s", howToGet, args[0], err, out)
		}
	}
	return exec.LookPath("redis-server")
}

// A process is a redis-server that ends when its input does: when we close it,
// or when this process is gone.
type process struct {
	input io.WriteCloser
	died  chan struct{}
}

// The shell ends the server by its process id. It waits until one of both is
// gone: the input, or the server.
const keeper = `"$@" & server=$!
( read -r _; kill -9 $server 2>/dev/null ) <&3 & reader=$!
wait $server
kill $reader 2>/dev/null`

func launch(t testing.TB, binary, dir string, s *Server, persistence []string) *process {
	t.Helper()
	log := filepath.Join(dir, "log")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatalf("make a pipe for redis-server: %v", err)
	}
	args := []string{"-c", keeper, "keeper", binary, "--port", "0", "--unixsocket", s.Addr, "--unixsocketperm", "700", "--save", "", "--dir", dir, "--logfile", log}
	cmd := exec.Command("sh", append(args, persistence...)...)
	cmd.ExtraFiles = []*os.File{read}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start redis-server: %v", err)
	}
	_ = read.Close()
	p := &process{input: write, died: make(chan struct{})}
	go func() {
		defer close(p.died)
		_ = cmd.Wait()
	}()
	if err := await(s, p.died); err != nil {
		p.end()
		out, _ := os.ReadFile(log)
		t.Fatalf("redis-server does not answer: %v\n%s", err, out)
	}
	return p
}

// end ends the server and waits until it is gone.
func (p *process) end() {
	_ = p.input.Close()
	<-p.died
}
