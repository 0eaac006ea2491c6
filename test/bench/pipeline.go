// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"sluice.dev/test/ports"
)

// pipeline is the process with all stages: the real program, or, to be
// profiled, this one in its place.
type pipeline struct {
	path    string
	args    []string
	address string
	log     string
	debug   string // address of the profiles; empty: none
	cmd     *exec.Cmd
}

func newPipeline(l *lab, o options) (*pipeline, error) {
	address, err := ports.Free()
	if err != nil {
		return nil, err
	}
	p := &pipeline{path: filepath.Join(l.bin, "standalone"), address: address, log: filepath.Join(l.dir, "pipeline.log")}
	p.args = []string{"--hub-kubeconfig", cmp.Or(l.hub.relayed, l.hub.kubeconfig), "--listen", address}
	if o.profile == "" {
		return p, nil
	}
	if p.debug, err = ports.Free(); err != nil {
		return nil, err
	}
	if p.path, err = os.Executable(); err != nil {
		return nil, err
	}
	p.args = append([]string{profiledChild, p.debug}, p.args...)
	return p, os.MkdirAll(o.profile, 0o755)
}

// start returns when the pipeline is ready.
func (p *pipeline) start(ctx context.Context) error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = exec.Command(p.path, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := onSpawner(p.cmd.Start); err != nil {
		return fmt.Errorf("start the pipeline: %w", err)
	}
	return await(ctx, 2*time.Minute, "the pipeline is ready (its log: "+p.log+")", func() bool {
		_, err := p.request(ctx, http.MethodGet, "/readyz")
		return err == nil
	})
}

// spawner is a thread that lives as long as this program: the kernel sends the
// death signal when the thread that forked ends, not the process.
var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

func onSpawner(f func() error) error {
	result := make(chan error)
	spawner() <- func() { result <- f() }
	return <-result
}

// kill ends it as a crash would.
func (p *pipeline) kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill the pipeline: %w", err)
	}
	_ = p.cmd.Wait() // it was killed
	p.cmd = nil
	return nil
}

// end ends it for good.
func (p *pipeline) end() {
	if p.cmd != nil {
		_ = p.kill() // it may have ended by itself
	}
}

func (p *pipeline) request(ctx context.Context, method, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+p.address+path, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return string(body), err
}

// flush empties its Redis.
func (p *pipeline) flush(ctx context.Context) error {
	_, err := p.request(ctx, http.MethodPost, "/flush")
	return err
}

// work is what the pipeline has done, as it says itself.
type work struct {
	handled int // events
	sweeps  int // not among them
	open    int // events that wait in a queue, or are being handled
}

func (p *pipeline) work(ctx context.Context) (work, error) {
	var w work
	body, err := p.request(ctx, http.MethodGet, "/metrics")
	if err != nil {
		return w, fmt.Errorf("ask the pipeline for its metrics: %w", err)
	}
	for line := range strings.Lines(body) {
		name, rest, _ := strings.Cut(line, "{")
		to := map[string]*int{"sluice_events_total": &w.handled, "sluice_broker_queued": &w.open, "sluice_broker_running": &w.open}[name]
		if to == nil {
			continue
		}
		if to == &w.handled && strings.Contains(rest, "sources.ping") {
			to = &w.sweeps
		}
		fields := strings.Fields(rest)
		n, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			return w, fmt.Errorf("read the pipeline's metrics: %w", err)
		}
		*to += int(n)
	}
	return w, nil
}

// settled is how long nothing has to happen until it is called quiet, and
// sweeps how many sweeps must have found nothing.
const (
	settled = 1500 * time.Millisecond
	idle    = 2
	// asking more often would be a good part of what the pipeline computes.
	asking = 200 * time.Millisecond
)

// quiet waits until it handles nothing any more, and returns when that began.
func (p *pipeline) quiet(ctx context.Context) (time.Time, error) {
	last, since, swept := -1, time.Now(), 0
	for {
		now, err := p.work(ctx)
		if err != nil {
			return since, err
		}
		switch {
		case now.handled != last:
			last, since, swept = now.handled, time.Now(), now.sweeps
		case time.Since(since) > settled && now.sweeps >= swept+idle && now.open == 0:
			return since, nil
		}
		if err := pause(ctx, asking); err != nil {
			return since, err
		}
	}
}

// memory is what it holds now and what it held at most, in MB.
func (p *pipeline) memory() (now, peak int, err error) { return memoryOf(p.cmd.Process.Pid) }

// cpu is the time that it has computed.
func (p *pipeline) cpu() time.Duration { return cpuOf(p.cmd.Process.Pid) }
