// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// This file is what the model knows things by. It shares none of it with the
// product: no hash, no name, no list of clusters.

// digest is what tells one value from another.
func digest(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	h := fnv.New64a()
	_, _ = h.Write(raw) // never fails
	return fmt.Sprintf("%016x", h.Sum64())
}

// systems tells whether a label or annotation is Sluice's.
func systems(key string) bool {
	return strings.Contains(key, ".karmada.io") || strings.Contains(key, "sluice.dev/")
}

// users are those of the labels or annotations that people wrote into templates.
func users(meta map[string]any, field string) map[string]any {
	m, _ := meta[field].(map[string]any)
	m = maps.Clone(m)
	maps.DeleteFunc(m, func(k string, _ any) bool { return systems(k) || k == overridden })
	if len(m) == 0 {
		return nil
	}
	return m
}

// contentOf is what people wrote of an object (CH1 to CH8): all but the status,
// what the API server writes, what is Sluice's, and the version that it is read in.
func contentOf(obj map[string]any) string {
	meta, _ := obj["metadata"].(map[string]any)
	parts := map[string]any{
		"namespace": meta["namespace"], "name": meta["name"], "finalizers": meta["finalizers"],
		"labels": users(meta, "labels"), "annotations": users(meta, "annotations"),
	}
	for k, v := range obj {
		if k != "metadata" && k != "status" {
			parts["."+k] = v
		}
	}
	parts[".apiVersion"] = groupOf(obj)
	return digest(parts)
}

// normal is what members get of an object, but for the number of replicas, which
// may differ.
func normal(obj map[string]any) string {
	meta := obj["metadata"].(map[string]any)
	out := map[string]any{"metadata": map[string]any{
		"name": meta["name"], "namespace": meta["namespace"], "labels": users(meta, "labels"), "annotations": users(meta, "annotations"),
	}}
	for k, v := range obj {
		if k != "metadata" && k != "status" {
			out[k] = v
		}
	}
	out["apiVersion"] = groupOf(obj)
	if spec, ok := out["spec"].(map[string]any); ok {
		spec = maps.Clone(spec)
		delete(spec, "replicas")
		out["spec"] = spec
	}
	return digest(out)
}

// written is a content that people wrote.
type written struct {
	content, normal string
	object          map[string]any
}

// contents are those that people ever wrote, by the hash that the product gives to
// each. One hash is one content, and the other way round, in each version.
type contents struct {
	byHash map[string]written
	// hashes are by content and version, and normals by content.
	hashes, normals map[string]string
}

func newContents() contents {
	return contents{map[string]written{}, map[string]string{}, map[string]string{}}
}

// learn notes a content that people wrote, or says why its hash is none.
func (c contents) learn(t *propagation.Template) error {
	for _, version := range versionsOf(t.Key) {
		if err := c.learnAs(t.As(version)); err != nil {
			return err
		}
	}
	return nil
}

func (c contents) learnAs(t *propagation.Template) error {
	own := contentOf(t.Object)
	as := own + fmt.Sprint(t.Object["apiVersion"])
	if known, ok := c.byHash[t.Hash]; ok && known.content != own {
		return fmt.Errorf("two contents of %s have the hash %s", t.Key, t.Hash)
	}
	if known, ok := c.hashes[as]; ok && known != t.Hash {
		return fmt.Errorf("one content of %s has the hashes %s and %s", t.Key, known, t.Hash)
	}
	c.byHash[t.Hash], c.hashes[as], c.normals[own] = written{own, normal(t.Object), t.Object}, t.Hash, normal(t.Object)
	return nil
}

// of is the content that has the hash; one that nobody wrote is another than all
// that somebody did.
func (c contents) of(hash string) string {
	if known, ok := c.byHash[hash]; ok || hash == "" {
		return known.content
	}
	return "nobody wrote " + hash
}

// bindingOf is the binding of a template, by what it says that it is for.
func (w *world) bindingOf(key propagation.TemplateKey) *propagation.Binding {
	for _, b := range w.hub.LiveBindings() {
		if b.Template().ID() == key.ID() {
			return b
		}
	}
	return nil
}

// workOf is a template's Work in a cluster, by what it says that it is for.
func (w *world) workOf(key propagation.TemplateKey, cluster string) *propagation.Work {
	for _, work := range w.hub.LiveWorks() {
		if work.Key.Cluster == cluster && templateOf(work).ID() == key.ID() {
			return work
		}
	}
	return nil
}

// inForce tells whether the binding says where its template goes.
func inForce(b *propagation.Binding) bool {
	return b != nil && !b.Deleting && b.Spec.Resource.UID != "" && b.ActedHash() != ""
}

// goesTo are the clusters that the binding's policy, and what refers to its
// template, want that on: by the placements, and not by what the scheduler made of
// them.
func (w *world) goesTo(b *propagation.Binding) []string {
	var names []string
	if formIn(b) != "" {
		names = append(names, w.wants(b)...)
	}
	for _, r := range b.Spec.RequiredBy {
		p := w.hub.LiveBinding(propagation.BindingKey{Namespace: r.Namespace, Name: r.Name})
		if p != nil && slices.ContainsFunc(w.refers(p), func(k propagation.TemplateKey) bool { return k.ID() == b.Template().ID() }) {
			names = append(names, w.wants(p)...)
			continue
		}
		for _, c := range r.Clusters {
			if w.hub.Joined(c.Name) { // it did, and a suspension holds what it brought
				names = append(names, c.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (w *world) joined() []string {
	return slices.DeleteFunc(slices.Clone(clusters), func(c string) bool { return !w.hub.Joined(c) })
}

// targets are the clusters that a placement wants, of those that are joined.
func targets(p *policyv1alpha1.Placement, joined []string) []string {
	if p == nil || p.ClusterAffinity == nil || len(p.ClusterAffinity.ClusterNames) == 0 {
		return joined
	}
	return slices.DeleteFunc(slices.Clone(joined), func(c string) bool { return !slices.Contains(p.ClusterAffinity.ClusterNames, c) })
}
