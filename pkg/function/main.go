// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// drainTimeout is how long running events may take after SIGTERM. It exceeds
// Timeout, so that only what hangs beyond all bounds is cut off.
const drainTimeout = Timeout + 10*time.Second

// readTimeout is how long a request may take to arrive, body and all. An event has
// a few kilobytes.
const readTimeout = 10 * time.Second

// config is what the environment says.
type config struct {
	port        int
	concurrency int
	sink        string
	audience    string // of the callers' tokens; empty: nobody looks at them
	callers     string // prefix of those who may call
	level       slog.Level
}

func configFrom(getenv func(string) string) (config, error) {
	c := config{sink: getenv("K_SINK"), audience: getenv("OIDC_AUDIENCE"), callers: getenv("OIDC_CALLERS")}
	var errs []error
	c.port, errs = number(getenv, "PORT", 8080, 0, errs)
	c.concurrency, errs = number(getenv, "CONCURRENCY", 64, 1, errs)
	if s := getenv("LOG_LEVEL"); s != "" {
		if err := c.level.UnmarshalText([]byte(s)); err != nil {
			errs = append(errs, fmt.Errorf("LOG_LEVEL: %w", err))
		}
	}
	return c, errors.Join(errs...)
}

func number(getenv func(string) string, key string, otherwise, least int, errs []error) (int, []error) {
	s := getenv(key)
	if s == "" {
		return otherwise, errs
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < least {
		return 0, append(errs, fmt.Errorf("%s: want a number of at least %d, got %q", key, least, s))
	}
	return n, errs
}

// Main runs the stage that build makes as an HTTP CloudEvents server, until
// SIGTERM or SIGINT. The context given to build lasts as long as the process
// handles events. Main ends the process with status 1 where the stage cannot be
// built or the port cannot be had.
func Main(name string, build func(ctx context.Context) (Stage, error)) {
	cfg, err := configFrom(os.Getenv)
	ctx := WithLogger(context.Background(), slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: cfg.level})))
	if err == nil {
		err = run(ctx, cfg, name, build, func(net.Addr) {})
	}
	if err != nil {
		Logger(ctx).Error("function failed", keyStage, name, keyError, err)
		os.Exit(1)
	}
}

// run is Main without the process around it. It tells listening where it
// listens, before the stage is built.
func run(ctx context.Context, cfg config, name string, build func(context.Context) (Stage, error), listening func(net.Addr)) error {
	stop, cancel := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	ctx, end := context.WithCancel(context.WithoutCancel(ctx)) // ends after the drain
	defer end()

	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", ":"+strconv.Itoa(cfg.port))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	h := newHandler(name, cfg.concurrency)
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	listening(l.Addr())

	if err := start(ctx, stop, h, cfg, build); err != nil {
		return errors.Join(err, srv.Close())
	}
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-stop.Done():
	}
	return drain(ctx, h, srv)
}

// start builds the stage and makes the function ready. A signal meanwhile ends
// the building.
func start(ctx, stop context.Context, h *handler, cfg config, build func(context.Context) (Stage, error)) error {
	type built struct {
		stage Stage
		err   error
	}
	done := make(chan built, 1)
	go func() {
		s, err := build(ctx)
		if err == nil {
			h.caller, err = newCaller(ctx, cfg)
		}
		done <- built{s, err}
	}()
	select {
	case <-stop.Done():
		return nil
	case b := <-done:
		if b.err != nil {
			return fmt.Errorf("build %s: %w", h.name, b.err)
		}
		h.stage.Store(&posting{Stage: b.stage, sink: newSink(cfg.sink)})
		Logger(ctx).Info("function ready", keyStage, h.name)
		return nil
	}
}

// drain takes no new event and lets the running ones finish. On Knative the
// sidecar has stopped sending before the signal comes.
func drain(ctx context.Context, h *handler, srv *http.Server) error {
	Logger(ctx).Info("function draining", keyStage, h.name)
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("drain: %w", err), srv.Close())
	}
	return nil
}
