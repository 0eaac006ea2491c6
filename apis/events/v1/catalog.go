// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"slices"

	"sluice.dev/apis/keys"
)

// Field is a field of Data, by its JSON name.
type Field string

// The fields that an event may need.
const (
	FieldTemplate  Field = "template"
	FieldPolicy    Field = "policy"
	FieldPrevious  Field = "previous"
	FieldBinding   Field = "binding"
	FieldPlacement Field = "placement"
	FieldWork      Field = "work"
	FieldCluster   Field = "cluster"
	FieldWorks     Field = "works"
)

// Entry documents one type of event.
type Entry struct {
	// Stage that emits it.
	Stage string
	// Tells, in one sentence, what happened.
	Tells string
	// Needs are the fields of Data that are always there. The Work of a placement
	// has no binding: where a type needs both, the placement stands for it. Where a
	// type needs work and cluster, works stand for both.
	Needs []Field
}

// Catalog documents every type of Sluice's events. docs/events.md, the schemas
// and the EventTypes in config are generated from it.
var Catalog = map[string]Entry{
	TemplateTouched:      {"detector", "Something that the template's claim depends on changed.", []Field{FieldTemplate}},
	TemplateClaimed:      {"detector", "A policy holds the template.", []Field{FieldTemplate, FieldPolicy}},
	TemplateReleased:     {"detector", "No policy holds the template any more, or the template is gone.", []Field{FieldTemplate}},
	TemplateWaiting:      {"detector", "No policy holds the template, and none may take it now.", []Field{FieldTemplate}},
	TemplateContested:    {"detector", "A policy is entitled to take the template from the one that holds it.", []Field{FieldTemplate, FieldPolicy}},
	ClaimPreempted:       {"preemptor", "A policy took the template from another.", []Field{FieldTemplate, FieldPolicy, FieldPrevious}},
	BindingActivated:     {"gate", "What the binding holds is in force.", []Field{FieldTemplate, FieldBinding}},
	BindingDeferred:      {"gate", "A newer form of the policy, or of the template, is pending.", []Field{FieldTemplate, FieldBinding}},
	BindingRemoved:       {"gate", "The binding is gone, and its Works have to go.", []Field{FieldTemplate, FieldBinding}},
	BindingScheduled:     {"scheduler", "The binding's clusters are chosen.", []Field{FieldTemplate, FieldBinding}},
	WorkRendered:         {"renderer", "A Work holds what its member shall get.", []Field{FieldTemplate, FieldBinding, FieldWork, FieldCluster}},
	WorkRemoved:          {"renderer", "A member shall no longer have a Work's objects.", []Field{FieldTemplate, FieldBinding, FieldWork, FieldCluster}},
	WorkApplied:          {"applier", "The member has what the Work says.", []Field{FieldTemplate, FieldBinding, FieldWork, FieldCluster}},
	WorkHeld:             {"applier", "The Work is suspended, and its member was not touched.", []Field{FieldTemplate, FieldBinding, FieldWork, FieldCluster}},
	WorkFailed:           {"applier", "The member does not have what the Work says, or there is no Work.", []Field{FieldTemplate, FieldBinding, FieldWork, FieldCluster}},
	WorkDeleted:          {"applier", "The Work and its objects in the member are gone.", []Field{FieldTemplate, FieldBinding, FieldWork, FieldCluster}},
	TemplateReported:     {"reporter", "The status of binding and template is up to date.", []Field{FieldTemplate, FieldBinding}},
	ClusterChanged:       {"sweeper", "A cluster joined, left, or changed its labels or its readiness.", []Field{FieldCluster}},
	PolicyChanged:        {"detector", "A policy may select other templates, or the fan-out of its change goes on.", []Field{FieldPolicy}},
	PlacementTouched:     {"placer", "Something that the placement's selection depends on changed.", []Field{FieldPlacement}},
	PlacementSnapshotted: {"placer", "The placement's snapshots say what it selects, and where it wants that.", []Field{FieldPlacement}},
	PlacementScheduled:   {"scheduler", "The placement's clusters are picked.", []Field{FieldPlacement}},
	PlacementWaiting:     {"rollout", "The rollout of the placement waits.", []Field{FieldPlacement}},
	PlacementBound:       {"rollout", "A member shall get a snapshot of a placement, or nothing of it any more.", []Field{FieldPlacement, FieldCluster}},
	PlacementReported:    {"reporter", "The status of a placement is up to date.", []Field{FieldPlacement}},
	OverridesChanged:     {"renderer", "The fan-out of an override's change goes on.", nil},
	GatesChanged:         {"detector", "A feature gate was switched.", nil},
	SourcesChanged:       {"sweeper", "Sources start anew, and what happens meanwhile is looked for.", nil},
	IndexLost:            {"sweeper", "Redis lost its data, and it is rebuilt from the hub.", nil},
}

func has(d Data, f Field) bool {
	switch f {
	case FieldTemplate:
		return d.Template != nil && d.Template.APIVersion != "" && d.Template.Kind != "" && d.Template.Name != ""
	case FieldPolicy:
		return d.Policy != nil && d.Policy.Name != ""
	case FieldPrevious:
		return d.Previous != nil && d.Previous.Name != ""
	case FieldBinding:
		return d.Binding != nil && d.Binding.Name != ""
	case FieldPlacement:
		return d.Placement != ""
	case FieldWork:
		return d.Works != nil || d.Work != nil && d.Work.Name != "" && d.Work.Cluster != "" && slices.Contains(keys.Forms, d.Work.Form)
	case FieldWorks:
		return d.Works != nil
	case FieldCluster:
		return d.Cluster != "" || d.Works != nil
	}
	return false
}

// ofPlacement tells whether the event is about the Work of a placement.
func ofPlacement(d Data) bool {
	form := keys.PolicyForm
	switch {
	case d.Works != nil:
		form = d.Works.Form
	case d.Work != nil:
		form = d.Work.Form
	}
	return d.Placement != "" && form == keys.PlacementForm
}
