// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"k8s.io/client-go/rest"
)

// errCaller is what a request is refused with whose caller may not send events.
var errCaller = errors.New("the caller may not send events")

// caller verifies who calls: with a token that the cluster signed, for this audience,
// of an account that the Broker's Triggers have. A nil *caller lets everybody send
// events.
type caller struct {
	tokens   *oidc.IDTokenVerifier
	subjects string // the prefix that each has
}

// newCaller reads how the cluster signs tokens. Without an audience it returns nil:
// callers are not verified.
func newCaller(ctx context.Context, cfg config) (*caller, error) {
	if cfg.audience == "" {
		return nil, nil
	}
	cluster, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("verify callers: %w", err)
	}
	client, err := rest.HTTPClientFor(cluster)
	if err != nil {
		return nil, fmt.Errorf("verify callers: %w", err)
	}
	return callerOf(ctx, cluster.Host, client, cfg)
}

// callerOf sends its requests to host, and not to the address that the API server names
// in its answer: the client's token must go to nobody else.
func callerOf(ctx context.Context, host string, client *http.Client, cfg config) (*caller, error) {
	asking, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(asking, http.MethodGet, host+"/.well-known/openid-configuration", nil)
	if err != nil {
		return nil, fmt.Errorf("verify callers: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask how tokens are signed: %w", err)
	}
	defer resp.Body.Close()
	var signs struct {
		Issuer     string   `json:"issuer"`
		Algorithms []string `json:"id_token_signing_alg_values_supported"`
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask how tokens are signed: %s", resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(&signs); err != nil {
		return nil, fmt.Errorf("ask how tokens are signed: %w", err)
	}
	keys := oidc.NewRemoteKeySet(oidc.ClientContext(ctx, client), host+"/openid/v1/jwks")
	return &caller{
		tokens:   oidc.NewVerifier(signs.Issuer, keys, &oidc.Config{ClientID: cfg.audience, SupportedSigningAlgs: signs.Algorithms}),
		subjects: cmp.Or(cfg.callers, "system:serviceaccount:"),
	}, nil
}

// check is nil if the caller may send events.
func (c *caller) check(req *http.Request) error {
	if c == nil {
		return nil
	}
	token, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return fmt.Errorf("%w: there is no token", errCaller)
	}
	t, err := c.tokens.Verify(req.Context(), token)
	if err != nil {
		return fmt.Errorf("%w: %w", errCaller, err)
	}
	if !strings.HasPrefix(t.Subject, c.subjects) {
		return fmt.Errorf("%w: %s is none of %s*", errCaller, t.Subject, c.subjects)
	}
	return nil
}
