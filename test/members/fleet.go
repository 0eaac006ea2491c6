// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Fleet are members that run in this process.
type Fleet struct {
	members []*member
	servers []*http.Server
}

// Options of a fleet.
type Options struct {
	// Dir gets kubeconfig/NAME for each member and, with Audit, lab/NAME/audit.log:
	// where the lab has those of real ones.
	Dir   string
	Names []string
	Audit bool
	// Host is where they listen; nil: on loopback.
	Host net.IP
}

// Start starts the members. They serve when it returns.
func Start(o Options) (*Fleet, error) {
	managers, err := newManagers()
	if err != nil {
		return nil, err
	}
	if o.Host == nil {
		o.Host = net.IPv4(127, 0, 0, 1)
	}
	id, err := newIdentity(o.Host)
	if err != nil {
		return nil, err
	}
	f := &Fleet{}
	for _, name := range o.Names {
		if err := f.add(name, o, managers, id); err != nil {
			return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), f.Stop())
		}
	}
	return f, nil
}

func (f *Fleet) add(name string, o Options, all managers, id *identity) error {
	m := &member{name: name, token: id.token(), managers: all, store: newStore()}
	if err := m.first(); err != nil {
		return err
	}
	if o.Audit {
		dir := filepath.Join(o.Dir, "lab", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		var err error
		if m.audit, err = newAudit(filepath.Join(dir, "audit.log")); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", net.JoinHostPort(o.Host.String(), "0"))
	if err != nil {
		return err
	}
	if err := id.kubeconfig(filepath.Join(o.Dir, "kubeconfig", name), name, l.Addr().String(), m.token); err != nil {
		return errors.Join(err, l.Close())
	}
	server := &http.Server{
		Handler: m, TLSConfig: &tls.Config{Certificates: []tls.Certificate{id.serving}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 30 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
	}
	f.members, f.servers = append(f.members, m), append(f.servers, server)
	go func() {
		// It ends when the server is stopped.
		_ = server.ServeTLS(l, "", "")
	}()
	return nil
}

// Stop ends the members; what they held is gone.
func (f *Fleet) Stop() error {
	var errs []error
	for i, s := range f.servers {
		errs = append(errs, s.Close(), f.members[i].audit.close())
	}
	return errors.Join(errs...)
}

// Run starts members and has them serve until ctx ends. It calls ready when they do.
func Run(ctx context.Context, o Options, ready func()) error {
	f, err := Start(o)
	if err != nil {
		return err
	}
	ready()
	<-ctx.Done()
	return f.Stop()
}

// Names are member1, member2 and so on.
func Names(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("member%d", i+1)
	}
	return all
}
