// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"sluice.dev/pkg/redis/schema"
)

// The comment of package redis says which package writes which key.
func TestEveryKeyIsInThePackageComment(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "../doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(strings.NewReplacer(",", " ", ".", " ").Replace(f.Doc.Text()))
	for _, key := range append(schema.Data(), schema.Epoch, schema.Lock, schema.Notices) {
		if _, name, _ := strings.Cut(key, ":"); !slices.Contains(words, name) {
			t.Errorf("key %s is not in it", name)
		}
	}
}
