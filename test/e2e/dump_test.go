// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// dump is what there is of a scenario, for whoever has to find out why it
// failed.
func (s *scenario) dump() string {
	var b strings.Builder
	fmt.Fprintf(&b, "what there is of %s:\n", s.ns)
	for _, m := range s.lab.hub.all() {
		for _, o := range m.of(s.ns) {
			if m.resource == k8sEvents || m.resource == namespaces {
				continue
			}
			meta := map[string]any{"labels": o.GetLabels(), "annotations": o.GetAnnotations(), "generation": o.GetGeneration(), "deleting": o.GetDeletionTimestamp()}
			fmt.Fprintf(&b, "hub %s %s\n  meta %s\n", m.resource.kind, keyOf(o), asJSON(meta))
			if m.resource == works || m.resource == bindings {
				fmt.Fprintf(&b, "  spec %.1200s\n", asJSON(o.Object["spec"]))
			}
			fmt.Fprintf(&b, "  conditions %s\n", asJSON(at(o.Object, "status.conditions")))
		}
	}
	s.dumpPolicies(&b)
	for _, member := range members {
		for _, m := range s.lab.clusters[member].all() {
			for _, o := range m.of(s.ns) {
				fmt.Fprintf(&b, "%s %s %s content %s labels %s\n", member, m.resource.kind, keyOf(o), contentOf(m.resource, o.Object), asJSON(o.GetLabels()))
			}
		}
	}
	s.dumpHistory(&b)
	return b.String()
}

func (s *scenario) dumpPolicies(b *strings.Builder) {
	if l, err := s.lab.hub.on(policies, s.ns).List(s.background(), metav1.ListOptions{}); err == nil {
		for _, p := range l.Items {
			fmt.Fprintf(b, "hub policy %s generation %d labels %s\n  %s\n", p.GetName(), p.GetGeneration(), asJSON(p.GetLabels()), asJSON(p.Object["spec"]))
		}
	}
	for _, o := range s.owned {
		if o.resource != clusterPolicies {
			continue
		}
		if p, err := s.lab.hub.on(clusterPolicies, "").Get(s.background(), o.name(), metav1.GetOptions{}); err == nil {
			fmt.Fprintf(b, "hub cluster policy %s generation %d labels %s\n  %s\n", p.GetName(), p.GetGeneration(), asJSON(p.GetLabels()), asJSON(p.Object["spec"]))
		}
	}
}

// dumpHistory tells all writes in their order.
func (s *scenario) dumpHistory(b *strings.Builder) {
	var all []change
	for _, c := range append([]string{"hub"}, members...) {
		for _, m := range s.lab.clusters[c].all() {
			for _, w := range m.since(s.ns, 0) {
				if !w.ofCanary() && !w.byCluster() && m.resource != namespaces {
					all = append(all, w)
				}
			}
		}
	}
	slices.SortStableFunc(all, func(x, y change) int { return x.at.Compare(y.at) })
	for _, c := range all {
		if c.after.GetKind() == k8sEvents.kind {
			fmt.Fprintf(b, "%s event about %s: %s: %s\n", c.at.Format("15:04:05.000"), text(c.after.Object, "involvedObject.name"), text(c.after.Object, "reason"), text(c.after.Object, "message"))
			continue
		}
		fmt.Fprintf(b, "%s %.600s\n", c.at.Format("15:04:05.000"), c)
	}
}
