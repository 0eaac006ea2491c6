// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package interned has strings that are alike share their memory. What a process keeps of
// objects are mostly strings that many objects have: the names of fields, labels and
// annotations; policies, namespaces and hashes that a template, its binding, its Works and
// its objects in members name. A decoder makes each of them anew.
//
// Nothing is kept for longer than somebody uses it. The package must not change what an
// object says.
package interned

import (
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// longest is the length in bytes up to which strings are shared; longer ones, such as
// scripts and messages, are seldom alike.
const longest = 128

// String returns s, in memory that alike strings share.
func String(s string) string {
	if s == "" || len(s) > longest {
		return s
	}
	return unique.Make(s).Value()
}

// Map has the keys and values of m share their memory, in place.
func Map(m map[string]string) {
	for k, v := range m {
		m[String(k)] = String(v) // which replaces the memory of the key, too
	}
}

// Tree has the strings of v, which is decoded JSON, share their memory, keys among them. It
// changes maps and lists in place, and returns v or, if v is a string, one like it.
func Tree(v any) any {
	switch v := v.(type) {
	case string:
		return String(v)
	case map[string]any:
		for k, e := range v {
			v[String(k)] = Tree(e)
		}
	case []any:
		for i, e := range v {
			v[i] = Tree(e)
		}
	}
	return v
}

// Conditions has the words of conditions share their memory, in place.
func Conditions(all []metav1.Condition) {
	for i := range all {
		c := &all[i]
		c.Type, c.Reason, c.Message = String(c.Type), String(c.Reason), String(c.Message)
	}
}
