// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
)

// TestDocumentsAreUpToDate fails when a command's help or a list of fields changed and
// nobody ran make generate.
func TestDocumentsAreUpToDate(t *testing.T) {
	fields, err := fieldsPage("..")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{"commands.md": commandsPage(), "fields.md": fields} {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("docs/%s is out of date: make generate (-want +got)\n%s", name, diff)
		}
	}
}

// TestWhoGeneratesDoesNotMatter: neither its home nor its environment stands in it.
func TestWhoGeneratesDoesNotMatter(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil || home == "/" {
		t.Skip("there is no home to be found in it")
	}
	if bytes.Contains(commandsPage(), []byte(home+"/")) {
		t.Errorf("%s stands in docs/commands.md", home)
	}
}

// TestAPlaceThatIsMissingIsAnError: a table that nobody shows would be missed by nobody.
func TestAPlaceThatIsMissingIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "fields.md"), []byte("<!-- fields: policies -->\n<!-- end -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fieldsPage(dir); err == nil || !strings.Contains(err.Error(), "has no place for the table of") {
		t.Errorf("got %v", err)
	}
}

// TestFieldsAreThoseOfTheTypes: a list that names what no type has is out of date, and so
// is one that lacks a field: each is in the table of those that change nothing yet, or
// among those that are acted on.
func TestFieldsAreThoseOfTheTypes(t *testing.T) {
	for name, of := range map[string]any{
		"policies": policyv1alpha1.PropagationPolicy{}, "bindings": workv1alpha2.ResourceBinding{},
		"works": workv1alpha1.Work{}, "clusters": clusterv1alpha1.Cluster{},
	} {
		kind, listed := reflect.TypeOf(of), map[string]bool{}
		for _, path := range strings.Fields(actedOn[name]) {
			listed[path] = true
		}
		for _, f := range tables[name] {
			if missing := lacks(kind, strings.Split(f.path, ".")); missing != "" {
				t.Errorf("%s: %s: there is no field %s", name, f.path, missing)
			}
			if f.today == "" || f.by == "" {
				t.Errorf("%s: %s: say what happens today, and who will act on it", name, f.path)
			}
		}
		for _, path := range leaves(kind, "") {
			if !listed[path] && !slices.ContainsFunc(tables[name], func(f row) bool { return f.covers(path) }) {
				t.Errorf("%s: %s: is it acted on? Then actedOn has it, otherwise the lists of pkg/core/propagation", name, path)
			}
			delete(listed, path)
		}
		for path := range listed {
			t.Errorf("%s: %s is acted on, and no field", name, path)
		}
	}
	for _, vain := range []string{"spec.noSuch", "spec.placement.clusterTolerations[].noSuch"} {
		if lacks(reflect.TypeFor[policyv1alpha1.PropagationPolicy](), strings.Split(vain, ".")) != "noSuch" {
			t.Errorf("%s is found", vain)
		}
	}
}

// covers reports whether the row is about the whole field at that path, or what it is in.
func (f row) covers(path string) bool {
	if f.part != "" {
		return false
	}
	own := strings.TrimSuffix(f.path, "[]")
	return path == own || strings.HasPrefix(path, own+".") || strings.HasPrefix(path, own+"[]")
}

// TestWhatIsSetInVainIsMarked: the page says of which fields an object tells by itself.
func TestWhatIsSetInVainIsMarked(t *testing.T) {
	marked := table(rows([]propagation.Field[int]{{Path: "spec.a", Vain: func(*int) bool { return true }}, {Path: "spec.b", Part: "c|d", Today: "x|y"}}))
	for _, want := range []string{"| `spec.a` ⚠ |", `| x\|y |`} {
		if !strings.Contains(string(marked), want) {
			t.Errorf("no %s in\n%s", want, marked)
		}
	}
}

// lacks is the first part of a path that a type does not have; empty: it has all.
func lacks(of reflect.Type, path []string) string {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if len(path) == 0 {
		return ""
	}
	name := strings.TrimSuffix(path[0], "[]")
	for f := range fieldsOf(of) {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == name:
			return lacks(f.Type, path[1:])
		case tag == "" && (f.Anonymous || options == "inline") && lacks(f.Type, path) == "":
			return ""
		}
	}
	return name
}

// leaves are the paths of all fields of a kind, as far as its types are ours, without its
// metadata.
func leaves(of reflect.Type, path string) []string {
	list := false
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		list = list || of.Kind() == reflect.Slice
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || !strings.HasPrefix(of.PkgPath(), "sluice.dev/apis/") {
		return []string{path}
	}
	if list {
		path += "[]"
	}
	var all []string
	for f := range fieldsOf(of) {
		switch tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case tag == "" && f.Type.PkgPath() == reflect.TypeFor[metav1.TypeMeta]().PkgPath(), tag == "metadata":
		case tag == "": // inline
			all = append(all, leaves(f.Type, path)...)
		case path == "":
			all = append(all, leaves(f.Type, tag)...)
		default:
			all = append(all, leaves(f.Type, path+"."+tag)...)
		}
	}
	return all
}

func fieldsOf(of reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range of.NumField() {
			if !yield(of.Field(i)) {
				return
			}
		}
	}
}
