// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const fleet = "kubernetes-fleet.io/"

var (
	placements      = resource{group: "placement.kubernetes-fleet.io", version: "v1", kind: "ClusterResourcePlacement", plural: "clusterresourceplacements", clusterScoped: true}
	snapshots       = resource{group: "placement.kubernetes-fleet.io", version: "v1", kind: "ClusterResourceSnapshot", plural: "clusterresourcesnapshots", clusterScoped: true}
	policySnapshots = resource{group: "placement.kubernetes-fleet.io", version: "v1", kind: "ClusterSchedulingPolicySnapshot", plural: "clusterschedulingpolicysnapshots", clusterScoped: true}
	ingressClasses  = resource{group: "networking.k8s.io", version: "v1", kind: "IngressClass", plural: "ingressclasses", clusterScoped: true}
)

// placement is a ClusterResourcePlacement.
type placement struct{ thing }

// Placement selects the scenario's namespace, and places it nowhere: what is
// selected is looked at here, not where it goes.
func (s *scenario) Placement(name string) placement {
	p := placement{newThing(placements, "", fmt.Sprintf("%.50s", name+strings.TrimPrefix(s.ns, scenarioPrefix)))}
	p = placement{p.with("spec.policy", map[string]any{"placementType": "PickN", "numberOfClusters": int64(0)})}
	return p.Selecting(selector(namespaces, s.ns))
}

func (p placement) set(path string, value any) placement { return placement{p.with(path, value)} }

// Selecting replaces the selectors.
func (p placement) Selecting(selectors ...map[string]any) placement {
	var all []any
	for _, sel := range selectors {
		all = append(all, sel)
	}
	return p.set("spec.resourceSelectors", all)
}

// selector selects by a name; an empty one selects all of the kind.
func selector(r resource, name string) map[string]any {
	sel := map[string]any{"group": r.group, "version": r.version, "kind": r.kind}
	if name != "" {
		sel["name"] = name
	}
	return sel
}

// madeOf are the objects of a kind that are made of the placement, by name.
func (s *scenario) madeOf(p placement, r resource) map[string]*unstructured.Unstructured {
	m := s.lab.hub.mirror(r)
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string]*unstructured.Unstructured{}
	for _, o := range m.objects {
		if o.GetLabels()[fleet+"parent-CRP"] == p.name() {
			all[o.GetName()] = o
		}
	}
	return all
}

// Snapshots waits until the placement has these, without its name in front; the latest
// are marked.
func (s *scenario) Snapshots(p placement, r resource, want ...string) map[string]*unstructured.Unstructured {
	s.Helper()
	var all map[string]*unstructured.Unstructured
	s.Eventually(func() error {
		all = s.madeOf(p, r)
		var got []string
		for name, o := range all {
			if o.GetLabels()[fleet+"is-latest-snapshot"] == "true" {
				name += " latest"
			}
			got = append(got, strings.TrimPrefix(name, p.name()))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			return fmt.Errorf("%s of %s: %q, want %q", r.plural, p, got, want)
		}
		return nil
	})
	return all
}

// Latest waits until the latest snapshot satisfies the check, which gets the kinds and
// names of what is in it.
func (s *scenario) Latest(p placement, check func(names []string) error) *unstructured.Unstructured {
	s.Helper()
	var latest *unstructured.Unstructured
	s.Eventually(func() error {
		for name, o := range s.madeOf(p, snapshots) {
			if strings.HasSuffix(name, "-snapshot") && o.GetLabels()[fleet+"is-latest-snapshot"] == "true" {
				latest = o
				return check(selectedIn(o))
			}
		}
		return fmt.Errorf("%s has no latest snapshot", p)
	})
	return latest
}

func selectedIn(snapshot *unstructured.Unstructured) []string {
	var names []string
	for _, o := range items(snapshot.Object, "spec.selectedResources") {
		names = append(names, text(o, "kind")+" "+text(o, "metadata.name"))
	}
	return names
}

