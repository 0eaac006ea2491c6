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

// beaten reports whether somebody else wrote first.
func beaten(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// missing reports whether the object does not exist, or the namespace that it was to be
// created in does not exist or is being deleted. An answer counts only if it names the
// object, as that of the API that serves the kind does.
func missing(err error) bool {
	return apierrors.IsNotFound(err) && !unserved(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// unserved reports whether the kind is not served: the answer is a 404 that is not
// about an object, as for an unknown path or from an aggregated API that is down, or
// the kind is being removed.
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

// retiring reports whether the API server refuses to create objects of a kind because
// its CustomResourceDefinition is being deleted. Only the text of the error says so.
func retiring(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "custom resource definition is terminating")
}

// ignoreGone is for deletions: an object that is gone already is no error.
func ignoreGone(err error) error {
	if errors.Is(err, outcome.ErrGone) {
		return nil
	}
	return err
}

// ignoreAbsent is ignoreGone for kinds that the API server need not serve.
func ignoreAbsent(err error) error {
	if errors.Is(err, outcome.ErrNotServed) {
		return nil
	}
	return ignoreGone(err)
}

var errWent = errors.New("it was there a moment ago, and is gone")

// conflictIfGone is for an object that existed a moment ago: if it is gone, the caller
// has to try again and create it.
func conflictIfGone(err error, tried string) error {
	if errors.Is(err, outcome.ErrGone) {
		return outcome.Conflict(fmt.Errorf("%s: %w", tried, errWent))
	}
	return err
}
