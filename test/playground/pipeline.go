// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"sluice.dev/test/ports"
)

const (
	readyPatience = 60 * time.Second // for the pipeline to be ready
	firstBackoff  = 500 * time.Millisecond
	lastBackoff   = 10 * time.Second
	settled       = 10 * time.Second // a pipeline that lived as long was well
	maxFailures   = 3                // in a row, before it ever was ready
)

// pipeline keeps one process with all stages running.
type pipeline struct {
	path    string
	args    []string
	address string
	dir     directory
	out     *printer
	lines   io.Writer

	stop context.CancelFunc
	kept chan struct{} // closed when keep has ended

	mu      sync.Mutex
	current *instance
}

// instance is one life of the process.
type instance struct {
	*child
	began time.Time
	// wanted says that somebody asked for its end; set before that.
	wanted bool
	// next is the following life; replaced is closed when it has begun, or
	// will never begin.
	next     *instance
	replaced chan struct{}
}

var errNeverReady = errors.New("the pipeline does not start")

// startPipeline returns when the pipeline is ready.
func (s *session) startPipeline(ctx context.Context) error {
	path, err := binary(s.bin, "standalone")
	if err != nil {
		return err
	}
	address, err := ports.Free()
	if err != nil {
		return err
	}
	p := &pipeline{
		path: path, address: address, dir: s.dir, out: s.out,
		args: []string{"--hub-kubeconfig", s.dir.kubeconfig("hub"), "--listen", address},
		kept: make(chan struct{}),
	}
	p.lines = &lineWriter{line: s.out.print}
	if s.redis != "" {
		p.args = append(p.args, "--redis", s.redis)
	}
	if err := s.dir.save(addressFile, address); err != nil {
		return err
	}
	first, err := p.begin()
	if err != nil {
		return err
	}
	s.pipeline = p
	keepCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	go p.keep(keepCtx)

	// It may die and be started again meanwhile, a few times.
	life := first
	for range maxFailures {
		if err = p.awaitReady(ctx, life); err == nil {
			s.out.say("the pipeline is ready, process %d at http://%s", life.cmd.Process.Pid, address)
			return nil
		}
		if !errors.Is(err, errDied) {
			return err
		}
		if life, err = life.following(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w; the end of %s:\n%s", errNeverReady, relative(life.log), tail(life.log))
}

// begin starts the process.
func (p *pipeline) begin() (*instance, error) {
	c, err := spawn("the pipeline", p.dir.log("pipeline"), p.lines, syscall.SIGKILL, p.path, p.args...)
	if err != nil {
		return nil, err
	}
	life := &instance{child: c, began: time.Now(), replaced: make(chan struct{})}
	p.mu.Lock()
	p.current = life
	p.mu.Unlock()
	return life, p.dir.save(pidFile, strconv.Itoa(c.cmd.Process.Pid))
}

func (p *pipeline) life() *instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

// keep starts the process again each time it has ended, until ctx does.
func (p *pipeline) keep(ctx context.Context) {
	defer close(p.kept)
	backoff := time.Duration(0)
	for life := p.life(); ; {
		select {
		case <-ctx.Done():
			life.end(pipelineGrace)
			close(life.replaced)
			return
		case <-life.done:
		}
		backoff = p.report(life, backoff)
		next, err := p.again(ctx, backoff)
		if err != nil { // only at the end
			close(life.replaced)
			return
		}
		life.next = next
		close(life.replaced)
		life = next
	}
}

// report says how a life ended and returns the time to wait for the next.
func (p *pipeline) report(life *instance, backoff time.Duration) time.Duration {
	p.mu.Lock()
	wanted := life.wanted
	p.mu.Unlock()
	if wanted {
		p.out.say("the pipeline was killed, as asked; starting it again")
		return 0
	}
	p.out.say("the pipeline died (%s); the end of %s:\n%s", life.how(), relative(life.log), tail(life.log))
	if time.Since(life.began) > settled {
		backoff = 0
	} else {
		backoff = min(max(2*backoff, firstBackoff), lastBackoff)
	}
	p.out.say("starting the pipeline again in %v", backoff)
	return backoff
}

// again starts the process after a while; an error means the end.
func (p *pipeline) again(ctx context.Context, after time.Duration) (*instance, error) {
	for {
		t := time.NewTimer(after)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil, ctx.Err()
		case <-t.C:
		}
		life, err := p.begin()
		if err == nil {
			return life, nil
		}
		p.out.say("%v", err)
		after = lastBackoff
	}
}

// end ends the process for good.
func (p *pipeline) end() {
	p.stop()
	<-p.kept
}

// restart kills the process and returns when its successor is ready.
func (p *pipeline) restart(ctx context.Context) (string, error) {
	life := p.life()
	p.mu.Lock()
	life.wanted = true
	p.mu.Unlock()
	began := time.Now()
	if err := life.cmd.Process.Kill(); err != nil {
		return "", fmt.Errorf("kill process %d: %w", life.cmd.Process.Pid, err)
	}
	next, err := life.following(ctx)
	if err != nil {
		return "", err
	}
	if err := p.awaitReady(ctx, next); err != nil {
		return "", err
	}
	return fmt.Sprintf("the pipeline (process %d) was killed; process %d took over and was ready after %.1f s",
		life.cmd.Process.Pid, next.cmd.Process.Pid, time.Since(began).Seconds()), nil
}

// following waits for the next life.
func (i *instance) following(ctx context.Context) (*instance, error) {
	select {
	case <-i.replaced:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if i.next == nil {
		return nil, errors.New("the playground is ending")
	}
	return i.next, nil
}

var errDied = errors.New("the pipeline died before it was ready")

// awaitReady waits until this life serves.
func (p *pipeline) awaitReady(ctx context.Context, life *instance) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyPatience,
		fmt.Errorf("the pipeline is not ready after %v, see %s", readyPatience, relative(life.log)))
	defer cancel()
	died := false
	err := wait(ctx, func() bool {
		select {
		case <-life.done:
			died = true
			return true
		default:
		}
		return p.get(ctx, "/readyz") == nil
	})
	if died {
		return errDied
	}
	return err
}

func (p *pipeline) get(ctx context.Context, path string) error {
	_, err := p.request(ctx, http.MethodGet, path)
	return err
}

// flush empties the pipeline's Redis.
func (p *pipeline) flush(ctx context.Context) (string, error) {
	answer, err := p.request(ctx, http.MethodPost, "/flush")
	if err != nil {
		return "", fmt.Errorf("flush the pipeline's Redis: %w", err)
	}
	p.out.say("the pipeline's Redis was emptied, as asked")
	return strings.TrimSpace("the pipeline's Redis is empty; " + answer), nil
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
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(body))
	if resp.StatusCode/100 != 2 {
		return "", fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return text, nil
}
