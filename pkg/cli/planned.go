// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// file reads a file; - is the standard input.
func (s *session) file(path string) ([]byte, error) {
	if path != "-" {
		return os.ReadFile(path) //nolint:gosec // the user's own
	}
	raw, err := io.ReadAll(s.streams.In)
	if err != nil {
		return nil, fmt.Errorf("read the standard input: %w", err)
	}
	return raw, nil
}

// objectsIn returns the objects in a file, or in those of a directory that kubectl would
// read there.
func (s *session) objectsIn(path string) ([]*unstructured.Unstructured, error) {
	files := []string{path}
	if info, err := os.Stat(path); path != "-" && err == nil && info.IsDir() {
		if files, err = manifestsIn(path); err != nil {
			return nil, err
		}
	}
	var out []*unstructured.Unstructured
	for _, file := range files {
		raw, err := s.file(file)
		if err != nil {
			return nil, err
		}
		objects, err := objectsOf(file, raw)
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	return out, nil
}

// manifestsIn returns the files of a directory that may have objects, and none of the
// directories below.
func manifestsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() && slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(e.Name())) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no .json, .yaml or .yml file in %s", dir)
	}
	return files, nil
}

// objectsOf returns the objects in a file of YAML or JSON documents.
func objectsOf(path string, raw []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096)
	for {
		var object map[string]any
		err := docs.Decode(&object)
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", path, err)
		case len(object) > 0:
			out = append(out, &unstructured.Unstructured{Object: object})
		}
	}
}

func keyOf(u *unstructured.Unstructured) propagation.TemplateKey {
	return propagation.TemplateKey{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
}

func overrideKeyOf(u *unstructured.Unstructured) (propagation.PolicyKey, bool) {
	key, ok := hub.OverrideKeyOf(keyOf(u))
	return key, ok && key.Name != ""
}

// described names an object of a file for people.
func described(u *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %q", cmp.Or(u.GetKind(), "document without kind"), u.GetName())
}

// place returns where the hub serves an object of a file, which gets the namespace that
// kubectl apply would set.
func (s *session) place(u *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	mapping, err := s.mapping(u.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	client, err := s.dynamic()
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		u.SetNamespace("")
		return client.Resource(mapping.Resource), nil
	}
	namespace, err := s.namespace()
	if err != nil {
		return nil, err
	}
	u.SetNamespace(cmp.Or(u.GetNamespace(), namespace))
	return client.Resource(mapping.Resource).Namespace(u.GetNamespace()), nil
}

// plannedOverride returns an override policy of a file as the hub would store it. A
// user who may not write overrides may try them: then only the fields are checked, and
// not the rules for their values.
func (s *session) plannedOverride(ctx context.Context, u *unstructured.Unstructured) (propagation.Override, error) {
	var o propagation.Override
	client, err := s.place(u)
	if err != nil {
		return o, err
	}
	o.Key, _ = overrideKeyOf(u)
	answer, err := dryRun(ctx, client, u)
	switch {
	case apierrors.IsForbidden(err):
		s.screen.Note("You may not write override policies, so the hub was not asked whether it would take this one.")
		answer = u
	case err != nil:
		return o, fmt.Errorf("the hub would refuse %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	var decoded struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              policyv1alpha1.OverrideSpec `json:"spec"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(answer.Object, &decoded, true); err != nil {
		return o, fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
	}
	o.Spec = decoded.Spec
	return o, nil
}

// plannedTemplate returns an object of a file as it would be on the hub after kubectl
// apply: fields that the file no longer has are removed, fields that it never had stay.
func (s *session) plannedTemplate(ctx context.Context, u *unstructured.Unstructured) (*propagation.Template, error) {
	client, err := s.place(u)
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(u.Object, "status")
	answer, err := applied(ctx, client, u)
	if err != nil {
		return nil, fmt.Errorf("the hub would refuse %s: %w", where(keyOf(u)), err)
	}
	return hub.TemplateOf(answer)
}

// applied asks the hub what kubectl apply would make of an object.
func applied(ctx context.Context, client dynamic.ResourceInterface, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	all, strict := []string{metav1.DryRunAll}, metav1.FieldValidationStrict
	live, err := client.Get(ctx, u.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return client.Create(ctx, u, metav1.CreateOptions{DryRun: all, FieldValidation: strict})
	}
	if err != nil {
		return nil, err
	}
	said := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
	if said != "" {
		if err := noted(u); err != nil {
			return nil, err
		}
	}
	says, err := json.Marshal(u.Object)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	is, err := json.Marshal(live.Object)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(said), says, is)
	if err != nil {
		return nil, fmt.Errorf("compare with what is there: %w", err)
	}
	return client.Patch(ctx, u.GetName(), types.MergePatchType, patch, metav1.PatchOptions{DryRun: all, FieldValidation: strict})
}

// noted adds the annotation with which kubectl apply records the file's content.
func noted(u *unstructured.Unstructured) error {
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	u.SetAnnotations(annotations)
	raw, err := json.Marshal(u.Object)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(raw) + "\n"
	u.SetAnnotations(annotations)
	return nil
}
