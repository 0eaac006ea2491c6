// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
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

	"k8s.io/apimachinery/pkg/util/rand"
)

// A member from which nothing of use comes is not Ready, says so, delays nobody, and
// leaves when it is told to.
func TestZ31MembersThatAreOfNoUse(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		p := s.Policy("pp").set("spec.placement", map[string]any{}) // to whoever there is
		s.Apply(p.SelectingKind(s.ConfigMap("")))
		useless := map[string]string{ // address by name
			"z31-silent":    s.silent(),
			"z31-endless":   s.serves(endless),
			"z31-elsewhere": s.serves(http.RedirectHandler(s.lab.clusters["member1"].config.Host, http.StatusTemporaryRedirect).ServeHTTP),
		}
		s.undelayed(func() []arrival {
			quiet := s.arrives(members...)
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
			beside := s.arrives(members...)
			for name := range useless {
				s.Delete(newThing(clusters, "", name))
			}
			s.Expect(quiet.all[0]).In(members...).Works(members...)
			return []arrival{quiet, beside}
		})
	})
}

// A member that takes requests and answers none delays nobody from the first moment, and
// gets everything when it goes on.
func TestZ31AMemberThatFallsSilent(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		s.Apply(s.Policy("pp").toAll().SelectingKind(s.ConfigMap("")))
		stopped := false
		freeze := func(signal syscall.Signal) {
			if err := s.lab.signal("lab/member2/apiserver", signal); err != nil {
				s.Error(err)
			}
			stopped = signal == syscall.SIGSTOP
		}
		s.Cleanup(func() {
			if stopped {
				freeze(syscall.SIGCONT)
			}
		})
		s.undelayed(func() []arrival {
			quiet := s.arrives("member1", "member3")
			s.Expect(quiet.all[len(quiet.all)-1]).In(members...)
			s.party.together(func() { freeze(syscall.SIGSTOP) })
			unknown := s.arrives("member1", "member3") // nobody knows yet
			s.Expect(newThing(clusters, "", "member2")).Template(isCondition("Ready", "False", "NotReachable"))
			known := s.arrives("member1", "member3")
			first := quiet.all[0]
			s.Apply(first.At(2))
			s.Expect(first).At(2, "member1", "member3").Work("member2", isCondition("Applied", "False"))
			freeze(syscall.SIGCONT)
			s.Expect(newThing(clusters, "", "member2")).Template(isCondition("Ready", "True"))
			s.Expect(first).At(2, members...)
			for _, t := range slices.Concat(unknown.all, known.all) {
				s.Expect(t).In(members...)
			}
			return []arrival{quiet, unknown, known}
		})
	})
}

// A member that answers each request after two seconds gets everything, and delays neither
// new templates on their way to others, nor changes of one template. The one change that
// comes while an event still waits for the member, not knowing yet that it is slow, does
// wait: so the median counts.
func TestZ31AMemberThatIsSlow(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		settings := s.ConfigMap("settings")
		s.Apply(s.Policy("pp").toAll().SelectingKind(settings))
		slow, back := s.through("member2")
		defer back()
		s.Apply(settings)
		s.Expect(settings).In(members...)
		for _, measure := range []func(...string) arrival{s.arrives, s.changes} {
			s.undelayed(func() []arrival {
				slow.delay.Store(0)
				quiet := measure("member1", "member3")
				s.Expect(newThing(clusters, "", "member2")).Template(isCondition("Ready", "True"))
				slow.delay.Store(int64(2 * time.Second))
				beside := measure("member1", "member3")
				s.Logf("at the most %s, and beside a slow member %s", quiet.longest, beside.longest)
				last := beside.all[len(beside.all)-1]
				if err := s.within(2*timeout, func() error { return s.arrived(last, "member2") }); err != nil {
					s.Error(err)
				}
				return []arrival{quiet, beside}
			})
		}
	})
}

// arrival is how long templates made one after another took into members.
type arrival struct {
	all             []template
	median, longest time.Duration
}

// undelayed tells whether templates arrive beside a member of no use as soon as they did
// when all was well, which a trial measures first. Something else may make the machine
// slow for a moment; what a member delays, it delays in each trial.
func (s *scenario) undelayed(trial func() []arrival) {
	s.Helper()
	const trials = 4
	for i := range trials {
		took := trial()
		limit := took[0].median*3/2 + 100*time.Millisecond
		beside := slices.MaxFunc(took[1:], func(a, b arrival) int { return cmp.Compare(a.median, b.median) })
		s.Logf("a template arrives after %s, and beside a member of no use after %s", took[0].median, beside.median)
		if s.Failed() || beside.median <= limit {
			return
		}
		if i == trials-1 {
			s.Errorf("a template arrives after %s instead of %s, and each of %d trials was like that", beside.median, took[0].median, trials)
		}
	}
}

// arrives makes ten templates, one after another, and measures how long each takes from
// the hub into those members.
func (s *scenario) arrives(in ...string) arrival {
	s.Helper()
	return s.times(func(int64) template { return s.ConfigMap("settings-" + rand.String(8)) }, in)
}

// changes changes a template ten times, each time when those members have what it said
// before, and measures how long each change takes.
func (s *scenario) changes(in ...string) arrival {
	s.Helper()
	t := s.ConfigMap("changes-" + rand.String(8))
	s.Apply(t)
	s.Expect(t).At(1, in...)
	return s.times(func(i int64) template { return t.At(i + 2) }, in)
}

func (s *scenario) times(next func(i int64) template, in []string) arrival {
	s.Helper()
	var a arrival
	var took []time.Duration
	for i := range int64(10) {
		t := next(i)
		a.all = append(a.all, t)
		began := time.Now()
		s.Apply(t)
		s.Eventually(func() error { return s.arrived(t, in...) })
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	a.median, a.longest = took[len(took)/2], took[len(took)-1]
	return a
}

// arrived is nil if the members have the template as it is.
func (s *scenario) arrived(t template, in ...string) error {
	e := s.Expect(t)
	for _, m := range in {
		o := e.inMember(m)
		if o == nil {
			return fmt.Errorf("%s is not in %s", t, m)
		}
		if is, want := e.content(o), contentOf(t.resource, t.body); is != want {
			return fmt.Errorf("%s in %s has content %s, want %s", t, m, is, want)
		}
	}
	return nil
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
