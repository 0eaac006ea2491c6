// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package dependencies decides what a template needs beside itself to run: the
// ConfigMaps, Secrets, service accounts and volume claims that it refers to.
//
// Invariants:
//   - The answer follows from the content alone, sorted and without doubles.
//   - Only what the content names; what depends logically but is not named has
//     to be carried by a policy of its own.
//
// It must not know whether what is referred to exists.
package dependencies

import (
	"slices"
	"strings"

	"sluice.dev/pkg/core/propagation"
)

// Kinds are the kinds that a template may depend on, by API version and kind.
var Kinds = []propagation.TemplateKey{
	{APIVersion: "v1", Kind: "ConfigMap"}, {APIVersion: "v1", Kind: "Secret"},
	{APIVersion: "v1", Kind: "ServiceAccount"}, {APIVersion: "v1", Kind: "PersistentVolumeClaim"},
}

// Serves tells whether an object of this kind may be a dependency.
func Serves(k propagation.TemplateKey) bool {
	return slices.Contains(Kinds, propagation.TemplateKey{APIVersion: k.APIVersion, Kind: k.Kind})
}

// Of is what the content refers to.
func Of(content map[string]any) []propagation.TemplateKey {
	c := collector{namespace: text(content, "metadata", "namespace")}
	switch content["kind"] {
	case "Pod":
		c.pod(content)
	case "CronJob":
		c.pod(object(content, "spec", "jobTemplate", "spec", "template"))
	case "Ingress":
		for _, t := range list(content, "spec", "tls") {
			c.add("Secret", text(t, "secretName"))
		}
	default:
		// Whatever has a pod template where workloads have it.
		if t := object(content, "spec", "template"); object(t, "spec") != nil {
			c.pod(t)
		}
	}
	if content["kind"] == "StatefulSet" {
		c.ownClaims(content)
	}
	slices.SortFunc(c.found, func(a, b propagation.TemplateKey) int { return strings.Compare(a.ID(), b.ID()) })
	return slices.Compact(c.found)
}

type collector struct {
	namespace string
	found     []propagation.TemplateKey
}

func (c *collector) add(kind, name string) {
	if name != "" {
		c.found = append(c.found, propagation.TemplateKey{APIVersion: "v1", Kind: kind, Namespace: c.namespace, Name: name})
	}
}

// pod collects from a pod, or from the template of one.
func (c *collector) pod(p map[string]any) {
	spec := object(p, "spec")
	if name := text(spec, "serviceAccountName"); name != "default" {
		c.add("ServiceAccount", name)
	}
	for _, s := range list(spec, "imagePullSecrets") {
		c.add("Secret", text(s, "name"))
	}
	for _, field := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for _, container := range list(spec, field) {
			c.container(container)
		}
	}
	for _, v := range list(spec, "volumes") {
		c.volume(v)
	}
}

func (c *collector) container(container map[string]any) {
	for _, e := range list(container, "envFrom") {
		c.add("ConfigMap", text(e, "configMapRef", "name"))
		c.add("Secret", text(e, "secretRef", "name"))
	}
	for _, e := range list(container, "env") {
		c.add("ConfigMap", text(e, "valueFrom", "configMapKeyRef", "name"))
		c.add("Secret", text(e, "valueFrom", "secretKeyRef", "name"))
	}
}

// volume collects from a volume; which field of the source names the Secret is
// the source's own affair.
func (c *collector) volume(v map[string]any) {
	c.add("ConfigMap", text(v, "configMap", "name"))
	c.add("Secret", text(v, "secret", "secretName"))
	c.add("PersistentVolumeClaim", text(v, "persistentVolumeClaim", "claimName"))
	c.add("Secret", text(v, "azureFile", "secretName"))
	for _, source := range []string{"cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"} {
		c.add("Secret", text(v, source, "secretRef", "name"))
	}
	c.add("Secret", text(v, "csi", "nodePublishSecretRef", "name"))
	for _, s := range list(v, "projected", "sources") {
		c.add("ConfigMap", text(s, "configMap", "name"))
		c.add("Secret", text(s, "secret", "name"))
	}
}

// ownClaims takes out the claims that a StatefulSet makes itself.
func (c *collector) ownClaims(content map[string]any) {
	own := map[string]bool{}
	for _, t := range list(content, "spec", "volumeClaimTemplates") {
		own[text(t, "metadata", "name")] = true
	}
	c.found = slices.DeleteFunc(c.found, func(k propagation.TemplateKey) bool {
		return k.Kind == "PersistentVolumeClaim" && own[k.Name]
	})
}

func object(m map[string]any, path ...string) map[string]any {
	for _, p := range path {
		m, _ = m[p].(map[string]any)
	}
	return m
}

func text(m map[string]any, path ...string) string {
	last := len(path) - 1
	s, _ := object(m, path[:last]...)[path[last]].(string)
	return s
}

func list(m map[string]any, path ...string) []map[string]any {
	last := len(path) - 1
	items, _ := object(m, path[:last]...)[path[last]].([]any)
	var out []map[string]any
	for _, i := range items {
		if o, ok := i.(map[string]any); ok {
			out = append(out, o)
		}
	}
	return out
}
