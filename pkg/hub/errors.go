// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	case unserved(err):
		return fmt.Errorf("%s: %w", tried, outcome.ErrNotServed)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err), refusedByEtcd(err):
		return outcome.Terminal(fmt.Errorf("%s: %w", tried, err))
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		return outcome.After(time.Duration(seconds)*time.Second, fmt.Errorf("%s: %w", tried, err))
	}
	return fmt.Errorf("%s: %w", tried, err)
}

// refusedByEtcd tells whether the object is too large to be stored, which the API
// server passes on as an error of its own.
func refusedByEtcd(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "request is too large") ||
		apierrors.IsUnexpectedServerError(err) && strings.Contains(err.Error(), "request is too large")
}

// beaten tells whether somebody else was quicker.
func beaten(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// missing tells whether the object, or the namespace that it was to be made in,
// does not exist, or is on its way out: the API that serves it names it and says so.
func missing(err error) bool {
	return apierrors.IsNotFound(err) && !unserved(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// unserved tells whether nobody serves what was asked for: a 404 that is not about
// an object, as of a path that is unknown, or of an aggregated API that is down.
func unserved(err error) bool {
	if apierrors.IsMethodNotSupported(err) || retiring(err) {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	d := status.Status().Details
	return d == nil || d.Name == "" || d.Kind == "" || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// retiring tells whether nothing is made any more of a kind because its definition is
// being deleted. The API server says so in words alone.
func retiring(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "custom resource definition is terminating")
}

// ignoreGone is for what should not exist.
func ignoreGone(err error) error {
	if errors.Is(err, outcome.ErrGone) {
		return nil
	}
	return err
}

// ignoreAbsent is for what nobody has to serve, either.
func ignoreAbsent(err error) error {
	if errors.Is(err, outcome.ErrNotServed) {
		return nil
	}
	return ignoreGone(err)
}

var errWent = errors.New("it was there a moment ago, and is gone")

// conflictIfGone is for what has to be there: then it must be made again.
func conflictIfGone(err error, tried string) error {
	if errors.Is(err, outcome.ErrGone) {
		return outcome.Conflict(fmt.Errorf("%s: %w", tried, errWent))
	}
	return err
}