// are checks that these are selected, in this order.
func are(want ...string) func([]string) error {
	return func(got []string) error {
		if !slices.Equal(got, want) {
			return fmt.Errorf("selected %q, want %q", got, want)
		}
		return nil
	}
}

func TestC2C3C4C5WhatIsSelected(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		var roles []template
		for _, name := range []string{"a", "b", "c"} {
			roles = append(roles, s.ClusterRole(name).Label("app", s.ns))
		}
		roles[2] = roles[2].Label("app", "another")
		class := newThing(ingressClasses, "", s.unique("class")).with("spec.controller", "example.org/none")
		s.Apply(roles[0], roles[1], roles[2], class)
		labelled := selector(roles[0].resource, "")
		labelled["labelSelector"] = map[string]any{"matchLabels": map[string]any{"app": s.ns}}
		byKind, byName, byLabel, either := s.Placement("kind").Selecting(selector(ingressClasses, "")), s.Placement("name").Selecting(selector(roles[0].resource, roles[0].name())),
			s.Placement("label").Selecting(labelled), s.Placement("either").Selecting(selector(ingressClasses, class.name()), selector(roles[2].resource, roles[2].name()))
		s.Apply(byKind, byName, byLabel, either)
		s.Latest(byKind, are("IngressClass "+class.name()))
		s.Latest(byName, are("ClusterRole "+roles[0].name()))
		s.Latest(byLabel, are("ClusterRole "+roles[0].name(), "ClusterRole "+roles[1].name()))
		s.Latest(either, are("ClusterRole "+roles[2].name(), "IngressClass "+class.name()))
	})
}

func TestC7C11C12C14C17C19C20C86ANamespace(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		envelope := newThing(configMaps, s.ns, "envelope").mark("annotations", fleet+"envelope-configmap", "true")
		token := newThing(secrets, s.ns, "token").with("type", "kubernetes.io/service-account-token").mark("annotations", "kubernetes.io/service-account.name", "robot")
		s.Apply(s.Deployment("web"), s.Service("web"), s.Secret("password"), s.ConfigMap("settings"), s.ServiceAccount("robot"), envelope, token)
		p := s.Placement("c7")
		s.Apply(p)
		o := s.Latest(p, are("Namespace "+s.ns, "ServiceAccount robot", "Secret password", "ConfigMap envelope", "ConfigMap settings", "Service web", "Deployment web"))
		if o.GetName() != p.name()+"-0-snapshot" {
			s.Errorf("C17: the first is %s", o.GetName())
		}
		if l := o.GetLabels(); l[fleet+"parent-CRP"] != p.name() || l[fleet+"resource-index"] != "0" || l[fleet+"is-latest-snapshot"] != "true" {
			s.Errorf("C19: labels %v", l)
		}
		if a := o.GetAnnotations(); len(a[fleet+"resource-hash"]) != 64 || a[fleet+"number-of-resource-snapshots"] != "1" || a[fleet+"number-of-enveloped-object"] != "1" {
			s.Errorf("C20: annotations %v", a)
		}
		if r := o.GetOwnerReferences(); len(r) != 1 || r[0].Name != p.name() || r[0].Controller == nil || !*r[0].Controller {
			s.Errorf("C29: owners %v", r)
		}
		for _, r := range items(o.Object, "spec.selectedResources") {
			for _, path := range []string{"metadata.uid", "metadata.resourceVersion", "metadata.managedFields", "metadata.creationTimestamp", "status", "spec.clusterIP", "spec.clusterIPs"} {
				if at(r, path) != nil {
					s.Errorf("C12: %s has %s", text(r, "kind"), path)
				}
			}
		}
	})
}

