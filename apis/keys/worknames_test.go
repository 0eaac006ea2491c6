// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package keys_test

import (
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"sluice.dev/apis/keys"
)

func TestZ34WorkNamesHave128Bits(t *testing.T) {
	present := regexp.MustCompile(`-[0-9a-f]{32}$`)
	former := regexp.MustCompile(`[^0-9a-f][0-9a-f]{10}$`)
	long := strings.Repeat("a-long-name.", 25)
	for name, k := range map[string]keys.BindingKey{
		"a namespaced binding":           {Namespace: "shop", Name: "nginx-deployment"},
		"a cluster's binding":            {Name: "viewer-clusterrole"},
		"a name that has to be cut":      {Namespace: "shop", Name: long},
		"a name that is cut at a dot":    {Namespace: "shop", Name: "abcdefghijklmnopqrstuvwxyz012.x-deployment"},
		"a name that is all but letters": {Namespace: "shop", Name: "::::"},
		"a name of a former name's form": {Namespace: "shop", Name: "nginx-deployment-0123456789"},
	} {
		t.Run(name, func(t *testing.T) {
			names := keys.WorkNames(k)
			if len(names) != 2 || names[0] != keys.WorkName(k) || names[1] != keys.FormerWorkName(k) {
				t.Fatalf("names %v", names)
			}
			if !present.MatchString(names[0]) || !former.MatchString(names[1]) || present.MatchString(names[1]) {
				t.Errorf("names %v, want a hash of 32 digits and one of 10", names)
			}
			for _, n := range names {
				if errs := append(validation.IsValidLabelValue(n), validation.IsDNS1123Subdomain(n)...); len(errs) > 0 {
					t.Errorf("%s: %v", n, errs)
				}
			}
		})
	}
	a, b := keys.BindingKey{Namespace: "shop", Name: long + "a"}, keys.BindingKey{Namespace: "shop", Name: long + "b"}
	if keys.WorkName(a) == keys.WorkName(b) || keys.WorkName(a) == keys.WorkName(keys.BindingKey{Name: a.Name}) {
		t.Error("two bindings have one name")
	}
}

// These names are in the etcds and members of those who were there before 128 bits:
// no change of this package may give them others.
func TestZ34FormerNamesAreThoseOfTheReleases(t *testing.T) {
	for k, want := range map[keys.BindingKey]string{
		{Namespace: "shop", Name: "nginx-deployment"}:        "nginx-deployment-c78d58cc34",
		{Name: "viewer-clusterrole"}:                         "viewer-clusterrole-2ea91c4394",
		{Namespace: "shop", Name: strings.Repeat("ab.", 30)}: "ab.ab.ab.ab.ab.ab.ab.ab.ab.ab.ab.ab.ab.ab.ab.ab.ab.a-42867228f7",
	} {
		if got := keys.FormerWorkName(k); got != want {
			t.Errorf("%s was called %s, and is taken to have been %s", k, want, got)
		}
		if got := keys.BindingLabel(k); got != want {
			t.Errorf("the Works of %s are labelled %s: all would be written anew with %s", k, want, got)
		}
	}
}
