// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// Where the sample lives, and where the floor does: names that occur in
// nothing else, for they are replaced wherever they occur.
const (
	sampleNamespace = "sample-of-bench"
	sampleName      = "a-sample-template"
	floorNamespace  = "floor-of-bench"
)

// floorLabel is on all Works of the floor, so that they can be found again.
const floorLabel = "bench.sluice.dev/floor"

// sample is what the pipeline wrote for one template, to be written again under
// other names. All parts are JSON.
type sample struct {
	kind           string
	template       string // as people write it
	uid            string
	claim          string // patch
	binding        string // to create
	bindingUID     string
	clusters       string // patch
	bindingStatus  string // to put
	revision       string
	revisionName   string
	acted          string // patch: what the binding says of what it acted on
	bindingName    string
	workName       string
	work           map[string]string // to create, by member
	workStatus     map[string]string // to put
	manifest       map[string]string // to apply
	templateStatus string            // patch; empty: the kind has none
}

// take reads what the pipeline wrote for the sample.
func (b *bench) take(ctx context.Context, kind string) (*sample, error) {
	hub := b.lab.hub
	manifest := template(kind, sampleNamespace, sampleName)
	s := &sample{kind: kind, template: string(encoded(manifest)), work: map[string]string{}, workStatus: map[string]string{}, manifest: map[string]string{}}
	t, err := hub.tree(ctx, place(kind, sampleNamespace)+"/"+sampleName)
	if err != nil {
		return nil, err
	}
	s.uid = t.text("metadata", "uid")
	meta := t.part("metadata")
	s.claim = string(encoded(map[string]any{"metadata": map[string]any{"labels": ofSluice(meta.part("labels")), "annotations": ofSluice(meta.part("annotations"))}}))
	if status := t.part("status"); len(status) > 0 {
		s.templateStatus = string(encoded(map[string]any{"status": status}))
	}
	apiVersion, _ := manifest["apiVersion"].(string)
	key := propagation.BindingOf(propagation.TemplateKey{APIVersion: apiVersion, Kind: kind, Namespace: sampleNamespace, Name: sampleName})
	s.bindingName, s.workName = key.Name, propagation.WorkName(key)
	rb, err := hub.tree(ctx, bindingsIn(sampleNamespace)+"/"+key.Name)
	if err != nil {
		return nil, err
	}
	s.bindingUID, s.bindingStatus = rb.text("metadata", "uid"), rb.only("status")
	s.clusters = string(encoded(map[string]any{"spec": map[string]any{"clusters": rb.part("spec")["clusters"]}}))
	delete(rb.part("spec"), "clusters")
	s.binding = rb.only("spec")
	s.acted = string(encoded(map[string]any{"metadata": map[string]any{"annotations": rb.part("metadata")["annotations"]}}))
	revision, _ := rb.part("metadata").part("annotations")[propagation.AnnotationRevision].(string)
	rev, err := hub.tree(ctx, revisionsIn(sampleNamespace)+"/"+revision)
	if err != nil {
		return nil, err
	}
	s.revision, s.revisionName = rev.only("data", "revision"), revision
	for _, m := range b.lab.members {
		if err := s.takeWork(ctx, hub, m.name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *sample) takeWork(ctx context.Context, hub *cluster, member string) error {
	w, err := hub.tree(ctx, worksOf(member)+"/"+s.workName)
	if err != nil {
		return err
	}
	s.workStatus[member] = w.only("status")
	meta := w.part("metadata")
	delete(meta, "finalizers") // nobody would see them off
	meta.part("labels")[floorLabel] = "true"
	s.work[member] = w.only("spec")
	var of workv1alpha1.WorkSpec
	if err := json.Unmarshal(encoded(w["spec"]), &of); err != nil {
		return err
	}
	manifest := tree{}
	if err := json.Unmarshal(of.Workload.Manifests[0].Raw, &manifest); err != nil {
		return err
	}
	labels := manifest.part("metadata").part("labels")
	labels[propagation.LabelMemberWork], labels[workv1alpha1.LabelManaged] = s.workName, workv1alpha1.LabelManagedValue
	s.manifest[member] = string(encoded(manifest))
	return nil
}

func bindingsIn(namespace string) string {
	return "/apis/work.karmada.io/v1alpha2/namespaces/" + namespace + "/resourcebindings"
}

func revisionsIn(namespace string) string {
	return "/apis/apps/v1/namespaces/" + namespace + "/controllerrevisions"
}

func worksOf(member string) string {
	return "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-" + member + "/works"
}

// ofSluice are the labels and annotations that a claim writes.
func ofSluice(all tree) map[string]any {
	some := map[string]any{}
	for k, v := range all {
		if strings.Contains(k, ".karmada.io/") || strings.Contains(k, "sluice.dev/") {
			some[k] = v
		}
	}
	return some
}

// writing is the floor for one template. The first request that fails ends it.
type writing struct {
	*sample
	lab *lab
	// turn bounds how many templates are under way, each with one request; nil: one
	// template follows the other.
	turn    chan struct{}
	replace map[string]string
	// made is what was written last, by cluster and path.
	made map[string]made
	// finalizer keeps Works until the floor has seen them off; empty: nobody would.
	finalizer string
	// statuses is how many were written: each is another one, for the API server.
	statuses int64
	err      error
}

// made is what an API server said of what was written.
type made struct{ uid, version string }

func (b *bench) writing(l *lab, kind, name string, turn chan struct{}) *writing {
	return &writing{
		sample: b.models[kind], lab: l, turn: turn, made: map[string]made{},
		replace: map[string]string{sampleName: name, sampleNamespace: floorNamespace},
	}
}

// verb is how an object is written, of which the path is given.
type verb func(ctx context.Context, c *cluster, path string, body []byte, last made) ([]byte, error)

func create(ctx context.Context, c *cluster, path string, body []byte, _ made) ([]byte, error) {
	return c.create(ctx, path[:strings.LastIndex(path, "/")], body)
}

func put(ctx context.Context, c *cluster, path string, body []byte, last made) ([]byte, error) {
	return c.put(ctx, path, at(body, last))
}

func merge(ctx context.Context, c *cluster, path string, body []byte, last made) ([]byte, error) {
	return c.merge(ctx, path, at(body, last))
}

func apply(ctx context.Context, c *cluster, path string, body []byte, _ made) ([]byte, error) {
	return c.apply(ctx, path, body)
}

func remove(ctx context.Context, c *cluster, path string, _ []byte, _ made) ([]byte, error) {
	return c.remove(ctx, path)
}

// at is a body conditional on what was read, as every write of the pipeline is.
func at(body []byte, last made) []byte {
	t := parsed(string(body))
	meta := t.part("metadata")
	meta["uid"], meta["resourceVersion"] = last.uid, last.version
	return encoded(t)
}

// do makes one request, and takes note of what was made.
func (w *writing) do(ctx context.Context, c *cluster, do verb, path, body string) {
	if w.err != nil {
		return
	}
	pairs := make([]string, 0, 2*len(w.replace))
	for from, to := range w.replace {
		pairs = append(pairs, from, to)
	}
	r := strings.NewReplacer(pairs...)
	key := c.name + strings.TrimSuffix(path, "/status")
	raw, err := do(ctx, c, r.Replace(path), []byte(r.Replace(body)), w.made[key])
	if err != nil {
		w.err = fmt.Errorf("floor: %s: %w", r.Replace(path), err)
		return
	}
	var o struct {
		Metadata struct{ UID, ResourceVersion string }
	}
	w.err = json.Unmarshal(raw, &o)
	w.made[key] = made{o.Metadata.UID, o.Metadata.ResourceVersion}
}

// Where the floor's objects are.
func (w *writing) templatePath() string { return place(w.kind, floorNamespace) + "/" + sampleName }
func (w *writing) bindingPath() string  { return bindingsIn(floorNamespace) + "/" + w.bindingName }
func (w *writing) revisionPath() string { return revisionsIn(floorNamespace) + "/" + w.revisionName }
func (w *writing) workPath(m *cluster) string {
	return worksOf(m.name) + "/" + w.workName
}

// run makes all the requests for one template, one after the other: create the
// template, claim it, binding, revision, clusters, Works, apply, report. It
// tells how long those behind the first took.
func (w *writing) run(ctx context.Context, ready func(member string) error) (time.Duration, error) {
	hub := w.lab.hub
	w.do(ctx, hub, create, w.templatePath(), w.template)
	began := time.Now()
	w.replace[w.uid] = w.made[hub.name+w.templatePath()].uid
	w.do(ctx, hub, merge, w.templatePath(), w.claim)
	w.do(ctx, hub, create, w.bindingPath(), w.binding)
	w.replace[w.bindingUID] = w.made[hub.name+w.bindingPath()].uid
	w.do(ctx, hub, create, w.revisionPath(), w.revision)
	w.do(ctx, hub, merge, w.bindingPath(), w.clusters)
	w.deliver(ctx, create, w.lab.members, ready)
	w.do(ctx, hub, put, w.bindingPath()+"/status", w.bindingStatus)
	if w.templateStatus != "" {
		w.do(ctx, hub, merge, w.templatePath()+"/status", w.templateStatus)
	}
	return time.Since(began), w.err
}

// deliver makes the requests for each member.
func (w *writing) deliver(ctx context.Context, work verb, members []*cluster, ready func(member string) error) {
	for _, m := range members {
		w.do(ctx, w.lab.hub, work, w.workPath(m), w.finalized(w.work[m.name]))
	}
	for _, m := range members {
		w.do(ctx, m, apply, w.templatePath(), w.manifest[m.name])
	}
	for _, m := range members {
		if w.err == nil && ready != nil {
			w.leaveTurn()
			w.err = ready(m.name)
			w.takeTurn()
		}
		w.do(ctx, w.lab.hub, put, w.workPath(m)+"/status", w.anew(w.workStatus[m.name]))
	}
}

func (w *writing) takeTurn() {
	if w.turn != nil {
		w.turn <- struct{}{}
	}
}

func (w *writing) leaveTurn() {
	if w.turn != nil {
		<-w.turn
	}
}

// finalized is a Work with its finalizer.
func (w *writing) finalized(work string) string {
	if w.finalizer == "" {
		return work
	}
	t := parsed(work)
	t.part("metadata")["finalizers"] = []string{w.finalizer}
	return string(encoded(t))
}

// anew is a status that was never written: of one that is there already, an API server
// writes nothing.
func (w *writing) anew(status string) string {
	t := parsed(status)
	w.statuses++
	if all, ok := t.part("status")["conditions"].([]any); ok && len(all) > 0 {
		all[0].(map[string]any)["lastTransitionTime"] = time.Unix(w.statuses, 0).UTC().Format(time.RFC3339)
	}
	return string(encoded(t))
}

// floor makes the requests for many templates, so many at a time, each to its end: one
// template after the other where that is one. It tells how long all took, and each.
func (b *bench) floor(ctx context.Context, kind string, names []string, turns int) (time.Duration, []time.Duration, error) {
	return b.floorOn(ctx, b.lab, kind, names, turns)
}

// floorOn makes them to this lab.
func (b *bench) floorOn(ctx context.Context, l *lab, kind string, names []string, turns int) (time.Duration, []time.Duration, error) {
	each := make([]time.Duration, len(names))
	took, err := together(ctx, b.writings(l, kind, names, turns), func(ctx context.Context, i int, w *writing) (err error) {
		var ready func(string) error
		if kind == "Deployment" {
			ready = func(member string) error {
				_, err := b.track.await(ctx, []string{available(member, kind, names[i])})
				return err
			}
		}
		each[i], err = w.run(ctx, ready)
		return err
	})
	return took, each, err
}

// writings are the floor of many templates, so many of them at a time.
func (b *bench) writings(l *lab, kind string, names []string, turns int) []*writing {
	var turn chan struct{}
	if turns > 1 {
		turn = make(chan struct{}, turns)
	}
	all := make([]*writing, len(names))
	for i, name := range names {
		all[i] = b.writing(l, kind, name, turn)
	}
	return all
}

// together does the same for all templates, each to its end, side by side where they
// have turns, and tells how long it took. Whoever waits for a member leaves its turn to
// the next.
func together(ctx context.Context, all []*writing, do func(ctx context.Context, i int, w *writing) error) (time.Duration, error) {
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	if all[0].turn == nil {
		group.SetLimit(1)
	}
	for i, w := range all {
		group.Go(func() error {
			w.takeTurn()
			defer w.leaveTurn()
			return do(ctx, i, w)
		})
	}
	err := group.Wait()
	return time.Since(began), err
}

// sweepFloor takes away what the floor wrote, so that the pipeline finds nothing
// of it.
func (b *bench) sweepFloor(ctx context.Context, kind string) error {
	hub := b.lab.hub
	app := "app"
	if err := hub.clear(ctx, place(kind, floorNamespace), app); err != nil {
		return err
	}
	if err := hub.clear(ctx, bindingsIn(floorNamespace), ""); err != nil {
		return err
	}
	if err := hub.clear(ctx, revisionsIn(floorNamespace), ""); err != nil {
		return err
	}
	for _, m := range b.lab.members {
		if err := hub.clear(ctx, worksOf(m.name), floorLabel); err != nil {
			return err
		}
		if err := m.clear(ctx, place(kind, floorNamespace), app); err != nil {
			return err
		}
		err := await(ctx, patience, "the floor's pods in "+m.name+" are gone", func() bool {
			raw, err := m.get(ctx, "/api/v1/namespaces/"+floorNamespace+"/pods")
			return err == nil && strings.Contains(string(raw), `"items":[]`)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// tree is an object in JSON.
type tree map[string]any

// parsed is what was encoded here.
func parsed(body string) tree {
	t := tree{}
	if err := json.Unmarshal([]byte(body), &t); err != nil {
		panic(err)
	}
	return t
}

// part is the object at key, made where there was none.
func (t tree) part(key string) tree {
	m, ok := t[key].(map[string]any)
	if !ok {
		m = map[string]any{}
		t[key] = m
	}
	return m
}

func (t tree) text(part, key string) string {
	s, _ := t.part(part)[key].(string)
	return s
}

// only is the object with identity and these fields, as one that is to be
// written.
func (t tree) only(fields ...string) string {
	meta := maps.Clone(t.part("metadata"))
	for _, k := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"} {
		delete(meta, k)
	}
	out := map[string]any{"apiVersion": t["apiVersion"], "kind": t["kind"], "metadata": meta}
	for _, f := range fields {
		out[f] = t[f]
	}
	return string(encoded(out))
}

func (c *cluster) tree(ctx context.Context, path string) (tree, error) {
	raw, err := c.get(ctx, path)
	if err != nil {
		return nil, err
	}
	t := tree{}
	return t, json.Unmarshal(raw, &t)
}
