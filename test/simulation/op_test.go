// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// verb is what an op does.
type verb string

// What people do.
const (
	putTemplate     verb = "put"     // make it, or change it to say this
	replaceTemplate verb = "replace" // the same, without anything that Sluice wrote into it
	dropTemplate    verb = "delete"
	markTemplate    verb = "mark"    // with a label of the system
	reportTemplate  verb = "report"  // a status
	unclaimTemplate verb = "unclaim" // take the claim's label away
	forgeTemplate   verb = "forge"   // another claim
	holdTemplate    verb = "hold"    // with a finalizer of somebody's
	releaseTemplate verb = "let go"  // of that finalizer
	putPolicy       verb = "put policy"
	dropPolicy      verb = "delete policy"
	switchGates     verb = "gates"
	joinCluster     verb = "join"
	spoilObject     verb = "spoil" // a field of an object in a member
	loseObject      verb = "lose"  // an object in a member
	plantObject     verb = "plant" // one that is not ours
	removeWork      verb = "delete work"
	forgeContent    verb = "forge content" // kept content is made anew with another
	loseContent     verb = "lose content"  // kept content is deleted
)

// What befalls the system.
const (
	deliver    verb = "deliver"
	tick       verb = "tick"
	restart    verb = "restart"
	flush      verb = "flush"
	redisDown  verb = "redis down"
	redisUp    verb = "redis up"
	memberDown verb = "member down"
	memberUp   verb = "member up"
	rest       verb = "rest"
)

// op is one step of a history. It means the same whatever ops come before it,
// so that any of them can be left out.
type op struct {
	verb    verb
	key     propagation.TemplateKey
	content content
	policy  propagation.PolicyKey
	spec    policyv1alpha1.PropagationSpec
	gates   propagation.Features
	over    over
	ruling  ruling
	// asked is what a placement says, and its name the policy's.
	asked   *placementv1.ClusterResourcePlacementSpec
	cluster string
	// n is how many steps to deliver, or tells values apart.
	n int
	// writing tells that it concerns requests that would change something alone.
	writing bool
	// seed of a deliver.
	seed uint64
	// after is how long after the last op this one comes.
	after time.Duration
}

// content is what people write into a template.
type content struct {
	image    int
	replicas int
	tier     string
	note     int // 0: none
	refers   bool
}

func (o op) String() string {
	switch o.verb {
	case putTemplate, replaceTemplate:
		return fmt.Sprintf("%s %s: %s", o.verb, o.key, o.content.describe(o.key))
	case dropTemplate, unclaimTemplate, holdTemplate, releaseTemplate, forgeContent, loseContent, dropBinding, activate:
		return fmt.Sprintf("%s %s", o.verb, o.key)
	case markTemplate, reportTemplate:
		return fmt.Sprintf("%s %s: %d", o.verb, o.key, o.n)
	case forgeTemplate:
		return fmt.Sprintf("forge the claim of %s: %s", o.key, o.policy)
	case putPolicy:
		return fmt.Sprintf("put %s: %s", o.policy, describe(&o.spec))
	case dropPolicy:
		return fmt.Sprintf("delete %s", o.policy)
	case switchGates:
		return fmt.Sprintf("gates: preemption %t, static %t", o.gates.Preemption, o.gates.Static)
	case joinCluster, memberDown, memberUp, dropNamespace:
		return fmt.Sprintf("%s %s", o.verb, o.cluster)
	case spoilObject, loseObject, plantObject, plantEqual, removeWork, stripObject, twinWork:
		return fmt.Sprintf("%s %s in %s", o.verb, o.key, o.cluster)
	case stopVersion, serveVersion:
		return fmt.Sprintf("%s %s", o.verb, gearVersions[o.n])
	case deliver:
		if o.seed == 0 {
			return "deliver everything in order"
		}
		return fmt.Sprintf("deliver %d, seed %#x", o.n, o.seed)
	}
	return o.widely()
}

func (c content) describe(k propagation.TemplateKey) string {
	parts := []string{fmt.Sprintf("content %d", c.image)}
	if k.Kind == "Deployment" {
		parts = append(parts, fmt.Sprintf("replicas %d", c.replicas))
	}
	parts = append(parts, "tier "+c.tier)
	if c.note > 0 {
		parts = append(parts, fmt.Sprintf("note %d", c.note))
	}
	if c.refers {
		parts = append(parts, "refers to "+settings.Name)
	}
	return strings.Join(parts, ", ")
}

