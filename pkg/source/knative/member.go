// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/propagation"
)

// watchVariable tells Knative's receive adapter what to watch.
const watchVariable = "K_SOURCE_CONFIG"

// watchConfig is what the adapter reads.
type watchConfig struct {
	Mode          string    `json:"mode"`
	AllNamespaces bool      `json:"allNamespaces"`
	Namespaces    []string  `json:"namespaces"`
	Resources     []watched `json:"resources"`
	// Hub is for Sluice's adapter of members, which leaves out what that hub itself made;
	// empty: nothing is left out.
	Hub string `json:"hub,omitempty"`
}

type watched struct {
	GVR      schema.GroupVersionResource `json:"gvr"`
	Selector string                      `json:"selector,omitempty"`
}

// Of the objects of a kind an adapter watches those that were applied in a member,
// or on a hub all but frozen content.
const (
	applied  = propagation.LabelMemberWork
	unfrozen = "!" + propagation.LabelBinding
)

func watching(resources []schema.GroupVersionResource, selector, hub string) watchConfig {
	c := watchConfig{Mode: "Reference", AllNamespaces: true, Namespaces: []string{""}, Resources: []watched{}, Hub: hub}
	for _, r := range resources {
		c.Resources = append(c.Resources, watched{GVR: r, Selector: selector})
	}
	return c
}

func (c watchConfig) resources() (resources []schema.GroupVersionResource) {
	for _, w := range c.Resources {
		resources = append(resources, w.GVR)
	}
	return resources
}

func (c watchConfig) encode() (string, error) {
	raw, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode what to watch: %w", err)
	}
	return string(raw), nil
}

// configured is what a container is told to watch.
func configured(container any) (c watchConfig, err error) {
	value, _ := variable(container)["value"].(string)
	if value == "" {
		return c, nil
	}
	if err := json.Unmarshal([]byte(value), &c); err != nil {
		return c, fmt.Errorf("decode %s: %w", watchVariable, err)
	}
	return c, nil
}

// variable is the one that tells a container's adapter what to watch; nil where
// there is none.
func variable(container any) map[string]any {
	c, _ := container.(map[string]any)
	env, _ := c["env"].([]any)
	for _, e := range env {
		if v, _ := e.(map[string]any); v["name"] == watchVariable {
			return v
		}
	}
	return nil
}
