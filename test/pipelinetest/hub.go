// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/kinds/rules"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// Options of a Hub.
type Options struct {
	// Lag keeps what people write from stages until a watch tells of it, as in a
	// process that watches. Without it reads are live.
	Lag bool
	// Now is the time.
	Now func() time.Time
}

// Request is one request of a stage.
type Request struct {
	// Verb is get, list, create, update, patch or delete.
	Verb string
	// About what: the kind of objects, or that and a name.
	About string
}

// Writes tells whether the request would change something.
func (r Request) Writes() bool { return r.Verb != "get" && r.Verb != "list" }

// String is for people.
func (r Request) String() string { return r.Verb + " " + r.About }

// Write is a request that changed something.
type Write struct {
	Request
	// Old and New are the object before and after; nil where there is none.
	Old, New any
}

// News is what a watch has to tell.
type News struct {
	hub.Change
	// Own tells that a stage wrote it.
	Own bool
}

type news struct {
	News
	see func()
	// reads is the count of reads before it. What was written between two reads
	// may have been written at once.
	reads int
}

// Hub is the control plane's API for all stages, and for the people who use it.
// What it hands out is shared and must not be changed.
type Hub struct {
	// Ask is asked in front of each request of a stage; an error is the answer.
	Ask func(ctx context.Context, r Request) error
	// Wrote is told of each request that changed something.
	Wrote func(ctx context.Context, w Write)
	// Lost tells whether the answer to a request that changed something is lost on its
	// way; nil: none is.
	Lost func(ctx context.Context, r Request) bool
	// Watching tells whether a source tells of objects of the kind; nil: of none.
	Watching func(k propagation.TemplateKey) bool
	// Retired tells that the kinds of placements and of their members are on their way
	// out, and all objects with them.
	Retired bool
	// Recorded is told of each Kubernetes event.
	Recorded func(about hub.About, reason, message string)

	options Options
	mu      sync.Mutex
	version uint64
	uids    int
	reads   int
	news    []*news
	told    []string // what RecordOnce told

	// serves are the versions that kinds are served in, where somebody said.
	serves map[schema.GroupKind][]string
	// redefined is how often what is served in a group was changed.
	redefined map[string]int
	// defined is when the definitions of kinds were made, where somebody said.
	defined map[schema.GroupKind]time.Time

	templates *table[*propagation.Template]
	policies  *table[*propagation.Policy]
	overrides *table[propagation.Override]
	bindings  *table[*propagation.Binding]
	works     *table[*propagation.Work]
	revisions *table[*propagation.Revision]
	// history is what policies said, by namespace and name.
	history  map[string]*historyRow
	contents map[propagation.WorkKey]*propagation.KeptContents
	clusters *table[*clusterv1alpha1.Cluster]
	placing  placing

	namespaces map[string]bool
	// leaving are the namespaces, and dropped the kinds, that are on their way out.
	leaving  map[string]bool
	dropped  map[Kind]bool
	features propagation.Features

	interpreters []*rules.Interpreter
}

// NewHub is a hub without objects.
func NewHub(o Options) *Hub {
	h := &Hub{options: o, version: 100, namespaces: map[string]bool{}, leaving: map[string]bool{}, dropped: map[Kind]bool{}, defined: map[schema.GroupKind]time.Time{}, redefined: map[string]int{}, contents: map[propagation.WorkKey]*propagation.KeptContents{}, history: map[string]*historyRow{}}
	h.templates = newTable[*propagation.Template](h)
	h.policies = newTable[*propagation.Policy](h)
	h.overrides = newTable[propagation.Override](h)
	h.bindings = newTable[*propagation.Binding](h)
	h.works = newTable[*propagation.Work](h)
	h.works.own = map[string]uint64{}
	h.revisions = newTable[*propagation.Revision](h)
	h.clusters = newTable[*clusterv1alpha1.Cluster](h)
	h.placing = newPlacing(h)
	return h
}

// next is a new resourceVersion.
func (h *Hub) next() uint64 {
	h.version++
	return h.version
}

