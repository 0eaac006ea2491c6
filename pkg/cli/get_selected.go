// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// selected returns the lines of templates with the requested labels. A binding does not
// have its template's labels, so the API server is asked which objects of each kind
// have them. A template that is gone, or whose kind is, has none.
func (o *getOptions) selected(ctx context.Context, namespace string, lines []summary, without *unlisted) []summary {
	if o.selector.Empty() {
		return lines
	}
	found := map[schema.GroupVersionKind]map[types.NamespacedName]metav1.ObjectMeta{}
	var out []summary
	for _, l := range lines {
		gvk := l.GroupVersionKind()
		if _, asked := found[gvk]; !asked {
			var err error
			found[gvk], err = o.created(ctx, gvk, namespace, o.selector.String())
			without.add(gvk, err)
		}
		if _, has := found[gvk][types.NamespacedName{Namespace: l.Namespace, Name: l.Name}]; has {
			out = append(out, l)
		}
	}
	return out
}
