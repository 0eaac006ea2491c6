// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"errors"
	"time"
)

// UnlessGone returns err, the answer to a read that an object waits for which is being
// deleted. It is nil if the kind that was read is not served and gone reports that there
// is nothing to wait for: its objects went with their definition, or the one that waits
// goes with its own, and nobody will serve the other before.
func UnlessGone(ctx context.Context, err error, gone func(context.Context) (bool, error)) error {
	if !errors.Is(err, ErrNotServed) {
		return err
	}
	is, failed := gone(ctx)
	if is && failed == nil {
		return nil
	}
	return errors.Join(err, failed)
}

// WentWithItsKind reports whether an object that is missing, and was made then, went with a
// former definition of its kind, so that nobody deleted it. defined returns when the present
// one was made, or ErrNotServed: it is being deleted, or gone.
func WentWithItsKind(made time.Time, defined func() (time.Time, error)) (bool, error) {
	at, err := defined()
	if errors.Is(err, ErrNotServed) {
		return true, nil
	}
	return err == nil && at.After(made), err
}
