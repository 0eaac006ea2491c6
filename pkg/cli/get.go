// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

type getOptions struct {
	*session
	output
	all, watch bool
	// what the arguments name; a nil kind means all kinds
	kind *meta.RESTMapping
	name string
	// selector for the labels of templates and placements, as it was typed
	selectorArg string
	selector    labels.Selector
}

func getCommand(s *session) *cobra.Command {
	o := &getOptions{session: s}
	cmd := &cobra.Command{
		Use:   "get [KIND | KIND/NAME | removals [CLUSTER]]",
		Short: "List templates: policy, clusters, and their state",
		Long: `List templates: which policies hold them, where they go, in how many of these
clusters they are applied and available, which changes are pending, and what is
suspended. Templates that a policy holds and that were never propagated come last:
those of the KIND, or those of the kinds that policies name, if you may read these;
-w shows them with a KIND. Placements follow, or are listed alone with crp.

"removals" are the removals of templates from clusters that are held because
nobody asked for them by name: in every namespace, unless -n names one, and in
every cluster, unless one is named. "clusters" are the members. "orphans" are
objects in members that this hub created and has no template for.`,
		Example: examples(`
			# What is propagated in a namespace, and everywhere
			kubectl sluice get -n shop
			kubectl sluice get -A

			# By the templates' labels
			kubectl sluice get -n shop -l tier=web

			# Deployments only, with what is in force and what went wrong
			kubectl sluice get deploy -n shop -o wide

			# Placements
			kubectl sluice get crp

			# The members, and removals that are held
			kubectl sluice get clusters
			kubectl sluice get removals

			# While a change is rolled out
			kubectl sluice get deploy -n shop -w

			# For programs
			kubectl sluice get deploy/nginx -n shop -o json`),
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: s.completeObjects(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == "removals" {
				if o.selectorArg != "" || o.watch {
					return usagef("removals are listed once, and chosen by namespace, not by labels")
				}
				return o.removals(cmd.Context(), args[1:])
			}
			if err := o.parse(args); err != nil {
				return s.sayPropagated(cmd.Context(), err)
			}
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "templates of every namespace, and cluster-scoped ones")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "after that, print each line that changes, until Ctrl-C")
	cmd.Flags().StringVarP(&o.selectorArg, "selector", "l", "", "templates and placements with these labels, as kubectl's: tier=web,env!=test")
	o.addTo(cmd, formatWide, formatName, formatJSON, formatYAML)
	cmd.AddCommand(clustersCommand(s), orphansCommand(s))
	return cmd
}

func (o *getOptions) parse(args []string) error {
	var err error
	if o.selector, err = labels.Parse(o.selectorArg); err != nil {
		return usagef("-l %s: %w", o.selectorArg, err)
	}
	if len(args) == 0 {
		return nil
	}
	kind, name, _ := strings.Cut(strings.Join(args, "/"), "/")
	if o.all && name != "" {
		return usagef("an object has one namespace: name it with -n instead of -A")
	}
	if o.selectorArg != "" && name != "" {
		return usagef("templates are chosen by name or with -l, not by both")
	}
	o.kind, err = o.session.kind(kind)
	o.name = name
	return err
}

func (o *getOptions) run(ctx context.Context) error {
	h, err := o.hub()
	if err != nil {
		return err
	}
	if o.watch {
		return o.follow(ctx, h)
	}
	if o.ofPlacements() {
		return o.placements(ctx, h)
	}
	lines, err := o.lines(ctx, h)
	if without := (*unlisted)(nil); err != nil && !errors.As(err, &without) {
		return err
	}
	return errors.Join(o.show(ctx, h, lines), err)
}

func (o *getOptions) show(ctx context.Context, h *hub.Hub, lines []summary) error {
	switch o.format {
	case formatName:
		for _, l := range lines {
			o.screen.Println(fullRef(l.TemplateKey))
		}
		return nil
	case formatJSON, formatYAML:
		if o.name != "" {
			return o.screen.Encode(o.format, lines[0])
		}
		return o.screen.Encode(o.format, map[string]any{"items": lines})
	}
	if len(lines) > 0 {
		o.screen.Table("", summaryColumns(o.all), summaryRows(lines, o.all, o.wide()), o.wide())
		if err := o.unjoined(ctx, h, lines); err != nil {
			return err
		}
	}
	shown := false
	if o.kind == nil {
		var err error
		if shown, err = o.beside(ctx, h, len(lines) > 0); err != nil {
			return err
		}
	}
	if len(lines) == 0 {
		return o.nothing(ctx, shown)
	}
	return nil
}

// nothing says that there are no templates; shown: there are placements.
func (o *getOptions) nothing(ctx context.Context, shown bool) error {
	namespace, err := o.namespace()
	switch {
	case err != nil:
		return err
	case !o.all && (o.kind == nil || o.kind.Scope.Name() != meta.RESTScopeNameRoot) && o.lacks(ctx, namespace):
		o.screen.Note("There is no namespace %s: 'kubectl get namespaces' lists them.", namespace)
	case shown:
	case o.selectorArg != "":
		o.screen.Note("Nothing that is propagated has the labels %s.", o.selectorArg)
	case o.all:
		o.screen.Note("Nothing is propagated.")
	default:
		o.screen.Note("Nothing is propagated in namespace %s. -A shows every namespace, a KIND shows what waits.", namespace)
	}
	return nil
}

