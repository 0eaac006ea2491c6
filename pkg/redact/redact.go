// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package redact takes out of an API server's error about a Secret what may
// quote the Secret.
//
// Invariant: reason, code and fields stay, so that callers decide by them as
// before.
package redact

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Error returns an API server's error about a Secret without its message, which may
// quote what the Secret holds: the new message names the reason and the fields. Any
// other error is returned as it is.
func Error(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err
	}
	s := status.Status()
	reason := string(s.Reason)
	if reason == "" {
		reason = fmt.Sprintf("status %d", s.Code)
	}
	s.Message = "the Secret: " + reason
	if s.Details != nil {
		d := *s.Details
		s.Details, d.Causes = &d, slices.Clone(d.Causes)
		var fields []string
		for i, c := range d.Causes {
			d.Causes[i] = metav1.StatusCause{Type: c.Type, Field: c.Field}
			if c.Field != "" {
				fields = append(fields, c.Field)
			}
		}
		slices.Sort(fields)
		if fields = slices.Compact(fields); len(fields) > 0 {
			s.Message += " (" + strings.Join(fields, ", ") + ")"
		}
	}
	return &apierrors.StatusError{ErrStatus: s}
}
