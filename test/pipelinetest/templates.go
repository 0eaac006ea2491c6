// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// Template is the template of that key.
func (h *Hub) Template(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error) {
	if err := h.ask(ctx, "get", key.String()); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.located(&key); err != nil {
		return nil, err
	}
	t, err := h.templates.get(key.ID(), key.String())
	if err != nil {
		return nil, err
	}
	return inVersion(t, key.APIVersion), nil
}

// LiveTemplate is the template as it is.
func (h *Hub) LiveTemplate(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error) {
	if err := h.ask(ctx, "get", key.String()); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.located(&key); err != nil {
		return nil, err
	}
	if t := h.Live(key); t != nil {
		return inVersion(t, key.APIVersion), nil
	}
	return nil, &propagation.NoTemplate{Defined: h.defined[key.GroupVersionKind().GroupKind()], Err: fmt.Errorf("get %s: %w", key, outcome.ErrGone)}
}

// inVersion is the template as it is read in a version of its kind.
func inVersion(t *propagation.Template, apiVersion string) *propagation.Template {
	if t.Key.APIVersion == apiVersion {
		return t
	}
	read := *t.As(apiVersion)
	read.Key.APIVersion = apiVersion
	return &read
}

// Serve sets in which versions a kind is served, the preferred one first; none: it
// is not. Of kinds that nobody ever set, the templates' own versions are served.
func (h *Hub) Serve(kind schema.GroupKind, versions ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.serves == nil {
		h.serves = map[schema.GroupKind][]string{}
	}
	h.serves[kind] = versions
	h.redefined[kind.Group]++
}

// Definitions tells for each group how often the definitions of its kinds were changed.
func (h *Hub) Definitions(ctx context.Context) (map[string]string, error) {
	if err := h.ask(ctx, "list", "definitions"); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[string]string{}
	for group, times := range h.redefined {
		all[group] = strconv.Itoa(times)
	}
	return all, nil
}

// Define sets when the definition of a kind was made.
func (h *Hub) Define(kind schema.GroupKind, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.defined[kind] = at
}

