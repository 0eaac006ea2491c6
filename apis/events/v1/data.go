// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import "sluice.dev/apis/keys"

// Data is the payload of every event of Sluice's. Which fields an event has,
// says Catalog.
type Data struct {
	// Template that the event is about.
	Template *keys.TemplateKey `json:"template,omitempty"`
	// TemplateVersion is the resourceVersion of the template that was seen.
	TemplateVersion string `json:"templateVersion,omitempty"`
	// Policy that holds the template, or changed.
	Policy *keys.PolicyKey `json:"policy,omitempty"`
	// Previous is the policy that held the template before.
	Previous *keys.PolicyKey `json:"previous,omitempty"`
	// PolicyVersion is the resourceVersion of the policy that was seen.
	PolicyVersion string `json:"policyVersion,omitempty"`
	// Binding that the event is about.
	Binding *keys.BindingKey `json:"binding,omitempty"`
	// BindingVersion is the resourceVersion of the binding that was seen.
	BindingVersion string `json:"bindingVersion,omitempty"`
	// Placement is the name of the ClusterResourcePlacement that the event is
	// about; its Works have no binding of a policy.
	Placement string `json:"placement,omitempty"`
	// SnapshotIndex is the index of the placement's resource snapshot that was
	// seen.
	SnapshotIndex string `json:"snapshotIndex,omitempty"`
	// Work that the event is about.
	Work *keys.WorkKey `json:"work,omitempty"`
	// WorkVersion is the resourceVersion of the Work that was seen.
	WorkVersion string `json:"workVersion,omitempty"`
	// Works that the event is about, where they are those of several members: then
	// it has neither work nor cluster.
	Works *Works `json:"works,omitempty"`
	// SchedulerName is the scheduler that the binding asks for; empty for
	// Sluice's own.
	SchedulerName string `json:"schedulerName,omitempty"`
	// Applier is who brings the Works to their members, as their Clusters say; empty for
	// Sluice's own.
	Applier string `json:"applier,omitempty"`
	// Cluster that the event is about.
	Cluster string `json:"cluster,omitempty"`
	// Continue is where a paged fan-out goes on; opaque.
	Continue string `json:"continue,omitempty"`
	// Reason from the fixed list, for machines.
	Reason string `json:"reason,omitempty"`
	// Message for people.
	Message string `json:"message,omitempty"`
}
