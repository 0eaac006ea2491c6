// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test's own program plays the programs that the playground starts.
const roleKey = "PLAYGROUND_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleKey) {
	case "pipeline":
		fakePipeline()
	case "parent":
		fakeParent()
	default:
		os.Exit(m.Run())
	}
}

// fakePipeline serves what standalone does, and dies when asked.
func fakePipeline() {
	address := ""
	for i, arg := range os.Args {
		if arg == "--listen" {
			address = os.Args[i+1]
		}
	}
	fmt.Println("detector  Deployment default/nginx  done")
	http.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("POST /flush", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "7 keys") })
	http.HandleFunc("POST /die", func(http.ResponseWriter, *http.Request) {
		fmt.Fprintln(os.Stderr, "out of ideas")
		os.Exit(7)
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(address, nil))
	os.Exit(1)
}

// fakeParent starts a child, tells its pid and waits to be killed.
func fakeParent() {
	c, err := spawn("child", os.Getenv("LOG"), nil, syscall.SIGKILL, "sleep", "600")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(c.cmd.Process.Pid)
	<-c.done
}

// newSession has a pipeline that is ready and answers commands.
func newSession(t *testing.T) (*session, *bytes.Buffer) {
	t.Helper()
	t.Setenv(roleKey, "pipeline")
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "standalone")); err != nil {
		t.Fatal(err)
	}
	// Longer than the name of a socket may be.
	dir := directory(filepath.Join(t.TempDir(), strings.Repeat("x", 120)))
	give, err := dir.take()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(give)
	out := &bytes.Buffer{}
	s := &session{
		options: options{bin: bin}, dir: dir, began: time.Now(),
		out: &printer{to: out, began: time.Now()}, fail: func(error) {},
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	stop, err := s.serve(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	if err := s.startPipeline(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.pipeline.end)
	if err := dir.save("ready", "now"); err != nil {
		t.Fatal(err)
	}
	return s, out
}

func (s *session) pid(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile(s.dir.path(pidFile))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestPipelineRestartsOnCommand(t *testing.T) {
	s, _ := newSession(t)
	before := s.pid(t)
	if err := s.dir.ask(t.Context(), "pipeline-restart"); err != nil {
		t.Fatal(err)
	}
	if after := s.pid(t); after == before {
		t.Errorf("process %d still runs", before)
	}
	if err := s.pipeline.get(t.Context(), "/readyz"); err != nil {
		t.Errorf("not ready at its address: %v", err)
	}
}

func TestPipelineIsFlushedOnCommand(t *testing.T) {
	s, _ := newSession(t)
	if err := s.dir.ask(t.Context(), "pipeline-flush"); err != nil {
		t.Fatal(err)
	}
}

func TestPipelineThatDiesIsToldAndStartedAgain(t *testing.T) {
	s, out := newSession(t)
	life := s.pipeline.life()
	_, err := s.pipeline.request(t.Context(), http.MethodPost, "/die")
	if err == nil {
		t.Fatal("it is still there")
	}
	next, err := life.following(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.pipeline.awaitReady(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	for _, want := range []string{"the pipeline died (exit status 7)", "| out of ideas", "detector  Deployment default/nginx  done"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q was not told in:\n%s", want, out)
		}
	}
}

func TestPipelineThatNeverStartsIsAnError(t *testing.T) {
	s, _ := newSession(t)
	s.pipeline.end()
	s.bin = t.TempDir()
	script := "#!/bin/sh\necho no hub >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(s.bin, "standalone"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	err := s.startPipeline(t.Context())
	if !errors.Is(err, errNeverReady) || !strings.Contains(err.Error(), "| no hub") {
		t.Errorf("got %v, want the end of the log", err)
	}
}

func TestDirectoryHasOnePlayground(t *testing.T) {
	s, _ := newSession(t)
	if _, err := s.dir.take(); !errors.Is(err, errTaken) {
		t.Errorf("a second one got %v, want %v", err, errTaken)
	}
}

func TestCommandsSayWhatToDoWhenNothingIsUp(t *testing.T) {
	left := directory(t.TempDir())
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: left.path(socketFile)})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	tests := map[string]directory{
		"there is no directory":               directory(filepath.Join(t.TempDir(), "none")),
		"the directory is empty":              directory(t.TempDir()),
		"a killed playground left its socket": left,
	}
	for name, dir := range tests {
		t.Run(name, func(t *testing.T) {
			if err := dir.ask(t.Context(), "pipeline-restart"); err == nil || !strings.Contains(err.Error(), "make run") {
				t.Errorf("got %v, want what to do", err)
			}
		})
	}
}

func TestChildDiesWithAKilledParent(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.CommandContext(t.Context(), self)
	parent.Env = append(os.Environ(), roleKey+"=parent", "LOG="+filepath.Join(t.TempDir(), "log"))
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := wait(ctx, func() bool { return gone(pid) }); err != nil {
		t.Errorf("the child (process %d) outlived its parent", pid)
	}
}

// gone reports whether a process has ended, waited for or not.
func gone(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(b), ") Z ")
}

func TestLineWriterGivesWholeLines(t *testing.T) {
	var got []string
	w := &lineWriter{line: func(l string) { got = append(got, l) }}
	for _, part := range []string{"one", " line\nand ", "another\nrest"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("wrote %d of %q: %v", n, part, err)
		}
	}
	if want := "one line|and another"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
