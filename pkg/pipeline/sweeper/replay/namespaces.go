// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/hub"
)

// namespaces are the namespaces in which templates may be.
type namespaces struct {
	all      bool
	known    map[string]bool
	fresh    map[string]bool // new since the last sweep
	position string
}

// hold reports whether an object in the namespace may be a template.
func (n namespaces) hold(namespace string) bool {
	return n.all || namespace == "" || n.known[namespace]
}

func (r *Replay) namespaces(ctx context.Context, selector string, positions map[string]string) (namespaces, error) {
	n := namespaces{all: selector == "", known: map[string]bool{}, fresh: map[string]bool{}}
	if n.all {
		return n, nil
	}
	names, err := r.hub.Namespaces(ctx, selector)
	if err != nil {
		return n, fmt.Errorf("list the namespaces of templates: %w", err)
	}
	slices.Sort(names)
	n.position = strings.Join(names, " ")
	before, swept := positions[positionNamespaces]
	for _, name := range names {
		n.known[name] = true
		n.fresh[name] = swept && !slices.Contains(strings.Fields(before), name)
	}
	return n, nil
}

// moved returns the objects that already existed when their namespace got the label for
// templates.
func (r *Replay) moved(ctx context.Context, gvk schema.GroupVersionKind, c hub.Changes, in namespaces) ([]hub.Written, error) {
	fresh := false
	for _, yes := range in.fresh {
		fresh = fresh || yes
	}
	if !fresh || c.Listed {
		return nil, nil
	}
	all, err := r.hub.Changes(ctx, gvk, "")
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", gvk.Kind, err)
	}
	return slices.DeleteFunc(all.All, func(w hub.Written) bool { return !in.fresh[w.Key.Namespace] }), nil
}
