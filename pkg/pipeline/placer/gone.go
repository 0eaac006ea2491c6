// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// stay returns those of the missing items of the latest snapshot that nobody deleted. It
// is the only place that decides so. An object that is missing, or is being deleted, went
// with its kind if the kind's definition goes or is gone, or was made after the object
// was. The definition is read after the objects were missed, once for each kind that may
// have one; other kinds cost no request.
func (r *reading) stay(ctx context.Context, missing []placing.Item) ([]placing.Item, error) {
	var stay []placing.Item
	known := map[schema.GroupKind]time.Time{}
	for _, i := range missing {
		gk := i.Key.GroupVersionKind().GroupKind()
		if _, asked := known[gk]; !asked && !r.isDark(gk) && propagation.MayBeDefined(gk.Group) {
			defined, err := r.defined(ctx, i.Key)
			if err = r.tolerate(gk, propagation.Right{Verb: "get"}, err); err != nil {
				return nil, err
			}
			known[gk] = defined
		}
		switch {
		case r.isDark(gk):
			stay = append(stay, i)
		case i.Predates(known[gk]):
			r.renew(gk)
			stay = append(stay, i)
		}
	}
	return stay, nil
}

// defined returns when the kind of an object was defined; zero: it has no definition.
func (r *reading) defined(ctx context.Context, key propagation.TemplateKey) (time.Time, error) {
	gvk, ok := r.version(key)
	if !ok {
		return time.Time{}, fmt.Errorf("%s: %w", gvk.Kind, outcome.ErrNotServed)
	}
	return r.objects.Defined(ctx, gvk)
}

func (r *reading) isDark(gk schema.GroupKind) bool {
	_, dark := r.dark[gk]
	return dark
}

func (r *reading) renew(gk schema.GroupKind) {
	if r.renewed == nil {
		r.renewed = map[schema.GroupKind]bool{}
	}
	r.renewed[gk] = true
}

// gone returns which of the absent objects were deleted, so that they leave the snapshot.
func (r *reading) gone(ctx context.Context) ([]propagation.TemplateKey, error) {
	absent := make(map[string]bool, len(r.absent))
	for _, key := range r.absent {
		absent[key.ID()] = true
	}
	stay, err := r.stay(ctx, r.latest.Keep(func(i placing.Item) bool { return absent[i.Key.ID()] }).Items())
	if err != nil {
		return nil, err
	}
	for _, i := range stay {
		delete(absent, i.Key.ID())
	}
	return slices.DeleteFunc(slices.Clone(r.absent), func(key propagation.TemplateKey) bool { return !absent[key.ID()] }), nil
}

// pass leaves out an object that exists: it is not to be propagated, or is being deleted.
func (r *reading) pass(t *propagation.Template) {
	if placing.Leaving(t.Object) {
		r.lose(t.Key)
		return
	}
	r.drop(t.Key)
}

// drop removes an object that is not to be propagated, or no longer.
func (r *reading) drop(key propagation.TemplateKey) {
	r.left = append(r.left, key)
	r.forget(key)
}

// lose notes that an object does not exist, or is being deleted.
func (r *reading) lose(key propagation.TemplateKey) {
	r.absent = append(r.absent, key)
	r.forget(key)
}

// forget removes an object from what was read.
func (r *reading) forget(key propagation.TemplateKey) {
	r.items = slices.DeleteFunc(r.items, func(i placing.Item) bool { return placing.Compare(i.Key, key) == 0 })
}
