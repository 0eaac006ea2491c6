// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/outcome"
)

// Object is an object in a member. It is never changed in place.
type Object struct {
	Ref     member.Ref
	UID     types.UID
	Version int
	// Work that made it; empty: it is not ours. Hub of that, and where the Work is on it.
	Work, Hub, WorkKey string
	// Content is what was applied, without the marks of its Work, and Manifest
	// its hash.
	Content  map[string]any
	Manifest string
	// Spoilt are the fields that somebody else took from us.
	Spoilt     []string
	Generation int64
	Status     map[string]any
}

// MemberWrite is a request that changed something in a member.
type MemberWrite struct {
	Cluster string
	Verb    string
	// Old and New are the object before and after; nil where there is none.
	Old, New *Object
	// By the Work, as the stage had read it; nil for a deletion.
	Work *propagation.Work
}

// MemberNews is what a watch of a member has to tell.
type MemberNews struct {
	Ref     member.Ref
	Version int
	Deleted bool
	// Own tells that a stage wrote it.
	Own bool
}

// Member is a member in memory, as pkg/member shows it to stages: an object that
// is not ours stays as it is, what is there already is not applied again.
type Member struct {
	Name string
	// Down: it does not answer.
	Down bool
	// Stuck: its controllers do nothing, so that nothing that changes becomes available.
	Stuck bool
	// Ask is asked in front of each request; an error is the answer.
	Ask func(ctx context.Context, r Request) error
	// Refuses tells to which requests it answers 403; nil: to none.
	Refuses func(r Request) bool
	// Wrote is told of each request that changed something.
	Wrote func(ctx context.Context, w MemberWrite)
	// Lost tells whether the answer to such a request is lost on its way; nil: none
	// is.
	Lost func(ctx context.Context, r Request) bool

	version int
	uids    int
	// known are the objects as they were when a stage wrote or read them last.
	known map[string]*applying.Observed
	// objects by the ID of their ref: in which version they were applied tells none apart.
	objects    map[string]*Object
	namespaces map[string]bool
	news       []MemberNews
}

// NewMember is a member without objects.
func NewMember(name string) *Member {
	return &Member{Name: name, objects: map[string]*Object{}, known: map[string]*applying.Observed{}, namespaces: map[string]bool{}}
}

var errNoAnswer = errors.New("no answer")

func (m *Member) ask(ctx context.Context, verb, about string) error {
	if m.Ask != nil {
		if err := m.Ask(ctx, Request{verb, about + " in " + m.Name}); err != nil {
			return &member.Unreachable{Cluster: m.Name, Err: err}
		}
	}
	if m.Down {
		return &member.Unreachable{Cluster: m.Name, Err: errNoAnswer}
	}
	if m.Refuses != nil && m.Refuses(Request{verb, about}) {
		return &member.Refused{Cluster: m.Name, Message: verb + " " + about + ": forbidden"}
	}
	return nil
}

// Observe is the object as the member has it.
func (m *Member) Observe(ctx context.Context, ref member.Ref) (*applying.Observed, error) {
	if err := m.ask(ctx, "get", ref.String()); err != nil {
		return nil, err
	}
	o := m.objects[ref.ID()]
	if o == nil {
		return nil, fmt.Errorf("get %s in %s: %w", ref, m.Name, outcome.ErrGone)
	}
	m.known[ref.ID()] = o.observedAs(ref.APIVersion)
	return o.observedAs(ref.APIVersion), nil
}

// Known is the object as a stage wrote or read it last, which may be long ago: its watch
// is late.
func (m *Member) Known(ref member.Ref) *applying.Observed { return m.known[ref.ID()] }

// observedAs is the object as read in that version.
func (o *Object) observedAs(apiVersion string) *applying.Observed {
	seen := o.observed()
	seen.Object["apiVersion"] = apiVersion
	return seen
}

// observed is the object as pkg/member knows it: which fields are ours, and not
// what they say.
func (o *Object) observed() *applying.Observed {
	obj := maps.Clone(o.Content)
	partial := o.Ref.Kind == "ConfigMap" && obj["data"] != nil
	if partial {
		delete(obj, "data")
	}
	meta := maps.Clone(obj["metadata"].(map[string]any))
	meta["generation"] = o.Generation
	if o.WorkKey != "" {
		annotations, _ := meta["annotations"].(map[string]any)
		marked := map[string]any{applying.AnnotationWork: o.WorkKey}
		maps.Copy(marked, annotations)
		meta["annotations"] = marked
	}
	obj["metadata"] = meta
	if spec, ok := obj["spec"].(map[string]any); ok && len(o.Spoilt) > 0 {
		obj["spec"] = spoilt(spec)
	}
	if o.Status != nil {
		obj["status"] = o.Status
	}
	seen := &applying.Observed{
		UID: o.UID, Version: strconv.Itoa(o.Version), Work: o.Work, Hub: o.Hub, Manifest: o.Manifest, Object: obj, Partial: partial,
	}
	if o.Work != "" {
		seen.FieldsHash = propagation.HashJSON([]any{paths("", o.Content), o.Spoilt})
	}
	return seen
}

