// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
)

// parsePointer splits a JSON pointer (RFC 6901) into its tokens.
func parsePointer(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	if path[0] != '/' {
		return nil, errors.New("a path starts with /")
	}
	tokens := strings.Split(path[1:], "/")
	for i, t := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return tokens, nil
}

// find is the value at the path.
func find(node any, path []string) (any, error) {
	for _, token := range path {
		switch n := node.(type) {
		case map[string]any:
			value, ok := n[token]
			if !ok {
				return nil, fmt.Errorf("there is no %q", token)
			}
			node = value
		case []any:
			i, err := index(token, len(n)-1)
			if err != nil {
				return nil, err
			}
			node = n[i]
		default:
			return nil, fmt.Errorf("%q is looked for in what is neither an object nor a list", token)
		}
	}
	return node, nil
}

// edit is node with the operation of JSON patch (RFC 6902) done at the path. It
// changes node in place where it can.
func edit(node any, path []string, op policyv1alpha1.OverriderOperator, value any) (any, error) {
	if len(path) == 0 {
		if op == policyv1alpha1.OverriderOpRemove {
			return nil, errors.New("the whole cannot be removed")
		}
		return value, nil
	}
	switch n := node.(type) {
	case map[string]any:
		return editObject(n, path, op, value)
	case []any:
		return editList(n, path, op, value)
	}
	return nil, fmt.Errorf("%q is looked for in what is neither an object nor a list", path[0])
}

func editObject(n map[string]any, path []string, op policyv1alpha1.OverriderOperator, value any) (any, error) {
	key := path[0]
	old, ok := n[key]
	last := len(path) == 1
	switch {
	case !ok && !(last && op == policyv1alpha1.OverriderOpAdd):
		return nil, fmt.Errorf("there is no %q", key)
	case last && op == policyv1alpha1.OverriderOpRemove:
		delete(n, key)
		return n, nil
	}
	next, err := edit(old, path[1:], op, value)
	if err != nil {
		return nil, err
	}
	n[key] = next
	return n, nil
}

func editList(n []any, path []string, op policyv1alpha1.OverriderOperator, value any) (any, error) {
	last := len(path) == 1
	if last && op == policyv1alpha1.OverriderOpAdd {
		if path[0] == "-" {
			return append(n, value), nil
		}
		i, err := index(path[0], len(n))
		if err != nil {
			return nil, err
		}
		return slices.Insert(n, i, value), nil
	}
	i, err := index(path[0], len(n)-1)
	if err != nil {
		return nil, err
	}
	if last && op == policyv1alpha1.OverriderOpRemove {
		return slices.Delete(n, i, i+1), nil
	}
	next, err := edit(n[i], path[1:], op, value)
	if err != nil {
		return nil, err
	}
	n[i] = next
	return n, nil
}

// index reads a place in a list, from 0 to highest.
func index(token string, highest int) (int, error) {
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || strconv.Itoa(i) != token {
		return 0, fmt.Errorf("%q is no place in a list", token)
	}
	if i > highest {
		return 0, fmt.Errorf("the list ends before %d", i)
	}
	return i, nil
}
