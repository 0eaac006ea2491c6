// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package wiretest

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
)

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clusterv1alpha1.AddToScheme, policyv1alpha1.AddToScheme, workv1alpha1.AddToScheme, workv1alpha2.AddToScheme,
	} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func examples(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	out := map[string][]byte{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(file)] = raw
	}
	return out
}

func decode(t *testing.T, s *runtime.Scheme, raw []byte) runtime.Object {
	t.Helper()
	var tm metav1.TypeMeta
	if err := yaml.Unmarshal(raw, &tm); err != nil {
		t.Fatal(err)
	}
	obj, err := s.New(schema.FromAPIVersionAndKind(tm.APIVersion, tm.Kind))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(raw, obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestNothingOfAnExampleIsLost(t *testing.T) {
	s := scheme(t)
	for name, raw := range examples(t) {
		t.Run(name, func(t *testing.T) {
			obj := decode(t, s, raw).DeepCopyObject()
			encoded, err := json.Marshal(obj)
			if err != nil {
				t.Fatal(err)
			}
			var want, got any
			if err := yaml.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(encoded, &got); err != nil {
				t.Fatal(err)
			}
			// Go writes an empty struct where the example says nothing; both mean the same.
			if diff := cmp.Diff(clean(want), clean(got)); diff != "" {
				t.Errorf("written otherwise than read (-want +got):\n%s", diff)
			}
		})
	}
}

// clean drops what says nothing: nulls, false, 0, and objects that are empty
// after that.
func clean(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		if list, ok := v.([]any); ok {
			out := make([]any, len(list))
			for i := range list {
				out[i] = clean(list[i])
			}
			return out
		}
		return v
	}
	out := map[string]any{}
	for key, value := range m {
		value = clean(value)
		if value == nil || value == false || reflect.DeepEqual(value, map[string]any{}) {
			continue
		}
		out[key] = value
	}
	return out
}

func TestEachFieldHasAnExample(t *testing.T) {
	s := scheme(t)
	set := map[string]bool{}    // fields that an example sets, by type and field
	served := map[string]bool{} // fields of the types that examples have
	for _, raw := range examples(t) {
		visit(reflect.ValueOf(decode(t, s, raw)), set, served)
	}
	var missing []string
	for _, field := range slices.Sorted(maps.Keys(served)) {
		if !set[field] {
			missing = append(missing, field)
		}
	}
	if len(missing) > 0 {
		t.Errorf("no example sets\n%s", strings.Join(missing, "\n"))
	}
}

func visit(v reflect.Value, set, served map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			visit(v.Elem(), set, served)
		}
	case reflect.Slice:
		for i := range v.Len() {
			visit(v.Index(i), set, served)
		}
	case reflect.Struct:
		switch v.Interface().(type) {
		case metav1.Time, resource.Quantity, runtime.RawExtension, apiextensionsv1.JSON:
			return
		}
		ours := strings.HasPrefix(v.Type().PkgPath(), "sluice.dev/apis/")
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if ours {
				name := v.Type().PkgPath() + "." + v.Type().Name() + "." + f.Name
				served[name] = true
				set[name] = set[name] || !v.Field(i).IsZero()
			}
			visit(v.Field(i), set, served)
		}
	}
}

func TestEachKindHasAnExample(t *testing.T) {
	s := scheme(t)
	seen := map[string]bool{}
	for _, raw := range examples(t) {
		seen[reflect.TypeOf(decode(t, s, raw)).String()] = true
	}
	for gvk, typ := range s.AllKnownTypes() {
		if !strings.HasSuffix(gvk.Group, ".karmada.io") || !strings.HasPrefix(typ.PkgPath(), "sluice.dev/") || strings.HasSuffix(gvk.Kind, "List") {
			continue
		}
		if !seen["*"+typ.String()] {
			t.Errorf("no example of %s", gvk)
		}
		if _, err := s.New(gvk.GroupVersion().WithKind(gvk.Kind + "List")); err != nil {
			t.Errorf("no list of %s: %v", gvk, err)
		}
	}
}
