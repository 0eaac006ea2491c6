// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
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

// fog is a way to a cluster on which that answers like one that has just started, or
// whose roles were lost.
type fog struct {
	cluster http.Handler
	// delay is how long each request takes at least.
	delay atomic.Int64
	// passed and refused count requests.
	passed, refused atomic.Int64
	mu              sync.Mutex
	answer          fogAnswer
	clear           context.Context //nolint:containedctx // of all requests under way
	end             context.CancelFunc
}

// fogAnswer is what a request gets in place of the hub's answer; 0: it passes.
type fogAnswer func(path string) int

// clearly lets everything pass.
func clearly(string) int { return 0 }

// fogged starts one, and returns a kubeconfig that leads through it.
func (s *scenario) fogged(c *cluster) (*fog, string) {
	s.Helper()
	f := &fog{}
	f.become(clearly)
	to, err := url.Parse(c.config.Host)
	if err != nil {
		s.Fatal(err)
	}
	transport, err := rest.TransportFor(c.config)
	if err != nil {
		s.Fatal(err)
	}
	f.cluster = &httputil.ReverseProxy{
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
	config.Clusters["fog"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["fog"] = &clientcmdapi.Context{Cluster: "fog"}
	config.CurrentContext = "fog"
	file := filepath.Join(s.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		s.Fatal(err)
	}
	return f, file
}

// through has the pipeline reach a member through a fog, until back is called.
func (s *scenario) through(member string) (f *fog, back func()) {
	s.Helper()
	secret := newThing(secrets, systemNamespace, member)
	reach := func(kubeconfig string) { s.Patch(secret, fmt.Sprintf(`{"data":{"kubeconfig":%q}}`, kubeconfig)) }
	kept := text(s.Live(secret).Object, "data.kubeconfig")
	f, way := s.fogged(s.lab.clusters[member])
	raw, err := os.ReadFile(way) //nolint:gosec // the test's own
	if err != nil {
		s.Fatal(err)
	}
	reach(base64.StdEncoding.EncodeToString(raw))
	s.Eventually(func() error {
		if f.passed.Load() == 0 {
			return errors.New("nobody goes this way")
		}
		return nil
	})
	return f, func() { reach(kept) }
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
		f.passed.Add(1)
		pause(ctx, time.Duration(f.delay.Load()))
		f.cluster.ServeHTTP(w, r.WithContext(ctx))
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
				hub, way = s.fogged(s.lab.hub)
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

// A member that does not find anything for some seconds may have everything: what is to
// leave it leaves it afterwards.
func TestZ1AMemberThatCannotTell(t *testing.T) {
	const where = "member3"
	var (
		member *fog
		back   func()
	)
	alone(t, gatesOff, everyForm, func(s *scenario) {
		defer s.party.together(func() { back() })
		s.party.together(func() { member, back = s.through(where) })
		p, stays, goes := s.Policy("pp").toAll(), s.Template("stays"), s.Template("goes")
		s.Apply(p.Selecting(stays, goes), stays, goes)
		s.Expect(stays).In(members...)
		s.Expect(goes).In(members...)
		s.Rest()
		before := s.uids(stays, members...)
		s.party.together(func() { member.become(func(string) int { return http.StatusNotFound }) })
		s.Delete(goes)
		s.Expect(goes).In(where)
		s.party.together(func() {
			pause(s.Context(), 5*time.Second)
			member.become(clearly)
		})
		s.Expect(goes).Nowhere().Works()
		s.goesOn(stays, 2, before, members...)
	})
}
