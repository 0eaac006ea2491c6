// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A member from which nothing of use comes is not Ready, says so, delays nobody, and
// leaves when it is told to.
func TestZ31MembersThatAreOfNoUse(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		var all []template
		p := s.Policy("pp").set("spec.placement", map[string]any{}) // to whoever there is
		for i := range 20 {
			all = append(all, s.ConfigMap(fmt.Sprintf("settings-%02d", i)))
		}
		s.Apply(p.Selecting(all...))
		quiet := s.arrivals(all[:10], members...)
		useless := map[string]string{ // address by name
			"z31-silent":    s.silent(),
			"z31-endless":   s.serves(endless),
			"z31-elsewhere": s.serves(http.RedirectHandler(s.lab.clusters["member1"].config.Host, http.StatusTemporaryRedirect).ServeHTTP),
		}
		for name, address := range useless {
			s.join(name, address)
		}
		for name := range useless {
			s.Expect(newThing(clusters, "", name)).Template(func(o map[string]any) error {
				if c := conditionOf(o, "Ready"); text(c, "status") != "False" || text(c, "message") == "" {
					return fmt.Errorf("%s: Ready is %s: %s: %s", name, text(c, "status"), text(c, "reason"), text(c, "message"))
				}
				return nil
			})
		}
		s.undelayed(quiet, s.arrivals(all[10:], members...))
		for name := range useless {
			s.Delete(newThing(clusters, "", name))
		}
		s.Expect(all[0]).In(members...).Works(members...)
	})
}

// A member that takes requests and answers none delays nobody from the first moment, and
// gets everything when it goes on.
func TestZ31AMemberThatFallsSilent(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		var all []template
		for i := range 30 {
			all = append(all, s.ConfigMap(fmt.Sprintf("settings-%02d", i)))
		}
		s.Apply(s.Policy("pp").toAll().Selecting(all...))
		quiet := s.arrivals(all[:10], "member1", "member3")
		s.Expect(all[9]).In(members...)
		stopped := false
		freeze := func(signal syscall.Signal) {
			if err := s.lab.signal("lab/member2/apiserver", signal); err != nil {
				s.Error(err)
			}
			stopped = signal == syscall.SIGSTOP
		}
		s.party.together(func() { freeze(syscall.SIGSTOP) })
		s.Cleanup(func() {
			if stopped {
				freeze(syscall.SIGCONT)
			}
		})
		s.undelayed(quiet, s.arrivals(all[10:20], "member1", "member3")) // nobody knows yet
		s.Expect(newThing(clusters, "", "member2")).Template(isCondition("Ready", "False", "NotReachable"))
		s.undelayed(quiet, s.arrivals(all[20:], "member1", "member3"))
		s.Apply(all[0].At(2))
		s.Expect(all[0]).At(2, "member1", "member3").Work("member2", isCondition("Applied", "False"))
		freeze(syscall.SIGCONT)
		s.Expect(newThing(clusters, "", "member2")).Template(isCondition("Ready", "True"))
		s.Expect(all[0]).At(2, members...)
		for _, t := range all[10:] {
			s.Expect(t).In(members...)
		}
	})
}

// undelayed tells whether templates arrive as soon as they did when all was well.
func (s *scenario) undelayed(quiet, beside time.Duration) {
	s.Helper()
	s.Logf("a template arrives after %s, and beside a member of no use after %s", quiet, beside)
	if beside > quiet*3/2+100*time.Millisecond {
		s.Errorf("a template arrives after %s instead of %s", beside, quiet)
	}
}

// arrivals is the median of how long each takes from the hub into those members.
func (s *scenario) arrivals(all []template, in ...string) time.Duration {
	s.Helper()
	var took []time.Duration
	for _, t := range all {
		began := time.Now()
		s.Apply(t)
		s.Eventually(func() error {
			for _, m := range in {
				if s.Expect(t).inMember(m) == nil {
					return fmt.Errorf("%s is not in %s", t, m)
				}
			}
			return nil
		})
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// join lets a member join by the address alone.
func (s *scenario) join(name, address string) {
	s.Helper()
	secret := newThing(secrets, systemNamespace, name).with("stringData", map[string]any{"token": "nobody's"})
	s.own(secret)
	s.Apply(secret)
	s.Apply(newThing(clusters, "", name).with("spec", map[string]any{
		"syncMode": "Push", "apiEndpoint": address, "insecureSkipTLSVerification": true,
		"secretRef": map[string]any{"namespace": systemNamespace, "name": name},
	}))
}

// silent is the address of one that takes connections, and says nothing.
func (s *scenario) silent() string {
	s.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	var mu sync.Mutex
	var held []net.Conn
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			held = append(held, c)
			mu.Unlock()
		}
	}()
	s.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range held {
			_ = c.Close()
		}
	})
	return "https://" + listener.Addr().String()
}

// serves is the address of one that answers so.
func (s *scenario) serves(answer http.HandlerFunc) string {
	server := httptest.NewUnstartedServer(answer)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	s.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// endless answers what begins as it should, and has no end.
func endless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	part := []byte(strings.Repeat(" ", 1<<16))
	for r.Context().Err() == nil {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}
