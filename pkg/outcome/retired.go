// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"errors"
)

// UnlessRetired returns err, the answer to a read that an object waits for which is being
// deleted. It is nil if the kind that was read is not served and retired reports that the
// object goes with its own kind: nobody will serve the other before it is gone.
func UnlessRetired(ctx context.Context, err error, retired func(context.Context) (bool, error)) error {
	if !errors.Is(err, ErrNotServed) {
		return err
	}
	gone, failed := retired(ctx)
	if gone && failed == nil {
		return nil
	}
	return errors.Join(err, failed)
}
