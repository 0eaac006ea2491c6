// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// Requests returns what one replica requests of a node, by its pod template; false where
// that cannot be told, since there is none that can be read.
func Requests(obj map[string]any) (corev1.ResourceList, bool) {
	t := child(obj, "spec", "template", "spec")
	if t == nil {
		return nil, false
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return nil, false
	}
	var spec PodSpec
	if err := json.Unmarshal(raw, &spec); err != nil {
		return nil, false
	}
	return spec.Requests(), true
}

// PodSpec is what of a pod is requested of a node.
type PodSpec struct {
	Containers     []Container                 `json:"containers"`
	InitContainers []Container                 `json:"initContainers"`
	Overhead       corev1.ResourceList         `json:"overhead"`
	Resources      corev1.ResourceRequirements `json:"resources"`
}

// Container is what of a container is requested of a node.
type Container struct {
	RestartPolicy string                      `json:"restartPolicy"`
	Resources     corev1.ResourceRequirements `json:"resources"`
}

// Requests are the most that the pod requests at a time: of its containers and those
// that stay beside them, or of one that runs before them. What the pod says as a whole
// counts instead.
func (p PodSpec) Requests() corev1.ResourceList {
	sum, stay, most := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for _, c := range p.InitContainers {
		if c.RestartPolicy == string(corev1.ContainerRestartPolicyAlways) {
			add(stay, requests(c.Resources))
			raise(most, stay)
			continue
		}
		before := stay.DeepCopy()
		add(before, requests(c.Resources))
		raise(most, before)
	}
	for _, c := range p.Containers {
		add(sum, requests(c.Resources))
	}
	add(sum, stay)
	raise(sum, most)
	for name, q := range requests(p.Resources) {
		sum[name] = q
	}
	add(sum, p.Overhead)
	return sum
}

// requests are those that the API server gives a pod: where it only has a limit of a
// resource, it requests as much.
func requests(r corev1.ResourceRequirements) corev1.ResourceList {
	out := corev1.ResourceList{}
	raise(out, r.Requests)
	for name, q := range r.Limits {
		if _, says := out[name]; !says {
			out[name] = q
		}
	}
	return out
}

func add(to, some corev1.ResourceList) {
	for name, q := range some {
		total := to[name]
		total.Add(q)
		to[name] = total
	}
}

func raise(to, least corev1.ResourceList) {
	for name, q := range least {
		if known, ok := to[name]; !ok || known.Cmp(q) < 0 {
			to[name] = q
		}
	}
}
