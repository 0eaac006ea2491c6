// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package core has no code of its own: what is below it decides, and does
// nothing else. This test keeps it so.
package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// allowed are the packages that core may import: they compute. A name that ends
// in a slash stands for all below it.
var allowed = []string{
	// Of the standard library.
	"bytes", "cmp", "container/heap", "encoding/base64", "encoding/binary", "encoding/hex", "encoding/json",
	"errors", "fmt", "hash", "hash/fnv", "crypto/sha256", "iter", "maps", "math", "math/big", "math/bits",
	"regexp", "slices", "sort", "strconv", "strings", "time", "unicode", "unicode/utf8",
	// Values of Kubernetes.
	"k8s.io/api/",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
	"k8s.io/apimachinery/pkg/api/equality",
	"k8s.io/apimachinery/pkg/api/meta",
	"k8s.io/apimachinery/pkg/api/resource",
	"k8s.io/apimachinery/pkg/apis/meta/v1",
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured",
	"k8s.io/apimachinery/pkg/fields",
	"k8s.io/apimachinery/pkg/labels",
	"k8s.io/apimachinery/pkg/runtime",
	"k8s.io/apimachinery/pkg/runtime/schema",
	"k8s.io/apimachinery/pkg/selection",
	"k8s.io/apimachinery/pkg/types",
	"k8s.io/apimachinery/pkg/util/intstr",
	"k8s.io/apimachinery/pkg/util/json",
	"k8s.io/apimachinery/pkg/util/sets",
	"k8s.io/apimachinery/pkg/util/validation",
	"k8s.io/utils/ptr",
	"sigs.k8s.io/yaml",
	// The language of rules.
	"github.com/google/cel-go/cel", "github.com/google/cel-go/common/", "github.com/google/cel-go/ext",
	// Our own.
	"sluice.dev/apis/cluster/", "sluice.dev/apis/config/", "sluice.dev/apis/keys", "sluice.dev/apis/membercluster/", "sluice.dev/apis/placement/", "sluice.dev/apis/policy/", "sluice.dev/apis/work/",
	"sluice.dev/pkg/core/",
}

// unreachable are the packages that core must not reach by any road. (net/http and log/slog
// cannot be among them: metav1 reaches both.)
var unreachable = []string{
	"k8s.io/client-go/", "github.com/redis/", "github.com/cloudevents/", "knative.dev/eventing/",
	"k8s.io/apiserver/", "github.com/prometheus/",
}

// impure are the functions and types of allowed packages that would make a
// decision depend on more than its input, or write to the terminal.
var impure = map[string][]string{
	"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Local", "LoadLocation"},
	"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
}

type listed struct {
	ImportPath, Dir        string
	GoFiles, Imports, Deps []string
}

// packages are those of core.
func packages(t *testing.T) (all []listed) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Dir,GoFiles,Imports,Deps", "./...")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			all = append(all, p)
		}
	}
	if len(all) < 5 {
		t.Fatalf("go list found %d packages only", len(all))
	}
	return all
}

func isIn(list []string, pkg string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		return entry == pkg || strings.HasSuffix(entry, "/") && strings.HasPrefix(pkg, entry)
	})
}

func TestCoreImportsOnlyWhatComputes(t *testing.T) {
	for _, p := range packages(t) {
		for _, i := range p.Imports {
			if !isIn(allowed, i) {
				t.Errorf("%s imports %s, which is not among what core may import", p.ImportPath, i)
			}
		}
		for _, d := range p.Deps {
			if isIn(unreachable, d) {
				t.Errorf("%s reaches %s; go mod why -m says how", p.ImportPath, d)
			}
		}
	}
}

func TestCoreDependsOnItsInputAlone(t *testing.T) {
	for _, p := range packages(t) {
		set := token.NewFileSet()
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for pos, what := range impurities(f) {
				t.Errorf("%s: %s", set.Position(pos), what)
			}
		}
	}
}

// impurities are the places where a file does more than compute.
func impurities(f *ast.File) map[token.Pos]string {
	found := map[token.Pos]string{}
	names := map[string]string{} // local name of an import → path
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		names[path.Base(p)] = p
		if i.Name != nil {
			names[i.Name.Name] = p
			if i.Name.Name == "." || i.Name.Name == "_" {
				found[i.Pos()] = "an import by " + i.Name.Name
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found[n.Pos()] = "a goroutine"
		case *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
			found[n.Pos()] = "a channel"
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && slices.Contains(impure[names[x.Name]], n.Sel.Name) {
				found[n.Pos()] = names[x.Name] + "." + n.Sel.Name
			}
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				found[n.Pos()] = "an init function"
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "print" || id.Name == "println") {
				found[n.Pos()] = id.Name
			}
		}
		return true
	})
	return found
}

func TestImpuritiesAreFound(t *testing.T) {
	tests := map[string]struct {
		body string
		want int
	}{
		"a pure function":           {`func f(a, b int) int { return a + b }`, 0},
		"the clock":                 {`var _ = clock.Now()`, 1},
		"a time that is given":      {`func f(t clock.Time) clock.Time { return t.Add(clock.Second) }`, 0},
		"a goroutine":               {`func f() { go f() }`, 1},
		"a channel that is sent to": {`func f(c chan int) { c <- 1 }`, 2},
		"init":                      {`func init() {}`, 1},
		"a method named init":       {`type t int; func (t) init() {}`, 0},
		"the terminal":              {`func f() { println(1) }`, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nimport clock \"time\"\n"+tc.body, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := impurities(f); len(got) != tc.want {
				t.Errorf("got %s, want %d", fmt.Sprint(got), tc.want)
			}
		})
	}
}
