// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

const (
	// pageSize is how many objects one request lists.
	pageSize = 500
	// maxContent is the maximum size in bytes of what a placement selects, all of which
	// is in memory while it is read.
	maxContent = 64 << 20
)

// refusal is an error that the author of the selectors has to correct.
type refusal struct{ error }

// Unwrap returns what is wrong.
func (r refusal) Unwrap() error { return r.error }

// reading is one selection of a placement's objects.
type reading struct {
	objects   Objects
	selectors placing.Selectors
	// inside are the namespaced kinds, which are selected with a namespace.
	inside []schema.GroupVersionKind
	// latest is the content of the latest snapshot, and parts its items by part.
	latest placing.Content
	parts  held

	items []placing.Item
	// left are objects that exist and are not to be propagated; absent are those that do
	// not exist, or are being deleted: stay decides which of them were deleted.
	left, absent []propagation.TemplateKey
	size         int
	// renewed are the kinds of which objects stay that went with a former definition.
	renewed map[schema.GroupKind]bool
	// dark are the kinds whose objects could not be read, and why.
	dark map[schema.GroupKind]string
	// missing are the rights that were missing, one for each kind.
	missing []propagation.Right
}

// held are the items of a snapshot, by the names of its parts.
type held map[string][]placing.Item

func (h held) content() placing.Content {
	var items []placing.Item
	for _, name := range slices.Sorted(maps.Keys(h)) {
		items = append(items, h[name]...)
	}
	return placing.NewContent(items)
}

// redate returns what the parts of the latest snapshot have to say from now on of when
// their objects were created, if that changed.
func (r *reading) redate(now placing.Content) map[string]string {
	edits := map[string]string{}
	for name, items := range r.parts {
		if created, again := placing.Redated(items, now); again {
			edits[name] = created
		}
	}
	return edits
}

// all selects everything again. Objects of kinds that could not be read stay as the
// latest snapshot has them.
func (r *reading) all(ctx context.Context) (placing.Content, error) {
	kinds, _ := r.selectors.Kinds()
	for _, gvk := range kinds {
		if in, err := r.objects.Namespaced(gvk); err == nil && in {
			return placing.Content{}, inNamespaces(gvk.Kind)
		}
		names, every := r.selectors.Names(gvk.GroupKind())
		var err error
		may := propagation.Right{Verb: "get"}
		if every {
			may.Verb = "list"
			err = r.list(ctx, gvk, "", r.clusterScoped)
		} else {
			err = r.named(ctx, gvk, names)
		}
		if err = r.tolerate(gvk.GroupKind(), may, err); err != nil {
			return placing.Content{}, err
		}
	}
	read := placing.NewContent(r.items)
	stay, err := r.stay(ctx, r.selectors.Missing(r.latest, read, r.left))
	if err != nil {
		return placing.Content{}, err
	}
	latest := r.latest.Without(r.left)
	content := read.With(latest.Keep(func(i placing.Item) bool { return r.keeps(i, read) }).Items()).With(stay)
	return content, r.mistaken(ctx, content)
}

// mistaken returns a refusal if a selector selects nothing and an object that was
// selected before, and still exists, would be removed from members.
func (r *reading) mistaken(ctx context.Context, content placing.Content) error {
	for _, m := range r.selectors.Mistakes(r.latest, content, r.isDark) {
		t, err := r.objects.Template(ctx, m.Left)
		if errors.Is(err, outcome.ErrGone) || err == nil && placing.Leaving(t.Object) {
			continue
		}
		if err != nil && !errors.Is(err, outcome.ErrNotServed) && !apierrors.IsForbidden(err) {
			return fmt.Errorf("get %s: %w", m.Left, err)
		}
		return refusal{m}
	}
	return nil
}

// keeps reports whether an item of the latest snapshot stays although it was not found:
// its kind, or that of its namespace, could not be read.
func (r *reading) keeps(i placing.Item, read placing.Content) bool {
	if read.Has(i.Key) || !r.selectors.Concern(i.Key) {
		return false
	}
	dark := r.isDark(i.Key.GroupVersionKind().GroupKind())
	if i.Key.Namespace == "" {
		return dark
	}
	hidden := r.isDark(placing.NamespaceKey("").GroupVersionKind().GroupKind())
	return hidden || read.Has(placing.NamespaceKey(i.Key.Namespace)) && (dark || !r.comes(i.Key))
}

// comes reports whether the hub serves the object's kind as the selection needs it.
func (r *reading) comes(key propagation.TemplateKey) bool {
	_, ok := r.version(key)
	return ok
}

// version returns the kind of an object in the version in which it is read.
func (r *reading) version(key propagation.TemplateKey) (schema.GroupVersionKind, bool) {
	gk := key.GroupVersionKind().GroupKind()
	if key.Namespace == "" {
		return r.selectors.Version(gk)
	}
	i := slices.IndexFunc(r.inside, func(gvk schema.GroupVersionKind) bool { return gvk.GroupKind() == gk })
	if i < 0 {
		return schema.GroupVersionKind{}, false
	}
	return r.inside[i], true
}

// tolerate records that a kind could not be read, and for which right, if err says that
// it is not served or not granted. It returns any other error.
func (r *reading) tolerate(gk schema.GroupKind, may propagation.Right, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, outcome.ErrNotServed):
		r.darken(gk, "is not served")
	case apierrors.IsForbidden(err):
		r.lack(gk, may, err)
		r.darken(gk, "is not granted to Sluice")
	default:
		return err
	}
	return nil
}

