// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

func TestZ39ContentsBesideAWork(t *testing.T) {
	l := newLab(t)
	l.makeMembers(1)
	w, err := l.CommitWork(l.ctx, nil, l.newWork(0, propagation.BindingKey{Namespace: l.namespace, Name: "token-secret"}))
	must(t, err)
	if _, err := l.Contents(l.ctx, w.Key); !errors.Is(err, outcome.ErrGone) {
		t.Fatalf("before anything is kept: %v", err)
	}
	one, two, three := propagation.Contents{"1": []byte("one")}, propagation.Contents{"2": []byte("two")}, propagation.Contents{"3": []byte("three")}
	must(t, l.CommitContents(l.ctx, w, nil, one))
	kept, err := l.Contents(l.ctx, w.Key)
	must(t, err)
	if d := cmp.Diff(one, kept.Contents); d != "" || kept.Owner != w.UID {
		t.Errorf("kept for %s (-want +got)\n%s", kept.Owner, d)
	}

	l.requests.take()
	must(t, l.CommitContents(l.ctx, w, kept, one))
	l.wantRequests() // the same is not written

	must(t, l.CommitContents(l.ctx, w, kept, two))
	if err := l.CommitContents(l.ctx, w, kept, three); !outcome.IsConflict(err) {
		t.Errorf("what somebody else has changed: %v, want a conflict", err)
	}
	if err := l.CommitContents(l.ctx, w, nil, one); !outcome.IsConflict(err) {
		t.Errorf("what somebody else has made: %v, want a conflict", err)
	}
	kept, err = l.Contents(l.ctx, w.Key)
	must(t, err)
	if d := cmp.Diff(two, kept.Contents); d != "" {
		t.Errorf("kept (-want +got)\n%s", d)
	}

	// The Work is made anew before what was kept is collected.
	former := *w
	former.UID = "another"
	if err := l.CommitContents(l.ctx, &former, nil, one); !outcome.IsConflict(err) {
		t.Errorf("what is kept for a former Work: %v, want a conflict", err)
	}
	if _, err := l.Contents(l.ctx, w.Key); !errors.Is(err, outcome.ErrGone) {
		t.Errorf("what was kept for a former Work did not make room: %v", err)
	}
	must(t, l.CommitContents(l.ctx, w, nil, two))
	kept, err = l.Contents(l.ctx, w.Key)
	must(t, err)
	must(t, l.DropContents(l.ctx, w.Key, kept))
	must(t, l.DropContents(l.ctx, w.Key, kept))
	if _, err := l.Contents(l.ctx, w.Key); !errors.Is(err, outcome.ErrGone) {
		t.Errorf("dropped: %v", err)
	}
	l.testDeleteWork(w.Key)
}
