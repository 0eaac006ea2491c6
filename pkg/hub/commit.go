// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// commit is one write of one object.
type commit struct {
	verb    string // for messages
	request *rest.Request
	content string // the body's type
	body    any
	name    types.NamespacedName
	// owner is the owner of an object to be created. If the name is taken, the object that
	// has it may belong to the same owner.
	owner string
}

// create creates an object. If the name is taken, the object that has it may belong to
// owner: the store then reads it for that owner's lists.
func (k *kind[T]) create(ctx context.Context, name types.NamespacedName, owner string, object any) (T, error) {
	req := k.client.Post().AbsPath(k.Path(types.NamespacedName{Namespace: name.Namespace})...)
	return k.write(ctx, commit{verb: "create", request: req, content: runtime.ContentTypeJSON, body: object, name: name, owner: owner})
}

// put replaces an object, or a subresource of it.
func (k *kind[T]) put(ctx context.Context, name types.NamespacedName, object any, subresource ...string) (T, error) {
	req := k.client.Put().AbsPath(k.Path(name, subresource...)...)
	return k.write(ctx, commit{verb: "update", request: req, content: runtime.ContentTypeJSON, body: object, name: name})
}

// patch applies a JSON merge patch to an object, or to a subresource of it.
func (k *kind[T]) patch(ctx context.Context, name types.NamespacedName, patch any, subresource ...string) (T, error) {
	req := k.client.Verb(http.MethodPatch).AbsPath(k.Path(name, subresource...)...)
	return k.write(ctx, commit{verb: "patch", request: req, content: string(types.MergePatchType), body: patch, name: name})
}

func (k *kind[T]) write(ctx context.Context, c commit) (value T, err error) {
	tried := c.verb + " " + k.about(c.name)
	s := k.store.Load()
	s.begin(c.name)
	defer s.end(c.name)
	raw, err := send(ctx, c.request.Param("fieldManager", k.client.manager), c.content, c.body)
	switch {
	case beaten(err):
		s.lost(c.name, by(c.owner))
	case missing(err):
		s.gone(c.name)
	}
	if err != nil {
		k.seen.Store(0)
		return value, k.explain(err, tried)
	}
	r, err := k.decode(raw)
	if err != nil {
		return value, fmt.Errorf("%s: %w", tried, err)
	}
	s.wrote(&r)
	k.see(r.version)
	return r.value, nil
}

// identity is the metadata that a write names its object by: this one, in this
// version, and no other.
func identity(name types.NamespacedName, uid types.UID, version string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: uid, ResourceVersion: version}
}

// conditional makes a patch fail unless the object still is that one, in that
// version.
func conditional(patch map[string]any, uid types.UID, version string) map[string]any {
	meta := metadataOf(patch)
	meta["uid"], meta["resourceVersion"] = uid, version
	return patch
}

// metadataOf is the metadata in a patch, which has it from now on.
func metadataOf(patch map[string]any) map[string]any {
	meta, ok := patch["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		patch["metadata"] = meta
	}
	return meta
}

// delete removes the object of that uid. That it is gone already is fine.
func (k *kind[T]) delete(ctx context.Context, name types.NamespacedName, uid types.UID) error {
	return k.remove(ctx, name, uid, metav1.Preconditions{UID: &uid})
}

// deleteAt removes the object of that uid in that version. That it is gone
// already is fine.
func (k *kind[T]) deleteAt(ctx context.Context, name types.NamespacedName, uid types.UID, version string) error {
	return k.remove(ctx, name, uid, metav1.Preconditions{UID: &uid, ResourceVersion: &version})
}

func (k *kind[T]) remove(ctx context.Context, name types.NamespacedName, uid types.UID, only metav1.Preconditions) error {
	s := k.store.Load()
	s.begin(name)
	defer s.end(name)
	raw, err := send(ctx, k.client.Delete().AbsPath(k.Path(name)...), runtime.ContentTypeJSON, metav1.DeleteOptions{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}, Preconditions: &only,
	})
	if beaten(err) && only.ResourceVersion != nil { // another version, or another object
		k.seen.Store(0)
		s.lost(name, nil)
		return explain(err, "delete "+k.about(name))
	}
	if beaten(err) || missing(err) { // the name is free, or another object's
		s.gone(name)
		return nil
	}
	if err != nil {
		return k.explain(err, "delete "+k.about(name))
	}
	// The answer is a Status, or the object that waits for its finalizers.
	if r, err := k.decode(raw); err == nil && r.uid == uid {
		s.wrote(&r)
		return nil
	}
	s.deleted(name, uid)
	return nil
}

// send is do with a body.
func send(ctx context.Context, req *rest.Request, contentType string, body any) ([]byte, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return do(ctx, req.SetHeader("Content-Type", contentType).Body(encoded))
}
