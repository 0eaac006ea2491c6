// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	events "sluice.dev/apis/events/v1"
)

// contract is all that there is to say of the events.
type contract struct {
	types      []eventType // in the order of their declaration
	sources    []constant  // types of Knative's sources
	extensions []constant
	// fields documents those of the payload, by their name in Go.
	fields map[string]string
}

type eventType struct {
	name string
	events.Entry
	emittedBy  []string
	consumedBy []string
}

// constant is a string constant with its comment.
type constant struct{ name, value, comment string }

const (
	ownTypes    = "dev.sluice."
	sourceTypes = "dev.knative."
)

func readContract(root string) (*contract, error) {
	constants, fields, err := declared(filepath.Join(root, "apis", "events", "v1"))
	if err != nil {
		return nil, err
	}
	emitters, err := emitters(filepath.Join(root, "pkg"))
	if err != nil {
		return nil, err
	}
	consumers, err := consumers(filepath.Join(root, "config", "600-eventing"))
	if err != nil {
		return nil, err
	}
	c := &contract{fields: fields}
	for _, k := range constants {
		entry, known := events.Catalog[k.value]
		switch {
		case strings.HasPrefix(k.name, "Ext"):
			c.extensions = append(c.extensions, k)
		case strings.HasPrefix(k.value, sourceTypes):
			c.sources = append(c.sources, k)
		case strings.HasPrefix(k.value, ownTypes) && !known:
			return nil, fmt.Errorf("type %s is not in the Catalog", k.value)
		case known:
			c.types = append(c.types, eventType{k.value, entry, emitters[k.name], consumers[k.value]})
		}
	}
	return c, nil
}

// declared are the exported string constants of the package in dir, and the
// comments of Data's fields.
func declared(dir string) (constants []constant, fields map[string]string, err error) {
	fields = map[string]string{}
	err = eachFile(dir, func(f *ast.File) {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					constants = append(constants, stringsOf(g, s)...)
				case *ast.TypeSpec:
					if st, ok := s.Type.(*ast.StructType); ok && s.Name.Name == "Data" {
						comments(st, fields)
					}
				}
			}
		}
	})
	return constants, fields, err
}

func stringsOf(g *ast.GenDecl, s *ast.ValueSpec) (found []constant) {
	for i, v := range s.Values {
		lit, ok := v.(*ast.BasicLit)
		if g.Tok != token.CONST || !ok || lit.Kind != token.STRING || !s.Names[i].IsExported() || s.Type != nil {
			continue
		}
		if value, err := strconv.Unquote(lit.Value); err == nil {
			found = append(found, constant{s.Names[i].Name, value, strings.TrimSpace(s.Comment.Text())})
		}
	}
	return found
}

func comments(st *ast.StructType, into map[string]string) {
	for _, f := range st.Fields.List {
		for _, n := range f.Names {
			into[n.Name] = plain(n.Name, strings.Join(strings.Fields(f.Doc.Text()), " "))
		}
	}
}

// plain is a comment for people who do not read Go.
func plain(name, comment string) string {
	if rest, ok := strings.CutPrefix(comment, name+" is "); ok {
		return strings.ToUpper(rest[:1]) + rest[1:]
	}
	return comment
}

// everyStage stands for what pkg/function emits, which is around each of them.
const everyStage = "every stage"

// emitters are the stages that use a constant of the contract otherwise than
// to compare with it, by the constant's name. What is in a subfolder of a stage's is
// the stage's, too.
func emitters(pkg string) (map[string][]string, error) {
	pipeline := filepath.Join(pkg, "pipeline")
	stages, err := os.ReadDir(pipeline)
	if err != nil {
		return nil, err
	}
	folders := map[string]string{everyStage: filepath.Join(pkg, "function")}
	for _, s := range stages {
		if s.IsDir() {
			folders[s.Name()] = filepath.Join(pipeline, s.Name())
		}
	}
	by := map[string][]string{}
	for _, who := range slices.Sorted(maps.Keys(folders)) {
		err := filepath.WalkDir(folders[who], func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			return eachFile(path, func(f *ast.File) {
				for _, name := range emitted(f) {
					if !slices.Contains(by[name], who) {
						by[name] = append(by[name], who)
					}
				}
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return by, nil
}

func emitted(f *ast.File) (names []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			return n.Op != token.EQL && n.Op != token.NEQ
		case *ast.CaseClause:
			for _, s := range n.Body {
				names = append(names, emittedIn(s)...)
			}
			return false
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "events" {
				names = append(names, n.Sel.Name)
			}
		}
		return true
	})
	return names
}

func emittedIn(s ast.Stmt) []string {
	return emitted(&ast.File{Name: ast.NewIdent("x"), Decls: []ast.Decl{
		&ast.FuncDecl{Name: ast.NewIdent("x"), Type: &ast.FuncType{}, Body: &ast.BlockStmt{List: []ast.Stmt{s}}},
	}})
}

// consumers are the subscribers whose Triggers name a type, by type.
func consumers(eventing string) (map[string][]string, error) {
	by := map[string][]string{}
	files, err := fs.Glob(os.DirFS(eventing), "trigger-*")
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		raw, err := os.ReadFile(filepath.Join(eventing, name))
		if err != nil {
			return nil, err
		}
		var trigger struct {
			Spec struct {
				Filters    any
				Subscriber struct{ Ref struct{ Name string } }
			}
		}
		if err := yaml.Unmarshal(raw, &trigger); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, t := range typesIn(trigger.Spec.Filters) {
			if who := trigger.Spec.Subscriber.Ref.Name; !slices.Contains(by[t], who) {
				by[t] = append(by[t], who)
			}
		}
	}
	return by, nil
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

// eachFile parses the Go files of a folder, without its tests.
func eachFile(dir string, do func(f *ast.File)) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		do(f)
	}
	return nil
}