// spoilt is the part as somebody else left it: without the first of its fields
// that says nothing of the object's health.
func spoilt(spec map[string]any) map[string]any {
	spec = maps.Clone(spec)
	for _, k := range slices.Sorted(maps.Keys(spec)) {
		if k != "replicas" {
			delete(spec, k)
			break
		}
	}
	return spec
}

// paths are the fields that the value sets, sorted.
func paths(at string, v any) []string {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		return []string{at}
	}
	var all []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, paths(at+"."+k, m[k])...)
	}
	return all
}

// Look tells what the member has of that name.
func (m *Member) Look(ctx context.Context, ref member.Ref, how member.Looking) (applying.Read[*applying.Observed], error) {
	o, err := m.Observe(ctx, ref)
	if err == nil && how.Whole && o.Partial {
		o.Partial, o.Object["data"] = false, m.objects[ref.ID()].Content["data"]
	}
	return member.Answer(o, err)
}

// Write applies the manifest with the marks of its Work.
func (m *Member) Write(ctx context.Context, w *propagation.Work, hub string, manifest map[string]any, _ *applying.Observed) (*applying.Observed, error) {
	return m.write(ctx, w, hub, manifest, false)
}

// Create applies the manifest if there is no object of that name.
func (m *Member) Create(ctx context.Context, w *propagation.Work, hub string, manifest map[string]any) (*applying.Observed, error) {
	return m.write(ctx, w, hub, manifest, true)
}

func (m *Member) write(ctx context.Context, w *propagation.Work, hub string, manifest map[string]any, creates bool) (*applying.Observed, error) {
	ref := keyOf(manifest)
	if err := m.ask(ctx, "apply", ref.String()); err != nil {
		return nil, err
	}
	if creates && m.objects[ref.ID()] != nil {
		return nil, member.ErrExists
	}
	if ref.Namespace != "" && !m.namespaces[ref.Namespace] {
		return nil, &member.NoNamespace{Cluster: m.Name, Namespace: ref.Namespace}
	}
	o := m.apply(ctx, w, hub, ref, manifest)
	if m.Lost != nil && m.Lost(ctx, Request{"apply", ref.String() + " in " + m.Name}) {
		return nil, &member.Unreachable{Cluster: m.Name, Err: errAnswerLost}
	}
	m.known[ref.ID()] = o.observed()
	return o.observed(), nil
}

// apply writes; the same again is no write.
func (m *Member) apply(ctx context.Context, w *propagation.Work, hub string, ref member.Ref, manifest map[string]any) *Object {
	old := m.objects[ref.ID()]
	next := &Object{Ref: ref, Work: w.Key.Owner(), Hub: hub, WorkKey: keyMark(w.Key), Content: unshared(manifest), Manifest: propagation.HashJSON(manifest), Generation: 1}
	if old != nil {
		if old.Work == next.Work && old.Hub == next.Hub && old.Manifest == next.Manifest && len(old.Spoilt) == 0 && reflect.DeepEqual(old.Content, next.Content) {
			return old
		}
		next.UID, next.Generation, next.Status = old.UID, old.Generation, old.Status
		if old.Manifest != next.Manifest || len(old.Spoilt) > 0 {
			next.Generation++ // the mark of the manifest is an annotation
		}
	} else {
		next.UID = m.newUID()
	}
	m.put(next, true)
	if m.Wrote != nil {
		m.Wrote(ctx, MemberWrite{Cluster: m.Name, Verb: "apply", Old: old, New: next, Work: w})
	}
	return next
}

// keyMark says for people where the Work is.
func keyMark(key propagation.WorkKey) string { return key.Namespace() + "/" + key.Name }

func (m *Member) newUID() types.UID {
	m.uids++
	return types.UID(fmt.Sprintf("%s-%03d", m.Name, m.uids))
}

func (m *Member) put(o *Object, own bool) {
	m.version++
	o.Version = m.version
	m.objects[o.Ref.ID()] = o
	m.news = append(m.news, MemberNews{Ref: o.Ref, Version: m.version, Own: own})
}

func (m *Member) remove(o *Object, own bool) {
	m.version++
	delete(m.objects, o.Ref.ID())
	m.news = append(m.news, MemberNews{Ref: o.Ref, Version: m.version, Deleted: true, Own: own})
}

