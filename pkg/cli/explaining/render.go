// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"fmt"
	"maps"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/core/scheduling"
	"sluice.dev/pkg/core/scheduling/filters"
)

// Coming returns the template's binding once everything that may take effect at once
// has, with its clusters chosen; nil: nothing is in force then.
func (w World) Coming(s Subject) *propagation.Binding {
	return w.assigned(gating.Decide(w.Gate(s)).Next)
}

// Eventually returns the template's binding once pending changes have taken effect,
// too.
func (w World) Eventually(s Subject) *propagation.Binding {
	in := w.Gate(s)
	if d := gating.Decide(in); !d.Pending() || in.Policy == nil {
		return w.assigned(d.Next)
	}
	return w.assigned(Released(in))
}

// Waits returns what the template waits for; empty: nothing.
func (w World) Waits(s Subject) string {
	d := gating.Decide(w.Gate(s))
	if !d.Pending() {
		return ""
	}
	return d.Message
}

func (w World) assigned(b *propagation.Binding) *propagation.Binding {
	if b == nil || b.ActedHash() == "" {
		return nil
	}
	if b.ForeignScheduler() != "" {
		return b // only that scheduler knows
	}
	next := *b
	next.Spec.Clusters = scheduling.Decide(scheduling.Input{Binding: b, Clusters: w.Clusters}).Targets
	return &next
}

// WhyNot returns why a joined cluster gets nothing from the binding.
func (w World) WhyNot(b *propagation.Binding, c *clusterv1alpha1.Cluster) string {
	if b == nil {
		return "nothing of it is in force"
	}
	if s := b.ForeignScheduler(); s != "" {
		return "scheduler " + s + " did not choose it"
	}
	why := ""
	if b.Spec.Placement != nil {
		why = filters.Reject(filters.Input{Binding: b, Affinity: w.affinity(b), Cluster: c})
	}
	if why == "" {
		return "other clusters come first"
	}
	return "it " + why
}

// Rendered is what members get from a template.
type Rendered struct {
	// Manifests by member, with the data of Secrets.
	Manifests map[string]map[string]any
	// Failures by member: why its manifest cannot be rendered.
	Failures map[string]error
}

// Render renders the content that the binding names for each of its members, as the
// renderer does.
func (w World) Render(s Subject, b *propagation.Binding, overrides []propagation.Override) (Rendered, error) {
	r := Rendered{Manifests: map[string]map[string]any{}, Failures: map[string]error{}}
	if b == nil {
		return r, nil
	}
	content := s.content(b)
	if content == nil {
		return r, fmt.Errorf("the content of %s that is in force is not kept any more", s.Template.Key)
	}
	targets, known := b.TargetClusters(), w.kinds(b)
	for _, c := range w.Clusters {
		if !slices.Contains(targets, c.Name) {
			continue
		}
		manifest, err := manifestOf(known, b, content, c, overrides)
		if err != nil {
			r.Failures[c.Name] = err
			continue
		}
		r.Manifests[c.Name] = manifest
	}
	return r, nil
}

// content returns the content that the binding names; nil: it was not read.
func (s Subject) content(b *propagation.Binding) map[string]any {
	switch {
	case s.Revision != nil && s.Revision.Hash == b.ActedHash():
		return s.Revision.Content
	case s.Template.Hash == b.ActedHash():
		return propagation.Content(s.Template.Object)
	}
	return nil
}

func manifestOf(known kinds.Table, b *propagation.Binding, content map[string]any, c *clusterv1alpha1.Cluster, overrides []propagation.Override) (map[string]any, error) {
	work, err := rendering.Render(known, b, content, c, overrides)
	if err != nil {
		return nil, err
	}
	return opened(work, work.Spec.Workload.Manifests[0])
}

// opened returns a manifest of a Work that was just rendered, with the data of its
// Secret.
func opened(w *propagation.Work, m workv1alpha1.Manifest) (map[string]any, error) {
	var manifest map[string]any
	if err := utiljson.Unmarshal(m.Raw, &manifest); err != nil {
		return nil, fmt.Errorf("decode what was rendered: %w", err)
	}
	whole, ok := propagation.Open(manifest, w.Contents)
	if !ok {
		return nil, fmt.Errorf("what %s holds was not rendered with it", propagation.KeyOf(manifest))
	}
	return whole, nil
}

// Masked returns a manifest in which the values of a Secret are hidden.
func Masked(manifest map[string]any) map[string]any {
	if !propagation.IsSecret(manifest) {
		return manifest
	}
	hidden := maps.Clone(manifest)
	for _, field := range []string{"data", "stringData"} {
		if values, ok := hidden[field].(map[string]any); ok {
			hidden[field] = mask(values, nil, "")
		}
	}
	return hidden
}
