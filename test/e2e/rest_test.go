// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice.dev/test/ports"
)

// crowd makes templates of several kinds under several policies, in all states:
// propagated, pending, suspended, unclaimed, unschedulable.
func (s *scenario) crowd() {
	s.Helper()
	nginx, config, secret := s.Template("nginx"), s.ConfigMap("config"), s.Secret("secret")
	lazy, held, lost := s.Template("lazy"), s.Template("held"), s.Template("lost")
	s.Apply(s.Policy("pp").Selecting(nginx, config, secret).toAll(), nginx, config, secret)
	s.Apply(s.Policy("lazy").Selecting(lazy).Lazy(), lazy)
	s.Apply(s.Policy("held").Selecting(held).To("member1", "member2").SuspendedOn("member2"), held)
	s.Apply(s.Policy("lost").Selecting(lost).To("no-such"), lost, s.Template("nobodys"))
	s.Expect(nginx).In(members...)
	s.Expect(config).In(members...)
	s.Expect(secret).In(members...)
	s.Expect(lazy).In("member1")
	s.Expect(held).In("member1").Works("member1", "member2")
	s.Expect(lost).Binding(isCondition("Scheduled", "False"))
	s.Apply(s.Policy("lazy").Selecting(lazy).Lazy().To("member2"))
	s.Expect(lazy).Binding(isCondition("Active", "False"))
}

// Silent is that nothing of the scenario is written at all: no template, no
// policy, no binding, no Work, nothing in a member.
func (s *scenario) Silent(do func()) {
	s.Helper()
	s.canary()
	s.Rest()
	mark := map[*mirror]int{}
	for _, c := range s.lab.clusters {
		for _, m := range c.all() {
			mark[m] = len(m.since(s.ns, 0))
		}
	}
	do()
	s.Settle()
	for m, n := range mark {
		for _, c := range m.since(s.ns, n) {
			about, _ := at(c.after.Object, "involvedObject.name").(string)
			if !c.ofCanary() && !c.byCluster() && !c.ownStatus() && !strings.HasPrefix(about, canary) &&
				!strings.HasPrefix(text(c.after.Object, "spec.resource.name"), canary) && m.resource != namespaces {
				s.Errorf("a write that must not be: %s", c)
			}
		}
	}
}

func TestRestRestartWritesNothing(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		s.crowd()
		s.Silent(s.Restart)
	})
}

func TestRestFlushWritesNothing(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		s.crowd()
		s.Silent(s.Flush)
		s.Silent(func() { s.Flush(); s.Restart() })
	})
}

// A suspension holds, whatever is lost.
func TestRestSuspensionHolds(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Apply(p.SuspendedOn("member2"))
		s.Expect(nginx).Work("member2", isSuspended)
		s.Flush()
		s.Apply(nginx.At(2))
		s.Expect(nginx).At(2, "member1", "member3")
		s.Restart()
		s.Apply(nginx.At(3))
		s.Expect(nginx).At(3, "member1", "member3")
		s.still(nginx, 1, "member2")
		s.Expect(nginx).had("member2", "1")
		s.Apply(p.Resumed())
		s.Expect(nginx).At(3, "member2")
	})
}

// What is made, changed and deleted while the pipeline is away is caught up.
func TestY7WhileAway(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		p, lazy := s.Policy("pp").toAll(), s.Policy("lazy").Lazy()
		nginx, late, gone, waits := s.Template("nginx"), s.Template("late"), s.Template("gone"), s.Template("waits")
		s.Apply(p.Selecting(nginx, late, gone), nginx, gone)
		s.Apply(lazy.Selecting(waits), waits)
		s.Expect(nginx).In(members...)
		s.Expect(gone).In(members...)
		s.Expect(waits).In("member1")
		for round := range int64(2) {
			s.whileAway(func() {
				for n := range int64(5) {
					s.Apply(nginx.At(10*round + n + 2))
				}
				s.Apply(lazy.Selecting(waits).To(members[1+round]))
				if round == 0 {
					s.Delete(gone)
					s.Apply(late)
				}
			})
			s.Expect(nginx).At(10*round+6, members...)
		}
		s.Expect(late).In(members...)
		s.Expect(gone).Nowhere()
		s.Settle()
		s.Expect(waits).In("member1").NeverIn("member2").NeverIn("member3")
	})
}