// Delete deletes the object of the Removal.
func (m *Member) Delete(ctx context.Context, ref member.Ref, r applying.Removal) (bool, error) {
	if !r.Permits() {
		return false, fmt.Errorf("delete %s in %s: nothing permits to", ref, m.Name)
	}
	if err := m.ask(ctx, "delete", ref.String()); err != nil {
		return false, err
	}
	old := m.objects[ref.ID()]
	switch {
	case old == nil:
		return true, nil
	case old.UID != r.UID(), r.Version() != "" && r.Version() != strconv.Itoa(old.Version):
		return false, outcome.Conflict(fmt.Errorf("delete %s in %s: it is another now", ref, m.Name))
	}
	m.remove(old, true)
	if m.Wrote != nil {
		m.Wrote(ctx, MemberWrite{Cluster: m.Name, Verb: "delete", Old: old})
	}
	if m.Lost != nil && m.Lost(ctx, Request{"delete", ref.String() + " in " + m.Name}) {
		return false, &member.Unreachable{Cluster: m.Name, Err: errAnswerLost}
	}
	return true, nil
}

// EnsureNamespace makes a namespace where there is none.
func (m *Member) EnsureNamespace(ctx context.Context, name string, labels map[string]string) error {
	if err := m.ask(ctx, "create", "namespace "+name); err != nil {
		return err
	}
	m.namespaces[name] = true
	return nil
}

// Probe tells whether the member answers.
func (m *Member) Probe() (string, error) {
	if m.Down {
		return "", &member.Unreachable{Cluster: m.Name, Err: errNoAnswer}
	}
	return "v1.36.3", nil
}

// Tell is the oldest news; false: there is none.
func (m *Member) Tell() (MemberNews, bool) {
	if len(m.news) == 0 {
		return MemberNews{}, false
	}
	n := m.news[0]
	if m.news = m.news[1:]; n.Deleted && m.objects[n.Ref.ID()] == nil {
		delete(m.known, n.Ref.ID())
	}
	return n, true
}

// Restart is what a source that just started tells of the member.
func (m *Member) Restart() []MemberNews {
	m.news = nil
	var all []MemberNews
	for _, o := range m.Objects() {
		if o.Work != "" {
			all = append(all, MemberNews{Ref: o.Ref, Version: o.Version})
		}
	}
	return all
}

// Objects are the member's objects, sorted. For tests.
func (m *Member) Objects() []*Object {
	return slices.SortedFunc(maps.Values(m.objects), func(a, b *Object) int { return cmp.Compare(a.Ref.ID(), b.Ref.ID()) })
}

// Object is the object of that key; nil: there is none. For tests.
func (m *Member) Object(ref member.Ref) *Object { return m.objects[ref.ID()] }

// Plant lets somebody else make an object that is there already otherwise.
func (m *Member) Plant(ref member.Ref, content map[string]any) bool {
	if m.objects[ref.ID()] != nil {
		return false
	}
	m.put(&Object{Ref: ref, UID: m.newUID(), Content: content, Generation: 1}, false)
	return true
}

// Spoil lets somebody else write a field of ours.
func (m *Member) Spoil(ref member.Ref) bool {
	old := m.objects[ref.ID()]
	if old == nil || old.Work == "" || len(old.Spoilt) > 0 {
		return false
	}
	next := *old
	next.Spoilt = []string{".spec"}
	next.Generation++
	m.put(&next, false)
	return true
}

// Lose lets somebody else delete an object.
func (m *Member) Lose(ref member.Ref) bool {
	old := m.objects[ref.ID()]
	if old == nil {
		return false
	}
	m.remove(old, false)
	return true
}

// Idle tells whether the member's controllers have nothing to do.
func (m *Member) Idle() bool {
	if m.Stuck {
		return true
	}
	for _, o := range m.objects {
		if o.lags() {
			return false
		}
	}
	return true
}

func (o *Object) lags() bool {
	return o.Ref.Kind == "Deployment" && !reflect.DeepEqual(o.Status, o.settled())
}

// settled is the status that a member's controllers give to a Deployment.
func (o *Object) settled() map[string]any {
	n := int64(1)
	if spec, ok := o.Content["spec"].(map[string]any); ok {
		if v, ok := spec["replicas"].(int64); ok {
			n = v
		}
	}
	status := map[string]any{"observedGeneration": o.Generation}
	if n > 0 {
		for _, f := range []string{"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"} {
			status[f] = n
		}
	}
	return status
}

// Act lets the member's controllers do their work on one object.
func (m *Member) Act() {
	for _, o := range m.Objects() {
		if o.lags() {
			next := *o
			next.Status = o.settled()
			m.put(&next, false)
			return
		}
	}
}