func (r *reading) darken(gk schema.GroupKind, why string) {
	if r.dark == nil {
		r.dark = map[schema.GroupKind]string{}
	}
	r.dark[gk] = why
}

// lack records a missing right to a kind that the selectors name, or that the latest
// snapshot has. Nobody asked for every other kind that a namespace may contain. The API
// server's answer names the kind as roles do.
func (r *reading) lack(gk schema.GroupKind, may propagation.Right, err error) {
	had := slices.ContainsFunc(r.latest.Items(), func(i placing.Item) bool { return i.Key.GroupVersionKind().GroupKind() == gk })
	if may.Namespace != "" && !had {
		return
	}
	may.Account, may.Resource = Name, schema.GroupResource{Group: gk.Group, Resource: strings.ToLower(gk.Kind)}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind != "" {
		may.Resource.Resource = status.Status().Details.Kind
	}
	if !slices.ContainsFunc(r.missing, func(known propagation.Right) bool { return known.Resource == may.Resource }) {
		r.missing = append(r.missing, may)
	}
}

// complaint says which kinds could not be read, or were defined again; empty: none.
func (r *reading) complaint() string {
	var all []string
	for gk, why := range r.dark {
		all = append(all, gk.String()+" "+why)
	}
	for gk := range r.renewed {
		all = append(all, gk.String()+" was defined again, and its former objects went with the former definition")
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (r *reading) list(ctx context.Context, gvk schema.GroupVersionKind, namespace string, each func(context.Context, *propagation.Template) error) error {
	for cont := ""; ; {
		page, next, err := r.objects.ListTemplates(ctx, gvk, namespace, pageSize, cont)
		if err != nil {
			return fmt.Errorf("list %s: %w", gvk.Kind, err)
		}
		for _, t := range page {
			if err := each(ctx, t); err != nil {
				return err
			}
		}
		if cont = next; cont == "" {
			return nil
		}
	}
}

func (r *reading) named(ctx context.Context, gvk schema.GroupVersionKind, names []string) error {
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		key := propagation.TemplateKey{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: name}
		t, err := r.objects.Template(ctx, key)
		if errors.Is(err, outcome.ErrGone) {
			continue
		}
		if err != nil {
			return fmt.Errorf("get %s: %w", key, err)
		}
		if err := r.clusterScoped(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// clusterScoped adds a cluster-scoped object if it is selected; if it is a namespace,
// with everything in it.
func (r *reading) clusterScoped(ctx context.Context, t *propagation.Template) error {
	selected, err := r.selected(t)
	if err != nil {
		return err
	}
	if !selected {
		if r.latest.Has(t.Key) {
			r.pass(t)
		}
		return nil
	}
	if err := r.take(t); err != nil {
		return err
	}
	if placing.IsNamespace(t.Key) {
		return r.namespace(ctx, t.Key.Name)
	}
	return nil
}

// inNamespaces is the refusal of a selector that names a kind with namespaces.
func inNamespaces(kind string) error {
	return refusal{fmt.Errorf("%s: objects of this kind are in namespaces, and come along with these: select the Namespace", kind)}
}

func (r *reading) selected(t *propagation.Template) (bool, error) {
	if t.Key.Namespace != "" {
		return false, inNamespaces(t.Key.Kind)
	}
	if placing.Leaving(t.Object) || placing.Exempt(t.Key, t.Object, false) != "" {
		return false, nil
	}
	selected, err := r.selectors.Select(t.Key, t.Object)
	if err != nil {
		return false, refusal{err}
	}
	return selected, nil
}

// namespace adds everything in a namespace.
func (r *reading) namespace(ctx context.Context, name string) error {
	for _, gvk := range r.inside {
		if placing.ExemptKind(gvk.GroupKind()) {
			continue
		}
		if err := r.tolerate(gvk.GroupKind(), propagation.Right{Verb: "list", Namespace: name}, r.list(ctx, gvk, name, r.inNamespace)); err != nil {
			return err
		}
	}
	return nil
}

// inNamespace adds an object of a selected namespace.
func (r *reading) inNamespace(ctx context.Context, t *propagation.Template) error {
	hasService := false
	if placing.NeedsService(t.Key) {
		_, err := r.objects.Template(ctx, propagation.TemplateKey{APIVersion: "v1", Kind: "Service", Namespace: t.Key.Namespace, Name: t.Key.Name})
		if err != nil && !errors.Is(err, outcome.ErrGone) {
			return fmt.Errorf("get the Service of %s: %w", t.Key, err)
		}
		hasService = err == nil
	}
	if placing.Leaving(t.Object) || placing.Exempt(t.Key, t.Object, hasService) != "" {
		r.pass(t)
		return nil
	}
	return r.take(t)
}

func (r *reading) take(t *propagation.Template) error {
	item, err := placing.NewItem(t.Key, t.Object)
	if err != nil {
		return err
	}
	if r.size += len(item.Raw); r.size > maxContent {
		return refusal{fmt.Errorf("more than %d MiB are selected", maxContent>>20)}
	}
	r.items = append(r.items, item)
	return nil
}
