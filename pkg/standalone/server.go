// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// serve answers for health, metrics and flush until ctx ends.
func (p *pipeline) serve(ctx context.Context, address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", address, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("--listen %s: want a loopback address, for anybody who reaches it may flush Redis", address)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", p.readyz)
	mux.HandleFunc("POST /flush", p.flush)
	mux.Handle("GET /metrics", promhttp.HandlerFor(prometheus.Gatherers{p.registry, prometheus.DefaultGatherer}, promhttp.HandlerOpts{}))
	srv := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	stopped := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stopped()
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

func (p *pipeline) readyz(w http.ResponseWriter, _ *http.Request) {
	select {
	case <-p.ready:
		fmt.Fprintln(w, "ok")
	default:
		http.Error(w, "the hub's objects are not read yet", http.StatusServiceUnavailable)
	}
}

// flush empties Redis, as an accident would.
func (p *pipeline) flush(w http.ResponseWriter, r *http.Request) {
	if err := p.rdb.FlushAll(r.Context()).Err(); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	fmt.Fprintln(w, "flushed")
}
