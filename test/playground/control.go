// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// serve answers the commands that other processes give, on a socket in the
// playground's directory.
func (s *session) serve(ctx context.Context) (stop func(), err error) {
	path, release, err := s.dir.socket()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	release()
	if err != nil {
		return nil, fmt.Errorf("listen for commands: %w", err)
	}
	// The name was good for binding only; the file is removed by its own.
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /ping", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /pipeline-restart", s.answer((*pipeline).restart))
	mux.HandleFunc("POST /pipeline-flush", s.answer((*pipeline).flush))
	srv := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	go func() { _ = srv.Serve(l) }()
	return func() { _ = srv.Close() }, nil
}

func (s *session) answer(do func(*pipeline, context.Context) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if _, err := os.Stat(s.dir.ready()); err != nil {
			http.Error(w, "the playground is not ready yet", http.StatusServiceUnavailable)
			return
		}
		text, err := do(s.pipeline, req.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = fmt.Fprintln(w, text)
	}
}

// socket is a name for the socket that is short enough, however long the
// directory's is: 108 bytes are all that the kernel takes.
func (d directory) socket() (path string, release func(), err error) {
	f, err := os.Open(string(d))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), socketFile), func() { _ = f.Close() }, nil
}

// ask has the playground that is up do something, and prints what it says.
func (d directory) ask(ctx context.Context, what string) error {
	client := &http.Client{Transport: &http.Transport{DialContext: d.dial}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://playground/"+what, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if noPlayground := (*net.OpError)(nil); errors.As(err, &noPlayground) && noPlayground.Op == "dial" || errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("nothing is up in %s: start it with make run, in another terminal", relative(string(d)))
	}
	if err != nil {
		return fmt.Errorf("ask the playground: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("ask the playground: %w", err)
	}
	text := strings.TrimSpace(string(body))
	if resp.StatusCode != http.StatusOK {
		return errors.New(text)
	}
	if text != "" {
		fmt.Println(text)
	}
	return nil
}

func (d directory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	path, release, err := d.socket()
	if err != nil {
		return nil, err
	}
	defer release()
	return (&net.Dialer{}).DialContext(ctx, "unix", path)
}
