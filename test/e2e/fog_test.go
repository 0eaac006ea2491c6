// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// fog is a way to the hub on which the hub answers like one that has just started, or
// whose roles were lost.
type fog struct {
	hub http.Handler
	// refused counts what was not let through.
	refused atomic.Int64
	mu      sync.Mutex
	answer  fogAnswer
	clear   context.Context //nolint:containedctx // of all requests under way
	end     context.CancelFunc
}

// fogAnswer is what a request gets in place of the hub's answer; 0: it passes.
type fogAnswer func(path string) int

// clearly lets everything pass.
func clearly(string) int { return 0 }

// fogged starts one, and returns a kubeconfig that leads through it.
func (s *scenario) fogged() (*fog, string) {
	s.Helper()
	f := &fog{}
	f.become(clearly)
	to, err := url.Parse(s.lab.hub.config.Host)
	if err != nil {
		s.Fatal(err)
	}
	transport, err := rest.TransportFor(s.lab.hub.config)
	if err != nil {
		s.Fatal(err)
	}
	f.hub = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     transport,
		FlushInterval: -1, // watches
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(f)
	s.Cleanup(func() {
		f.become(func(string) int { return http.StatusServiceUnavailable })
		server.Close()
	})
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["hub"] = &clientcmdapi.Context{Cluster: "hub"}
	config.CurrentContext = "hub"
	file := filepath.Join(s.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		s.Fatal(err)
	}
	return f, file
}

// become ends all requests that are under way; the next ones are answered so.
func (f *fog) become(a fogAnswer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.end != nil {
		f.end()
	}
	f.answer = a
	f.clear, f.end = context.WithCancel(context.Background())
}

func (f *fog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	code, clear := f.answer(r.URL.Path), f.clear
	f.mu.Unlock()
	if code == 0 {
		ctx, cancel := context.WithCancel(r.Context())
		defer context.AfterFunc(clear, cancel)()
		f.hub.ServeHTTP(w, r.WithContext(ctx))
		return
	}
	f.refused.Add(1)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	reason := metav1.StatusReasonNotFound
	if code == http.StatusForbidden {
		reason = metav1.StatusReasonForbidden
	}
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: "it cannot be told", //nolint:gosec // of three digits
	})
}

// A hub that does not find anything for some seconds, because it has just started or
// lost its roles, has lost nothing: whoever asks it then takes nothing away.
func TestZ1AHubThatCannotTell(t *testing.T) {
	custom := func(path string) bool {
		group, _, _ := strings.Cut(strings.TrimPrefix(path, "/apis/"), "/")
		return strings.HasPrefix(path, "/apis/") && strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
	}
	var hub *fog
	alone(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		cm, placed := s.aside()
		s.Apply(placed)
		s.Says(placed, carried...)
		s.Expect(nginx).ClaimedBy(p).Works(members...).Binding(isCondition("FullyApplied", "True"))
		s.Rest()
		before, aside := s.uids(nginx, members...), s.uids(cm, members...)
		s.whileAway(func() {
			s.party.together(func() {
				var way string
				hub, way = s.fogged()
				s.second(way)
			})
			for i, tc := range []struct {
				what   string
				answer fogAnswer
			}{
				{"finds nothing at all", func(string) int { return http.StatusNotFound }},
				{"does not serve custom kinds yet", func(path string) int {
					if custom(path) {
						return http.StatusNotFound
					}
					return 0
				}},
				{"has lost its roles", func(string) int { return http.StatusForbidden }},
			} {
				s.party.together(func() {
					asked := hub.refused.Load()
					hub.become(tc.answer)
					pause(s.Context(), 5*time.Second)
					if hub.refused.Load() == asked {
						s.Errorf("the hub %s: nobody asked it anything meanwhile", tc.what)
					}
					hub.become(clearly)
				})
				s.Settle()
				s.Expect(nginx).In(members...).Works(members...).ClaimedBy(p)
				s.Says(placed, carried...)
				s.goesOn(nginx, int64(i+2), before, members...)
				s.same(cm, aside, members...)
			}
		})
		s.goesOn(nginx, 9, before, members...)
		s.same(cm, aside, members...)
	})
}
