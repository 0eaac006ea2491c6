// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"errors"
	"testing"

	"sluice.dev/pkg/outcome"
)

// What one of several failed for does not decide for the others.
func TestJoin(t *testing.T) {
	err := errors.New("it failed")
	for sentence, tc := range map[string]struct {
		errs                       []error
		wantTerminal, wantConflict bool
	}{
		"all are terminal":                       {errs: []error{outcome.Terminal(err), nil, outcome.Terminal(err)}, wantTerminal: true},
		"one may succeed later":                  {errs: []error{outcome.Terminal(err), err}},
		"one lost a race":                        {errs: []error{err, outcome.Conflict(err)}, wantConflict: true},
		"one lost a race, and one will not mend": {errs: []error{outcome.Terminal(err), outcome.Conflict(err)}, wantConflict: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := outcome.Join(tc.errs...)
			if got == nil || outcome.IsTerminal(got) != tc.wantTerminal || outcome.IsConflict(got) != tc.wantConflict {
				t.Errorf("terminal %t, conflict %t: %v", outcome.IsTerminal(got), outcome.IsConflict(got), got)
			}
		})
	}
	if got := outcome.Join(nil, nil); got != nil {
		t.Errorf("nothing failed: %v", got)
	}
}
