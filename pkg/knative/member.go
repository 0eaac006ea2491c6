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
}

type watched struct {
	GVR      schema.GroupVersionResource `json:"gvr"`
	Selector string                      `json:"selector,omitempty"`
}

// Watching is the adapter's configuration in a member: what was applied there of
// these kinds, and nothing else.
func Watching(resources []schema.GroupVersionResource) (string, error) {
	return encode(resources, propagation.LabelMemberWork)
}

// watchingTemplates is the configuration on a hub: all but frozen content.
func watchingTemplates(resources []schema.GroupVersionResource) (string, error) {
	return encode(resources, "!"+propagation.LabelBinding)
}

func encode(resources []schema.GroupVersionResource, selector string) (string, error) {
	c := watchConfig{Mode: "Reference", AllNamespaces: true, Namespaces: []string{""}, Resources: []watched{}}
	for _, r := range resources {
		c.Resources = append(c.Resources, watched{GVR: r, Selector: selector})
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode what to watch: %w", err)
	}
	return string(raw), nil
}
