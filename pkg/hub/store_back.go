// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

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
