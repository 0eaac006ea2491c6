// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package redistest gives tests a Redis of their own: a real redis-server on a
// Unix socket in a temporary folder, or the embedded one that standalone uses.
//
// Invariants:
//   - A server belongs to one test and ends with it, and with the test process,
//     however that ends.
//   - What can be tested on one is tested on both: Each.
//   - Where redis-server is missing the test says how to get it and is skipped;
//     where skipping is forbidden (CI=true, or SLUICE_REQUIRE_REDIS set) it fails.
//
// It must not be used outside tests.
package redistest

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Server is a Redis server that can be taken away and brought back.
type Server struct {
	// Network and Addr are where clients find it, also after a restart.
	Network, Addr string
	start, stop   func(t testing.TB)
}

// Client connects to the server until the test ends. It does not try again by
// itself, so that a server that is away shows at once.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Network: s.Network, Addr: s.Addr, MaxRetries: -1, DialerRetries: 1, DialTimeout: time.Minute, ReadTimeout: time.Minute, DisableIdentity: true,
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Stop takes the server away, as a crash does.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	s.stop(t)
}

// Start brings it back. A real server comes back empty, unless it is Durable.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.start(t)
}

// Embedded starts the Redis that standalone embeds.
func Embedded(t testing.TB) *Server {
	t.Helper()
	m := miniredis.NewMiniRedis()
	if err := m.Start(); err != nil {
		t.Fatalf("start the embedded redis: %v", err)
	}
	t.Cleanup(m.Close)
	return &Server{
		Network: "tcp",
		Addr:    m.Addr(),
		stop:    func(testing.TB) { m.Close() },
		start: func(t testing.TB) {
			t.Helper()
			if err := m.Restart(); err != nil {
				t.Fatalf("start the embedded redis again: %v", err)
			}
		},
	}
}

// Each runs a test on a real server and on the embedded one.
func Each(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	for name, start := range map[string]func(testing.TB) *Server{"redis-server": Real, "embedded": Embedded} {
		t.Run(name, func(t *testing.T) { test(t, start(t)) })
	}
}

// await waits until the server answers: it can be connected to before it has loaded what
// it had.
func await(s *Server, died <-chan struct{}) error {
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.ping()
		if err == nil {
			return nil
		}
		select {
		case <-died:
			return err
		case <-deadline:
			return err
		case <-tick.C:
		}
	}
}

func (s *Server) ping() (err error) {
	c, err := net.Dial(s.Network, s.Addr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if _, err := io.WriteString(c, "PING\r\n"); err != nil {
		return err
	}
	answer, err := bufio.NewReader(c).ReadString('\n')
	if err == nil && answer != "+PONG\r\n" {
		err = errors.New(strings.TrimSpace(answer))
	}
	return err
}
