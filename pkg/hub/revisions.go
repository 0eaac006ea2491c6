// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// Frozen content of a Secret is kept in a Secret of this type, so that nobody
// reads it who may not read Secrets.
const (
	secretRevisionType   = corev1.SecretType("sluice.dev/revision")
	secretRevisionKey    = "content"
	secretRevisionNumber = "sluice.dev/revision-number"
)

// frozen is a revision with its content as JSON, which takes a fraction of the
// memory that the decoded one takes.
type frozen struct {
	name    types.NamespacedName
	version string
	uid     types.UID
	binding string    // BindingLabel
	owner   types.UID // the binding's
	hash    string
	number  int64
	content []byte
}

func decodeRevision(raw []byte) (record[*frozen], error) {
	var o appsv1.ControllerRevision
	if err := utiljson.Unmarshal(raw, &o); err != nil {
		return record[*frozen]{}, fmt.Errorf("decode: %w", err)
	}
	return frozenRecord(&o.ObjectMeta, o.Revision, o.Data.Raw), nil
}

func decodeSecretRevision(raw []byte) (record[*frozen], error) {
	var o corev1.Secret
	if err := utiljson.Unmarshal(raw, &o); err != nil {
		return record[*frozen]{}, fmt.Errorf("decode: %w", err)
	}
	// Somebody may have written anything there; then it is no number of ours.
	number, _ := strconv.ParseInt(o.Annotations[secretRevisionNumber], 10, 64)
	return frozenRecord(&o.ObjectMeta, number, o.Data[secretRevisionKey]), nil
}

func frozenRecord(m *metav1.ObjectMeta, number int64, content []byte) record[*frozen] {
	f := &frozen{
		version: m.ResourceVersion, uid: m.UID, binding: m.Labels[propagation.LabelBinding],
		hash: m.Annotations[propagation.AnnotationContentHash], number: number, content: content,
	}
	for _, o := range m.OwnerReferences {
		f.owner = o.UID
	}
	r := recordOf(m, f)
	f.name, r.keys = r.name, by(f.binding)
	return r
}

// revision is f as everybody else knows it. What is no JSON has no content.
func (f *frozen) revision(b propagation.BindingKey) *propagation.Revision {
	r := &propagation.Revision{Namespace: f.name.Namespace, Name: f.name.Name, Binding: b, Hash: f.hash, Number: f.number, Owner: f.owner}
	var content map[string]any
	if utiljson.Unmarshal(f.content, &content) == nil {
		r.Content = propagation.Content(content)
	}
	return r
}

// revisionsOf is where the frozen contents of a binding's template are kept.
func (h *Hub) revisionsOf(b *propagation.Binding) (k *kind[*frozen], namespace string) {
	k = h.revisions
	if b.Template().GroupVersionKind() == secretKind.GroupVersionKind {
		k = h.secretRevisions
	}
	return k, cmp.Or(b.Key.Namespace, propagation.SystemNamespace)
}

// Revision returns frozen content of the binding's template. A revision of the name
// that is not genuine is outcome.ErrGone, as if there were none.
func (h *Hub) Revision(ctx context.Context, b *propagation.Binding, name string) (*propagation.Revision, error) {
	k, namespace := h.revisionsOf(b)
	f, err := k.get(ctx, types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		return nil, err
	}
	if f.binding != propagation.BindingLabel(b.Key) {
		return nil, fmt.Errorf("get revision %s: it is not one of %s: %w", name, b.Key, outcome.ErrGone)
	}
	r := f.revision(b.Key)
	if err := b.Genuine(r); err != nil {
		return nil, fmt.Errorf("get revision %s of %s: %w: %w", name, b.Key, err, outcome.ErrGone)
	}
	return r, nil
}

// Revisions is all that is kept as frozen content of the binding's template,
// genuine or not, sorted by name.
func (h *Hub) Revisions(ctx context.Context, b *propagation.Binding) ([]*propagation.Revision, error) {
	k, namespace := h.revisionsOf(b)
	label := propagation.BindingLabel(b.Key)
	all, err := k.listBy(ctx, label, query{namespace: namespace, labels: propagation.LabelBinding + "=" + label})
	if err != nil {
		return nil, err
	}
	revisions := make([]*propagation.Revision, len(all))
	for i, f := range all {
		revisions[i] = f.revision(b.Key)
	}
	return revisions, nil
}

