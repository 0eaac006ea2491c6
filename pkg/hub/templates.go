// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/interned"
	"sluice.dev/pkg/outcome"
)

// templateKind is the kind of templates, in its version or in another that is
// served; outcome.ErrNotServed where none is.
func (h *Hub) templateKind(gvk schema.GroupVersionKind) (*kind[*propagation.Template], error) {
	h.mu.Lock()
	k := h.templates[gvk]
	h.mu.Unlock()
	if k != nil {
		return k, nil
	}
	r, err := h.catalog.Locate(gvk)
	if err != nil {
		return nil, err
	}
	gvk = r.GroupVersionKind
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.templates[gvk] == nil {
		k := &kind[*propagation.Template]{
			resource: r, client: h.client, selector: templatesOnly(gvk),
			decode: func(raw []byte) (record[*propagation.Template], error) { return decodeTemplate(r.TypeMeta(), raw) },
		}
		k.lost = func() { h.forget(gvk, k) }
		h.templates[gvk] = k
	}
	return h.templates[gvk], nil
}

// templatesOnly selects the objects of a kind that may be templates: frozen content
// looks like one, and is none. A label of anybody else's makes no difference.
func templatesOnly(gvk schema.GroupVersionKind) string {
	if gvk == revisionKind.GroupVersionKind || gvk == secretKind.GroupVersionKind {
		return "!" + propagation.LabelBinding
	}
	return ""
}

// forget ends what is known of a kind that is not served there any more. Whoever
// asks for it next asks the API server where it is.
func (h *Hub) forget(gvk schema.GroupVersionKind, k *kind[*propagation.Template]) {
	h.catalog.Forget(gvk.Group)
	h.mu.Lock()
	if h.templates[gvk] == k {
		delete(h.templates, gvk)
	}
	h.mu.Unlock()
	k.stop()
}

func decodeTemplate(t metav1.TypeMeta, raw []byte) (record[*propagation.Template], error) {
	var o struct {
		metav1.ObjectMeta `json:"metadata"`
	}
	var obj map[string]any
	if err := utiljson.Unmarshal(raw, &o); err != nil {
		return record[*propagation.Template]{}, fmt.Errorf("decode: %w", err)
	}
	if err := utiljson.Unmarshal(raw, &obj); err != nil {
		return record[*propagation.Template]{}, fmt.Errorf("decode: %w", err)
	}
	obj["apiVersion"], obj["kind"] = t.APIVersion, t.Kind
	if m, ok := obj["metadata"].(map[string]any); ok {
		delete(m, "managedFields")
	}
	interned.Tree(obj)
	return recordOf(&o.ObjectMeta, &propagation.Template{
		Key:             propagation.TemplateKey{APIVersion: t.APIVersion, Kind: t.Kind, Namespace: o.Namespace, Name: o.Name},
		UID:             o.UID,
		ResourceVersion: o.ResourceVersion,
		Created:         o.CreationTimestamp.Time,
		LastUserWrite:   lastUserWrite(&o.ObjectMeta),
		Ours:            propagation.OwnWrite(&o.ObjectMeta),
		Deleting:        o.DeletionTimestamp != nil,
		Labels:          o.Labels,
		Claim:           propagation.ClaimFrom(o.Labels, o.Annotations),
		Baseline:        propagation.Baseline(o.Annotations[propagation.AnnotationBaseline]),
		Hash:            propagation.HashContent(obj),
		Object:          obj,
	}), nil
}

// TemplateOf is the template that an object is, as the API server would answer with it.
func TemplateOf(u *unstructured.Unstructured) (*propagation.Template, error) {
	raw, err := u.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	r, err := decodeTemplate(metav1.TypeMeta{APIVersion: u.GetAPIVersion(), Kind: u.GetKind()}, raw)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return r.value, nil
}

// Template is the template of that key, read in that version or in another that is
// served. outcome.ErrGone: there is none.
// outcome.ErrNotServed: its kind is not, and nobody can tell.
func (h *Hub) Template(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error) {
	k, err := h.templateKind(key.GroupVersionKind())
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	t, err := k.get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: key.Name})
	if err == nil && t.Labels[propagation.LabelBinding] != "" && templatesOnly(k.GroupVersionKind) != "" {
		return nil, fmt.Errorf("get %s: it is frozen content: %w", key, outcome.ErrGone)
	}
	return t, err
}

// LiveTemplate is the template of that key as the API server has it at this moment,
// whatever it is labelled: outcome.ErrGone is a proof that there is none.
func (h *Hub) LiveTemplate(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error) {
	k, err := h.templateKind(key.GroupVersionKind())
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	r, err := k.getLive(ctx, types.NamespacedName{Namespace: key.Namespace, Name: key.Name})
	if err != nil {
		return nil, err
	}
	return r.value, nil
}