// Defined tells when the definition of a kind was made.
func (h *Hub) Defined(ctx context.Context, gvk schema.GroupVersionKind) (time.Time, error) {
	if err := h.ask(ctx, "get", "definition of "+gvk.Kind); err != nil {
		return time.Time{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	at := propagation.TemplateKey{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind}
	return h.defined[gvk.GroupKind()], h.located(&at)
}

// Serves tells whether a kind is served. For tests.
func (h *Hub) Serves(kind schema.GroupKind) bool {
	versions, known := h.serves[kind]
	return !known || len(versions) > 0
}

// versionsOf are those that a kind is served in; false: nobody said.
func (h *Hub) versionsOf(kind schema.GroupVersionKind) ([]string, bool) {
	if versions, known := h.serves[kind.GroupKind()]; known {
		return versions, true
	}
	var versions []string
	for _, r := range h.templates.live {
		if gvk := r.key.GroupVersionKind(); gvk.GroupKind() == kind.GroupKind() {
			versions = append(versions, gvk.Version)
		}
	}
	return versions, len(versions) > 0
}

// located makes the key's version one that is served, or is outcome.ErrNotServed.
func (h *Hub) located(key *propagation.TemplateKey) error {
	gvk := key.GroupVersionKind()
	versions, known := h.versionsOf(gvk)
	switch {
	case !known, slices.Contains(versions, gvk.Version):
	case len(versions) == 0:
		return fmt.Errorf("get %s: %w", key, outcome.ErrNotServed)
	default:
		key.APIVersion = schema.GroupVersion{Group: gvk.Group, Version: versions[0]}.String()
	}
	return nil
}

// resolved is the policy with the kinds that it names and that are not served.
func (h *Hub) resolved(p *propagation.Policy) *propagation.Policy {
	r := *p
	for _, s := range p.Spec.ResourceSelectors {
		gvk := schema.FromAPIVersionAndKind(s.APIVersion, s.Kind)
		if versions, known := h.versionsOf(gvk); known && !slices.Contains(versions, gvk.Version) && !slices.Contains(r.NotServed, gvk) {
			r.NotServed = append(r.NotServed, gvk)
		}
	}
	return &r
}

// ListTemplates lists the templates of a kind, sorted: at most limit of them (0:
// all), those after cont, and where to go on.
func (h *Hub) ListTemplates(ctx context.Context, gvk schema.GroupVersionKind, namespace string, limit int64, cont string) ([]*propagation.Template, string, error) {
	if err := h.ask(ctx, "list", gvk.Kind); err != nil {
		return nil, "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	at := propagation.TemplateKey{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind}
	if err := h.located(&at); err != nil {
		return nil, "", err
	}
	all := slices.DeleteFunc(h.templates.list(), func(t *propagation.Template) bool {
		return t.Key.GroupVersionKind().GroupKind() != gvk.GroupKind() || namespace != "" && t.Key.Namespace != namespace || t.Key.ID() <= strings.TrimPrefix(cont, "after:")
	})
	next := ""
	if limit > 0 && int64(len(all)) > limit {
		all = all[:limit]
		next = "after:" + all[limit-1].Key.ID()
	}
	for i, t := range all {
		all[i] = inVersion(t, at.APIVersion)
	}
	return all, next, nil
}

// Watched are the kinds that Watching says; none by default.
func (h *Hub) Watched() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, t := range h.LiveTemplates() {
		if gvk := t.Key.GroupVersionKind(); h.Watching != nil && h.Watching(t.Key) && !slices.Contains(kinds, gvk) {
			kinds = append(kinds, gvk)
		}
	}
	return kinds
}

// CommitClaim writes who holds the template, and its baseline.
func (h *Hub) CommitClaim(ctx context.Context, t *propagation.Template, c propagation.Claim, b propagation.Baseline) (*propagation.Template, error) {
	labels, annotations := c.Metadata()
	annotations[propagation.AnnotationBaseline] = nil
	if b != "" {
		annotations[propagation.AnnotationBaseline] = (*string)(&b)
	}
	next := runtime.DeepCopyJSON(t.Object)
	meta := next["metadata"].(map[string]any)
	patch(meta, "labels", labels)
	patch(meta, "annotations", annotations)
	if reflect.DeepEqual(next, t.Object) {
		return t, nil
	}
	about := "claim of " + t.Key.String()
	if err := h.ask(ctx, "patch", about); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.located(&propagation.TemplateKey{APIVersion: t.Key.APIVersion, Kind: t.Key.Kind}); err != nil {
		return nil, err
	}
	if _, err := h.templates.current(t.Key.ID(), t.UID, t.ResourceVersion); err != nil {
		return nil, err
	}
	written := inVersion(h.writeTemplate(next, t, t.LastUserWrite, true), keyOf(t.Object).APIVersion)
	return written, h.wrote(ctx, "patch", about, t, written)
}

func patch(meta map[string]any, field string, changes map[string]*string) {
	m, _ := meta[field].(map[string]any)
	m = maps.Clone(m)
	if m == nil {
		m = map[string]any{}
	}
	for k, v := range changes {
		if v == nil {
			delete(m, k)
		} else {
			m[k] = *v
		}
	}
	if meta[field] = m; len(m) == 0 {
		delete(meta, field)
	}
}

// CommitTemplateStatus writes the status of a template whose kind has one.
func (h *Hub) CommitTemplateStatus(ctx context.Context, t *propagation.Template, status map[string]any) (bool, error) {
	if t.Key.Kind != "Deployment" {
		return false, nil
	}
	next := runtime.DeepCopyJSON(t.Object)
	next["status"] = runtime.DeepCopyJSON(status)
	if same(next["status"], t.Object["status"]) || len(status) == 0 && t.Object["status"] == nil {
		return true, nil
	}
	about := "status of " + t.Key.String()
	if err := h.ask(ctx, "patch", about); err != nil {
		return false, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.located(&propagation.TemplateKey{APIVersion: t.Key.APIVersion, Kind: t.Key.Kind}); err != nil {
		return false, err
	}
	if _, err := h.templates.current(t.Key.ID(), t.UID, t.ResourceVersion); err != nil {
		return false, err
	}
	return true, h.wrote(ctx, "patch", about, t, h.writeTemplate(next, t, t.LastUserWrite, true))
}

// ScaleTemplate writes how many replicas a template asks for, as somebody else would.
func (h *Hub) ScaleTemplate(ctx context.Context, t *propagation.Template, replicas int32) error {
	about := "scale of " + t.Key.String()
	if err := h.ask(ctx, "patch", about); err != nil {
		return err
	}
	next := runtime.DeepCopyJSON(t.Object)
	spec, _ := next["spec"].(map[string]any)
	spec["replicas"] = int64(replicas)
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := h.templates.current(t.Key.ID(), t.UID, t.ResourceVersion); err != nil {
		return err
	}
	return h.wrote(ctx, "patch", about, t, h.writeTemplate(next, t, h.second(), false))
}

// writeTemplate makes obj, which is nobody else's, the template that was old.
func (h *Hub) writeTemplate(obj map[string]any, old *propagation.Template, written time.Time, own bool) *propagation.Template {
	if stored := h.Live(keyOf(obj)); stored != nil {
		obj["apiVersion"] = stored.Key.APIVersion // whatever version it was read in
	}
	meta := obj["metadata"].(map[string]any)
	t := &propagation.Template{Key: keyOf(obj), LastUserWrite: written, Created: written, UID: h.newUID(), Object: obj, Ours: own && h.second().After(written)}
	generation := int64(1)
	if old != nil {
		t.UID, t.Created = old.UID, old.Created
		generation = generationOf(old.Object)
		if !reflect.DeepEqual(generates(obj), generates(old.Object)) {
			generation++
		}
	}
	version := h.next()
	t.ResourceVersion = strconv.FormatUint(version, 10)
	meta["uid"], meta["resourceVersion"], meta["generation"] = string(t.UID), t.ResourceVersion, generation
	meta["creationTimestamp"] = t.Created.UTC().Format(time.RFC3339)
	t.Labels = texts(meta["labels"])
	annotations := texts(meta["annotations"])
	t.Deleting = meta["deletionTimestamp"] != nil
	t.Claim = propagation.ClaimFrom(t.Labels, annotations)
	t.Baseline = propagation.Baseline(annotations[propagation.AnnotationBaseline])
	t.Hash = propagation.HashContent(obj)
	h.templates.store(t.Key.ID(), &row[*propagation.Template]{key: t.Key, uid: t.UID, version: version, value: t}, own)
	return t
}

// generates is the part of an object whose change makes a new generation.
func generates(obj map[string]any) map[string]any {
	part := map[string]any{}
	for k, v := range obj {
		if k != "apiVersion" && k != "metadata" && k != "status" {
			part[k] = v
		}
	}
	if obj["kind"] == "Deployment" {
		part["annotations"] = obj["metadata"].(map[string]any)["annotations"]
	}
	return part
}

func generationOf(obj map[string]any) int64 {
	n, _ := obj["metadata"].(map[string]any)["generation"].(int64)
	return n
}

func keyOf(obj map[string]any) propagation.TemplateKey {
	text := func(m map[string]any, k string) string { s, _ := m[k].(string); return s }
	meta, _ := obj["metadata"].(map[string]any)
	return propagation.TemplateKey{
		APIVersion: text(obj, "apiVersion"), Kind: text(obj, "kind"), Namespace: text(meta, "namespace"), Name: text(meta, "name"),
	}
}

func texts(v any) map[string]string {
	m, _ := v.(map[string]any)
	out := make(map[string]string, len(m))
	for k, e := range m {
		out[k], _ = e.(string)
	}
	return out
}

// Live is the template as it is; nil: there is none. For tests.
func (h *Hub) Live(key propagation.TemplateKey) *propagation.Template {
	if r := h.templates.live[key.ID()]; r != nil {
		return r.value
	}
	return nil
}

// LiveTemplates are all templates as they are, sorted. For tests.
func (h *Hub) LiveTemplates() []*propagation.Template {
	var all []*propagation.Template
	for _, id := range slices.Sorted(maps.Keys(h.templates.live)) {
		all = append(all, h.templates.live[id].value)
	}
	return all
}

// Apply lets somebody make the object, or change it as edit says, which gets a
// copy. It tells whether anything changed.
func (h *Hub) Apply(key propagation.TemplateKey, edit func(obj map[string]any)) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	obj := map[string]any{"apiVersion": key.APIVersion, "kind": key.Kind, "metadata": map[string]any{"name": key.Name}}
	if key.Namespace != "" {
		obj["metadata"].(map[string]any)["namespace"] = key.Namespace
	}
	old := h.Live(key)
	if old == nil {
		edit(obj)
		h.writeTemplate(obj, nil, h.second(), false)
		return true
	}
	obj = runtime.DeepCopyJSON(old.Object)
	edit(obj)
	if reflect.DeepEqual(obj, old.Object) {
		return false
	}
	written := old.LastUserWrite
	if takes(usersPart(old.Object), usersPart(obj)) {
		written = h.second()
	}
	if gone(obj) {
		h.templates.remove(key.ID(), false)
		return true
	}
	h.writeTemplate(obj, old, written, false)
	return true
}

// gone tells whether the object is being deleted, and nothing keeps it.
func gone(obj map[string]any) bool {
	meta := obj["metadata"].(map[string]any)
	finalizers, _ := meta["finalizers"].([]any)
	return meta["deletionTimestamp"] != nil && len(finalizers) == 0
}

// usersPart is obj without its status, and without the labels and annotations of the
// system.
func usersPart(obj map[string]any) map[string]any {
	out := maps.Clone(obj)
	delete(out, "status")
	meta, _ := obj["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	for _, field := range []string{"labels", "annotations"} {
		all, _ := meta[field].(map[string]any)
		all = maps.Clone(all)
		maps.DeleteFunc(all, func(key string, _ any) bool { return propagation.IsSystemKey(key) })
		if meta[field] = all; len(all) == 0 {
			delete(meta, field)
		}
	}
	out["metadata"] = meta
	return out
}

// second is the time in the resolution of the API server.
func (h *Hub) second() time.Time { return h.options.Now().Truncate(time.Second).UTC() }

// Delete lets somebody delete the object, which stays as long as it has
// finalizers.
func (h *Hub) Delete(key propagation.TemplateKey) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.Live(key)
	if old == nil || old.Deleting {
		return false
	}
	obj := runtime.DeepCopyJSON(old.Object)
	meta := obj["metadata"].(map[string]any)
	meta["deletionTimestamp"] = h.second().Format(time.RFC3339)
	if gone(obj) {
		h.templates.remove(key.ID(), false)
	} else {
		h.writeTemplate(obj, old, old.LastUserWrite, false)
	}
	return true
}

// revisionKey is the key of frozen content as a source tells of it.
func revisionKey(namespace, name string) propagation.TemplateKey {
	return propagation.TemplateKey{APIVersion: "apps/v1", Kind: "ControllerRevision", Namespace: namespace, Name: name}
}

var errTaken = outcome.Conflict(errors.New("the name is taken"))