// Selectors act at once, changes of objects after a while: both make a snapshot, and
// only where there is something new.
func TestC15C16C21C22C24C25C30ChangesMakeSnapshots(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		settings, role := s.ConfigMap("settings"), s.ClusterRole("reader")
		p := s.Placement("c21").set("spec.revisionHistoryLimit", int64(2))
		both := p.Selecting(selector(namespaces, s.ns), selector(role.resource, role.name()))
		s.Apply(settings, role, p)
		s.Snapshots(p, snapshots, "-0-snapshot latest")
		s.Apply(both)
		began := time.Now()
		s.Snapshots(p, snapshots, "-0-snapshot", "-1-snapshot latest")
		if d := time.Since(began); d > 10*time.Second {
			s.Errorf("other selectors acted after %s", d)
		}
		s.Apply(p)
		s.Snapshots(p, snapshots, "-1-snapshot", "-2-snapshot latest") // C24, C25
		s.Latest(p, are("Namespace "+s.ns, "ConfigMap settings"))
		made := s.madeOf(p, snapshots)[p.name()+"-2-snapshot"].GetCreationTimestamp()
		s.Apply(settings.set("data.more", "words"), s.ConfigMap("new"))
		s.Snapshots(p, snapshots, "-2-snapshot", "-3-snapshot latest")
		o := s.Latest(p, are("Namespace "+s.ns, "ConfigMap new", "ConfigMap settings"))
		if d := o.GetCreationTimestamp().Sub(made.Time); d < 29*time.Second {
			s.Errorf("C30: %s lie between two snapshots", d)
		}
	})
}

func TestC15C16WhatIsDeletedLeaves(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		settings := s.ConfigMap("settings")
		mine := newThing(namespaces, "", s.unique("other"))
		p := s.Placement("c15").Selecting(selector(namespaces, s.ns), selector(namespaces, mine.name()))
		s.Apply(settings, mine, newThing(configMaps, mine.name(), "inner"), p)
		s.Latest(p, are("Namespace "+s.ns, "Namespace "+mine.name(), "ConfigMap settings", "ConfigMap inner"))
		s.Delete(settings)
		if err := s.lab.hub.on(namespaces, "").Delete(s.Context(), mine.name(), metav1.DeleteOptions{}); err != nil {
			s.Fatal(err)
		}
		s.Latest(p, are("Namespace "+s.ns))
	})
}

func TestC10SelectedTwice(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		role := s.ClusterRole("reader").Label("app", s.ns)
		labelled := selector(role.resource, "")
		labelled["labelSelector"] = map[string]any{"matchLabels": map[string]any{"app": s.ns}}
		p := s.Placement("c10").Selecting(selector(role.resource, role.name()), labelled)
		s.Apply(role, p)
		s.Eventually(func() error {
			return isCondition("ClusterResourcePlacementScheduled", "False", "InvalidResourceSelectors")(s.Live(p).Object)
		})
		s.Snapshots(p, snapshots)
		p = p.Selecting(labelled)
		s.Apply(p)
		s.Latest(p, are("ClusterRole "+role.name()))
		s.Eventually(func() error {
			if err := isCondition("ClusterResourcePlacementScheduled", "False", "InvalidResourceSelectors")(s.Live(p).Object); err == nil {
				return fmt.Errorf("it is refused yet")
			}
			return nil
		})
	})
}

// knows waits until the pipeline has had the time to see that a kind is served, and
// that there are these objects.
func (s *scenario) knows(r resource, objects ...thing) {
	s.Helper()
	want := []string{r.kind + " "}
	for _, o := range objects {
		want = append(want, o.resource.kind+" "+o.name())
	}
	p := s.Placement("canary").Selecting(selector(namespaces, s.ns))
	s.Apply(p)
	s.Eventually(func() error {
		var selected []string
		for _, o := range s.madeOf(p, snapshots) {
			selected = append(selected, selectedIn(o)...)
		}
		for _, prefix := range want {
			if !slices.ContainsFunc(selected, func(name string) bool { return strings.HasPrefix(name, prefix) }) {
				return fmt.Errorf("no %s is selected", prefix)
			}
		}
		return nil
	})
}

