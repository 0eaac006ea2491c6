// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package interned_test

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/pkg/interned"
)

// made is a string in memory of its own.
func made(s string) string { return strings.Clone(s) }

func same(a, b string) bool { return unsafe.StringData(a) == unsafe.StringData(b) }

func TestStringsThatAreAlikeShareTheirMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		s    string
		want bool
	}{
		"a name":        {"metadata", true},
		"a hash":        {strings.Repeat("0af9", 16), true},
		"a long script": {strings.Repeat("set -e; ", 100), false},
		"nothing":       {"", true},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := interned.String(made(tc.s)), interned.String(made(tc.s))
			if a != tc.s || b != tc.s || same(a, b) != tc.want {
				t.Errorf("they share: %t, want %t", same(a, b), tc.want)
			}
		})
	}
}

func tree(n int) map[string]any {
	labels := map[string]any{}
	for i := range n {
		labels[fmt.Sprintf("label-%d", i)] = made("value")
	}
	return map[string]any{
		made("metadata"): map[string]any{made("labels"): labels}, made("replicas"): int64(3), made("ready"): true, made("none"): nil,
		made("containers"): []any{map[string]any{made("image"): made("nginx")}, made("x"), 1.5},
	}
}

// Keys of large maps, too, which are kept otherwise than those of small ones.
func TestATreeSaysWhatItSaid(t *testing.T) {
	for _, n := range []int{0, 3, 8, 9, 100} {
		got := tree(n)
		interned.Tree(got)
		if d := cmp.Diff(tree(n), got); d != "" {
			t.Errorf("with %d labels (-want +got)\n%s", n, d)
		}
		for k, v := range got["metadata"].(map[string]any)["labels"].(map[string]any) {
			if !same(k, interned.String(made(k))) || !same(v.(string), interned.String(made("value"))) {
				t.Errorf("%s of %d labels is in memory of its own", k, n)
			}
		}
	}
}

func TestMapsAndConditionsShare(t *testing.T) {
	m := map[string]string{made("app"): made("web"), made("tier"): made("web")}
	interned.Map(m)
	if d := cmp.Diff(map[string]string{"app": "web", "tier": "web"}, m); d != "" || !same(m["app"], m["tier"]) {
		t.Errorf("the values share: %t (-want +got)\n%s", same(m["app"], m["tier"]), d)
	}
	c := []metav1.Condition{{Type: made("Applied"), Reason: made("Done"), Message: made("Done")}}
	interned.Conditions(c)
	if d := cmp.Diff([]metav1.Condition{{Type: "Applied", Reason: "Done", Message: "Done"}}, c); d != "" || !same(c[0].Reason, c[0].Message) {
		t.Errorf("the words share: %t (-want +got)\n%s", same(c[0].Reason, c[0].Message), d)
	}
	interned.Map(nil)
	interned.Conditions(nil)
}
