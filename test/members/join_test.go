// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"testing"

	"sluice.dev/pkg/cli/joining"
)

// A member joins as any other: what join asks of it, it answers.
func TestAMemberMayJoin(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		credentials, err := joining.Load(w.file, "")
		if err != nil {
			t.Fatal(err)
		}
		id, err := credentials.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if id.ID == "" || id.Version == "" || len(id.Without) > 0 {
			t.Errorf("it says of itself: %+v", id)
		}
		reader, err := credentials.MakeReader(t.Context(), "hub")
		if err != nil {
			t.Fatal(err)
		}
		if err := reader.Undo(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
