// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestValidateInterpreters(t *testing.T) {
	spec := func(kind, rules string) string {
		return "metadata: {name: p}\nspec: {target: {apiVersion: example.com/v1, kind: " + kind + "}, rules: " + rules + "}"
	}
	wrong := spec("Widget", `{health: {expression: "oops("}}`)
	for name, tc := range map[string]struct{ sent, old, want string }{
		"rules without a fault are allowed":        {sent: spec("Widget", `{health: {expression: "object.status.ready > 0"}}`)},
		"a rule that does not compile is refused":  {sent: wrong, want: "spec.rules.health.expression: Invalid value: does not compile"},
		"a rule that says another type is refused": {sent: spec("Widget", `{status: {expression: "1"}}`), want: "spec.rules.status.expression: Invalid value: says a int: want map"},
		"each fault is named":                      {sent: spec("Widget", `{memberFields: [status.a], replicas: {path: size}}`), want: `spec.rules.memberFields[0]`},
		"no kind is refused":                       {sent: spec(`""`, `{}`), want: "spec.target.kind: Invalid value"},
		"an update that breaks a rule is refused":  {old: spec("Widget", `{health: {expression: "true"}}`), sent: wrong, want: "spec.rules.health.expression"},
		"what was let in once may get a label":     {old: wrong, sent: wrong + "\n"},
		"one that is being deleted is let go":      {old: spec("Widget", `{}`), sent: strings.Replace(wrong, "name: p", "name: p, deletionTimestamp: 2026-11-25T00:00:00Z", 1)},
		"one that cannot be read is refused":       {sent: "metadata: {name: p}\nspec: {target: 7}", want: "it cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			res := ask(t, handler(&hub{}), "/validate", "ResourceInterpreter", tc.sent, tc.old)
			if res.Allowed != (tc.want == "") {
				t.Fatalf("allowed: %v, %+v", res.Allowed, res.Result)
			}
			if tc.want != "" && (res.Result.Code != http.StatusUnprocessableEntity || !strings.Contains(res.Result.Message, tc.want)) {
				t.Errorf("got %+v, want 422 with %q", res.Result, tc.want)
			}
		})
	}
}
