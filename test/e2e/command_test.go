// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Sluice runs kubectl-sluice against the hub, in the scenario's namespace.
func (s *scenario) Sluice(args ...string) (string, error) {
	s.Helper()
	cmd := s.lab.program(s.Context(), "kubectl-sluice", "hub", append(args, "-n", s.ns)...)
	if _, err := os.Stat(cmd.Path); err != nil {
		s.Skip("kubectl-sluice is not built: make build")
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// program is one of the lab's, on a cluster.
func (l *lab) program(ctx context.Context, name, cluster string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, filepath.Join(l.dir, "bin", name), append(args, "--kubeconfig", l.kubeconfig(cluster))...) //nolint:gosec // own program
}

// kubeconfig is the file for a cluster.
func (l *lab) kubeconfig(cluster string) string { return filepath.Join(l.dir, "kubeconfig", cluster) }

// held back by the gate: three templates of pp and one of another policy.
func (s *scenario) heldBack() (mine []template, others template) {
	s.Helper()
	p, q := s.Policy("pp"), s.Policy("qq")
	for i := range 3 {
		mine = append(mine, s.Template(fmt.Sprintf("mine%d", i)))
		s.Apply(mine[i])
	}
	others = s.Template("others")
	s.Apply(others, p.Selecting(mine...), q.Selecting(others))
	for _, t := range append(mine, others) {
		s.Expect(t).In("member1")
	}
	s.Apply(p.Selecting(mine...).To("member2"), q.Selecting(others).To("member2"))
	for _, t := range append(mine, others) {
		s.Expect(t).Binding(isCondition("Active", "False"))
	}
	return mine, others
}

// ST33, ST34: what waits of one policy acts now, and nothing else does.
func TestST33ST34ReconcileByPolicy(t *testing.T) {
	each(t, static, everyForm, func(s *scenario) {
		mine, others := s.heldBack()
		label := ppName + "=pp"
		if s.clusterPolicy {
			label = cppNam + "=" + s.unique("pp")
		}
		args := []string{"reconcile", "all", "-l", label}
		if s.clusterTemplate {
			args = append(args, "-A")
		}
		s.Unchanged(func() {
			out, err := s.Sluice(append(args, "--dry-run")...)
			if err != nil || !strings.Contains(out, "member2") {
				s.Errorf("dry run: %v\n%s", err, out)
			}
		})
		out, err := s.Sluice(args...)
		if err != nil {
			s.Errorf("reconcile: %v\n%s", err, out)
		}
		for _, t := range mine {
			s.Expect(t).In("member2")
			if !strings.Contains(out, t.name()) {
				s.Errorf("nothing is said of %s:\n%s", t, out)
			}
		}
		s.Settle()
		s.Expect(others).In("member1")
	})
}

// ST35: what fails is told for each template, the others go on, and the same
// command tries again.
func TestST35PartialFailure(t *testing.T) {
	each(t, static, inNamespaces, func(s *scenario) {
		good, bad := s.Template("good"), s.Template("bad")
		p, q := s.Policy("good").Selecting(good), s.Policy("bad").Selecting(bad)
		s.Apply(p, q, good, bad)
		s.Expect(good).In("member1")
		s.Expect(bad).In("member1")
		s.Apply(p.To("member2"), q.To("no-such"))
		s.Expect(good).Binding(isCondition("Active", "False"))
		s.Expect(bad).Binding(isCondition("Active", "False"))
		args := []string{"activate", "deployment/bad", "deployment/good", "--keep-going", "--wait"}
		out, err := s.Sluice(append(args, "--timeout", "5s")...)
		if err == nil || !strings.Contains(out, "bad") {
			s.Errorf("what was not placed is no failure: %v\n%s", err, out)
		}
		s.Expect(good).In("member2")
		s.Apply(q.To("member3"))
		s.Expect(bad).Binding(isCondition("Active", "False"))
		if out, err := s.Sluice(args...); err != nil {
			s.Errorf("once more: %v\n%s", err, out)
		}
		s.Expect(bad).In("member3")
	})
}

// metrics are those that the pipeline serves.
func (s *scenario) metrics() string {
	s.Helper()
	file := filepath.Join(s.lab.dir, "pipeline.address")
	address, err := os.ReadFile(file) //nolint:gosec // the lab's own
	if err != nil {
		s.Skip("it is not known where the pipeline serves its metrics:", err)
	}
	resp, err := http.Get("http://" + strings.TrimSpace(string(address)) + "/metrics") //nolint:noctx // a test
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return string(raw)
}

// preempted reads the pipeline's counter.
func (s *scenario) preempted(result string) float64 {
	s.Helper()
	m := regexp.MustCompile("(?m)^policy_preemption_total\\{result=\"" + result + "\"\\} (.*)$").FindStringSubmatch(s.metrics())
	if m == nil {
		return 0
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		s.Fatal(err)
	}
	return n
}

func TestP41Counter(t *testing.T) {
	alone(t, preemption, []form{pp}, func(s *scenario) {
		low, one, two := s.Policy("low"), s.Template("nginx"), s.Template("two")
		s.Apply(low.Selecting(one, two), one, two)
		s.Expect(one).In("member1").ClaimedBy(low)
		s.Expect(two).In("member1").ClaimedBy(low)
		success, failure := s.preempted("success"), s.preempted("error")
		s.Apply(s.Policy("high").Selecting(one, two).Priority(1).Always().To("member2"))
		s.Expect(one).In("member2")
		s.Expect(two).In("member2")
		s.Eventually(func() error { return differs("policy_preemption_total, success", s.preempted("success")-success, 2.0) })
		s.Settle()
		if n := s.preempted("success") - success; n != 2 {
			s.Errorf("policy_preemption_total, success, grew by %v for two templates", n)
		}
		if n := s.preempted("error") - failure; n != 0 {
			s.Errorf("policy_preemption_total, error, grew by %v", n)
		}
	})
}

// P32: pre-empting reads what the selectors name and lists no templates.
// Counted in the hub's audit log.
func TestP32NoListOfTemplates(t *testing.T) {
	each(t, preemption, []form{pp}, func(s *scenario) {
		log := s.auditLog()
		_, nginx := s.held(0)
		s.Rest()
		mark := s.sizeOf(log)
		s.Apply(s.Policy("high").Priority(1).Always().To("member2"))
		s.Expect(nginx).In("member2")
		s.Settle()
		asked := 0
		for e := range s.audited(log, mark) {
			asked++
			if e.Verb == "list" && e.ObjectRef.Resource == "deployments" {
				s.Errorf("deployments were listed: %s", asJSON(e))
			}
		}
		if asked == 0 {
			s.Error("the log tells of no request of the pipeline's, which wrote a claim at least")
		}
	})
}

// audit is a line of the hub's audit log, about a request of the pipeline's.
type audit struct {
	Verb, UserAgent, StageTimestamp string
	ObjectRef                       struct{ Resource, Namespace, Name, Subresource string }
	ResponseStatus                  struct{ Code int }
}

func (a audit) writes() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete"}, a.Verb)
}