// The same with a member: the other stages go on, and nothing is lost.
func TestY7MemberAway(t *testing.T) {
	alone(t, gatesOff, inNamespaces, func(s *scenario) {
		p, nginx := s.spread()
		s.Stop("member3")
		for n := range int64(5) {
			s.Apply(nginx.At(n + 2))
			s.Expect(nginx).At(n+2, "member1", "member2")
		}
		s.Apply(p.To("member1", "member3"))
		s.Expect(nginx).At(6, "member1").Works("member1", "member3")
		s.Flush()
		s.Start("member3")
		s.Expect(nginx).In("member1", "member3").At(6)
		s.Expect(nginx).had("member3", "1", "6")
	})
}

// Everything at once: one policy holds each template, and it is in force.
func TestY8AtOnce(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		a, b, nginx := s.Policy("a").To("member1"), s.Policy("b").To("member2"), s.Template("nginx")
		s.own(a.thing)
		s.own(b.thing)
		var all sync.WaitGroup
		for _, o := range []applied{b, nginx, a} {
			all.Go(func() {
				if _, err := s.lab.hub.on(o.itself().resource, o.itself().namespace()).Apply(s.Context(), o.itself().name(), o.itself().object(), applyOptions); err != nil {
					s.Errorf("apply %s: %v", o.itself(), err)
				}
			})
		}
		all.Wait()
		s.own(nginx.thing)
		s.Settle()
		holder, place := a, "member1"
		if name := claim(s.Live(nginx)); name[ppName] == b.name() || name[cppNam] == b.name() {
			holder, place = b, "member2"
		}
		s.Expect(nginx).ClaimedBy(holder).In(place).Works(place)
	})
}

// second starts another process of the pipeline beside that of the lab, with a Redis
// of its own unless args name one, and returns when it is ready.
func (s *scenario) second(hub string, args ...string) {
	s.Helper()
	address, err := ports.Free()
	if err != nil {
		s.Fatal(err)
	}
	args = append([]string{"--hub-kubeconfig", hub, "--listen", address, "--webhook=false"}, args...)
	cmd := exec.Command(filepath.Join(s.lab.dir, "bin", "standalone"), args...) //nolint:gosec // own program
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		s.party.together(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	})
	s.Eventually(func() error {
		resp, err := http.Get("http://" + address + "/readyz") //nolint:noctx // a test
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		return differs("readyz", resp.StatusCode, http.StatusOK)
	})
}

// Two processes of all stages do everything at the same time: what one decides the
// other decides as well, one write wins, and both come to rest.
func TestY8TwoProcesses(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		s.party.together(func() { s.second(s.lab.kubeconfig("hub")) })
		log := s.auditLog()
		mark := s.sizeOf(log)
		p, nginx := s.spread()
		s.Expect(nginx).ClaimedBy(p).Works(members...).Binding(isCondition("FullyApplied", "True"))
		before := s.uids(nginx, members...)
		for n := range int64(5) {
			s.Apply(nginx.At(n + 2))
			s.Expect(nginx).At(n+2, members...)
		}
		// Who read a Work before the other one wrote it may put back for a moment what
		// was there, which the other one sees and mends.
		s.Expect(nginx).At(6, members...)
		s.same(nginx, before, members...)
		s.Apply(p.To("member1"))
		s.Expect(nginx).In("member1").Works("member1")
		s.Apply(p)
		s.Expect(nginx).In(members...).Works(members...)
		s.Silent(func() {})
		s.Expect(nginx).At(6, members...).ClaimedBy(p)
		writes, lost := 0, 0
		for e := range s.audited(log, mark) {
			switch {
			case !e.writes():
			case e.ResponseStatus.Code == http.StatusConflict:
				lost++
			default:
				writes++
			}
		}
		if writes == 0 || lost > writes {
			s.Errorf("%d writes to the hub, and %d races lost: at most one for each", writes, lost)
		}
	})
}

