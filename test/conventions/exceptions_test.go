// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package conventions

import (
	"testing"
)

// rule names what is tested.
type rule string

const (
	ruleFunctionLength rule = "functions have at most 60 lines"
	ruleFileLength     rule = "files have at most 500 lines"
	ruleSleep          rule = "no time.Sleep: wait for what can be seen, or use a timer and the context"
	ruleContext        rule = "no context.TODO: pass on the context you are given"
	ruleKinds          rule = "kinds of cluster scope are named in apis/, pkg/hub and tests only"
	ruleImports        rule = "imports point inward"
)

// exceptions say what may break a rule, and why: a function as folder.Name or
// folder.Type.Name, a file by its path, an import as "from -> to".
var exceptions = map[rule]map[string]string{
	ruleSleep: {
		"test/lab/process/id.go": "waits for the end of processes that are no children; Linux gives no other way without a poller",
	},
}

// report tells of what breaks a rule, which is given by what it is about, and
// of exceptions that nothing needs.
func report(t *testing.T, r rule, broken map[string]string) {
	t.Helper()
	for what, how := range broken {
		if exceptions[r][what] == "" {
			t.Errorf("%s: %s\n\trule: %s", what, how, r)
		}
	}
	for what := range exceptions[r] {
		if _, ok := broken[what]; !ok {
			t.Errorf("exception for %q is not needed any more: remove it\n\trule: %s", what, r)
		}
	}
}
