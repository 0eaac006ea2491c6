// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice.dev/pkg/outcome"
)

// explain turns the API server's answer into an outcome that says what was
// tried.
func explain(err error, tried string) error {
	switch {
	case err == nil:
		return nil
	case beaten(err):
		return outcome.Conflict(fmt.Errorf("%s: %w", tried, err))
	case missing(err):
		return fmt.Errorf("%s: %w", tried, outcome.ErrGone)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return outcome.Terminal(fmt.Errorf("%s: %w", tried, err))
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		return outcome.After(time.Duration(seconds)*time.Second, fmt.Errorf("%s: %w", tried, err))
	}
	return fmt.Errorf("%s: %w", tried, err)
}

// beaten tells whether somebody else was quicker.
func beaten(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// missing tells whether the object, its kind, or the namespace that it was to
// be made in does not exist, or is on its way out.
func missing(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// ignoreGone is for what should not exist.
func ignoreGone(err error) error {
	if errors.Is(err, outcome.ErrGone) {
		return nil
	}
	return err
}

var errWent = errors.New("it was there a moment ago, and is gone")

// conflictIfGone is for what has to be there: then it must be made again.
func conflictIfGone(err error, tried string) error {
	if errors.Is(err, outcome.ErrGone) {
		return outcome.Conflict(fmt.Errorf("%s: %w", tried, errWent))
	}
	return err
}
