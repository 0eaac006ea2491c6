// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// skipAutoPropagation is the only label under a system domain that is the user's own.
const skipAutoPropagation = "namespace.karmada.io/skip-auto-propagation"

// systemMetadata are the fields of metadata that no user writes. Finalizers and owner
// references are not among them: Sluice never changes a template's.
var systemMetadata = []string{
	"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds",
}

// instructions are labels and annotations under a system domain that people set, and
// that members have to get. They are part of the frozen content, but a change of them
// alone does not count as a change of the template.
var instructions = map[string]bool{
	LabelRetainReplicas:                   true,
	"work.karmada.io/conflict-resolution": true,
}

// IsSystemKey reports whether a label or annotation with the key belongs to the system, so
// that its change is no change of the template.
func IsSystemKey(key string) bool {
	if key == skipAutoPropagation {
		return false
	}
	return strings.Contains(key, ".karmada.io") || strings.Contains(key, "sluice.dev/")
}

// Content returns the user-owned part of an object: everything but its status, the
// metadata that the API server writes, and the system's own labels and annotations.
// Maps that it has to change are copied, so obj stays as it is.
func Content(obj map[string]any) map[string]any {
	return contentWith(obj, func(key string) bool { return !IsSystemKey(key) || instructions[key] })
}

func contentWith(obj map[string]any, keep func(key string) bool) map[string]any {
	out := make(map[string]any, len(obj))
	for k, v := range obj {
		if k != "status" && k != "metadata" {
			out[k] = v
		}
	}
	meta, _ := obj["metadata"].(map[string]any)
	m := make(map[string]any, len(meta))
	for k, v := range meta {
		m[k] = v
	}
	for _, k := range systemMetadata {
		delete(m, k)
	}
	for _, k := range []string{"labels", "annotations"} {
		keepKeys(m, k, keep)
	}
	for _, k := range []string{"finalizers", "ownerReferences"} {
		if l, ok := m[k].([]any); ok && len(l) == 0 {
			delete(m, k)
		}
	}
	out["metadata"] = m
	return out
}

// keepKeys replaces the map m[field] by a copy with the keys to keep, or deletes it if
// no key is left: an empty map and no map are the same content.
func keepKeys(m map[string]any, field string, keep func(key string) bool) {
	old, ok := m[field].(map[string]any)
	if !ok {
		delete(m, field)
		return
	}
	kept := make(map[string]any, len(old))
	for k, v := range old {
		if keep(k) {
			kept[k] = v
		}
	}
	if len(kept) == 0 {
		delete(m, field)
		return
	}
	m[field] = kept
}

// HashContent returns the hash of what a user changes: Content without instructions, in
// 32 hexadecimal digits. Equal content has equal hashes, in whatever order the keys
// are.
func HashContent(obj map[string]any) string {
	return HashJSON(contentWith(obj, func(key string) bool { return !IsSystemKey(key) }))
}

// HashJSON hashes a JSON value (maps, slices, strings, numbers, booleans, nil)
// independently of the order of map keys: 32 hexadecimal digits.
func HashJSON(v any) string {
	b, err := json.Marshal(v) // sorts map keys
	if err != nil {
		// Decoded JSON always encodes; anything else is a programming error,
		// and a hash that equals no other is the safe answer.
		b = []byte(err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// The frozen content of a template, and the Work that carries it, are one object each.
// etcd stores at most 1.5 MiB for each, some of which is metadata.
const (
	// MaxManifest is the maximum size of a manifest in bytes.
	MaxManifest = 1400 << 10
	// MaxManifests is the maximum number of manifests in a Work: its status describes
	// each.
	MaxManifests = 500
	// maxSecret is the maximum size in bytes that the API server accepts for a Secret.
	maxSecret = 1 << 20
)

// TooLarge reports whether the content is too large to be kept, and how many bytes it has,
// and may have.
func TooLarge(key TemplateKey, content map[string]any) (has, may int, tooLarge bool) {
	may = MaxManifest
	if gvk := key.GroupVersionKind(); gvk.Group == "" && gvk.Kind == "Secret" {
		may = maxSecret
	}
	const longest = 6 // bytes of JSON for one byte of text
	if n := SizeOf(content); n*longest < may {
		return n, may, false
	}
	b, err := json.Marshal(content)
	return len(b), may, err != nil || len(b) > may
}

// SizeOf estimates the size of decoded JSON in bytes without encoding it. Strings that have
// to be escaped are longer than estimated.
func SizeOf(v any) int {
	switch v := v.(type) {
	case string:
		return len(v) + 2
	case map[string]any:
		n := 2
		for k, e := range v {
			n += len(k) + 4 + SizeOf(e)
		}
		return n
	case []any:
		n := 2
		for _, e := range v {
			n += 1 + SizeOf(e)
		}
		return n
	}
	return 8
}