// Version is how far the versions have come.
func (h *Hub) Version(ctx context.Context) (uint64, error) {
	if err := h.ask(ctx, "list", "clusters"); err != nil {
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.version, nil
}

func (h *Hub) newUID() types.UID {
	h.uids++
	return types.UID(fmt.Sprintf("uid-%03d", h.uids))
}

// ask stands in front of each request. It must not be called with the lock held.
func (h *Hub) ask(ctx context.Context, verb, about string) error {
	r := Request{verb, about}
	if !r.Writes() {
		h.mu.Lock()
		h.reads++
		h.mu.Unlock()
	}
	if h.Ask != nil {
		if err := h.Ask(ctx, r); err != nil {
			return err
		}
	}
	if h.options.Lag && !r.Writes() {
		return nil // it is read from what a watch told
	}
	return h.unserved(verb, about)
}

// wrote tells of what was written; an error: the answer is lost on its way.
func (h *Hub) wrote(ctx context.Context, verb, about string, old, new any) error {
	if h.Wrote != nil {
		h.Wrote(ctx, Write{Request{verb, about}, old, new})
	}
	if h.Lost != nil && h.Lost(ctx, Request{verb, about}) {
		return errAnswerLost
	}
	return nil
}

var errAnswerLost = errors.New("it was done, and the answer is lost")

// Record tells people.
func (h *Hub) Record(_ context.Context, about hub.About, _, reason, message string) {
	if h.Recorded != nil {
		h.Recorded(about, reason, message)
	}
}

// RecordOnce tells people once on the occasion.
func (h *Hub) RecordOnce(ctx context.Context, about hub.About, occasion, eventType, reason, message string) {
	told := string(about.UID) + "/" + occasion
	if slices.Contains(h.told, told) {
		return
	}
	h.told = append(h.told, told)
	h.Record(ctx, about, eventType, reason, message)
}

// Mention takes note of something that went well.
func (h *Hub) Mention(ctx context.Context, about hub.About, reason, message string) {
	h.Record(ctx, about, hub.Normal, reason, message)
}

// Untold are the kinds that there is news of, in the order of their oldest.
func (h *Hub) Untold() []string {
	var kinds []string
	for _, n := range h.news {
		if !slices.Contains(kinds, n.Key.Kind) {
			kinds = append(kinds, n.Key.Kind)
		}
	}
	return kinds
}

// Tell is the oldest news of a kind, which stages see from now on.
func (h *Hub) Tell(kind string) News {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := -1
	for j, n := range h.news {
		if n.Key.Kind == kind && (i < 0 || n.reads == h.news[i].reads && n.Key.ID() < h.news[i].Key.ID()) {
			i = j
		}
	}
	n := h.news[i]
	h.news = slices.Delete(h.news, i, i+1)
	n.see()
	return n.News
}

// Restart makes stages see everything as it is, and is what a source that just
// started tells of it.
func (h *Hub) Restart() []hub.Change {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.placing
	p.collect()
	h.news = nil
	var all []hub.Change
	for _, t := range []interface {
		relist()
		changes() []hub.Change
	}{
		h.clusters, h.works, h.revisions, h.overrides, h.bindings, h.policies, h.templates,
		p.members, p.resourceSnapshots, p.policySnapshots, p.overrides, p.inNames, p.clusterOverrides, p.namespaced, p.placementBindings, p.placements,
		p.updateStrategies, p.updateRuns, p.approvalRequests, p.evictions, p.disruptionBudgets,
	} {
		t.relist()
		all = append(all, t.changes()...)
	}
	return all
}

// copyOf is a copy that shares nothing, as one that went over the wire.
func copyOf[T any](v T) T {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		panic(fmt.Sprintf("decode %T: %v", v, err))
	}
	return out
}

// same tells whether two values are the same JSON.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// object is v as JSON has it.
func object(v any) map[string]any {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		panic(fmt.Sprintf("decode %T: %v", v, err))
	}
	return m
}

// takes tells whether new has a field that old has not, or has otherwise. Only
// then does the API server note the time of a write; a field that is taken away
// leaves no trace.
func takes(old, new any) bool {
	n, isMap := new.(map[string]any)
	o, wasMap := old.(map[string]any)
	if !isMap || !wasMap {
		return !reflect.DeepEqual(old, new)
	}
	for k, v := range n {
		if was, ok := o[k]; !ok || takes(was, v) {
			return true
		}
	}
	return false
}