// A template is on its way and back within 6 + 2N writes to the hub. Counted in
// the hub's audit log; Kubernetes events are not counted.
func TestBudgetHubWrites(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		log := s.auditLog()
		for _, tc := range []struct {
			t  template
			to []string
		}{{s.ConfigMap("config"), members}, {s.ConfigMap("single"), members[:1]}, {s.Deployment("nginx"), members}} {
			s.Apply(s.Policy("for-" + tc.t.name()).Selecting(tc.t).To(tc.to...))
			s.Settle()
			mark := s.sizeOf(log)
			s.Apply(tc.t)
			s.Expect(tc.t).In(tc.to...).Binding(isCondition("FullyApplied", "True"))
			s.Rest()
			s.Settle()
			writes := s.hubWrites(log, mark, tc.t.name())
			if most := 6 + 2*len(tc.to); len(writes) > most || len(writes) == 0 {
				s.Errorf("%s to %d members took %d writes to the hub, at most %d are allowed:\n%s", tc.t, len(tc.to), len(writes), most, strings.Join(writes, "\n"))
			}
		}
	})
}

// hubWrites are the pipeline's writes to the hub about one template.
func (s *scenario) hubWrites(log string, mark int64, name string) []string {
	var out []string
	for e := range s.audited(log, mark) {
		ref := e.ObjectRef
		ours := ref.Namespace == s.ns || strings.HasPrefix(ref.Namespace, "karmada-es-")
		if e.writes() && e.ResponseStatus.Code < 400 && ref.Resource != "events" && ours && s.isAbout(ref.Namespace, ref.Name, name) {
			out = append(out, fmt.Sprintf("%s %s %s/%s %s/%s: %d", e.StageTimestamp, e.Verb, ref.Resource, ref.Subresource, ref.Namespace, ref.Name, e.ResponseStatus.Code))
		}
	}
	return out
}

// isAbout tells whether a name on the hub is made of a template's: that of the
// template itself, of its binding, revision or Work.
func (s *scenario) isAbout(namespace, object, name string) bool {
	if namespace == s.ns {
		return object == name || strings.HasPrefix(object, name+"-") || object == ""
	}
	return slices.ContainsFunc(members, func(m string) bool {
		for _, kind := range []template{s.Deployment(name), s.ConfigMap(name)} {
			if w := s.Expect(kind).work(m); w != nil && w.GetName() == object {
				return true
			}
		}
		return false
	})
}

// Ten templates made and deleted, and one write of its status in a few
// seconds.
func TestRestPolicyStatus(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy(), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		counts := func(field string, want int64) func(obj map[string]any) error {
			return func(obj map[string]any) error {
				return differs("status.templates."+field, number(obj, "status.templates."+field), want)
			}
		}
		s.Expect(p).Template(counts("claimed", 1)).Template(counts("active", 1))
		s.Apply(p.To("member2"))
		s.Expect(p).Template(counts("pending", 1)).Template(func(obj map[string]any) error {
			if number(obj, "status.observedGeneration") != number(obj, "metadata.generation") {
				return errors.New("status.observedGeneration is behind")
			}
			return nil
		})
		s.Apply(p.To("member2").Suspended())
		s.Expect(p).Template(counts("suspended", 1))
		s.Delete(nginx)
		s.Expect(p).Template(counts("claimed", 0))
		mark, since := len(s.lab.hub.mirror(p.resource).since(s.ns, 0)), time.Now()
		for range 10 {
			s.Apply(nginx)
			s.Delete(nginx)
		}
		s.Settle()
		writes := len(s.lab.hub.mirror(p.resource).since(s.ns, mark))
		if most := 1 + int(time.Since(since)/time.Second); writes > most {
			s.Errorf("the policy's status was written %d times in %s", writes, time.Since(since))
		}
	})
}
