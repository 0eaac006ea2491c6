// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// judged are kinds, each with a body that a member makes available, or is at once
// (good), one of which nobody sees that it is (bad), and one of which nobody can tell.
var judged = []struct {
	kind, apiVersion, plural string
	good, bad, untold        string
}{
	{"Deployment", "apps/v1", "deployments", podsBy(`replicas: 1`, ``), podsBy(`replicas: 1`, nowhereToRun), ``},
	{"StatefulSet", "apps/v1", "statefulsets", podsBy(`serviceName: web`, ``), podsBy(`serviceName: web`, nowhereToRun), ``},
	{"DaemonSet", "apps/v1", "daemonsets", podsBy(`revisionHistoryLimit: 2`, ``), podsBy(`revisionHistoryLimit: 2`, tooLargeToRun), ``},
	{"Service", "v1", "services", `{ports: [{port: 80}]}`, `{type: LoadBalancer, ports: [{port: 80}]}`, `{type: ExternalName, externalName: example.org}`},
	{"PodDisruptionBudget", "policy/v1", "poddisruptionbudgets", `{minAvailable: 0, selector: {matchLabels: {app: nothing}}}`, `{minAvailable: 1, selector: {matchLabels: {app: nothing}}}`, ``},
	{"ResourceQuota", "v1", "resourcequotas", `{hard: {pods: "50"}}`, ``, ``},
	{"LimitRange", "v1", "limitranges", `{limits: [{type: PersistentVolumeClaim, max: {storage: 2Gi}}]}`, ``, ``},
	{"NetworkPolicy", "networking.k8s.io/v1", "networkpolicies", `{podSelector: {}}`, ``, ``},
	{"Ingress", "networking.k8s.io/v1", "ingresses", ``, ``, `{defaultBackend: {service: {name: web, port: {number: 80}}}}`},
	{"Job", "batch/v1", "jobs", ``, ``, `{suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}`},
	{"CronJob", "batch/v1", "cronjobs", ``, ``, `{schedule: "0 0 1 1 *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}}}`},
	{"HorizontalPodAutoscaler", "autoscaling/v2", "horizontalpodautoscalers", ``, ``, `{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}, maxReplicas: 3}`},
	{"PersistentVolumeClaim", "v1", "persistentvolumeclaims", ``, ``, `{accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}`},
}

const (
	nowhereToRun  = `, nodeSelector: {nobody: has-it}`
	tooLargeToRun = `, resources: {requests: {cpu: "100000"}}`
)

// podsBy is the spec of what runs pods; more is said of their container, or of them.
func podsBy(spec, more string) string {
	container, pod := ``, more
	if more == tooLargeToRun {
		container, pod = more, ``
	}
	return `{` + spec + `, selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: nginx` + container + `}]` + pod + `}}}`
}

// availability is what the placement's Works in a member say of the availability of each
// object, by its kind.
func (s *scenario) availability(p thing, member string) map[string]string {
	s.Helper()
	all, err := s.lab.hub.on(placedWorks, "fleet-member-"+member).List(s.Context(), metav1.ListOptions{LabelSelector: fleet + "parent-CRP=" + p.name()})
	if err != nil {
		s.Fatal(err)
	}
	said := map[string]string{}
	for _, w := range all.Items {
		for _, m := range items(w.Object, "status.manifestConditions") {
			c := conditionOf(map[string]any{"status": m}, "Available")
			said[text(m, "identifier.kind")] = text(c, "reason") + " " + text(c, "status")
		}
	}
	return said
}