// What passes the limit is split; one object of 1.4 MB is a part of its own.
func TestC23Split(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		crd, widgets := s.definition("Widget")
		s.define(crd, "hub")
		huge := newThing(widgets, s.ns, "huge").with("data", strings.Repeat("x", 1400<<10))
		s.Apply(huge)
		var large []thing
		for i := range 6 {
			large = append(large, newThing(configMaps, s.ns, fmt.Sprintf("large-%d", i)).with("data.value", strings.Repeat("y", 300<<10)))
			s.Apply(large[i])
		}
		p := s.Placement("c23")
		s.knows(widgets, large...)
		s.Apply(p)
		all := s.Snapshots(p, snapshots, "-0-0 latest", "-0-1 latest", "-0-2 latest", "-0-snapshot latest")
		for name, want := range map[string]string{"-0-snapshot": "Namespace " + s.ns + " ConfigMap large-0 ConfigMap large-1", "-0-0": "ConfigMap large-2 ConfigMap large-3", "-0-2": "Widget huge"} {
			if got := strings.Join(selectedIn(all[p.name()+name]), " "); got != want {
				s.Errorf("%s holds %q, want %q", name, got, want)
			}
		}
		if a := all[p.name()+"-0-snapshot"].GetAnnotations(); a[fleet+"number-of-resource-snapshots"] != "4" {
			s.Errorf("the first part says %v", a)
		}
		for _, name := range []string{"-0-0", "-0-1", "-0-2"} {
			if a := all[p.name()+name].GetAnnotations(); a[fleet+"subindex-of-resource-snapshot"] != name[3:] || a[fleet+"resource-hash"] != "" {
				s.Errorf("%s says %v", name, a)
			}
		}
	})
}

func TestC26C27PolicySnapshots(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		p := s.Placement("c26")
		s.Apply(p)
		o := s.Snapshots(p, policySnapshots, "-0 latest")[p.name()+"-0"]
		if a := o.GetAnnotations(); a[fleet+"CRP-generation"] != "1" || a[fleet+"number-of-clusters"] != "0" {
			s.Errorf("C26: annotations %v", a)
		}
		if hash := text(o.Object, "spec.policyHash"); len(hash) != 88 || text(o.Object, "spec.policy.placementType") != "PickN" || at(o.Object, "spec.policy.numberOfClusters") != nil {
			s.Errorf("C26: spec %s", asJSON(o.Object["spec"]))
		}
		p = p.set("spec.policy.numberOfClusters", int64(1))
		s.Apply(p)
		s.Eventually(func() error {
			a := s.madeOf(p, policySnapshots)[p.name()+"-0"].GetAnnotations()
			if a[fleet+"CRP-generation"] != "2" || a[fleet+"number-of-clusters"] != "1" {
				return fmt.Errorf("C27: annotations %v", a)
			}
			return nil
		})
		s.Snapshots(p, policySnapshots, "-0 latest")
		s.Apply(p.set("spec.policy.affinity", map[string]any{"clusterAffinity": map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{
			"clusterSelectorTerms": []any{map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"none": "such"}}}},
		}}}))
		s.Snapshots(p, policySnapshots, "-0", "-1 latest")
		s.Snapshots(p, snapshots, "-0-snapshot latest")
	})
}

// A kind whose definition goes while it is selected: nobody can tell what became of its
// objects, so they stay. What is made of a kind that comes later is selected.
func TestC7KindsComeAndGo(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		p := s.Placement("c7k")
		s.Apply(s.ConfigMap("settings"), p)
		s.Latest(p, are("Namespace "+s.ns, "ConfigMap settings"))
		crd, widgets := s.definition("Widget")
		s.define(crd, "hub")
		s.Apply(newThing(widgets, s.ns, "one"))
		s.Latest(p, are("Namespace "+s.ns, "ConfigMap settings", "Widget one"))
		s.forget("hub", crd)
		s.Apply(s.ConfigMap("more"))
		s.Latest(p, are("Namespace "+s.ns, "ConfigMap more", "ConfigMap settings", "Widget one"))
	})
}

