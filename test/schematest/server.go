// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package schematest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// Server accepts or rejects objects of the kinds whose CRDs it has read.
type Server struct {
	kinds map[string]kind // by apiVersion and kind, separated by a space
}

type kind struct {
	crd        *apiextensionsv1.CustomResourceDefinition
	structural *structuralschema.Structural
	openapi    validation.SchemaValidator
	cel        *cel.Validator
}

// Load reads the CRDs of a directory. It returns an error for a CRD that the
// API server would refuse.
func Load(dir string) (*Server, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no CRDs in %s", dir)
	}
	s := &Server{kinds: map[string]kind{}}
	for _, file := range files {
		crd, err := read(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		if err := s.add(crd); err != nil {
			return nil, fmt.Errorf("compile %s: %w", file, err)
		}
	}
	return s, nil
}

func read(file string) (*apiextensionsv1.CustomResourceDefinition, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(raw, crd); err != nil {
		return nil, err
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	return crd, nil
}

func (s *Server) add(crd *apiextensionsv1.CustomResourceDefinition) error {
	internal := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal, nil); err != nil {
		return err
	}
	// The API server records the storage version before it validates.
	for _, v := range internal.Spec.Versions {
		if v.Storage {
			internal.Status.StoredVersions = append(internal.Status.StoredVersions, v.Name)
		}
	}
	if errs := crdvalidation.ValidateCustomResourceDefinition(context.Background(), internal); len(errs) > 0 {
		return errs.ToAggregate()
	}
	for _, v := range crd.Spec.Versions {
		k, err := compile(crd, &v)
		if err != nil {
			return err
		}
		s.kinds[crd.Spec.Group+"/"+v.Name+" "+crd.Spec.Names.Kind] = k
	}
	return nil
}

func compile(crd *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion) (kind, error) {
	// Each version is converted for itself: in a whole CRD, conversion lifts a
	// schema that all versions share out of them.
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, props, nil); err != nil {
		return kind{}, err
	}
	structural, err := structuralschema.NewStructural(props)
	if err != nil {
		return kind{}, err
	}
	openapi, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return kind{}, err
	}
	return kind{
		crd:        crd,
		structural: structural,
		openapi:    openapi,
		cel:        cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}, nil
}

// CRDs returns the definitions, sorted by name.
func (s *Server) CRDs() []*apiextensionsv1.CustomResourceDefinition {
	var out []*apiextensionsv1.CustomResourceDefinition
	for _, k := range s.kinds {
		out = append(out, k.crd)
	}
	slices.SortFunc(out, func(a, b *apiextensionsv1.CustomResourceDefinition) int {
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

// Create accepts a new object, given as YAML, and returns it with its defaults;
// or it returns why it is rejected.
func (s *Server) Create(text string) (map[string]any, field.ErrorList) {
	return s.validate(text, nil)
}

// Update accepts an object, given as YAML, in the place of an old one that
// Create has returned.
func (s *Server) Update(text string, old map[string]any) (map[string]any, field.ErrorList) {
	return s.validate(text, old)
}

func (s *Server) validate(text string, old map[string]any) (map[string]any, field.ErrorList) {
	obj, err := decode(text)
	if err != nil {
		return nil, field.ErrorList{field.Invalid(nil, text, err.Error())}
	}
	k, ok := s.kinds[obj.GetAPIVersion()+" "+obj.GetKind()]
	if !ok {
		return nil, field.ErrorList{field.NotFound(field.NewPath("kind"), obj.GetKind())}
	}
	content := obj.Object

	// In the API server's order.
	opts := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	if unknown := pruning.PruneWithOptions(content, k.structural, true, opts); len(unknown) > 0 {
		return nil, field.ErrorList{field.Forbidden(field.NewPath(unknown[0]), "unknown field")}
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(content, k.structural)
	defaulting.Default(content, k.structural)
	if err := objectmeta.Coerce(nil, content, k.structural, true, false); err != nil {
		return nil, field.ErrorList{err}
	}

	var errs field.ErrorList
	if old == nil {
		errs = append(errs, validation.ValidateCustomResource(nil, content, k.openapi)...)
	} else {
		errs = append(errs, validation.ValidateCustomResourceUpdate(nil, content, old, k.openapi)...)
	}
	errs = append(errs, objectmeta.Validate(nil, content, k.structural, true)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.structural, content)...)
	if len(errs) > 0 {
		return nil, errs // the API server runs CEL only over what is valid otherwise
	}
	var oldContent any
	if old != nil {
		oldContent = old
	}
	errs, _ = k.cel.Validate(context.Background(), nil, k.structural, content, oldContent, celconfig.RuntimeCELCostBudget)
	return content, errs
}

func decode(text string) (*unstructured.Unstructured, error) {
	raw, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(raw); err != nil {
		return nil, err
	}
	return obj, nil
}
