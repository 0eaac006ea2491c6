// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// AnnotationSealed on the manifest of a Secret in a Work says that the data is left
// out. Its value is the hash of the complete manifest, which is kept under that hash in
// the Secret with the Work's name.
const AnnotationSealed = "sluice.dev/sealed"

// annotationLastApplied is kubectl's copy of an object, which includes the data.
const annotationLastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// MaxContents is the maximum size of the contents of one Work in bytes.
const MaxContents = maxSecret

// Contents are the complete manifests of a Work's Secrets, as JSON, by their hashes.
type Contents map[string][]byte

// Has reports whether a content with the hash is among the contents.
func (c Contents) Has(hash string) bool {
	var whole map[string]any
	return utiljson.Unmarshal(c[hash], &whole) == nil && whole != nil && HashJSON(whole) == hash
}

// KeptContents are the contents of a Work's Secrets as they were read.
type KeptContents struct {
	UID             types.UID
	ResourceVersion string
	// Owner is the uid of the Work that they are kept for.
	Owner    types.UID
	Contents Contents
}

// IsSecret reports whether the object is a Secret.
func IsSecret(obj map[string]any) bool {
	return obj["kind"] == "Secret" && obj["apiVersion"] == "v1"
}

// Seal returns the manifest as a Work carries it. For a Secret that is the manifest without
// its data, and whole is the complete manifest, to be kept elsewhere under the hash; for any
// other object they are empty. The manifest is not changed.
func Seal(manifest map[string]any) (sealed map[string]any, hash string, whole []byte, err error) {
	if !IsSecret(manifest) {
		return manifest, "", nil, nil
	}
	manifest = withoutAnnotations(manifest, AnnotationSealed)
	if whole, err = json.Marshal(manifest); err != nil {
		return nil, "", nil, fmt.Errorf("encode: %w", err)
	}
	hash = HashJSON(manifest)
	sealed = withoutAnnotations(manifest, annotationLastApplied)
	delete(sealed, "data")
	delete(sealed, "stringData")
	meta, _ := sealed["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	if meta == nil {
		meta = map[string]any{}
	}
	annotations, _ := meta["annotations"].(map[string]any)
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[AnnotationSealed] = hash
	meta["annotations"], sealed["metadata"] = annotations, meta
	return sealed, hash, whole, nil
}

// withoutAnnotations returns a copy of the object without the annotation.
func withoutAnnotations(obj map[string]any, key string) map[string]any {
	out := maps.Clone(obj)
	meta, _ := obj["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	if _, has := annotations[key]; !has {
		return out
	}
	meta, annotations = maps.Clone(meta), maps.Clone(annotations)
	delete(annotations, key)
	meta["annotations"], out["metadata"] = annotations, meta
	if len(annotations) == 0 {
		delete(meta, "annotations")
	}
	return out
}

// SealedHash returns the hash of the whole manifest if this one is sealed; else it is
// empty.
func SealedHash(manifest map[string]any) string {
	if !IsSecret(manifest) {
		return ""
	}
	meta, _ := manifest["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	hash, _ := annotations[AnnotationSealed].(string)
	return hash
}

// ManifestHash returns the hash of the manifest; if it is sealed, that of the whole one, so
// that both forms have one hash.
func ManifestHash(manifest map[string]any) string {
	if hash := SealedHash(manifest); hash != "" {
		return hash
	}
	return HashJSON(manifest)
}

// Open returns the whole manifest of one that a Work carries. It returns false if that is
// sealed and its content is missing from kept, or does not have its hash.
func Open(manifest map[string]any, kept Contents) (map[string]any, bool) {
	hash := SealedHash(manifest)
	if hash == "" {
		return manifest, true
	}
	var whole map[string]any
	if !kept.Has(hash) || utiljson.Unmarshal(kept[hash], &whole) != nil || KeyOf(whole).ID() != KeyOf(manifest).ID() {
		return nil, false
	}
	return whole, true
}

// Sealed returns the hashes of the Work's manifests whose contents are kept elsewhere.
func (w *Work) Sealed() []string {
	var hashes []string
	for _, m := range w.Spec.Workload.Manifests {
		// Most Works contain no Secret, and that shows without decoding the whole
		// manifest.
		var head struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Annotations map[string]any `json:"annotations"`
			} `json:"metadata"`
		}
		if json.Unmarshal(m.Raw, &head) != nil || head.APIVersion != "v1" || head.Kind != "Secret" {
			continue
		}
		if hash, _ := head.Metadata.Annotations[AnnotationSealed].(string); hash != "" {
			hashes = append(hashes, hash)
		}
	}
	return hashes
}
