// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A watch ends, and the next one is not open yet: what the first told is not believed, for
// the hub may be another by now.
func TestZ21WhileNoWatchIsOpenReadsAreLive(t *testing.T) {
	script := &scripted{
		t: t, now: []int{31},
		lists: []string{
			scriptedList(30, "", scriptedWork("a", 5), scriptedWork("b", 25)),
			scriptedList(12, "", scriptedWork("a", 5), scriptedWork("c", 11)),
		},
		watches: map[string]string{"30": `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"31"}}}`},
	}
	// The watch from 31 on is held back.
	h := script.hears(map[string]string{"30": "Added b@25", "31": "nothing"}, "Added a@5", "Added b@25")
	for from := ""; from != "31"; {
		select {
		case from = <-script.held:
		case <-time.After(30 * time.Second):
			t.Fatal("nobody opens the next watch")
		}
	}
	all, err := h.Works(t.Context())
	must(t, err)
	var got []string
	for _, w := range all {
		got = append(got, w.Key.Name+"@"+w.ResourceVersion)
	}
	if diff := cmp.Diff([]string{"a@5", "c@11"}, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}