// CreateRevision stores content as a revision that the binding owns. If the revision
// exists already that is fine; an object of its name with other content is replaced.
func (h *Hub) CreateRevision(ctx context.Context, b *propagation.Binding, r *propagation.Revision) error {
	k, namespace := h.revisionsOf(b)
	name := types.NamespacedName{Namespace: namespace, Name: r.Name}
	if known, found, _ := k.told(ctx).get(name); found {
		return keep(ctx, k, known, b, r)
	}
	o, err := revisionObject(k.resource, name, b, r)
	if err != nil {
		return fmt.Errorf("create %s: %w", k.about(name), err)
	}
	_, err = k.create(ctx, name, propagation.BindingLabel(b.Key), o)
	if !outcome.IsConflict(err) {
		return err
	}
	current, err := k.getLive(ctx, name)
	if err != nil {
		return conflictIfGone(err, "create "+k.about(name))
	}
	return keep(ctx, k, current.value, b, r)
}

// keep adopts the object that has the revision's name, if it has the same content.
// Otherwise it deletes the object and returns a Conflict, so that the revision is
// created with the next attempt.
func keep(ctx context.Context, k *kind[*frozen], f *frozen, b *propagation.Binding, r *propagation.Revision) error {
	content := f.revision(b.Key).Content
	if f.binding == propagation.BindingLabel(b.Key) && propagation.HashContent(content) == r.Hash && b.Template().Identifies(content) == nil {
		return adopt(ctx, k, f, b)
	}
	if err := k.delete(ctx, f.name, f.uid); err != nil {
		return err
	}
	return outcome.Conflict(fmt.Errorf("create %s: another was in its place", k.about(f.name)))
}

// adopt makes the binding the owner of a revision that a former binding of that name
// owned, before the garbage collector deletes it with its former owner.
func adopt(ctx context.Context, k *kind[*frozen], f *frozen, b *propagation.Binding) error {
	if f.owner == b.UID {
		return nil
	}
	patch := map[string]any{"metadata": map[string]any{"ownerReferences": bindingOwner(b)}}
	_, err := k.patch(ctx, f.name, conditional(patch, f.uid, f.version))
	return conflictIfGone(err, "adopt "+k.about(f.name))
}

func revisionObject(kind resource, name types.NamespacedName, b *propagation.Binding, r *propagation.Revision) (any, error) {
	content, err := json.Marshal(r.Content)
	if err != nil {
		return nil, err
	}
	meta := metav1.ObjectMeta{
		Namespace: name.Namespace, Name: name.Name,
		Labels:          map[string]string{propagation.LabelBinding: propagation.BindingLabel(b.Key)},
		Annotations:     map[string]string{propagation.AnnotationContentHash: r.Hash},
		OwnerReferences: bindingOwner(b),
	}
	if kind == revisionKind {
		return appsv1.ControllerRevision{
			TypeMeta: kind.TypeMeta(), ObjectMeta: meta, Data: runtime.RawExtension{Raw: content}, Revision: r.Number,
		}, nil
	}
	meta.Annotations[secretRevisionNumber] = strconv.FormatInt(r.Number, 10)
	immutable := true
	return corev1.Secret{
		TypeMeta: kind.TypeMeta(), ObjectMeta: meta, Type: secretRevisionType, Immutable: &immutable,
		Data: map[string][]byte{secretRevisionKey: content},
	}, nil
}

func bindingOwner(b *propagation.Binding) []metav1.OwnerReference {
	t := bindingKinds[b.Key.Scope()].TypeMeta()
	yes := true
	return []metav1.OwnerReference{{
		APIVersion: t.APIVersion, Kind: t.Kind, Name: b.Key.Name, UID: b.UID, Controller: &yes, BlockOwnerDeletion: &yes,
	}}
}

// DeleteRevision forgets frozen content. That it is gone already is fine.
func (h *Hub) DeleteRevision(ctx context.Context, b *propagation.Binding, name string) error {
	k, namespace := h.revisionsOf(b)
	full := types.NamespacedName{Namespace: namespace, Name: name}
	f, err := k.get(ctx, full)
	if err != nil {
		return ignoreGone(err)
	}
	return k.delete(ctx, full, f.uid)
}
