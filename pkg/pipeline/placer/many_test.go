// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placer_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/runtime/schema"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/placer"
)

const (
	crowdSize = 5000
	// crowdPage is how many objects one list may answer with.
	crowdPage = 500
	// ballast is the size of what an object says of itself that members do not get: all
	// objects together have 80 MB of it.
	ballast = 16 << 10
	// perObject is what may stay in memory of each object.
	perObject = 2 << 10
)

// crowd is a world with a namespace that holds thousands of objects, which are not in
// memory: each is made when it is asked for.
type crowd struct {
	*world
	t *testing.T
	// says is what one of the objects says by now.
	says map[int]string
	// most is the greatest heap that there was at any page.
	most uint64
}

func (c *crowd) object(i int) *propagation.Template {
	obj := object("ConfigMap", "shop", fmt.Sprintf("crowd-%04d", i), "1")
	if v := c.says[i]; v != "" {
		obj["data"] = map[string]any{"value": v}
	}
	obj["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{"manager": strings.Repeat("x", ballast)}}
	return &propagation.Template{Key: keyOf(obj), Object: obj}
}

// Template answers as the hub does.
func (c *crowd) Template(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error) {
	suffix, is := strings.CutPrefix(key.Name, "crowd-")
	if !is {
		return c.world.Template(ctx, key)
	}
	c.read("get " + key.String())
	i, err := strconv.Atoi(suffix)
	return c.object(i), err
}

// ListTemplates answers as the hub does, and looks at the heap: all that was in former
// pages may have been forgotten.
func (c *crowd) ListTemplates(ctx context.Context, gvk schema.GroupVersionKind, namespace string, limit int64, cont string) (page []*propagation.Template, next string, err error) {
	if gvk.Kind != "ConfigMap" {
		return c.world.ListTemplates(ctx, gvk, namespace, limit, cont)
	}
	c.read("list ConfigMap")
	if limit <= 0 || limit > crowdPage {
		c.t.Errorf("a list asks for %d objects", limit)
	}
	from, _ := strconv.Atoi(cont) // empty: the first
	to := min(from+int(limit), crowdSize)
	c.most = max(c.most, heap())
	for i := from; i < to; i++ {
		page = append(page, c.object(i))
	}
	if to < crowdSize {
		next = strconv.Itoa(to)
	}
	return page, next, nil
}

func (c *crowd) handle(e event.Event) {
	c.t.Helper()
	if _, err := placer.New(c, c.world, nil, func() time.Time { return c.now }).Handle(c.t.Context(), e); err != nil {
		c.t.Fatal(err)
	}
}

// count is how many of the requests began like that.
func count(requests []string, prefix string) (n int) {
	for _, r := range requests {
		if strings.HasPrefix(r, prefix) {
			n++
		}
	}
	return n
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // what had a finalizer
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A namespace of 5,000 objects is read by pages, none of which stays in memory. A change
// of one object reads that object, and neither lists nor reads the others; an event about
// one that did not change writes nothing.
func TestC7C21ANamespaceOfFiveThousandObjects(t *testing.T) {
	c := &crowd{world: newWorld(), t: t, says: map[int]string{}}
	c.objects[keyOf(object("Namespace", "", "shop", "")).ID()] = object("Namespace", "", "shop", "")
	c.place(named("Namespace", "shop"))
	before := heap()
	c.handle(touched(t))
	if lists, want := count(c.reads, "list ConfigMap"), crowdSize/crowdPage; lists != want {
		t.Errorf("%d lists of ConfigMaps, want %d", lists, want)
	}
	if n := count(c.reads, "get ConfigMap"); n > 0 {
		t.Errorf("%d objects were read one by one", n)
	}
	grew := int64(c.most) - int64(before) //nolint:gosec // both are small
	t.Logf("%d parts; the heap grew by up to %d bytes for each object", len(c.resources), grew/crowdSize)
	if grew > crowdSize*perObject {
		t.Errorf("the heap grew by %d bytes, want at most %d for each object", grew, perObject)
	}
	held := 0
	for _, s := range c.resources {
		held += len(s.Spec.SelectedResources)
	}
	if held != crowdSize+1 {
		t.Fatalf("the snapshot holds %d objects, want %d", held, crowdSize+1)
	}

	parts := len(c.resources)
	changed := func(i int) {
		t.Helper()
		c.reads, c.writes = nil, nil
		e, err := events.NewResource("/test", events.ResourceUpdated, events.Object{TemplateKey: c.object(i).Key, Version: "2"})
		if err != nil {
			t.Fatal(err)
		}
		c.handle(e)
		c.now = c.now.Add(time.Minute)
		c.handle(touched(t))
		if n := count(c.reads, "list "); n > 0 {
			t.Errorf("a change costs %d lists", n)
		}
		if got := slices.DeleteFunc(slices.Clone(c.reads), func(r string) bool { return strings.HasPrefix(r, "snapshot ") }); !slices.Equal(got, []string{"get " + c.object(i).Key.String()}) {
			t.Errorf("a change costs the reads %q", got)
		}
		if n := count(c.reads, "snapshot "); n > parts {
			t.Errorf("a change reads %d parts of snapshots, and the latest has %d", n, parts)
		}
	}
	c.says[4321] = "2"
	changed(4321)
	// Each part is made, and the former one is not the latest any more.
	if n := len(c.writes); n == 0 || n > 2*parts {
		t.Errorf("a change costs %d writes, want at most %d", n, 2*parts)
	}
	if !slices.ContainsFunc(c.holds(), func(s string) bool { return strings.Contains(s, " latest") && strings.Contains(s, "crowd-4321 2") }) {
		t.Error("the latest snapshot does not hold the change")
	}
	changed(7)
	if len(c.writes) > 0 {
		t.Errorf("nothing changed, and there are the writes %q", c.writes)
	}
}

var _ placer.Hub = (*crowd)(nil)
