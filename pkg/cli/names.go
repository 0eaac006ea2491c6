// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// shortNames are the short names of the policy kinds.
var shortNames = map[propagation.Scope]string{propagation.Namespaced: "pp", propagation.Cluster: "cpp"}

// policyRef returns a policy as people type it: pp/NAME or cpp/NAME.
func policyRef(k propagation.PolicyKey) string { return shortNames[k.Scope] + "/" + k.Name }

// refOf returns a template as people type it: deployment/nginx. The API group is added
// unless it is a well-known one, since kubectl may need it.
func refOf(k propagation.TemplateKey) string {
	kind := strings.ToLower(k.Kind)
	if group := k.GroupVersionKind().Group; strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
		kind += "." + group
	}
	return kind + "/" + k.Name
}

// fullRef returns a template as kubectl's -o name does.
func fullRef(k propagation.TemplateKey) string {
	kind := strings.ToLower(k.Kind)
	if group := k.GroupVersionKind().Group; group != "" {
		kind += "." + group
	}
	return kind + "/" + k.Name
}

// inNamespace returns the flag that a command about an object in the namespace needs.
func inNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " -n " + namespace
}

// where returns a template for people: "deployment/nginx in shop".
func where(k propagation.TemplateKey) string {
	if k.Namespace == "" {
		return refOf(k)
	}
	return refOf(k) + " in " + k.Namespace
}

// kind finds a kind by any name that kubectl knows: deploy, deployments,
// deployment.apps, deployments.v1.apps.
func (s *session) kind(arg string) (*meta.RESTMapping, error) {
	mapper, err := s.mapper()
	if err != nil {
		return nil, err
	}
	full, group := schema.ParseResourceArg(arg)
	if full != nil {
		if gvk, err := mapper.KindFor(*full); err == nil {
			return mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		}
	}
	if gvk, err := mapper.KindFor(group.WithVersion("")); err == nil {
		return mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	} else if !meta.IsNoMatchError(err) {
		return nil, err
	}
	gvk, gk := schema.ParseKindArg(arg)
	if gvk != nil {
		if m, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err == nil {
			return m, nil
		}
	}
	m, err := mapper.RESTMapping(gk)
	if meta.IsNoMatchError(err) {
		return nil, usageError{unserved{arg}}
	}
	return m, err
}

// unserved is the error about a kind that the hub does not serve, as it was typed.
type unserved struct{ kind string }

func (u unserved) Error() string {
	return fmt.Sprintf("the hub serves no kind %q: 'kubectl api-resources' lists them", u.kind)
}

// sayPropagated adds to the error about a kind that the hub does not serve what was propagated
// of it: its definition was deleted, and not what members have.
func (s *session) sayPropagated(ctx context.Context, err error) error {
	var u unserved
	if !errors.As(err, &u) {
		return err
	}
	h, failed := s.hub()
	if failed != nil {
		return err
	}
	bindings, failed := h.Bindings(ctx)
	if failed != nil {
		return err
	}
	n := 0
	for _, b := range bindings {
		if kind := b.Template().GroupVersionKind(); named(u.kind, kind) {
			n++
		}
	}
	if n == 0 {
		return err
	}
	return fmt.Errorf("%w; %s propagated of it: members keep what they have until the hub serves the kind again", err, noun(n, "object is", "objects are"))
}

// named reports whether the argument is a name of the kind, as far as that can be known of
// a kind that is not served: its short names are not.
func named(arg string, kind schema.GroupVersionKind) bool {
	plural, singular := meta.UnsafeGuessKindToResource(kind)
	for _, r := range []schema.GroupVersionResource{plural, singular, kind.GroupVersion().WithResource(kind.Kind)} {
		for _, name := range []string{r.Resource, r.GroupResource().String(), r.Resource + "." + r.Version + "." + r.Group} {
			if strings.EqualFold(arg, name) {
				return true
			}
		}
	}
	return false
}

// objects finds the objects that arguments name: KIND/NAME..., or KIND NAME...
func (s *session) objects(args []string) ([]propagation.TemplateKey, error) {
	if len(args) > 1 && !strings.Contains(args[0], "/") {
		var named []string
		for _, name := range args[1:] {
			named = append(named, args[0]+"/"+name)
		}
		args = named
	}
	namespace, err := s.namespace()
	if err != nil {
		return nil, err
	}
	keys := make([]propagation.TemplateKey, 0, len(args))
	for _, arg := range args {
		kind, name, ok := strings.Cut(arg, "/")
		if !ok || kind == "" || name == "" || strings.Contains(name, "/") {
			return nil, usagef("%q names no object: want KIND/NAME, as in deployment/nginx", arg)
		}
		m, err := s.kind(kind)
		if err != nil {
			return nil, err
		}
		keys = append(keys, keyIn(m, namespace, name))
	}
	return keys, nil
}

func keyIn(m *meta.RESTMapping, namespace, name string) propagation.TemplateKey {
	k := propagation.TemplateKey{APIVersion: m.GroupVersionKind.GroupVersion().String(), Kind: m.GroupVersionKind.Kind, Name: name}
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		k.Namespace = namespace
	}
	return k
}

// policy finds the policy that an argument names: pp/NAME or cpp/NAME.
func (s *session) policy(arg string) (propagation.PolicyKey, error) {
	keys, err := s.objects([]string{arg})
	if err != nil {
		return propagation.PolicyKey{}, err
	}
	key, ok := hub.PolicyKeyOf(keys[0])
	if !ok {
		return key, usagef("%q names no policy: want pp/NAME or cpp/NAME", arg)
	}
	return key, nil
}
