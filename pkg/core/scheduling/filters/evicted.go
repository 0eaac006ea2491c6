// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package filters

// Evicted keeps a template from going back to a cluster that it is just being
// evicted from.
func Evicted(in Input) string {
	for _, task := range in.Binding.Spec.GracefulEvictionTasks {
		if task.FromCluster == in.Cluster.Name {
			return "is being left by an eviction"
		}
	}
	return ""
}
