// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/propagation"
)

// Selector is what one resource selector of a policy selects.
type Selector struct {
	// APIVersion and Kind: the index knows the group and the kind alone.
	APIVersion, Kind string
	// Namespace: empty is any. For a namespaced policy it is the policy's own.
	Namespace string
	// Name: empty is any.
	Name string
	// Labelled tells that a label selector narrows it further. The caller
	// matches labels; the index takes such a selector for any name.
	Labelled bool
}

// SelectorsOf is what a policy selects. Whatever a namespaced policy says, that is
// in its own namespace.
func SelectorsOf(p *propagation.Policy) []Selector {
	var selectors []Selector
	for _, rs := range p.Spec.ResourceSelectors {
		s := Selector{
			APIVersion: rs.APIVersion, Kind: rs.Kind, Namespace: rs.Namespace, Name: rs.Name,
			Labelled: rs.Name == "" && rs.LabelSelector != nil,
		}
		if p.Key.Scope == propagation.Namespaced {
			s.Namespace = p.Key.Namespace
		}
		selectors = append(selectors, s)
	}
	return selectors
}

// IndexPolicy makes the index say what p selects, and tells since which of its
// resourceVersions it does. A policy that was indexed at a newer version is left
// as it is.
//
// changed is for measuring only. Whether something must follow cannot be told
// from it: the one who changed it may have crashed since.
func (m *Map) IndexPolicy(ctx context.Context, p *propagation.Policy, selectors []Selector) (since uint64, changed bool, err error) {
	digest, err := digestOf(p, selectors)
	if err != nil {
		return 0, false, fmt.Errorf("index %s: %w", p.Key, err)
	}
	since, changed, err = m.index(ctx, p.Key, propagation.Version(p.ResourceVersion), digest, entriesOf(selectors))
	if err != nil {
		return 0, false, fmt.Errorf("index %s: %w", p.Key, err)
	}
	return since, changed, nil
}

// RemovePolicy takes a policy that is gone from the hub out of the index. What
// it holds stays listed as held by it until recorded anew, and its suspension
// stays. The policy may have been made anew meanwhile: read it once more
// afterwards.
func (m *Map) RemovePolicy(ctx context.Context, key propagation.PolicyKey) error {
	if err := m.remove(ctx, key); err != nil {
		return fmt.Errorf("remove %s from the index: %w", key, err)
	}
	return nil
}

// An entry is one selector as the index has it. It leaves out the labels, and the
// version: that is no part of who a template is.
func entry(apiVersion, kind, namespace, name string) string {
	return schema.FromAPIVersionAndKind(apiVersion, kind).Group + "/" + kind + "/" + namespace + "/" + name
}

// entriesOf are the index entries of a policy's selectors, sorted. A selector
// with a line break selects nothing, for nothing is named so; in the index it
// could pass for another policy's.
func entriesOf(selectors []Selector) []string {
	var entries []string
	for _, s := range selectors {
		if e := entry(s.APIVersion, s.Kind, s.Namespace, s.Name); !strings.Contains(e, "\n") {
			entries = append(entries, e)
		}
	}
	slices.Sort(entries)
	return slices.Compact(entries)
}

// entriesFor are the index entries that may select a template.
func entriesFor(t propagation.TemplateKey) []string {
	entries := []string{entry(t.APIVersion, t.Kind, "", t.Name), entry(t.APIVersion, t.Kind, "", "")}
	if t.Namespace != "" {
		entries = append(entries, entry(t.APIVersion, t.Kind, t.Namespace, t.Name), entry(t.APIVersion, t.Kind, t.Namespace, ""))
	}
	return entries
}

// digestOf tells selections apart: by the policy's permanent id and by all that
// its selectors say, in whatever order. The labels, which no Selector has, are
// taken from the policy.
func digestOf(p *propagation.Policy, selectors []Selector) (string, error) {
	var lines []string
	for _, s := range selectors {
		line, err := json.Marshal(s)
		if err != nil {
			return "", err
		}
		lines = append(lines, string(line))
	}
	for _, s := range p.Spec.ResourceSelectors {
		line, err := json.Marshal(s)
		if err != nil {
			return "", err
		}
		lines = append(lines, string(line))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(p.ID + "\n" + strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:16]), nil
}
