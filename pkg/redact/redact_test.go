// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestZ39ARefusalAboutASecretQuotesNothingOfIt(t *testing.T) {
	const content = "hunter2"
	secrets := schema.GroupKind{Kind: "Secret"}
	for name, tc := range map[string]struct {
		err  error
		want string
		is   func(error) bool
	}{
		"of a field that is not valid, its path": {
			apierrors.NewInvalid(secrets, "s", field.ErrorList{field.Invalid(field.NewPath("data").Key("k"), content, "no good: "+content)}),
			"the Secret: Invalid (data[k])", apierrors.IsInvalid,
		},
		"of a failure inside of the server, that": {
			apierrors.NewInternalError(errors.New("failed to create typed patch object: .data.k: got " + content)),
			"the Secret: InternalError", apierrors.IsInternalError,
		},
		"of a webhook's refusal, that": {
			apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "s", errors.New(content+" is too weak")),
			"the Secret: Forbidden", apierrors.IsForbidden,
		},
		"of what is no answer, all": {errors.New("connection refused"), "connection refused", func(error) bool { return true }},
	} {
		t.Run(name, func(t *testing.T) {
			got := Error(fmt.Errorf("apply: %w", tc.err))
			if !strings.HasSuffix(got.Error(), tc.want) || !tc.is(got) || strings.Contains(fmt.Sprintf("%v %+v", got, got), content) {
				t.Errorf("got %v, want %q and the same reason", got, tc.want)
			}
		})
	}
}
