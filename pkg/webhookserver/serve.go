// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

const (
	// requestTimeout is well above what an API server waits for an answer.
	requestTimeout = 10 * time.Second
	// drainTimeout is how long running requests may take after the end.
	drainTimeout = requestTimeout
)

// Serve answers on l until ctx ends, with the certificate that there is at the
// time, and with success at /readyz.
func Serve(ctx context.Context, l net.Listener, h http.Handler, certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) error {
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	srv := &http.Server{
		Handler:     mux,
		TLSConfig:   &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate},
		ReadTimeout: requestTimeout, WriteTimeout: requestTimeout,
		ErrorLog: log.New(io.Discard, "", 0), // of handshakes that somebody broke off
	}
	served := make(chan error, 1)
	go func() { served <- srv.ServeTLS(l, "", "") }()
	select {
	case err := <-served:
		return fmt.Errorf("serve the webhook: %w", err)
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		return fmt.Errorf("drain the webhook: %w", errors.Join(err, srv.Close()))
	}
	return nil
}
