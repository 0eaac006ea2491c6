// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package conventions

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// maxMain keeps a function's main what it shall be: a few lines of wiring.
const maxMain = 40

// deployed are the functions that are deployed one by one.
func deployed(t *testing.T) []string {
	t.Helper()
	all := folders(t, "functions")
	return slices.DeleteFunc(all, func(name string) bool { return name == "standalone" })
}

func TestFunctionsAreOneShortMain(t *testing.T) {
	for _, f := range goFiles(t) {
		if !within(f.path, "functions") {
			continue
		}
		if path.Base(f.path) != "main.go" || strings.Count(f.path, "/") != 2 {
			t.Errorf("%s: a function is one main.go, the rest is in pkg/", f.path)
		}
		if n := strings.Count(f.text, "\n"); n >= maxMain {
			t.Errorf("%s has %d lines, want fewer than %d", f.path, n, maxMain)
		}
	}
}

func TestTriggersNameTypesOfTheContractAndFunctionsThatExist(t *testing.T) {
	functions := deployed(t)
	if len(functions) == 0 {
		t.Log("there are no functions yet, so subscribers are not looked at")
	}
	types := stringConstants(t, "apis/events/v1")
	triggers := 0
	for _, f := range files(t, ".yaml", ".yaml.tmpl") {
		if !within(f.path, "config/600-eventing") && !within(f.path, "examples") {
			continue
		}
		for _, doc := range strings.Split(f.text, "\n---\n") {
			var tr struct {
				Kind string
				Spec struct {
					Filter     any
					Filters    []any
					Subscriber struct{ Ref struct{ Name string } }
				}
			}
			if err := yaml.Unmarshal([]byte(doc), &tr); err != nil {
				t.Errorf("%s: %v", f.path, err)
			}
			if tr.Kind != "Trigger" {
				continue
			}
			triggers++
			for _, typ := range append(typesIn(tr.Spec.Filters), typesIn(tr.Spec.Filter)...) {
				if !slices.ContainsFunc(types, func(c string) bool { return strings.HasPrefix(c, typ) }) {
					t.Errorf("%s: filters by the type %q, which no constant of apis/events/v1 has", f.path, typ)
				}
			}
			own := within(f.path, "config")
			if name := tr.Spec.Subscriber.Ref.Name; own && len(functions) > 0 && !slices.Contains(functions, name) {
				t.Errorf("%s: the subscriber %q is no folder of functions/", f.path, name)
			}
		}
	}
	if triggers == 0 {
		t.Error("found no Triggers in config/600-eventing")
	}
}

// typesIn are the values of each "type" in a filter, however deep.
func typesIn(filter any) (types []string) {
	switch x := filter.(type) {
	case map[string]any:
		for key, value := range x {
			if s, ok := value.(string); ok && key == "type" {
				types = append(types, s)
			} else {
				types = append(types, typesIn(value)...)
			}
		}
	case []any:
		for _, value := range x {
			types = append(types, typesIn(value)...)
		}
	}
	return types
}

// stringConstants are the values of a package's exported string constants.
func stringConstants(t *testing.T, folder string) (values []string) {
	t.Helper()
	for _, f := range goFiles(t) {
		if f.folder() != folder || f.isTest() {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			d, ok := n.(*ast.GenDecl)
			if !ok || d.Tok != token.CONST {
				return true
			}
			for _, s := range d.Specs {
				for i, v := range s.(*ast.ValueSpec).Values {
					lit, ok := v.(*ast.BasicLit)
					if ok && lit.Kind == token.STRING && s.(*ast.ValueSpec).Names[i].IsExported() {
						value, err := strconv.Unquote(lit.Value)
						if err != nil {
							t.Fatal(err)
						}
						values = append(values, value)
					}
				}
			}
			return false
		})
	}
	return values
}
