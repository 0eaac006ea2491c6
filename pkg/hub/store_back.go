// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import "slices"

// newest returns the newest version that a watch or a write of this process has shown
// the hub to have reached.
func (s *store[T]) newest() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return max(s.seen, s.written)
}

// setBack records that the hub was restored to an earlier state.
func (s *store[T]) setBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.back = true
}

// repeats reports whether the answer to an own write proves that the hub was restored: the
// version that the object had before is not older, and nobody can have told of the write
// itself, since no watch is open and no live read came in between. Versions count anew
// then, and an object may come to one once more, with other content.
func (s *store[T]) repeats(e *entry[T], r *record[T]) bool {
	return (s.broken || s.closed != nil) && e.writers == 1 && len(e.held) == 0 && r.version <= e.version
}

// forgetVersions makes everything that will be listed news: the hub was set
// back to an earlier state, and its versions count anew.
func (s *store[T]) forgetVersions() {
	for _, e := range s.entries {
		e.version, e.tombstone, e.doubtful = 0, "", false
	}
}

// outruns reports whether a list, which the hub had at version, contradicts what is
// known: it has an object in an older version than the known one, although the known
// version is not newer than the list. Then the hub was restored to an earlier state,
// and its versions have grown past the known ones since.
func (s *store[T]) outruns(recs []*record[T], version uint64) bool {
	return slices.ContainsFunc(recs, func(r *record[T]) bool {
		e := s.entries[r.name]
		return e != nil && r.version < e.version && e.version <= version
	})
}
