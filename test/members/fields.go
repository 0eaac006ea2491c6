// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// managers has who knows whose field is whose, by kind and subresource. All members
// share them.
type managers map[string]*managedfields.FieldManager

func newManagers() (managers, error) {
	all, types := managers{}, applyconfigurations.NewTypeConverter(scheme.Scheme)
	for _, k := range kinds {
		for _, sub := range []string{"", "status"} {
			if sub != "" && !k.status {
				continue
			}
			m, err := managedfields.NewDefaultFieldManager(types, untyped{}, untyped{}, untyped{}, k.GroupVersionKind, k.GroupVersion(), sub, k.reset(sub))
			if err != nil {
				return nil, fmt.Errorf("manage the fields of %s: %w", k.Kind, err)
			}
			all[k.resource+"/"+sub] = m
		}
	}
	return all, nil
}

// reset is what nobody comes to own by this way of writing.
func (k *kind) reset(sub string) map[fieldpath.APIVersion]fieldpath.Filter {
	path := "status"
	switch {
	case !k.status:
		return nil
	case sub == "status":
		path = "spec"
	}
	return map[fieldpath.APIVersion]fieldpath.Filter{
		fieldpath.APIVersion(k.GroupVersion().String()): fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie(path))),
	}
}

func (m managers) of(t target) *managedfields.FieldManager { return m[t.resource+"/"+t.sub] }

// untyped converts, defaults and makes objects that are no Go types.
type untyped struct{}

func (untyped) Convert(_, _, _ any) error { return errors.New("there is one version of each kind") }

func (untyped) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (untyped) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (untyped) Default(in runtime.Object) {
	if u, ok := in.(*unstructured.Unstructured); ok {
		setDefaults(u)
	}
}

func (untyped) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u, nil
}
