// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/sweeper/replay"
)

// Who may not change a source misses nothing but templates until somebody mends that.
func TestSourcesThatCannotFollowHideNoPolicy(t *testing.T) {
	h := &hubOf{changes: map[string]hub.Changes{"5": {Until: "9", All: []hub.Written{configMap(hub.Added, "shop", "a", "6", false)}}}}
	m := &memory{all: map[string]string{"v1 ConfigMap": "5", "namespaces": "shop"}}
	publish := func(_ context.Context, out []event.Event) error {
		return fmt.Errorf("%d events about templates of namespaces that nobody knows", len(out))
	}
	refused := errors.New("the source may not be changed")
	r := replay.New(h, indexOf{}, m, followedBy(func() error { return refused }), publish, time.Now)
	if _, err := r.Find(t.Context()); !errors.Is(err, refused) {
		t.Errorf("got %v, want what is wrong with the source", err)
	}
	want := map[string]string{"v1 ConfigMap": "5", "namespaces": "shop"}
	for _, gvk := range append(hub.PolicyKinds(), hub.OwnKinds()...) {
		want[strings.TrimPrefix(gvk.GroupVersion().String()+" "+gvk.Kind, "/")] = "1"
	}
	delete(m.all, "kinds") // which were selected when
	if d := cmp.Diff(want, m.all); d != "" {
		t.Errorf("how far each kind was looked at (-want +got)\n%s", d)
	}
}
