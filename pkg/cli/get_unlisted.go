// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// unlisted are the kinds that the hub cannot list, as those whose conversion webhook
// does not answer. It is the error of an answer that is complete but for them.
type unlisted struct {
	kinds map[schema.GroupVersionKind]bool
	why   []error
	// what of these kinds is missing in the answer
	what string
}

func (u *unlisted) Error() string { return errors.Join(u.why...).Error() }

func (u *unlisted) Unwrap() []error { return u.why }

// add notes why a kind could not be listed; a kind that is not served has no objects.
func (u *unlisted) add(gvk schema.GroupVersionKind, err error) {
	if err == nil || meta.IsNoMatchError(err) || u.kinds[gvk] {
		return
	}
	u.kinds[gvk] = true
	u.why = append(u.why, fmt.Errorf("templates of %s %s are not shown: %w", gvk.GroupKind(), u.what, err))
}

// err is nil if every kind was listed.
func (u *unlisted) err() error {
	if len(u.why) == 0 {
		return nil
	}
	return u
}

// listTimeout is how long a list may take. Tests shorten it.
var listTimeout = 10 * time.Second

// inTime calls list with that deadline.
func inTime(ctx context.Context, list func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	err := list(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("no complete answer within %s: %w", listTimeout, err)
	}
	return err
}
