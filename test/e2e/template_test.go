// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import "fmt"

// template is an object to be propagated. Each kind has one number by which
// its content is told apart: At.
type template struct{ thing }

// Template is that of the scenario's form: a Deployment, or a ClusterRole.
func (s *scenario) Template(name string) template {
	if s.clusterTemplate {
		return s.ClusterRole(name)
	}
	return s.Deployment(name)
}

// Deployment of one replica. Its number is the limit of its history: a change
// of the spec that leaves the pods alone.
func (s *scenario) Deployment(name string) template {
	labels := map[string]any{"app": name}
	return template{newThing(deployments, s.ns, name)}.Label("app", name).set("spec", map[string]any{
		"replicas": int64(1),
		"selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec": map[string]any{"containers": []any{
				map[string]any{"name": "nginx", "image": "nginx:1.27.0"},
			}},
		},
	}).At(1)
}

// ConfigMap whose number is its key "version".
func (s *scenario) ConfigMap(name string) template {
	return template{newThing(configMaps, s.ns, name)}.At(1)
}

// Secret whose number is in its key "version".
func (s *scenario) Secret(name string) template {
	return template{newThing(secrets, s.ns, name)}.At(1)
}

// Service whose number is its port.
func (s *scenario) Service(name string) template {
	return template{newThing(services, s.ns, name)}.set("spec.selector", map[string]any{"app": name}).At(1)
}

// ServiceAccount has no content.
func (s *scenario) ServiceAccount(name string) template {
	return template{newThing(accounts, s.ns, name)}
}

// ClusterRole whose number is a name that its rule is for.
func (s *scenario) ClusterRole(name string) template {
	return template{newThing(roles, "", s.unique(name)).mark("labels", scenarioLabel, s.ns)}.At(1)
}

func (t template) set(path string, value any) template { return template{t.with(path, value)} }

// Label adds a label.
func (t template) Label(key, value string) template { return template{t.mark("labels", key, value)} }

// Replicas of a Deployment.
func (t template) Replicas(n int64) template { return t.set("spec.replicas", n) }

// Image of a Deployment.
func (t template) Image(image string) template {
	return t.set("spec.template.spec.containers", []any{map[string]any{"name": "nginx", "image": image}})
}

// Using makes a Deployment refer to a ConfigMap.
func (t template) Using(configMap string) template {
	return t.set("spec.template.spec.volumes", []any{
		map[string]any{"name": "config", "configMap": map[string]any{"name": configMap}},
	})
}

// At is the template with another content.
func (t template) At(n int64) template {
	switch t.resource {
	case deployments:
		return t.set("spec.revisionHistoryLimit", n)
	case configMaps:
		return t.set("data.version", fmt.Sprint(n))
	case secrets:
		return t.set("stringData.version", fmt.Sprint(n))
	case services:
		return t.set("spec.ports", []any{map[string]any{"name": "http", "protocol": "TCP", "port": n}})
	case roles:
		return t.set("rules", []any{map[string]any{
			"apiGroups": list(""), "resources": list("configmaps"), "verbs": list("get"), "resourceNames": list(fmt.Sprint(n)),
		}})
	}
	return t.set("spec.version", n)
}

// contentOf is the number that tells an object's content.
func contentOf(r resource, obj map[string]any) string {
	switch r {
	case deployments:
		return fmt.Sprint(number(obj, "spec.revisionHistoryLimit"))
	case configMaps, secrets:
		return text(obj, "data.version")
	case services:
		for _, p := range items(obj, "spec.ports") {
			return fmt.Sprint(p["port"])
		}
		return ""
	case roles:
		for _, rule := range items(obj, "rules") {
			if names, ok := rule["resourceNames"].([]any); ok && len(names) > 0 {
				return fmt.Sprint(names[0])
			}
		}
		return ""
	}
	return fmt.Sprint(number(obj, "spec.version"))
}