// Each kind is available as it says itself: the placement waits for it, or does not.
func TestC73WhatIsAvailable(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		ns := map[string]string{"good": s.unique("good"), "bad": s.unique("bad"), "untold": s.unique("untold")}
		of, want := map[string]thing{}, map[string]map[string]string{}
		crd, widgets := s.definition("Widget")
		s.define(crd, append([]string{"hub"}, members...)...)
		for name, is := range map[string]string{"good": "Available True", "bad": "ManifestNotAvailableYet False", "untold": "NotTrackable True"} {
			s.Apply(newThing(namespaces, "", ns[name]))
			want[name] = map[string]string{"Namespace": "Available True"}
			for _, k := range judged {
				body := map[string]string{"good": k.good, "bad": k.bad, "untold": k.untold}[name]
				if body == "" {
					continue
				}
				group, version, found := strings.Cut(k.apiVersion, "/")
				if !found {
					group, version = "", group
				}
				var spec map[string]any
				if err := yaml.Unmarshal([]byte(body), &spec); err != nil {
					s.Fatalf("%s: %v", k.kind, err)
				}
				s.Apply(newThing(resource{group: group, version: version, kind: k.kind, plural: k.plural}, ns[name], "x").with("spec", spec))
				want[name][k.kind] = is
			}
			of[name] = s.everywhere().with("metadata.name", fmt.Sprintf("%.60s", ns[name])).with("spec.resourceSelectors", []any{selector(namespaces, ns[name])})
		}
		s.Apply(newThing(configMaps, ns["good"], "x"), newThing(secrets, ns["good"], "x"), newThing(accounts, ns["good"], "x"), newThing(widgets, ns["untold"], "x"))
		want["good"]["ConfigMap"], want["good"]["Secret"], want["good"]["ServiceAccount"], want["untold"]["Widget"] = "Available True", "Available True", "Available True", "NotTrackable True"
		role := s.ClusterRole("x")
		s.Apply(role)
		of["good"] = of["good"].with("spec.resourceSelectors", []any{selector(namespaces, ns["good"]), selector(roles, role.name()), selector(crds, crd.name())})
		want["good"]["ClusterRole"], want["good"]["CustomResourceDefinition"] = "Available True", "Available True"
		s.Apply(of["good"], of["bad"], of["untold"])
		// Before the kind that is in it. Members end namespaces by and by.
		defer s.deleteWithin(3*timeout, s.lab.hub, of["untold"])

		reason := map[string]string{"good": "AllWorkAreAvailable", "bad": "NotAllWorkAreAvailable", "untold": "NotAllWorkAreAvailabilityTrackable"}
		for name, p := range of {
			says := carried
			if name == "bad" {
				says = append(slices.Clone(carried[:5]), "Available ResourceNotAvailableYet False")
			}
			s.Eventually(func() error { // the kind Widget may come to be known a moment after its objects
				for _, member := range members {
					if said := s.availability(p, member); !maps.Equal(said, want[name]) {
						return fmt.Errorf("%s in %s: %v, want %v", name, member, said, want[name])
					}
				}
				return nil
			})
			status := s.Says(p, says...)
			for _, m := range items(status, "placementStatuses") {
				member, c := text(m, "clusterName"), conditionOf(map[string]any{"status": m}, "Available")
				if text(c, "reason") != reason[name] || strings.Contains(text(c, "message"), "WorkNotTrackable") != (name == "untold") {
					s.Errorf("%s in %s: %v, want %s", name, member, c, reason[name])
				}
				var failed, bad []string
				for _, f := range items(m, "failedPlacements") {
					failed = append(failed, text(f, "kind")+" "+text(f, "condition.type")+" "+text(f, "condition.reason"))
				}
				for kind, is := range want[name] {
					if reason, no := strings.CutSuffix(is, " False"); no {
						bad = append(bad, kind+" Available "+reason)
					}
				}
				slices.Sort(failed)
				slices.Sort(bad)
				if !slices.Equal(failed, bad) {
					s.Errorf("%s in %s: failed are %q, want %q", name, member, failed, bad)
				}
			}
		}
		balanced := newThing(services, ns["bad"], "x")
		s.patch(s.lab.clusters[members[0]], balanced, "cloud", `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.7"}]}}}`, "status")
		s.Eventually(func() error { // without anybody's change on the hub
			return differs("availability of "+balanced.String(), s.availability(of["bad"], members[0])["Service"], "Available True")
		})
	})
}

// What somebody changes in a member, adds there or deletes is put right or told, as the
// strategy says. What nobody changed is no drift, whatever a member adds to it.
func TestC76WhichDriftCounts(t *testing.T) {
	rows := map[string]struct {
		compare, when  string
		added, changed bool // counts as drift, and is left
	}{
		"part-always":      {"PartialComparison", "Always", false, false},
		"part-not-drifted": {"PartialComparison", "IfNotDrifted", false, true},
		"full-always":      {"FullComparison", "Always", false, false},
		"full-not-drifted": {"FullComparison", "IfNotDrifted", true, true},
	}
	once(t, gatesOff, func(s *scenario) {
		of, cms, in := map[string]thing{}, map[string]template{}, members[0]
		for name, r := range rows {
			ns := newThing(namespaces, "", s.unique(name))
			cms[name] = template{newThing(configMaps, ns.name(), "pages")}.set("data.page", "one")
			of[name] = s.everywhere().with("metadata.name", fmt.Sprintf("%.60s", ns.name())).with("spec.resourceSelectors", []any{selector(namespaces, ns.name())}).
				with("spec.policy", map[string]any{"placementType": "PickFixed", "clusterNames": list(in)}).
				with("spec.strategy.applyStrategy", map[string]any{"comparisonOption": r.compare, "whenToApply": r.when})
			s.Apply(ns, cms[name], s.Deployment("web").set("metadata.namespace", ns.name()), of[name])
		}
		all := func(do func(name string)) {
			for name := range rows {
				do(name)
			}
		}
		tells := func(name string, counts bool, hub, member string, path string) {
			if !counts {
				s.Says(of[name], carried...)
				return
			}
			s.failing(of[name], "FoundDrifts", in)
			if said := asJSON(items(s.of(of[name], in), "driftedPlacements")); !strings.Contains(said, path) || !strings.Contains(said, member) || !strings.Contains(said, hub) {
				s.Errorf("%s: %s, want %s with %q and %q", name, said, path, hub, member)
			}
		}
		all(func(name string) { s.Says(of[name], carried...) })

		all(func(name string) { s.PatchIn(in, cms[name], `{"data":{"extra":"mine"}}`) })
		s.Settle()
		all(func(name string) {
			tells(name, rows[name].added, "", "mine", "/data/extra")
			s.holds(cms[name], "extra", "mine", in)
		})
		all(func(name string) { s.PatchIn(in, cms[name], `{"data":{"extra":null}}`) })
		all(func(name string) { s.Says(of[name], carried...) })

		all(func(name string) { s.PatchIn(in, cms[name], `{"data":{"page":"changed here"}}`) })
		all(func(name string) {
			if !rows[name].changed {
				s.holds(cms[name], "page", "one", in)
			}
		})
		s.Settle()
		all(func(name string) {
			tells(name, rows[name].changed, "one", "changed here", "/data/page")
			s.holds(cms[name], "page", map[bool]string{true: "changed here", false: "one"}[rows[name].changed], in)
		})

		all(func(name string) { s.DeleteIn(in, cms[name]) })
		all(func(name string) {
			s.holds(cms[name], "page", "one", in)
			s.Says(of[name], carried...)
		})
	})
}
