// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
)

// The ports of a Service are a list with keys: what is applied comes beside what others
// have set there, and two ports need different names. So where somebody changed the number
// of a port in the member, the member refuses to have it put back.

// HasPorts reports whether the manifest is a Service with ports.
func HasPorts(manifest map[string]any) bool { return isService(manifest) && len(ports(manifest)) > 0 }

// TakePorts returns the managed fields of a Service, as it was read, in which all its ports
// are Sluice's: those that it does not ask for, the next apply takes away. All else stays
// whose it is. False: nobody else has set a port, or Sluice has applied nothing.
func TakePorts(service map[string]any) (managed []any, took bool) {
	meta, _ := service["metadata"].(map[string]any)
	entries, _ := meta["managedFields"].([]any)
	all := map[string]any{}
	var ours map[string]any
	for _, e := range runtime.DeepCopyJSONValue(entries).([]any) {
		entry, _ := e.(map[string]any)
		managed = append(managed, e)
		fields, _ := entry["fieldsV1"].(map[string]any)
		spec, _ := fields["f:spec"].(map[string]any)
		set, _ := spec["f:ports"].(map[string]any)
		switch {
		case own(entry):
			ours = entry
		case set == nil || entry["subresource"] != nil:
			continue
		default:
			delete(spec, "f:ports")
			took = true
		}
		maps.Copy(all, set)
	}
	if ours == nil || !took {
		return nil, false
	}
	part(part(ours, "fieldsV1"), "f:spec")["f:ports"] = all
	return managed, true
}