// CommitClaim writes into the metadata of the template, if it still is as it
// was read, who holds it, and its baseline; and nothing else.
func (h *Hub) CommitClaim(ctx context.Context, t *propagation.Template, c propagation.Claim, b propagation.Baseline) (*propagation.Template, error) {
	k, err := h.templateKind(t.Key.GroupVersionKind())
	if err != nil {
		return nil, fmt.Errorf("claim %s: %w", t.Key, err)
	}
	labels, annotations := c.Metadata()
	annotations[propagation.AnnotationBaseline] = nil
	if b != "" {
		baseline := string(b)
		annotations[propagation.AnnotationBaseline] = &baseline
	}
	meta := map[string]any{}
	if d := missingFrom(t.Labels, labels); len(d) > 0 {
		meta["labels"] = d
	}
	if d := missingFrom(annotationsOf(t.Object), annotations); len(d) > 0 {
		meta["annotations"] = d
	}
	if len(meta) == 0 {
		return t, nil
	}
	patch := conditional(map[string]any{"metadata": meta}, t.UID, t.ResourceVersion)
	return k.patch(ctx, nameOf(t), patch)
}

// missingFrom is what has to be written into have, so that it says what want
// says; nil for what has to go.
func missingFrom(have map[string]string, want map[string]*string) map[string]any {
	d := map[string]any{}
	for key, w := range want {
		h, ok := have[key]
		switch {
		case w == nil && ok:
			d[key] = nil
		case w != nil && (!ok || h != *w):
			d[key] = *w
		}
	}
	return d
}

// annotationsOf are the annotations of an object in JSON.
func annotationsOf(object map[string]any) map[string]string {
	meta, _ := object["metadata"].(map[string]any)
	all, _ := meta["annotations"].(map[string]any)
	annotations := make(map[string]string, len(all))
	for key, value := range all {
		annotations[key], _ = value.(string)
	}
	return annotations
}

// CommitTemplateStatus writes the status of the template, if it still is as it
// was read. False: its kind has no status that could be written.
func (h *Hub) CommitTemplateStatus(ctx context.Context, t *propagation.Template, status map[string]any) (bool, error) {
	k, err := h.templateKind(t.Key.GroupVersionKind())
	if err != nil {
		return false, fmt.Errorf("report %s: %w", t.Key, err)
	}
	if !k.Status {
		return false, nil
	}
	have, _ := t.Object["status"].(map[string]any)
	patch, err := patchOf(have, status)
	if err != nil {
		return false, fmt.Errorf("report %s: %w", t.Key, err)
	}
	if patch == nil {
		return true, nil
	}
	_, err = k.patch(ctx, nameOf(t), conditional(map[string]any{"status": patch}, t.UID, t.ResourceVersion), "status")
	return err == nil, err
}

// ScaleTemplate writes how many replicas the template asks for, if it still is as it
// was read but for its status. The change does not count as Sluice's own: it takes
// effect as a user's change does.
func (h *Hub) ScaleTemplate(ctx context.Context, t *propagation.Template, replicas int32) error {
	k, err := h.templateKind(t.Key.GroupVersionKind())
	if err != nil {
		return fmt.Errorf("scale %s: %w", t.Key, err)
	}
	spec, _ := t.Object["spec"].(map[string]any)
	patch := []map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": t.UID},
		{"op": "test", "path": "/spec/replicas", "value": spec["replicas"]},
		{"op": "replace", "path": "/spec/replicas", "value": replicas},
	}
	req := k.client.Verb(http.MethodPatch).AbsPath(k.Path(nameOf(t), "scale")...).Param("fieldManager", propagation.ReplicasManager)
	_, err = send(ctx, req, string(types.JSONPatchType), patch)
	if apierrors.IsInvalid(err) { // the answer to a patch whose test fails
		return outcome.Conflict(fmt.Errorf("scale %s: %w", k.about(nameOf(t)), err))
	}
	if err != nil {
		return k.explain(err, "scale "+k.about(nameOf(t)))
	}
	return nil
}

// ListTemplates lists the templates of a kind, sorted: at most limit of them
// (0: all), those after cont, and where to go on (empty: that was all). A list
// that takes too long to go through may tell of an object twice.
func (h *Hub) ListTemplates(ctx context.Context, gvk schema.GroupVersionKind, namespace string, limit int64, cont string) ([]*propagation.Template, string, error) {
	k, err := h.templateKind(gvk)
	if err != nil {
		return nil, "", fmt.Errorf("list %s: %w", gvk.Kind, err)
	}
	return k.listSome(ctx, query{namespace: namespace, limit: limit, cont: cont})
}

func nameOf(t *propagation.Template) types.NamespacedName {
	return types.NamespacedName{Namespace: t.Key.Namespace, Name: t.Key.Name}
}
