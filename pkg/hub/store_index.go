// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// by returns the key of an owner; nil for the empty one.
func by(owner string) []string {
	if owner == "" {
		return nil
	}
	return []string{owner}
}

// listBy is list for the objects with a key.
func (s *store[T]) listBy(key string) (found []*record[T], doubtful []types.NamespacedName, known bool) {
	if s == nil {
		return nil, nil, false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for name := range s.byKey[key] {
		found, doubtful = s.entries[name].collect(name, found, doubtful)
	}
	return found, doubtful, s.knows()
}

func (s *store[T]) index(name types.NamespacedName, e *entry[T], keys []string) {
	if slices.Equal(e.keys, keys) {
		return
	}
	s.unindex(name, e)
	for _, key := range keys {
		names := s.byKey[key]
		if names == nil {
			names = map[types.NamespacedName]bool{}
			s.byKey[key] = names
		}
		names[name] = true
	}
	e.keys = keys
}

func (s *store[T]) unindex(name types.NamespacedName, e *entry[T]) {
	for _, key := range e.keys {
		delete(s.byKey[key], name)
		if len(s.byKey[key]) == 0 {
			delete(s.byKey, key)
		}
	}
	e.keys = nil
}