// auditLog is the hub's; the test is skipped where there is none.
func (s *scenario) auditLog() string {
	s.Helper()
	log := filepath.Join(s.lab.dir, "lab", "hub", "audit.log")
	if _, err := os.Stat(log); err != nil {
		s.Skip("the hub writes no audit log, requests cannot be counted: lab up --audit")
	}
	return log
}

// sizeOf is where the log ends now.
func (s *scenario) sizeOf(log string) int64 {
	s.Helper()
	info, err := os.Stat(log)
	if err != nil {
		s.Fatal(err)
	}
	return info.Size()
}

// audited are the pipeline's requests from an offset in the log on.
func (s *scenario) audited(log string, from int64) func(yield func(audit) bool) {
	return func(yield func(audit) bool) {
		f, err := os.Open(log) //nolint:gosec // the lab's own
		if err != nil {
			s.Error(err)
			return
		}
		defer func() { _ = f.Close() }()
		if _, err := f.Seek(from, io.SeekStart); err != nil {
			s.Error(err)
			return
		}
		for lines := bufio.NewReader(f); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return // the end, or a line that is still being written
			}
			var e audit
			if bytes.Contains(line, []byte(`"sluice/`)) && json.Unmarshal(line, &e) == nil && strings.HasPrefix(e.UserAgent, "sluice/") && !yield(e) {
				return
			}
		}
	}
}
