// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
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
		return nil, usagef("the hub serves no kind %q: 'kubectl api-resources' lists them", arg)
	}
	return m, err
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
