// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// untold says why nobody can tell whether a template without a binding was propagated:
// it has Works, or the definition of bindings is younger than the template, so that its
// binding may have gone with a former one. Empty: it was not propagated, as far as the
// user may know.
func (s *session) untold(ctx context.Context, h *hub.Hub, t *propagation.Template) (string, error) {
	const again = "; if its policy is missing, too, apply it again"
	key := propagation.BindingOf(t.Key)
	works, err := h.WorksOf(ctx, key)
	if unlessForbidden(err) != nil {
		return "", installed(err)
	}
	if len(works) > 0 {
		var names []string
		for _, w := range works {
			names = append(names, w.Key.Cluster)
		}
		return "the binding is missing, and there are Works for " + some(names, fewClusters) + ": these members keep what they have" + again, nil
	}
	d := s.definition(ctx, bindingKind(key.Scope()))
	switch {
	case d == nil:
		return "", nil
	case d.DeletionTimestamp != nil:
		return "the hub's definition of bindings is being deleted: members keep what they have; when it is gone, install it with 'kubectl apply -f config/300-crds'", nil
	case d.CreationTimestamp.After(t.Created):
		return fmt.Sprintf("the hub's definition of bindings was created %s, after the template: what members may have got before stays, and '%s get orphans' lists it%s",
			d.CreationTimestamp.UTC().Format(time.RFC3339), name, again), nil
	}
	return "", nil
}

// definition returns the CustomResourceDefinition of a kind; nil: the user may not read
// it, or there is none.
func (s *session) definition(ctx context.Context, gvk schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	mapping, err := s.mapping(gvk)
	if err != nil {
		return nil
	}
	client, err := s.metadata()
	if err != nil {
		return nil
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	d, err := client.Resource(definitions).Get(ctx, mapping.Resource.GroupResource().String(), metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return d
}