// lacks reports whether the hub says that it has no such namespace.
func (o *getOptions) lacks(ctx context.Context, namespace string) bool {
	kube, err := o.kube()
	if err != nil {
		return false
	}
	_, err = kube.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

// lines returns summaries of the requested templates. With an error that is unlisted
// come all but those of the kinds that could not be listed.
func (o *getOptions) lines(ctx context.Context, h *hub.Hub) ([]summary, error) {
	namespace, err := o.namespace()
	if err != nil {
		return nil, err
	}
	if o.name != "" {
		line, err := o.one(ctx, h, keyIn(o.kind, namespace, o.name))
		return []summary{line}, err
	}
	if o.kind != nil && o.kind.Scope.Name() == meta.RESTScopeNameRoot || o.all {
		namespace = ""
	}
	bindings, err := o.bindings(ctx, h, namespace)
	if err != nil {
		return nil, installed(err)
	}
	var lines []summary
	for _, b := range bindings {
		key := b.Template()
		if o.kind != nil && key.GroupVersionKind().GroupKind() != o.kind.GroupVersionKind.GroupKind() {
			continue
		}
		if namespace != "" && key.Namespace != namespace {
			continue
		}
		lines = append(lines, summaryOf(b))
	}
	without := &unlisted{kinds: map[schema.GroupVersionKind]bool{}, what: "that were never propagated"}
	if !o.selector.Empty() {
		without.what = "with these labels"
	}
	lines = o.selected(ctx, namespace, lines, without)
	o.datesOf(ctx, lines)
	waiting, err := o.waiting(ctx, h, namespace, bindings, without)
	if err == nil {
		err = without.err()
	}
	return append(lines, waiting...), err
}

// bindings returns those of a namespace, or of all if it is empty. If the user may not
// list all bindings, those of the namespace are read one by one.
func (o *getOptions) bindings(ctx context.Context, h *hub.Hub, namespace string) ([]*propagation.Binding, error) {
	all, err := h.Bindings(ctx)
	if namespace == "" || !apierrors.IsForbidden(err) {
		return all, err
	}
	names, err := o.created(ctx, bindingKind(propagation.Namespaced), namespace, "")
	if err != nil {
		return nil, err
	}
	for n := range names {
		b, err := h.Binding(ctx, propagation.BindingKey{Namespace: n.Namespace, Name: n.Name})
		if errors.Is(err, outcome.ErrGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b *propagation.Binding) int { return cmp.Compare(a.Key.Name, b.Key.Name) })
	return all, nil
}

// one returns the summary of one template; it is an error if there is none.
func (o *getOptions) one(ctx context.Context, h *hub.Hub, key propagation.TemplateKey) (summary, error) {
	b, err := h.Binding(ctx, propagation.BindingOf(key))
	if err == nil && b.IsOf(key) {
		lines := []summary{summaryOf(b)}
		o.datesOf(ctx, lines)
		return lines[0], nil
	}
	if err != nil && !errors.Is(err, outcome.ErrGone) {
		return summary{}, installed(err)
	}
	s := explaining.Subject{Binding: b}
	if s.Template, err = h.Template(ctx, key); err != nil {
		return summary{}, notFound(key, err)
	}
	lines, err := unbound(ctx, h, []explaining.Subject{s})
	if err != nil {
		return summary{}, err
	}
	return lines[0], nil
}

// eachTemplate calls f for all objects of a kind; a kind that is not served has none.
func eachTemplate(ctx context.Context, h *hub.Hub, gvk schema.GroupVersionKind, namespace string, f func(*propagation.Template)) error {
	err := servedTemplates(ctx, h, gvk, namespace, f)
	if errors.Is(err, outcome.ErrNotServed) {
		return nil
	}
	return err
}

// servedTemplates is eachTemplate for a kind that has to be served.
func servedTemplates(ctx context.Context, h *hub.Hub, gvk schema.GroupVersionKind, namespace string, f func(*propagation.Template)) error {
	const pageSize = 500
	seen := map[types.UID]bool{}
	for cont := ""; ; {
		var page []*propagation.Template
		var next string
		err := inTime(ctx, func(ctx context.Context) (err error) {
			page, next, err = h.ListTemplates(ctx, gvk, namespace, pageSize, cont)
			return err
		})
		if err != nil {
			return err
		}
		for _, t := range page {
			if !seen[t.UID] {
				seen[t.UID] = true
				f(t)
			}
		}
		if cont = next; cont == "" {
			return nil
		}
	}
}

// datesOf sets since when the templates are propagated. If the user may not list the
// metadata, there is no age.
func (o *getOptions) datesOf(ctx context.Context, lines []summary) {
	for _, scope := range propagation.Scopes {
		var namespaces []string
		for _, l := range lines {
			if l.binding.Scope() == scope {
				namespaces = append(namespaces, l.Namespace)
			}
		}
		if len(namespaces) == 0 {
			continue
		}
		created, err := o.created(ctx, bindingKind(scope), onlyOne(namespaces), "")
		if err != nil {
			continue
		}
		for i := range lines {
			if k := lines[i].binding; k.Scope() == scope {
				lines[i].Created = created[types.NamespacedName{Namespace: k.Namespace, Name: k.Name}].CreationTimestamp.Time
			}
		}
	}
}

// onlyOne returns the only namespace in the list; empty: there are several.
func onlyOne(namespaces []string) string {
	for _, ns := range namespaces {
		if ns != namespaces[0] {
			return ""
		}
	}
	return namespaces[0]
}

// bindingKind returns the kind of bindings of a scope.
func bindingKind(scope propagation.Scope) schema.GroupVersionKind {
	key := propagation.BindingKey{Name: "x"}
	if scope == propagation.Namespaced {
		key.Namespace = "x"
	}
	about := hub.AboutBinding(&propagation.Binding{Key: key})
	return schema.FromAPIVersionAndKind(about.APIVersion, about.Kind)
}
