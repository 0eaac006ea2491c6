// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// Defined returns when the kind's CustomResourceDefinition was made, as defined does. It
// always reads from the API server: what was missing before, and was created later than
// that, was deleted; what was created earlier went with a former definition.
func (h *Hub) Defined(ctx context.Context, gvk schema.GroupVersionKind) (time.Time, error) {
	k, err := h.templateKind(gvk)
	if err != nil {
		return time.Time{}, fmt.Errorf("find out when %s was defined: %w", gvk.Kind, err)
	}
	at, err := h.defined(ctx, k.resource)
	if err != nil {
		return time.Time{}, fmt.Errorf("find out when %s was defined: %w", gvk.Kind, err)
	}
	return at, nil
}

// defined returns when the kind's CustomResourceDefinition was made; zero where it has
// none, or definitions may not be read. outcome.ErrNotServed: the definition is being
// deleted, or gone, and all objects of the kind with it.
func (h *Hub) defined(ctx context.Context, r resource) (time.Time, error) {
	if !propagation.MayBeDefined(r.Group) {
		return time.Time{}, nil // the API server's own
	}
	d, err := h.metadata(ctx, r)
	switch {
	case apierrors.IsForbidden(err), unserved(err):
		return time.Time{}, nil
	case missing(err):
		return time.Time{}, h.undefinable(ctx, r)
	case err != nil:
		return time.Time{}, err
	case d.DeletionTimestamp != nil:
		return time.Time{}, fmt.Errorf("%s is being taken off the hub: %w", r.GroupKind(), outcome.ErrNotServed)
	}
	return d.CreationTimestamp.Time, nil
}

// Definitions returns for each API group a text that changes whenever a
// CustomResourceDefinition of the group is made, changed or deleted. It is empty where
// definitions may not be read.
func (h *Hub) Definitions(ctx context.Context) (map[string]string, error) {
	raw, err := do(ctx, h.client.Get().AbsPath(definitionsPath).Param("resourceVersion", "0").
		SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"))
	switch {
	case apierrors.IsForbidden(err), unserved(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("list definitions: %w", err)
	}
	all := &metav1.PartialObjectMetadataList{}
	if err := json.Unmarshal(raw, all); err != nil {
		return nil, fmt.Errorf("decode definitions: %w", err)
	}
	slices.SortFunc(all.Items, func(a, b metav1.PartialObjectMetadata) int { return strings.Compare(a.Name, b.Name) })
	of := map[string][]string{}
	for _, d := range all.Items {
		_, group, _ := strings.Cut(d.Name, ".") // it is named PLURAL.GROUP
		of[group] = append(of[group], d.Name, string(d.UID), strconv.FormatInt(d.Generation, 10))
	}
	out := make(map[string]string, len(of))
	for group, says := range of {
		out[group] = propagation.HashJSON(says)[:12]
	}
	return out, nil
}

// definitionsPath is where CustomResourceDefinitions are.
const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// managed is the label of an APIService that the API server makes itself, and its value
// where it does so because of a CustomResourceDefinition.
const (
	managed             = "kube-aggregator.kubernetes.io/automanaged"
	managedByDefinition = "true"
)

// undefinable returns nil if the kind, which has no CustomResourceDefinition, is served
// without one: by the API server itself, or by another one that it passes requests on to.
// It takes that for granted where the APIService may not be read. Otherwise the definition
// is gone: outcome.ErrNotServed.
func (h *Hub) undefinable(ctx context.Context, r resource) error {
	raw, err := do(ctx, h.client.Get().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices", r.Version+"."+r.Group))
	if err == nil {
		var service metav1.PartialObjectMetadata
		if err := json.Unmarshal(raw, &service); err != nil {
			return fmt.Errorf("decode the APIService of %s: %w", r.GroupKind(), err)
		}
		if service.Labels[managed] != managedByDefinition {
			return nil
		}
	} else if !missing(err) {
		if apierrors.IsForbidden(err) || unserved(err) {
			return nil
		}
		return fmt.Errorf("get the APIService of %s: %w", r.GroupKind(), err)
	}
	return fmt.Errorf("the definition of %s is gone: %w", r.GroupKind(), outcome.ErrNotServed)
}

// metadata reads that of the kind's CustomResourceDefinition.
func (h *Hub) metadata(ctx context.Context, r resource) (*metav1.PartialObjectMetadata, error) {
	raw, err := h.definition(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("get the definition of %s: %w", r.GroupKind(), err)
	}
	d := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, fmt.Errorf("decode the definition of %s: %w", r.GroupKind(), err)
	}
	return d, nil
}

// definition reads the CustomResourceDefinition of a kind.
func (h *Hub) definition(ctx context.Context, r resource) ([]byte, error) {
	return do(ctx, h.client.Get().AbsPath(definitionsPath, r.Plural+"."+r.Group))
}
