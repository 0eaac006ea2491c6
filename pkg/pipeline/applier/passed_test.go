// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/test/pipelinetest"
)

// giving is a member of which is told what is about to be passed on there.
type giving struct {
	applier.Member
	gives func()
}

func (m giving) Pass(ctx context.Context, object propagation.TemplateKey, p applying.Passing) error {
	m.gives()
	return m.Member.Pass(ctx, object, p)
}

// A placement that gets an object from another one records that before it gets it, so that
// the object leaves with it although it is deleted by then, and before it applies anything.
// One that is being deleted gets nothing.
func TestC75C29WhoGetsAnObjectAndIsDeletedLetsItGo(t *testing.T) {
	for name, before := range map[string]bool{"it is deleted while it gets the object": false, "it is deleted before it gets that": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDistant(t, 0, 0)
				d.asks(pages)
				d.handle(d.of(d.key.Name, events.WorkRendered), 2*time.Minute)
				two := d.another(pages)
				d.handle(d.about(two, events.WorkRendered), 2*time.Minute)
				ends := sync.OnceFunc(func() {
					p := d.hub.LivePlacement("two")
					p.DeletionTimestamp = new(metav1.NewTime(time.Now()))
					d.hub.Put(p)
					d.must(d.hub.DeleteWork(t.Context(), d.hub.LiveWork(two.Key)))
				})
				asked := 0
				d.hub.Ask = func(_ context.Context, r pipelinetest.Request) error {
					if r.Verb == "get" && strings.HasSuffix(r.About, two.Key.Name) {
						if asked++; before && asked == 2 { // the first time it was told what that wants
							ends()
						}
					}
					return nil
				}
				d.stage = applier.New(d.hub, open{}, func(context.Context, string) (applier.Member, error) {
					return giving{d.m, func() {
						if before || !telling.Records(d.hub.LiveWork(two.Key), pages) {
							t.Error("it is passed on, and who gets it is being deleted, or does not record it")
						}
						ends()
					}}, nil
				}, time.Now)
				d.leave()
				one := d.of(d.key.Name, events.WorkRemoved)
				if _, err := d.stage.Handle(t.Context(), one); outcome.IsConflict(err) != before {
					t.Fatalf("it ends with %v", err)
				}
				if before {
					d.handle(one, 2*time.Minute)
				}
				d.handle(d.about(d.hub.LiveWork(two.Key), events.WorkRemoved), 2*time.Minute)
				if o := d.m.Object(pages); o != nil {
					t.Errorf("the member still has it, as %s's", o.Work)
				}
			})
		})
	}
}
