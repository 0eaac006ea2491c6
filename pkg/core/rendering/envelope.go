// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

// isEnvelope tells whether the object carries others, and is no member's itself.
func isEnvelope(obj map[string]any) bool {
	return group(obj) == "" && obj["kind"] == "ConfigMap" &&
		text(child(obj, "metadata", "annotations")[placementv1.AnnotationEnvelopeConfigMap]) == "true"
}

// envelope is the Work of what the envelope carries.
func (in Placed) envelope(obj map[string]any) (*propagation.Work, error) {
	meta := child(obj, "metadata")
	name, namespace := text(meta["name"]), text(meta["namespace"])
	data := child(obj, "data")
	var manifests []json.RawMessage
	for _, key := range slices.Sorted(maps.Keys(data)) {
		manifest, err := enveloped(namespace, text(data[key]))
		if err != nil {
			return nil, &PlacementError{placementv1.ReasonSyncWorkFailed, fmt.Sprintf("The envelope ConfigMap %s/%s has an invalid manifest under the key %s: %s", namespace, name, key, err)}
		}
		kept, raw, err := in.overridden(manifest, nil)
		if err != nil {
			return nil, err
		}
		if kept == nil {
			continue
		}
		if raw == nil {
			if raw, err = json.Marshal(kept); err != nil {
				return nil, fmt.Errorf("encode %s of the envelope %s/%s: %w", key, namespace, name, err)
			}
		}
		manifests = append(manifests, raw)
	}
	if n := len(manifests); n > propagation.MaxManifests {
		return nil, &PlacementError{placementv1.ReasonSyncWorkFailed, fmt.Sprintf("The envelope ConfigMap %s/%s has %d manifests, of which a Work can carry %d", namespace, name, n, propagation.MaxManifests)}
	}
	w, err := in.work(propagation.EnvelopeWorkName(in.Placement, namespace, name), manifests)
	if err != nil {
		return nil, err
	}
	w.Labels[placementv1.LabelEnvelopeType] = string(placementv1.ConfigMapEnvelopeType)
	w.Labels[placementv1.LabelEnvelopeName] = name
	w.Labels[placementv1.LabelEnvelopeNamespace] = namespace
	return w, nil
}

// Carried are the objects that an object of a snapshot brings to members, which is what
// overrides are matched with: itself, and what is in it where it is an envelope. What
// cannot be read is none.
func Carried(raw []byte) []placementv1.ResourceIdentifier {
	var obj map[string]any
	if err := utiljson.Unmarshal(raw, &obj); err != nil || obj == nil {
		return nil
	}
	out := []placementv1.ResourceIdentifier{identify(obj)}
	if !isEnvelope(obj) {
		return out
	}
	data := child(obj, "data")
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if manifest, err := enveloped(out[0].Namespace, text(data[key])); err == nil {
			out = append(out, identify(manifest))
		}
	}
	return out
}

func identify(obj map[string]any) placementv1.ResourceIdentifier {
	key := propagation.KeyOf(obj)
	gvk := key.GroupVersionKind()
	return placementv1.ResourceIdentifier{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: key.Namespace, Name: key.Name}
}

// enveloped is the manifest in one value of an envelope of that namespace.
func enveloped(namespace, value string) (map[string]any, error) {
	obj, err := only(value)
	if err != nil {
		return nil, err
	}
	meta := child(obj, "metadata")
	own := text(meta["namespace"])
	switch {
	case text(obj["apiVersion"]) == "" || text(obj["kind"]) == "":
		return nil, fmt.Errorf("it lacks apiVersion or kind")
	case text(meta["name"]) == "":
		return nil, fmt.Errorf("it lacks metadata.name")
	case own != "" && own != namespace:
		return nil, fmt.Errorf("it is in the namespace %s, and may only be in that of its envelope", own)
	}
	Prune(obj)
	return obj, nil
}

// separator begins a document of YAML.
var separator = regexp.MustCompile(`(?m)^---(?:\s|$)`)

// only is the one object of a value. Documents of YAML with nothing in them are passed
// over.
func only(value string) (obj map[string]any, err error) {
	for _, document := range separator.Split(value, -1) {
		raw, err := yaml.YAMLToJSON([]byte(document))
		switch {
		case err != nil:
			return nil, fmt.Errorf("it is neither YAML nor JSON: %w", err)
		case string(raw) == "null":
			continue
		case obj != nil:
			return nil, fmt.Errorf("it holds more than one manifest, and each needs a key of its own")
		}
		if err := utiljson.Unmarshal(raw, &obj); err != nil || obj == nil {
			return nil, fmt.Errorf("it is no object")
		}
	}
	if obj == nil {
		return nil, fmt.Errorf("it is no object")
	}
	return obj, nil
}