// write makes obj say c, and leaves what is not the user's.
func (c content) write(obj map[string]any) {
	meta := obj["metadata"].(map[string]any)
	set(meta, "labels", "tier", c.tier)
	if c.note > 0 {
		set(meta, "annotations", "example.com/note", fmt.Sprint(c.note))
	} else {
		unset(meta, "annotations", "example.com/note")
	}
	switch obj["kind"] {
	case "Namespace":
	case "ConfigMap":
		if meta["name"] == wrapped.Name {
			c.wrap(obj)
			return
		}
		obj["data"] = map[string]any{"value": fmt.Sprint(c.image)}
	case "ClusterRole":
		obj["rules"] = []any{map[string]any{"verbs": []any{"get"}, "resources": []any{fmt.Sprintf("kind%d", c.image)}}}
	default:
		pod := map[string]any{"containers": []any{map[string]any{"name": "main", "image": fmt.Sprintf("nginx:%d", c.image)}}}
		if c.refers && obj["kind"] == "Deployment" {
			pod["volumes"] = []any{map[string]any{"name": "settings", "configMap": map[string]any{"name": settings.Name}}}
		}
		obj["spec"] = map[string]any{"replicas": int64(c.replicas), "template": map[string]any{"spec": pod}}
	}
}

// cleanse takes out what Sluice wrote into obj, as replacing it by a file does.
func cleanse(obj map[string]any) {
	meta := obj["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		m, _ := meta[field].(map[string]any)
		for k := range m {
			if strings.Contains(k, ".karmada.io") || strings.Contains(k, "sluice.dev/") {
				unset(meta, field, k)
			}
		}
	}
}

func set(meta map[string]any, field, key, value string) {
	m, _ := meta[field].(map[string]any)
	if m == nil {
		m = map[string]any{}
		meta[field] = m
	}
	m[key] = value
}

func unset(meta map[string]any, field, key string) {
	m, _ := meta[field].(map[string]any)
	delete(m, key)
	if len(m) == 0 {
		delete(meta, field)
	}
}

// describe is a policy's spec for people.
func describe(s *policyv1alpha1.PropagationSpec) string {
	parts := []string{"selects " + selected(s), "to " + placed(s)}
	add := func(when bool, what string) {
		if when {
			parts = append(parts, what)
		}
	}
	add(s.ActivationPreference == policyv1alpha1.LazyActivation, "lazy")
	add(s.Priority != nil, fmt.Sprintf("priority %d", s.ExplicitPriority()))
	add(s.Preemption == policyv1alpha1.PreemptAlways, "preempts")
	add(s.PropagateDeps, "with dependencies")
	add(len(s.Placement.ClusterTolerations) > 0, sprintf("tolerates %v", s.Placement.ClusterTolerations))
	for _, c := range s.Placement.SpreadConstraints {
		add(true, sprintf("to %d to %d of them", c.MinGroups, c.MaxGroups))
	}
	add(s.Placement.ReplicaScheduling != nil, "divides "+divided(s.Placement.ReplicaScheduling))
	add(s.ConflictResolution == policyv1alpha1.ConflictOverwrite, "overwrites")
	all, clusters := s.Suspension.Dispatch()
	add(all, "suspended")
	add(len(clusters) > 0, "suspended on "+strings.Join(clusters, "+"))
	return strings.Join(parts, ", ")
}

func selected(s *policyv1alpha1.PropagationSpec) string {
	var all []string
	for _, r := range s.ResourceSelectors {
		what := r.Kind
		if strings.HasPrefix(r.APIVersion, gear.GroupVersionKind().Group) {
			what = r.APIVersion + " " + what
		}
		if r.Namespace != "" || r.Name != "" {
			what += " " + strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
		}
		if r.LabelSelector != nil {
			what += " " + metav1.FormatLabelSelector(r.LabelSelector)
		}
		all = append(all, what)
	}
	return strings.Join(all, " and ")
}

func placed(s *policyv1alpha1.PropagationSpec) string {
	if s.Placement.ClusterAffinity == nil {
		return "all clusters"
	}
	if l := s.Placement.ClusterAffinity.LabelSelector; l != nil {
		return "clusters with " + metav1.FormatLabelSelector(l)
	}
	names := slices.Clone(s.Placement.ClusterAffinity.ClusterNames)
	slices.Sort(names)
	return strings.Join(names, "+")
}

func divided(s *policyv1alpha1.ReplicaSchedulingStrategy) string {
	if s == nil || s.WeightPreference == nil {
		return "replicas"
	}
	var parts []string
	for _, e := range s.WeightPreference.StaticWeightList {
		parts = append(parts, sprintf("%d to %s", e.Weight, strings.Join(e.TargetCluster.ClusterNames, "+")))
	}
	return strings.Join(parts, ", ")
}
