// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import "slices"

// newest is the newest version of the hub that is known, and to which it had come by
// now.
func (s *store[T]) newest() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return max(s.seen, s.written)
}

// setBack takes that the hub went back.
func (s *store[T]) setBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.back = true
}

// forgetVersions makes everything that will be listed news: the hub was set
// back to an earlier state, and its versions count anew.
func (s *store[T]) forgetVersions() {
	for _, e := range s.entries {
		e.version, e.tombstone, e.doubtful = 0, "", false
	}
}

// outruns tells whether what is known outruns a list that the hub has at a version: it has
// an object in an older version than one that it had come to by then. So it went back, and
// has come past that since.
func (s *store[T]) outruns(recs []*record[T], version uint64) bool {
	return slices.ContainsFunc(recs, func(r *record[T]) bool {
		e := s.entries[r.name]
		return e != nil && r.version < e.version && e.version <= version
	})
}
