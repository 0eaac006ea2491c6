// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// contentsType is the type of the Secrets that hold what the Secrets of Works hold.
const contentsType = corev1.SecretType("sluice.dev/contents")

func decodeContents(raw []byte) (record[*propagation.KeptContents], error) {
	var o corev1.Secret
	if err := utiljson.Unmarshal(raw, &o); err != nil {
		return record[*propagation.KeptContents]{}, errors.New("decode: it is no Secret")
	}
	c := &propagation.KeptContents{UID: o.UID, ResourceVersion: o.ResourceVersion, Contents: o.Data}
	for _, owner := range o.OwnerReferences {
		c.Owner = owner.UID
	}
	return recordOf(&o.ObjectMeta, c), nil
}

// Contents is what the Secrets of a Work hold. outcome.ErrGone: nothing is kept.
func (h *Hub) Contents(ctx context.Context, key propagation.WorkKey) (*propagation.KeptContents, error) {
	return h.contents.get(ctx, workName(key))
}

// CommitContents keeps what the Secrets of the Work hold, which the Work then owns,
// if what is kept still is as it was read. A nil old keeps them for the first time;
// what was kept for a former Work of that name makes room.
func (h *Hub) CommitContents(ctx context.Context, w *propagation.Work, old *propagation.KeptContents, contents propagation.Contents) error {
	name := workName(w.Key)
	if old != nil && old.Owner == w.UID && maps.EqualFunc(old.Contents, contents, slices.Equal[[]byte]) {
		return nil
	}
	t := workKinds[w.Key.Form].TypeMeta()
	o := corev1.Secret{TypeMeta: secretKind.TypeMeta(), Type: contentsType, Data: contents}
	if old == nil {
		o.ObjectMeta = metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}
	} else {
		o.ObjectMeta = identity(name, old.UID, old.ResourceVersion)
	}
	o.OwnerReferences = []metav1.OwnerReference{{APIVersion: t.APIVersion, Kind: t.Kind, Name: w.Key.Name, UID: w.UID}}
	if old != nil {
		_, err := h.contents.put(ctx, name, o)
		return conflictIfGone(err, "update "+h.contents.about(name))
	}
	_, err := h.contents.create(ctx, name, "", o)
	if outcome.IsConflict(err) {
		return h.clear(ctx, name, w.UID)
	}
	return conflictIfGone(err, "create "+h.contents.about(name))
}

// clear makes room where something was kept for another Work of that name.
func (h *Hub) clear(ctx context.Context, name types.NamespacedName, owner types.UID) error {
	there, err := h.contents.getLive(ctx, name)
	if err != nil {
		return conflictIfGone(err, "create "+h.contents.about(name))
	}
	if there.value.Owner != owner {
		if err := h.contents.delete(ctx, name, there.uid); err != nil {
			return err
		}
	}
	return outcome.Conflict(fmt.Errorf("create %s: another was in its place", h.contents.about(name)))
}

// DropContents forgets what is kept beside a Work. That it is gone already is fine.
func (h *Hub) DropContents(ctx context.Context, key propagation.WorkKey, old *propagation.KeptContents) error {
	return h.contents.delete(ctx, workName(key), old.UID)
}
