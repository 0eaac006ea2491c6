// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
)

// change is one step of an override.
type change struct {
	// path is the place, for the error message; empty: more than one.
	path string
	do   func(obj map[string]any) (map[string]any, error)
}

// changes are the steps of the overriders, in the order of their kinds: image,
// command, args, labels, annotations, field, plaintext.
func changes(o policyv1alpha1.Overriders) []change {
	var out []change
	for _, i := range o.ImageOverrider {
		out = append(out, imageChange(i))
	}
	for _, c := range o.CommandOverrider {
		out = append(out, wordsChange("command", c))
	}
	for _, c := range o.ArgsOverrider {
		out = append(out, wordsChange("args", c))
	}
	for _, l := range o.LabelsOverrider {
		out = append(out, metadataChange("labels", l))
	}
	for _, a := range o.AnnotationsOverrider {
		out = append(out, metadataChange("annotations", a))
	}
	for _, f := range o.FieldOverrider {
		out = append(out, documentChange(f))
	}
	for _, p := range o.Plaintext {
		out = append(out, plaintextChange(p))
	}
	return out
}

func plaintextChange(p policyv1alpha1.PlaintextOverrider) change {
	return change{p.Path, func(obj map[string]any) (map[string]any, error) {
		next, err := editAt(obj, p.Path, p.Operator, p.Value)
		if err != nil {
			return nil, err
		}
		whole, ok := next.(map[string]any)
		if !ok {
			return nil, errors.New("the object would be none any more")
		}
		return whole, nil
	}}
}

// editAt is edit with its path and value as the API has them.
func editAt(doc any, path string, op policyv1alpha1.OverriderOperator, raw apiextensionsv1.JSON) (any, error) {
	tokens, err := parsePointer(path)
	if err != nil {
		return nil, err
	}
	var value any
	if op != policyv1alpha1.OverriderOpRemove && len(raw.Raw) > 0 {
		if err := utiljson.Unmarshal(raw.Raw, &value); err != nil {
			return nil, fmt.Errorf("value: %w", err)
		}
	}
	return edit(doc, tokens, op, value)
}

// wordsChange appends to, or removes from, the command or the arguments of the
// containers of a name. An object without pods has none.
func wordsChange(field string, o policyv1alpha1.CommandArgsOverrider) change {
	return change{"", func(obj map[string]any) (map[string]any, error) {
		for _, c := range containers(obj) {
			if c["name"] != o.ContainerName {
				continue
			}
			words, _ := c[field].([]any)
			if o.Operator == policyv1alpha1.OverriderOpRemove {
				words = slices.DeleteFunc(words, func(w any) bool { return slices.Contains(o.Value, text(w)) })
			} else {
				for _, w := range o.Value {
					words = append(words, w)
				}
			}
			if c[field] = words; len(words) == 0 {
				delete(c, field)
			}
		}
		return obj, nil
	}}
}

// metadataChange sets, replaces what exists, or removes what has the very value.
func metadataChange(field string, o policyv1alpha1.LabelAnnotationOverrider) change {
	return change{"", func(obj map[string]any) (map[string]any, error) {
		meta := child(obj, "metadata")
		if meta == nil {
			return nil, errors.New("the object has no metadata")
		}
		kept := child(meta, field)
		if kept == nil {
			kept = map[string]any{}
		}
		for k, v := range o.Value {
			old, ok := kept[k]
			switch {
			case o.Operator == policyv1alpha1.OverriderOpAdd, o.Operator == policyv1alpha1.OverriderOpReplace && ok:
				kept[k] = v
			case o.Operator == policyv1alpha1.OverriderOpRemove && ok && old == v:
				delete(kept, k)
			}
		}
		if meta[field] = kept; len(kept) == 0 {
			delete(meta, field)
		}
		return obj, nil
	}}
}

// documentChange edits a JSON or YAML document in a string.
func documentChange(f policyv1alpha1.FieldOverrider) change {
	return change{f.FieldPath, func(obj map[string]any) (map[string]any, error) {
		path, err := parsePointer(f.FieldPath)
		if err != nil {
			return nil, err
		}
		value, err := find(obj, path)
		if err != nil {
			return nil, err
		}
		doc, ok := value.(string)
		if !ok {
			return nil, errors.New("is no string")
		}
		if len(f.JSON) > 0 {
			doc, err = editJSON(doc, f.JSON)
		} else {
			doc, err = editYAML(doc, f.YAML)
		}
		if err != nil {
			return nil, err
		}
		_, err = edit(obj, path, policyv1alpha1.OverriderOpReplace, doc)
		return obj, err
	}}
}

// undecodable says that a document is not what it has to be. Its cause may quote
// the document.
type undecodable struct {
	what string
	err  error
}

func (e *undecodable) Error() string { return e.what + ": " + e.err.Error() }

func (e *undecodable) Unwrap() error { return e.err }

func editJSON(doc string, ops []policyv1alpha1.JSONPatchOperation) (string, error) {
	var tree any
	if err := utiljson.Unmarshal([]byte(doc), &tree); err != nil {
		return "", &undecodable{"is no JSON", err}
	}
	for _, op := range ops {
		next, err := editAt(tree, op.SubPath, op.Operator, op.Value)
		if err != nil {
			return "", fmt.Errorf("sub path %s: %w", op.SubPath, err)
		}
		tree = next
	}
	out, err := json.Marshal(tree)
	return string(out), err
}

// editYAML goes by way of JSON: comments and the order of keys are lost.
func editYAML(doc string, ops []policyv1alpha1.YAMLPatchOperation) (string, error) {
	if len(ops) == 0 {
		return doc, nil
	}
	asJSON, err := yaml.YAMLToJSON([]byte(doc))
	if err != nil {
		return "", &undecodable{"is no YAML", err}
	}
	same := make([]policyv1alpha1.JSONPatchOperation, len(ops))
	for i, op := range ops {
		same[i] = policyv1alpha1.JSONPatchOperation(op)
	}
	edited, err := editJSON(string(asJSON), same)
	if err != nil {
		return "", err
	}
	out, err := yaml.JSONToYAML([]byte(edited))
	return string(out), err
}
