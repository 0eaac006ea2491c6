// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// API speaks the few requests that readiness needs. It does without client-go
// so that the lab program builds in seconds.
type API struct {
	server, token string
	http          *http.Client
}

// errAbsent is the API's 404.
var errAbsent = errors.New("not found")

// API connects to the cluster as this program's user.
func (c *Cluster) API() (*API, error) {
	token, err := os.ReadFile(c.tokenFile(labUser))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(c.path("pki", caCert))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &API{
		server: c.Server(),
		token:  string(token),
		http: &http.Client{
			Timeout: 5 * time.Second,
			Transport: &http.Transport{
				TLSClientConfig:   &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13},
				ForceAttemptHTTP2: true,
			},
		},
	}, nil
}

// Close ends the connections.
func (a *API) Close() { a.http.CloseIdleConnections() }

// Ready returns nil if the API server says that it is ready, and why not otherwise.
func (a *API) Ready(ctx context.Context) error {
	_, err := a.do(ctx, http.MethodGet, "/readyz", nil)
	return err
}

// DefaultAccount returns nil if the default namespace has its default
// ServiceAccount and the authority's ConfigMap: then the controller manager
// works, and pods may be made.
func (a *API) DefaultAccount(ctx context.Context) error {
	for _, path := range []string{"serviceaccounts/default", "configmaps/kube-root-ca.crt"} {
		if _, err := a.do(ctx, http.MethodGet, "/api/v1/namespaces/default/"+path, nil); err != nil {
			return err
		}
	}
	return nil
}

// EnsureNode makes the member's node if it is not there.
func (a *API) EnsureNode(ctx context.Context) error {
	_, err := a.do(ctx, http.MethodGet, "/api/v1/nodes/"+nodeName, nil)
	if !errors.Is(err, errAbsent) {
		return err
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{
			"name": nodeName,
			"labels": map[string]string{
				"kubernetes.io/hostname": nodeName,
				"kubernetes.io/os":       "linux",
				"type":                   "kwok",
			},
		},
	})
	if err != nil {
		return err
	}
	_, err = a.do(ctx, http.MethodPost, "/api/v1/nodes", body)
	return err
}

// NodeReady returns nil if the member's node is ready, which kwok makes it.
func (a *API) NodeReady(ctx context.Context) error {
	b, err := a.do(ctx, http.MethodGet, "/api/v1/nodes/"+nodeName, nil)
	if err != nil {
		return err
	}
	var node struct {
		Status struct {
			Conditions []struct{ Type, Status string }
		}
	}
	if err := json.Unmarshal(b, &node); err != nil {
		return fmt.Errorf("node %s: %w", nodeName, err)
	}
	for _, c := range node.Status.Conditions {
		if c.Type == "Ready" && c.Status == "True" {
			return nil
		}
	}
	return fmt.Errorf("node %s: no condition says that it is ready", nodeName)
}

func (a *API) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "lab")
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return nil, fmt.Errorf("%s %s: %w", method, path, errAbsent)
	case resp.StatusCode >= http.StatusBadRequest:
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, bytes.TrimSpace(b))
	}
	return b, nil
}
