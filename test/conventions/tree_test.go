// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package conventions

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const root = "../.."

// file is one file of the repository, with its path from there.
type file struct {
	path string
	text string
	ast  *ast.File // of Go files
	set  *token.FileSet
}

func (f file) folder() string { return filepath.ToSlash(filepath.Dir(f.path)) }

func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

func (f file) isGenerated() bool { return ast.IsGenerated(f.ast) }

func (f file) lines(n ast.Node) int {
	return f.set.Position(n.End()).Line - f.set.Position(n.Pos()).Line + 1
}

func (f file) line(n ast.Node) int { return f.set.Position(n.Pos()).Line }

// tree is every file that people write, of the nested modules, too.
var tree = sync.OnceValues(func() (all []file, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && d.Name() != ".ci" || strings.HasPrefix(d.Name(), "_")
		if d.IsDir() && rel != "." && (hidden || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all = append(all, file{path: filepath.ToSlash(rel), text: string(raw)})
		}
		return nil
	})
	return all, err
})

// files are those with one of the endings.
func files(t *testing.T, endings ...string) []file {
	t.Helper()
	all, err := tree()
	if err != nil {
		t.Fatal(err)
	}
	var some []file
	for _, f := range all {
		if slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(f.path, e) }) {
			some = append(some, f)
		}
	}
	if len(some) == 0 {
		t.Fatalf("found no files %v: a rule that looks at nothing proves nothing", endings)
	}
	return some
}

var parsed = sync.OnceValues(func() (all []file, err error) {
	every, err := tree()
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	for _, f := range every {
		if !strings.HasSuffix(f.path, ".go") {
			continue
		}
		f.set = set
		if f.ast, err = parser.ParseFile(set, f.path, f.text, parser.ParseComments); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
})

// goFiles are all Go files, parsed.
func goFiles(t *testing.T) []file {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// folders are the names of the folders in a folder, none if it is not there.
func folders(t *testing.T, path string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, path))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}
