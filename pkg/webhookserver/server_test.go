// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

func TestPairServes(t *testing.T) {
	now := time.Now()
	hosts := []string{"127.0.0.1", "webhook.sluice-system.svc"}
	good := newPair(t, hosts, now)
	other := newPair(t, hosts, now)
	for name, tc := range map[string]struct {
		pair  Pair
		hosts []string
		after time.Duration
		want  bool
	}{
		"a new one serves its hosts":                {pair: good, hosts: hosts, want: true},
		"and each of them":                          {pair: good, hosts: hosts[1:], want: true},
		"it does not serve another host":            {pair: good, hosts: []string{"127.0.0.2"}},
		"it serves while more than a third is left": {pair: good, hosts: hosts, after: life * 6 / 10, want: true},
		"it does not when less than a third is":     {pair: good, hosts: hosts, after: life * 7 / 10},
		"it does not when its time is over":         {pair: good, hosts: hosts, after: 2 * life},
		"it serves where a clock is a bit behind":   {pair: good, hosts: hosts, after: -skew / 2, want: true},
		"it does not before its time":               {pair: good, hosts: hosts, after: -2 * skew},
		"no pair does not":                          {hosts: hosts},
		"a key that is not its own does not":        {pair: Pair{Certificate: good.Certificate, Key: other.Key}, hosts: hosts},
		"what is no certificate does not":           {pair: Pair{Certificate: []byte("x"), Key: good.Key}, hosts: hosts},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.pair.serves(tc.hosts, now.Add(tc.after)); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func newPair(t *testing.T, hosts []string, now time.Time) Pair {
	t.Helper()
	p, err := NewPair(hosts, now)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// trusting is a client that trusts nothing but the certificate.
func trusting(certificate []byte) *http.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}
}

func TestServeUntilTheEnd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pair := newPair(t, []string{"127.0.0.1"}, time.Now())
	keeper := &Keeper{}
	entered, release := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		_, _ = io.WriteString(w, "done")
	})
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, l, slow, keeper.Certificate) }()
	base := "https://" + l.Addr().String()

	if _, err := get(t, trusting(pair.Certificate), base+"/readyz"); err == nil {
		t.Error("ready without a certificate")
	}
	certificate, err := pair.TLS()
	if err != nil {
		t.Fatal(err)
	}
	keeper.serving.Store(certificate)
	if _, err := get(t, trusting(pair.Certificate), base+"/readyz"); err != nil {
		t.Errorf("not ready with a certificate: %v", err)
	}
	if _, err := get(t, trusting(newPair(t, []string{"127.0.0.1"}, time.Now()).Certificate), base+"/readyz"); err == nil {
		t.Error("a client that trusts another certificate connected")
	}

	type answer struct {
		body string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		body, err := get(t, trusting(pair.Certificate), base+"/validate")
		answered <- answer{body, err}
	}()
	select {
	case <-entered:
	case a := <-answered:
		t.Fatalf("ended before it was handled: %v", a.err)
	}
	end()
	waitFor(t, func() bool { // nobody new is let in
		c, err := net.DialTimeout("tcp", l.Addr().String(), time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	close(release)
	if a := <-answered; a.err != nil || a.body != "done" {
		t.Errorf("a request that ran at the end got %q, %v", a.body, a.err)
	}
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

func get(t *testing.T, c *http.Client, url string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for !condition() {
		select {
		case <-deadline:
			t.Fatal("waited for 10 s")
		case <-tick.C:
		}
	}
}
