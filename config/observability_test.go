// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/pipeline/preemptor"
)

// exported are the names of the metrics that a function has, and their labels.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	preemptor.New(nil, nil) // its counters are there from the start
	reg := prometheus.NewRegistry()
	function.NewMetrics(reg)
	descriptions := make(chan *prometheus.Desc)
	go func() {
		reg.Describe(descriptions)
		prometheus.DefaultRegisterer.(*prometheus.Registry).Describe(descriptions)
		close(descriptions)
	}()
	names := map[string][]string{}
	pattern := regexp.MustCompile(`fqName: "(\w+)".* variableLabels: \{([^}]*)\}`)
	for d := range descriptions {
		m := pattern.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("%s is not understood", d)
		}
		names[m[1]] = strings.Split(m[2], ",")
	}
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		names["sluice_handle_seconds"+suffix] = append([]string{"le"}, names["sluice_handle_seconds"]...)
	}
	return names
}

// expressions are those of the dashboard and of the alerts, by title.
func expressions(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	var alerts struct {
		Spec struct {
			Groups []struct {
				Rules []struct{ Alert, Expr string }
			}
		}
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	for file, into := range map[string]any{"alerts.yaml": &alerts, "dashboard.json": &board} {
		raw, err := os.ReadFile("../examples/observability/" + file)
		if err == nil && strings.HasSuffix(file, ".json") {
			err = json.Unmarshal(raw, into)
		} else if err == nil {
			err = yaml.Unmarshal(raw, into)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	for _, g := range alerts.Spec.Groups {
		for _, r := range g.Rules {
			all[r.Alert] = append(all[r.Alert], r.Expr)
		}
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			all[p.Title] = append(all[p.Title], target.Expr)
		}
	}
	return all
}

var (
	metric   = regexp.MustCompile(`\b((?:sluice|policy|process|go)_\w+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`(\w+)(=~|!=|=)"([^"]*)"`)
	fromPods = []string{"pod", "namespace"} // labels that who scrapes adds
)

func TestDashboardAndAlertsAskForWhatThereIs(t *testing.T) {
	has, all := exported(t), expressions(t)
	if len(all) < 10 {
		t.Fatalf("found %v", slices.Collect(maps.Keys(all)))
	}
	for title, exprs := range all {
		for _, expr := range exprs {
			found := metric.FindAllStringSubmatch(expr, -1)
			if len(found) == 0 {
				t.Errorf("%s: %s asks for no metric", title, expr)
			}
			for _, m := range found {
				labels, ok := has[m[1]]
				if !ok {
					t.Errorf("%s: nobody exports %s", title, m[1])
				}
				for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
					checkMatcher(t, title, l[1], l[2], l[3], append(labels, fromPods...))
				}
			}
		}
	}
}

// checkMatcher looks at one label in braces: that the metric has it, and that what
// it is compared with can be.
func checkMatcher(t *testing.T, title, label, operator, value string, labels []string) {
	t.Helper()
	if !slices.Contains(labels, label) {
		t.Errorf("%s: the metric has no label %s", title, label)
	}
	values := map[string][]string{
		"stage":   append([]string{"deadletter"}, stages...),
		"outcome": {string(function.Done), string(function.Conflict), string(function.Terminal), string(function.Refused), string(function.Retry)},
		"type":    append(slices.Collect(maps.Keys(events.Catalog)), sourceTypes...),
		"result":  {"success", "error"},
	}[label]
	whole := regexp.QuoteMeta(value)
	if operator == "=~" {
		whole = value
	}
	re := regexp.MustCompile("^(?:" + whole + ")$")
	if values != nil && !slices.ContainsFunc(values, re.MatchString) {
		t.Errorf("%s: no %s is %s", title, label, value)
	}
}
