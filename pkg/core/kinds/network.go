// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import workv1alpha1 "sluice.dev/apis/work/v1alpha1"

var service = Kind{
	prune:   pruneService,
	unshare: dropNodePorts,
	reports: []string{"loadBalancer"},
	health:  serviceHealth,
	// Only a load balancer has addresses to report.
	total: func(template map[string]any, members []Member) map[string]any {
		if text(template, "spec", "type") != "LoadBalancer" {
			return nil
		}
		return addresses(template, members)
	},
	unawaited: isName,
}

func isName(obj map[string]any) bool { return text(obj, "spec", "type") == "ExternalName" }

// pruneService takes out allocated addresses. A headless service stays one.
func pruneService(obj map[string]any) {
	spec := child(obj, "spec")
	delete(spec, "healthCheckNodePort")
	if spec["clusterIP"] != "None" {
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
	}
}

func dropNodePorts(obj map[string]any) {
	for _, port := range elements(obj, "spec", "ports") {
		delete(port, "nodePort")
	}
}

func serviceHealth(obj map[string]any) Health {
	switch {
	case text(obj, "spec", "type") == "LoadBalancer":
		return hasAddress(obj)
	case isName(obj):
		return workv1alpha1.ResourceHealthy
	}
	return healthyIf(text(obj, "spec", "clusterIP") != "")
}

var ingress = Kind{
	reports: []string{"loadBalancer"},
	health:  hasAddress,
	total:   addresses,
	refers: func(c *collector, obj map[string]any) {
		for _, t := range elements(obj, "spec", "tls") {
			c.add("Secret", text(t, "secretName"))
		}
	},
	unawaited: always,
}

func hasAddress(obj map[string]any) Health {
	return healthyIf(len(elements(obj, "status", "loadBalancer", "ingress")) > 0)
}
