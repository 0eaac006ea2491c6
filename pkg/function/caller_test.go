// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
)

// issuer is an API server as far as it signs tokens.
type issuer struct {
	url string
	key *rsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: key}
	encode := base64.RawURLEncoding.EncodeToString
	answers := map[string]any{
		"/.well-known/openid-configuration": map[string]any{"issuer": "https://cluster", "jwks_uri": "https://elsewhere.invalid", "id_token_signing_alg_values_supported": []string{"RS256"}},
		"/openid/v1/jwks": map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1", "n": encode(key.N.Bytes()), "e": encode(big.NewInt(int64(key.E)).Bytes()),
		}}},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(answers[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	i.url = server.URL
	return i
}

// token is a signed one with the claims, and those of every good token.
func (i *issuer) token(t *testing.T, claims map[string]any) string {
	t.Helper()
	all := map[string]any{
		"iss": "https://cluster", "aud": []string{"sluice-functions"}, "exp": time.Now().Add(time.Hour).Unix(),
		"sub": "system:serviceaccount:sluice-system:gate-oidc-eventing.knative.dev-trigger",
	}
	for k, v := range claims {
		all[k] = v
	}
	body, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"RS256","kid":"1"}`)) + "." + encode(body)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + encode(signature)
}

func TestOnlyTheBrokerMayCall(t *testing.T) {
	cluster, other := newIssuer(t), newIssuer(t)
	c, err := callerOf(t.Context(), cluster.url, http.DefaultClient, config{audience: "sluice-functions", callers: "system:serviceaccount:sluice-system:"})
	if err != nil {
		t.Fatal(err)
	}
	handled := 0
	h := newHandler("gate", 1)
	h.caller = c
	h.stage.Store(&posting{Stage: stageFunc(func(context.Context, event.Event) ([]event.Event, error) { handled++; return nil, nil })})
	for name, tc := range map[string]struct {
		header string
		want   int
	}{
		"a Trigger of the Broker's":              {"Bearer " + cluster.token(t, nil), http.StatusAccepted},
		"a pod without a token":                  {"", http.StatusUnauthorized},
		"a pod of another namespace":             {"Bearer " + cluster.token(t, map[string]any{"sub": "system:serviceaccount:shop:default"}), http.StatusUnauthorized},
		"a token for somebody else":              {"Bearer " + cluster.token(t, map[string]any{"aud": []string{"https://kubernetes"}}), http.StatusUnauthorized},
		"a token that is over":                   {"Bearer " + cluster.token(t, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), http.StatusUnauthorized},
		"a token that somebody else signed":      {"Bearer " + other.token(t, nil), http.StatusUnauthorized},
		"a token of another issuer":              {"Bearer " + cluster.token(t, map[string]any{"iss": "https://other"}), http.StatusUnauthorized},
		"something that is no token":             {"Bearer nonsense", http.StatusUnauthorized},
		"a password in the place of a token":     {"Basic " + cluster.token(t, nil), http.StatusUnauthorized},
		"a namespace whose name begins the same": {"Bearer " + cluster.token(t, map[string]any{"sub": "system:serviceaccount:sluice-system2:a"}), http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			handled = 0
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("{}"))
			for k, v := range map[string]string{"Ce-Id": "1", "Ce-Type": "x", "Ce-Source": "/x", "Ce-Specversion": "1.0", "Content-Type": "application/json", "Authorization": tc.header} {
				req.Header.Set(k, v)
			}
			before := counted(t, h)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req)
			if w.Code != tc.want || handled != map[bool]int{true: 1}[tc.want == http.StatusAccepted] {
				t.Errorf("answered %d, handled %d times: %s", w.Code, handled, w.Body)
			}
			if refused := counted(t, h) - before; refused != 1-handled {
				t.Errorf("%d more were counted as refused", refused)
			}
		})
	}
}

// counted is how many lines of metrics and their values say refused: there is one
// series, so its value.
func counted(t *testing.T, h *handler) (n int) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if rest, ok := strings.CutPrefix(line, `sluice_events_total{outcome="refused",stage="gate",type="other"} `); ok {
			if err := json.Unmarshal([]byte(rest), &n); err != nil {
				t.Fatal(err)
			}
		}
	}
	return n
}

func TestAFunctionShowsItsTokenToTheBroker(t *testing.T) {
	var shown string
	broker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown = r.Header.Get("Authorization")
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(broker.Close)
	e := event.New()
	e.SetID("1")
	e.SetType("x")
	e.SetSource("/x")
	s, file := newSink(broker.URL), filepath.Join(t.TempDir(), "token")
	for _, token := range []string{"", "first", "renewed"} {
		want := ""
		if token != "" {
			want = "Bearer " + token
			if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s.token = file
		if err := s.post(t.Context(), []event.Event{e}); err != nil || shown != want {
			t.Errorf("shown %q, want %q: %v", shown, want, err)
		}
	}
}
