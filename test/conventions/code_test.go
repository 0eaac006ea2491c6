// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package conventions

import (
	"fmt"
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

const (
	maxFunction = 60
	maxFile     = 500
	header      = "// Copyright 2026 The Sluice Authors\n// SPDX-License-Identifier: Apache-2.0\n\n"
)

func TestEachFileHasTheLicenceHeader(t *testing.T) {
	for _, f := range goFiles(t) {
		text := f.text
		if f.isGenerated() && strings.HasPrefix(text, "//go:build ") {
			_, text, _ = strings.Cut(text, "\n\n")
		}
		if !strings.HasPrefix(text, header) {
			t.Errorf("%s does not begin with:\n%s", f.path, header)
		}
	}
	for _, f := range files(t, ".sh", ".ci/run", "Makefile") {
		if head := strings.ReplaceAll(header, "// ", "# "); !strings.Contains(f.text[:min(200, len(f.text))], strings.TrimSpace(head)) {
			t.Errorf("%s does not begin with:\n%s", f.path, head)
		}
	}
}

func TestEachPackageHasOnePackageComment(t *testing.T) {
	comments := map[string][]string{}
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		if _, ok := comments[f.folder()]; !ok {
			comments[f.folder()] = nil
		}
		if f.ast.Doc != nil {
			comments[f.folder()] = append(comments[f.folder()], f.path)
			checkPackageComment(t, f)
		}
	}
	for folder, in := range comments {
		if len(in) != 1 {
			t.Errorf("%s has %d package comments, want one: %v", folder, len(in), in)
		}
	}
}

// checkPackageComment wants it to begin as Go's documentation does.
func checkPackageComment(t *testing.T, f file) {
	t.Helper()
	want := "Package " + f.ast.Name.Name + " "
	if f.ast.Name.Name == "main" {
		want = "Command "
	}
	if !strings.HasPrefix(f.ast.Doc.Text(), want) {
		t.Errorf("%s: the package comment does not begin with %q", f.path, want)
	}
}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	long, longer := map[string]string{}, map[string]string{}
	for _, f := range goFiles(t) {
		if f.isGenerated() {
			continue
		}
		if n := strings.Count(f.text, "\n"); n > maxFile {
			longer[f.path] = fmt.Sprintf("has %d lines: is there a second idea in it?", n)
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && !f.isTest() && f.lines(fn) > maxFunction {
				long[functionName(f, fn)] = fmt.Sprintf("has %d lines (%s:%d)", f.lines(fn), f.path, f.line(fn))
			}
		}
	}
	report(t, ruleFunctionLength, long)
	report(t, ruleFileLength, longer)
}

func functionName(f file, fn *ast.FuncDecl) string {
	name := f.folder() + "."
	if fn.Recv != nil && len(fn.Recv.List) == 1 {
		receiver := fn.Recv.List[0].Type
		if p, ok := receiver.(*ast.StarExpr); ok {
			receiver = p.X
		}
		if id, ok := receiver.(*ast.Ident); ok {
			name += id.Name + "."
		}
	}
	return name + fn.Name.Name
}

func TestNothingSleepsOrInventsAContext(t *testing.T) {
	sleeps, contexts := map[string]string{}, map[string]string{}
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				switch x, _ := s.X.(*ast.Ident); {
				case x != nil && x.Name == "time" && s.Sel.Name == "Sleep":
					sleeps[f.path] = fmt.Sprintf("line %d", f.line(s))
				case x != nil && x.Name == "context" && s.Sel.Name == "TODO":
					contexts[f.path] = fmt.Sprintf("line %d", f.line(s))
				}
			}
			return true
		})
	}
	report(t, ruleSleep, sleeps)
	report(t, ruleContext, contexts)
}

var later = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b(\(#\d+\))?`)

func TestWhatIsLeftForLaterNamesAnIssue(t *testing.T) {
	for _, f := range goFiles(t) {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				for _, m := range later.FindAllStringSubmatch(c.Text, -1) {
					if m[2] == "" && !strings.Contains(c.Text, "context."+m[1]) {
						t.Errorf("%s:%d: write %s(#12), with the number of an issue", f.path, f.line(c), m[1])
					}
				}
			}
		}
	}
}

// clusterKinds are the kinds that differ from another by their scope alone; a
// placement has a binding of one of these names, and none of the other scope.
var clusterKinds = regexp.MustCompile(`Cluster(PropagationPolicy|OverridePolicy|ResourceBinding)`)

var placementKinds = regexp.MustCompile(`placementv1\.(Kind|Resource)?Cluster\w+`)

func TestScopeIsDataBeyondTheEdge(t *testing.T) {
	broken := map[string]string{}
	for _, f := range goFiles(t) {
		edge := within(f.path, "apis") || within(f.path, "pkg/hub") || within(f.path, "test")
		if f.isTest() || edge {
			continue
		}
		text := placementKinds.ReplaceAllString(f.text, "placement")
		if m := clusterKinds.FindStringIndex(text); m != nil {
			broken[f.path] = fmt.Sprintf("line %d names %s", 1+strings.Count(text[:m[0]], "\n"), text[m[0]:m[1]])
		}
	}
	report(t, ruleKinds, broken)
}