func TestC17SnapshotDeletedByHand(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		p := s.Placement("c17")
		s.Apply(s.ConfigMap("settings"), p)
		made := s.Snapshots(p, snapshots, "-0-snapshot latest")
		s.Snapshots(p, policySnapshots, "-0 latest")
		for r, name := range map[resource]string{snapshots: "-0-snapshot", policySnapshots: "-0"} {
			if err := s.lab.hub.on(r, "").Delete(s.Context(), p.name()+name, metav1.DeleteOptions{}); err != nil {
				s.Fatal(err)
			}
		}
		s.Eventually(func() error {
			if len(s.madeOf(p, policySnapshots)) != 1 {
				return fmt.Errorf("the policy is not there again")
			}
			return nil
		})
		s.Latest(p, func(names []string) error {
			for _, o := range s.madeOf(p, snapshots) {
				if o.GetUID() != made[p.name()+"-0-snapshot"].GetUID() {
					return are("Namespace "+s.ns, "ConfigMap settings")(names)
				}
			}
			return fmt.Errorf("it is not there again")
		})
	})
}

// Four hundred objects are selected; one of them changes, and is the one read.
func TestC21OneOfManyChanges(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		const many = 400 // of which one part of a snapshot has room
		for i := range many {
			s.Apply(newThing(configMaps, s.ns, fmt.Sprintf("c-%03d", i)).with("data.value", "1"))
		}
		p := s.Placement("many")
		s.Apply(p)
		count := func(want int) func([]string) error {
			return func(names []string) error {
				if len(names) != want {
					return fmt.Errorf("%d are selected, want %d", len(names), want)
				}
				return nil
			}
		}
		s.Latest(p, count(many+1))
		s.Apply(newThing(configMaps, s.ns, "c-007").with("data.value", "2"))
		o := s.Snapshots(p, snapshots, "-0-snapshot", "-1-snapshot latest")[p.name()+"-1-snapshot"]
		changed := map[string]bool{}
		for _, r := range items(o.Object, "spec.selectedResources") {
			if text(r, "data.value") == "2" {
				changed[text(r, "metadata.name")] = true
			}
		}
		if got := slices.Collect(maps.Keys(changed)); !slices.Equal(got, []string{"c-007"}) || len(selectedIn(o)) != many+1 {
			s.Errorf("changed are %v of %d", got, len(selectedIn(o)))
		}
	})
}

// C22, C103: whatever is lost, what did not change is not written; what changed
// meanwhile is found.
func TestC22C103NothingIsWrittenAfterARestart(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		mine := newThing(namespaces, "", s.unique("other")) // no canary is in it
		p := s.Placement("c22").Selecting(selector(namespaces, mine.name()))
		s.Apply(mine, newThing(configMaps, mine.name(), "settings"), p)
		s.Snapshots(p, snapshots, "-0-snapshot latest")
		s.Snapshots(p, policySnapshots, "-0 latest")
		versions := func() (all []string) {
			for _, r := range []resource{snapshots, policySnapshots} {
				for name, o := range s.madeOf(p, r) {
					all = append(all, name+" "+o.GetResourceVersion())
				}
			}
			slices.Sort(all)
			return all
		}
		s.Settle() // the policy's snapshot has its status
		before := versions()
		s.Flush()
		s.Settle()
		s.Restart()
		s.Settle()
		if after := versions(); !slices.Equal(before, after) {
			s.Errorf("before %q, after %q", before, after)
		}
		s.whileRestarting(func() { s.Apply(newThing(configMaps, mine.name(), "new")) })
		s.Latest(p, are("Namespace "+mine.name(), "ConfigMap new", "ConfigMap settings"))
	})
}
