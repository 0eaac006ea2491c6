// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
)

// Item is a selected object as a snapshot holds it.
type Item struct {
	Key propagation.TemplateKey
	// Raw is the scrubbed object as JSON. Equal objects have equal bytes.
	Raw []byte
	// Envelope: the object is a ConfigMap that contains other objects.
	Envelope bool
	// Created is when the object was created on the hub, or a later time at which it
	// existed; zero: not known. Only objects of kinds that may have a
	// CustomResourceDefinition have it.
	Created time.Time
}

// NewItem returns the item for an object as the API server has it. It does not change
// obj.
func NewItem(key propagation.TemplateKey, obj map[string]any) (Item, error) {
	i, err := itemOf(key, Scrub(obj))
	if i.mayBeDefined() {
		i.Created = createdAt(obj)
	}
	return i, err
}

// ReadItem decodes an item of a snapshot.
func ReadItem(raw []byte) (Item, error) {
	var obj map[string]any
	if err := utiljson.Unmarshal(raw, &obj); err != nil {
		return Item{}, fmt.Errorf("decode a selected resource: %w", err)
	}
	text := func(m map[string]any, field string) string { s, _ := m[field].(string); return s }
	meta, _ := obj["metadata"].(map[string]any)
	key := propagation.TemplateKey{APIVersion: text(obj, "apiVersion"), Kind: text(obj, "kind"), Namespace: text(meta, "namespace"), Name: text(meta, "name")}
	if key.APIVersion == "" || key.Kind == "" || key.Name == "" {
		return Item{}, errors.New("a selected resource has no apiVersion, kind or name")
	}
	return itemOf(key, obj)
}

func itemOf(key propagation.TemplateKey, obj map[string]any) (Item, error) {
	raw, err := json.Marshal(obj) // sorts the keys
	if err != nil {
		return Item{}, fmt.Errorf("encode %s: %w", key, err)
	}
	meta, _ := obj["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	return Item{Key: key, Raw: raw, Envelope: key.Kind == "ConfigMap" && key.APIVersion == "v1" && annotations[placementv1.AnnotationEnvelopeConfigMap] == "true"}, nil
}

// Scrub returns the part of an object that is propagated: a deep copy without its
// status, and without what the API server, a controller or Sluice wrote.
func Scrub(obj map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(propagation.Content(obj))
	spec, _ := out["spec"].(map[string]any)
	finalizers, guarded := spec["finalizers"]
	rendering.Prune(out)
	kinds.Of(out).Unshare(out)
	if guarded && out["kind"] == "Namespace" { // released snapshots have them
		out["spec"] = map[string]any{"finalizers": finalizers}
	}
	return out
}

// order is the order of kinds in a snapshot: kinds that others need come first. Kinds
// that are not listed come last.
var order = ranked(
	"PriorityClass", "Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodDisruptionBudget",
	"ServiceAccount", "Secret", "ConfigMap", "StorageClass", "PersistentVolume", "PersistentVolumeClaim",
	"CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Service",
	"DaemonSet", "Pod", "ReplicationController", "ReplicaSet", "Deployment", "HorizontalPodAutoscaler",
	"StatefulSet", "Job", "CronJob", "IngressClass", "Ingress", "APIService",
	"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
)

func ranked(kinds ...string) map[string]int {
	ranks := make(map[string]int, len(kinds))
	for i, kind := range kinds {
		ranks[kind] = i
	}
	return ranks
}

func rank(kind string) int {
	if r, ok := order[kind]; ok {
		return r
	}
	return len(order)
}

// Compare orders objects: by kind in the order that members need them, then by group,
// namespace and name. Only keys of the same object compare equal.
func Compare(a, b propagation.TemplateKey) int {
	return cmp.Or(
		cmp.Compare(rank(a.Kind), rank(b.Kind)),
		strings.Compare(a.GroupVersionKind().Group, b.GroupVersionKind().Group),
		strings.Compare(a.Kind, b.Kind),
		strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name),
	)
}

// Content is what a placement propagates: each object once, in the order of Compare.
type Content struct{ items []Item }

// NewContent returns the content with the items, sorted. Of two items for the same
// object the later one is used.
func NewContent(items []Item) Content {
	all := slices.Clone(items)
	slices.SortStableFunc(all, func(a, b Item) int { return Compare(a.Key, b.Key) })
	out := all[:0]
	for i, item := range all {
		if i+1 == len(all) || Compare(item.Key, all[i+1].Key) != 0 {
			out = append(out, item)
		}
	}
	return Content{out}
}

// Items returns all items. They must not be changed.
func (c Content) Items() []Item { return c.items }

// Has reports whether the object is in the content.
func (c Content) Has(key propagation.TemplateKey) bool {
	_, found := c.find(key)
	return found
}

func (c Content) find(key propagation.TemplateKey) (Item, bool) {
	n, found := slices.BinarySearchFunc(c.items, key, func(i Item, k propagation.TemplateKey) int { return Compare(i.Key, k) })
	if !found {
		return Item{}, false
	}
	return c.items[n], true
}

// Keep returns the content of those items for which keep returns true.
func (c Content) Keep(keep func(Item) bool) Content {
	return Content{slices.DeleteFunc(slices.Clone(c.items), func(i Item) bool { return !keep(i) })}
}

// With returns the content with the items added; they replace items for the same
// objects.
func (c Content) With(items []Item) Content {
	return NewContent(append(slices.Clone(c.items), items...))
}

// Without returns the content without the objects.
func (c Content) Without(keys []propagation.TemplateKey) Content {
	gone := make(map[string]bool, len(keys))
	for _, k := range keys {
		gone[k.ID()] = true
	}
	return c.Keep(func(i Item) bool { return !gone[i.Key.ID()] })
}

// Envelopes returns the number of items that are envelopes.
func (c Content) Envelopes() int {
	n := 0
	for _, i := range c.items {
		if i.Envelope {
			n++
		}
	}
	return n
}

// Hash returns the SHA-256 of the content, in hexadecimal digits.
func (c Content) Hash() string {
	h := sha256.New()
	for _, i := range c.items {
		h.Write(i.Raw)
		h.Write([]byte{'\n'}) // in no JSON of one line
	}
	return hex.EncodeToString(h.Sum(nil))
}

// SizeLimit is how many bytes of objects a snapshot, or a part of one, holds: less than
// etcd stores, to leave room for the snapshot's other fields.
const SizeLimit = 800 << 10

// Split splits the content, in its order, into parts of at most limit bytes and at most
// most objects. A larger object is a part of its own. Empty content is one empty part.
func (c Content) Split(limit, most int) [][]Item {
	parts, size := [][]Item{nil}, 0
	for _, i := range c.items {
		last := len(parts) - 1
		if len(parts[last]) == most || len(parts[last]) > 0 && size+len(i.Raw) > limit {
			parts, size, last = append(parts, nil), 0, last+1
		}
		parts[last] = append(parts[last], i)
		size += len(i.Raw)
	}
	return parts
}
