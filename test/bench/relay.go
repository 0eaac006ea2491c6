// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"

	"k8s.io/client-go/tools/clientcmd"
)

// relay stands between a client and an API server, and counts the bytes on the wire,
// encrypted as they are. Nothing that either says of itself is believed.
type relay struct {
	listener net.Listener
	to       string
	bytes    *atomic.Int64
	// kubeconfig of the API server by way of the relay.
	kubeconfig string
}

// newRelay relays to the API server of a kubeconfig, and adds to bytes.
func newRelay(kubeconfig, dir, name string, bytes *atomic.Int64) (*relay, error) {
	cfg, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return nil, err
	}
	current := cfg.Contexts[cfg.CurrentContext]
	if current == nil || cfg.Clusters[current.Cluster] == nil {
		return nil, fmt.Errorf("%s: no current context", kubeconfig)
	}
	cluster := cfg.Clusters[current.Cluster]
	server, err := url.Parse(cluster.Server)
	if err != nil {
		return nil, err
	}
	r := &relay{to: server.Host, bytes: bytes, kubeconfig: filepath.Join(dir, "relay", name)}
	if r.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	server.Host = r.listener.Addr().String()
	cluster.Server = server.String()
	if err = os.MkdirAll(filepath.Dir(r.kubeconfig), 0o755); err == nil {
		err = clientcmd.WriteToFile(*cfg, r.kubeconfig)
	}
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	go r.serve()
	return r, nil
}

func (r *relay) close() error { return r.listener.Close() }

func (r *relay) serve() {
	for {
		from, err := r.listener.Accept()
		if err != nil {
			return // it was closed
		}
		go func() {
			to, err := net.Dial("tcp", r.to)
			if err != nil {
				_ = from.Close() // the client sees that nobody is there
				return
			}
			go r.carry(from, to)
			r.carry(to, from)
		}()
	}
}

// carry copies until one of them leaves, and then sends away the other.
func (r *relay) carry(from, to net.Conn) {
	defer func() { _ = to.Close() }() // it may have left by itself
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		r.bytes.Add(int64(n))
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				_ = from.Close() // the other direction ends, too
				return
			}
		}
		if err != nil {
			return
		}
	}
}
