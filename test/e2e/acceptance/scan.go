// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// test is one test of a line.
type test struct {
	// dir of its package, from the root.
	dir string
	// name of the function.
	name string
}

const idPattern = `(?:ST|L|S|P|C|Y|Z)[0-9]+`

var (
	inFuncName = regexp.MustCompile(`^Test((?:` + idPattern + `)+)`)
	inRow      = regexp.MustCompile(`^((?:` + idPattern + `[ ,:]+)+)`)
	oneID      = regexp.MustCompile(idPattern)
)

// scan finds the tests of each line under root.
func scan(root string) (map[string][]test, error) {
	found := map[string][]test{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), "_") || strings.HasPrefix(d.Name(), ".") && path != root):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		return scanFile(path, filepath.ToSlash(dir), found)
	})
	for id := range found {
		slices.SortFunc(found[id], func(a, b test) int { return strings.Compare(a.String(), b.String()) })
		found[id] = slices.Compact(found[id])
	}
	return found, err
}

func scanFile(path, dir string, found map[string][]test) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return err
	}
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Test") {
			continue
		}
		t := test{dir, fn.Name.Name}
		add := func(ids string) {
			for _, id := range oneID.FindAllString(ids, -1) {
				found[id] = append(found[id], t)
			}
		}
		if m := inFuncName.FindStringSubmatch(fn.Name.Name); m != nil {
			add(m[1])
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					add(inRow.FindString(s))
				}
			}
			return true
		})
	}
	return nil
}

// endToEnd is where the tests on real API servers are.
const endToEnd = "test/e2e"

// String is the name for people: end-to-end tests by their names, others with
// their packages.
func (t test) String() string {
	if t.dir == endToEnd {
		return t.name
	}
	return t.dir + "." + t.name
}
