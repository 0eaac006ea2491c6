// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// The id has the form of a UUID, is the same for the same template, and no other's.
func TestPermanentID(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	web := BindingKey{Namespace: "shop", Name: "web-deployment"}
	id := NewPermanentID(web, "uid1")
	if !form.MatchString(id) {
		t.Errorf("%s is no UUID", id)
	}
	for sentence, tc := range map[string]struct {
		key  BindingKey
		uid  string
		same bool
	}{
		"a binding made anew for the same template":   {web, "uid1", true},
		"a template made anew under its name":         {web, "uid2", false},
		"a template of the name in another namespace": {BindingKey{Namespace: "other", Name: web.Name}, "uid1", false},
		"a template of no namespace":                  {BindingKey{Name: web.Name}, "uid1", false},
	} {
		if same := NewPermanentID(tc.key, types.UID(tc.uid)) == id; same != tc.same {
			t.Errorf("%s: the same id: %t, want %t", sentence, same, tc.same)
		}
	}
	if got := BindingIDLabel(BindingKey{Name: "x"}); got != LabelClusterBindingID {
		t.Errorf("a binding of no namespace has the label %s", got)
	}
}
