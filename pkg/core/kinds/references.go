// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"slices"
	"strings"

	"sluice.dev/pkg/core/propagation"
)

// collector collects what an object refers to.
type collector struct {
	namespace string
	found     []propagation.TemplateKey
}

func (c *collector) key(kind, name string) propagation.TemplateKey {
	return propagation.TemplateKey{APIVersion: "v1", Kind: kind, Namespace: c.namespace, Name: name}
}

func (c *collector) add(kind, name string) {
	if name != "" {
		c.found = append(c.found, c.key(kind, name))
	}
}

func (c *collector) forget(kind, name string) {
	c.found = slices.DeleteFunc(c.found, func(k propagation.TemplateKey) bool { return k == c.key(kind, name) })
}

func (c *collector) sorted() []propagation.TemplateKey {
	slices.SortFunc(c.found, func(a, b propagation.TemplateKey) int { return strings.Compare(a.ID(), b.ID()) })
	return slices.Compact(c.found)
}

// pod collects from a pod, or from the template of one.
func (c *collector) pod(p map[string]any) {
	spec := child(p, "spec")
	if name := text(spec, "serviceAccountName"); name != "default" {
		c.add("ServiceAccount", name)
	}
	for _, s := range elements(spec, "imagePullSecrets") {
		c.add("Secret", text(s, "name"))
	}
	for _, field := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for _, container := range elements(spec, field) {
			c.container(container)
		}
	}
	for _, v := range elements(spec, "volumes") {
		c.volume(v)
	}
}

func (c *collector) container(container map[string]any) {
	for _, e := range elements(container, "envFrom") {
		c.add("ConfigMap", text(e, "configMapRef", "name"))
		c.add("Secret", text(e, "secretRef", "name"))
	}
	for _, e := range elements(container, "env") {
		c.add("ConfigMap", text(e, "valueFrom", "configMapKeyRef", "name"))
		c.add("Secret", text(e, "valueFrom", "secretKeyRef", "name"))
	}
}

// volume collects from a volume; which field of the source names the Secret is the
// source's own affair.
func (c *collector) volume(v map[string]any) {
	c.add("ConfigMap", text(v, "configMap", "name"))
	c.add("Secret", text(v, "secret", "secretName"))
	c.add("PersistentVolumeClaim", text(v, "persistentVolumeClaim", "claimName"))
	c.add("Secret", text(v, "azureFile", "secretName"))
	for _, source := range []string{"cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"} {
		c.add("Secret", text(v, source, "secretRef", "name"))
	}
	c.add("Secret", text(v, "csi", "nodePublishSecretRef", "name"))
	for _, s := range elements(v, "projected", "sources") {
		c.add("ConfigMap", text(s, "configMap", "name"))
		c.add("Secret", text(s, "secret", "name"))
	}
}
