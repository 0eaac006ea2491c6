// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

// policy is a PropagationPolicy or a ClusterPropagationPolicy.
type policy struct {
	thing
	ns string
}

// Policy is one of the scenario's form. It selects the template nginx by name
// and places it on member1, unless it is told otherwise.
func (s *scenario) Policy(name string) policy {
	if s.clusterPolicy {
		return s.ClusterPolicy(name)
	}
	return s.NamespacedPolicy(name)
}

// NamespacedPolicy is a PropagationPolicy, whatever the form.
func (s *scenario) NamespacedPolicy(name string) policy {
	return policy{newThing(policies, s.ns, name), s.ns}.Selecting(s.Template("nginx")).To("member1")
}

// ClusterPolicy is a ClusterPropagationPolicy, whatever the form.
func (s *scenario) ClusterPolicy(name string) policy {
	return policy{newThing(clusterPolicies, "", s.unique(name)), s.ns}.Selecting(s.Template("nginx")).To("member1")
}

func (p policy) set(path string, value any) policy { return policy{p.with(path, value), p.ns} }

// selector starts a selector for the kind of a template; a cluster policy stays
// within the scenario.
func (p policy) selector(t template) map[string]any {
	sel := map[string]any{"apiVersion": t.apiVersion(), "kind": t.kind}
	if p.clusterScoped && !t.clusterScoped {
		sel["namespace"] = p.ns
	}
	return sel
}

// Selecting selects templates by name, and nothing else.
func (p policy) Selecting(ts ...template) policy {
	var all []any
	for _, t := range ts {
		sel := p.selector(t)
		sel["name"] = t.name()
		all = append(all, sel)
	}
	return p.set("spec.resourceSelectors", all)
}

// SelectingLabel selects by a label the templates of the kind of t.
func (p policy) SelectingLabel(t template, key, value string) policy {
	sel := p.selector(t)
	sel["labelSelector"] = map[string]any{"matchLabels": map[string]any{key: value}}
	return p.set("spec.resourceSelectors", []any{sel})
}

// SelectingKind selects all templates of the kind of t.
func (p policy) SelectingKind(t template) policy {
	return p.set("spec.resourceSelectors", []any{p.selector(t)})
}

// SelectingNothing matches no template of the scenario.
func (p policy) SelectingNothing() policy {
	sel := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "namespace": p.ns, "name": "no-such"}
	return p.set("spec.resourceSelectors", []any{sel})
}

// To places on exactly these clusters.
func (p policy) To(clusters ...string) policy {
	return p.set("spec.placement", map[string]any{"clusterAffinity": map[string]any{"clusterNames": list(clusters...)}})
}

// Lazy prefers to be activated with the template's change.
func (p policy) Lazy() policy { return p.set("spec.activationPreference", "Lazy") }

// Eager is at once.
func (p policy) Eager() policy { return p.set("spec.activationPreference", nil) }

// Priority is the explicit one.
func (p policy) Priority(n int64) policy { return p.set("spec.priority", n) }

// Always pre-empts.
func (p policy) Always() policy { return p.set("spec.preemption", "Always") }

// WithDependencies makes what the template refers to follow it.
func (p policy) WithDependencies() policy { return p.set("spec.propagateDeps", true) }

// Overwriting takes over what is in the member already.
func (p policy) Overwriting() policy { return p.set("spec.conflictResolution", "Overwrite") }

// Suspended holds back every cluster.
func (p policy) Suspended() policy {
	return p.set("spec.suspension", map[string]any{"dispatching": true})
}

// SuspendedOn holds back these clusters.
func (p policy) SuspendedOn(clusters ...string) policy {
	return p.set("spec.suspension", map[string]any{"dispatchingOnClusters": map[string]any{"clusterNames": list(clusters...)}})
}

// Resumed holds nothing back.
func (p policy) Resumed() policy { return p.set("spec.suspension", nil) }

// override is an OverridePolicy, or a ClusterOverridePolicy for what has no
// namespace, that sets a label of a template on some clusters.
func (s *scenario) override(name string, t template, key, value string, clusters ...string) thing {
	r, ns := overrides, s.ns
	sel := map[string]any{"apiVersion": t.apiVersion(), "kind": t.kind, "name": t.name()}
	if t.clusterScoped {
		r, ns, name = clusterOverrides, "", s.unique(name)
	}
	rule := map[string]any{"overriders": map[string]any{"labelsOverrider": []any{
		map[string]any{"operator": "add", "value": map[string]any{key: value}},
	}}}
	if len(clusters) > 0 {
		rule["targetCluster"] = map[string]any{"clusterNames": list(clusters...)}
	}
	return newThing(r, ns, name).with("spec", map[string]any{
		"resourceSelectors": []any{sel}, "overrideRules": []any{rule},
	})
}
