// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package conventions

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "sluice.dev/"

// inward says what the packages below a folder may import of this module. The
// longest folder that matches counts; a package may always import what is
// below the folder itself, but see TestNoStageImportsAnother.
var inward = map[string][]string{
	"apis":                    {},
	"config":                  {},
	"docs":                    {"pkg/core", "pkg/cli"}, // which what they say is taken from
	"pkg/outcome":             {},
	"pkg/coalesce":            {"apis"},
	"pkg/redact":              {},
	"pkg/interned":            {},
	"pkg/core":                {"apis"},
	"pkg/hub":                 {"apis", "pkg/core", "pkg/interned", "pkg/redact", "pkg/outcome", "pkg/source/watch", "pkg/source/discovery"},
	"pkg/member":              {"apis", "pkg/core", "pkg/interned", "pkg/redact", "pkg/outcome", "pkg/source/watch", "pkg/source/discovery"},
	"pkg/source/watch":        {"pkg/core"},
	"pkg/source/discovery":    {"pkg/outcome"},
	"pkg/source/knative":      {"apis", "config", "pkg/core", "pkg/outcome"},
	"pkg/source/adapter":      {"apis", "pkg/coalesce", "pkg/core", "pkg/function/token", "pkg/member", "pkg/source/pacing"},
	"pkg/source/pacing":       {},
	"pkg/source":              {}, // which only tells what is below it
	"pkg/redis":               {"apis", "pkg/core", "pkg/outcome"},
	"pkg/redis/schema":        {"pkg/outcome"},
	"pkg/function":            {"apis", "pkg/coalesce", "pkg/outcome"},
	"pkg/localbroker":         {"apis", "config", "pkg/coalesce", "pkg/function", "pkg/outcome"},
	"pkg/pipeline":            {"apis", "pkg/core", "pkg/coalesce", "pkg/outcome", "pkg/hub", "pkg/member", "pkg/redis/claims", "pkg/redis/suspension", "pkg/redis/pending"},
	"pkg/pipeline/deadletter": {"apis", "pkg/function"}, // it logs by itself, for nobody else does
	"pkg/connect":             {"apis", "pkg/core", "pkg/outcome", "pkg/hub", "pkg/member", "pkg/redis/claims", "pkg/redis/suspension", "pkg/source/knative"},
	"pkg/standalone":          {"apis", "config", "pkg"},
	"pkg/cli":                 {"apis", "config", "pkg/core", "pkg/outcome", "pkg/hub", "pkg/member", "pkg/redis/claims", "pkg/redis/suspension", "pkg/source/knative", "pkg/pipeline/carrying"}, // which only reads
	"pkg/webhookserver":       {"pkg/core"},
	"functions":               {"apis", "config", "pkg"},
	"cmd":                     {"apis", "config", "pkg"},
	"test":                    {"apis", "config", "pkg", "test"},
	"examples":                {"apis", "pkg/function", "pkg/outcome"}, // what other teams' programs may use
}

// within reports whether a folder is below another, or that itself.
func within(folder, of string) bool { return folder == of || strings.HasPrefix(folder, of+"/") }

// imports are what a file imports of this module, as folders.
func imports(t *testing.T, f file) (folders []string) {
	t.Helper()
	for _, i := range f.ast.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if own, ok := strings.CutPrefix(p, module); ok {
			folders = append(folders, own)
		}
	}
	return folders
}

func TestImportsPointInward(t *testing.T) {
	broken := map[string]string{}
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		from := f.folder()
		home := ""
		for folder := range inward {
			if within(from, folder) && len(folder) > len(home) {
				home = folder
			}
		}
		if home == "" {
			broken[f.path] = "say in inward what this folder may import"
			continue
		}
		for _, to := range imports(t, f) {
			may := func(folder string) bool { return within(to, folder) }
			if !within(to, home) && !slices.ContainsFunc(inward[home], may) {
				broken[from+" -> "+to] = "imported by " + f.path
			}
		}
	}
	report(t, ruleImports, broken)
}

// What is below test is for tests.
func TestOnlyTestsImportWhatIsForTests(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.isTest() || within(f.folder(), "test") {
			continue
		}
		for _, to := range imports(t, f) {
			if within(to, "test") {
				t.Errorf("%s imports %s, which is for tests", f.path, to)
			}
		}
	}
}

func TestNoStageImportsAnother(t *testing.T) {
	stages := map[string]bool{}
	for _, f := range goFiles(t) {
		if within(f.path, "pkg/pipeline") && path.Base(f.path) == "stage.go" {
			stages[f.folder()] = true
		}
	}
	if len(stages) == 0 {
		t.Fatal("found no stages in pkg/pipeline")
	}
	for _, f := range goFiles(t) {
		for _, to := range imports(t, f) {
			if !f.isTest() && within(f.folder(), "pkg/pipeline") && stages[to] && to != f.folder() {
				t.Errorf("%s imports the stage %s: what both need belongs in pkg/core or beside the stages", f.path, to)
			}
		}
	}
}

func TestFunctionsAreNotImported(t *testing.T) {
	for _, f := range goFiles(t) {
		for _, to := range imports(t, f) {
			if within(to, "functions") || within(to, "cmd") {
				t.Errorf("%s imports %s, which is a program", f.path, to)
			}
		}
	}
}
