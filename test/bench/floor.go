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
	revision, _ := rb.part("metadata").part("annotations")[propagation.AnnotationRevision].(string)
	rev, err := hub.tree(ctx, revisionsIn(sampleNamespace)+"/"+revision)
	if err != nil {
		return nil, err
	}
	s.revision = rev.only("data", "revision")
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

// writing is the floor for one template.
type writing struct {
	*sample
	lab  *lab
	name string
	// slot bounds how many requests are under way; nil: one follows the other.
	slot    chan struct{}
	replace map[string]string
}

func (b *bench) writing(l *lab, kind, name string, slot chan struct{}) *writing {
	return &writing{sample: b.models[kind], lab: l, name: name, slot: slot, replace: map[string]string{sampleName: name, sampleNamespace: floorNamespace}}
}

// do makes one request, and returns uid and version of the object.
func (w *writing) do(ctx context.Context, verb func(context.Context, string, []byte) ([]byte, error), path, body string) (uid, version string, err error) {
	pairs := make([]string, 0, 2*len(w.replace))
	for from, to := range w.replace {
		pairs = append(pairs, from, to)
	}
	r := strings.NewReplacer(pairs...)
	path, body = r.Replace(path), r.Replace(body)
	if w.slot != nil {
		w.slot <- struct{}{}
		defer func() { <-w.slot }()
	}
	raw, err := verb(ctx, path, []byte(body))
	if err != nil {
		return "", "", fmt.Errorf("floor: %s: %w", path, err)
	}
	var o struct {
		Metadata struct{ UID, ResourceVersion string }
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return "", "", err
	}
	return o.Metadata.UID, o.Metadata.ResourceVersion, nil
}

// at is a body conditional on what was read, as every write of the pipeline is.
func at(body, uid, version string) string {
	t := tree{}
	if err := json.Unmarshal([]byte(body), &t); err != nil {
		panic(err) // it was encoded here
	}
	meta := t.part("metadata")
	meta["uid"], meta["resourceVersion"] = uid, version
	t["metadata"] = map[string]any(meta)
	return string(encoded(t))
}

// run makes all the requests for one template, one after the other: create the
// template, claim it, binding, revision, clusters, Works, apply, report. It
// tells how long those behind the first took.
func (w *writing) run(ctx context.Context, ready func(member string) error) (time.Duration, error) {
	hub := w.lab.hub
	path := place(w.kind, floorNamespace)
	uid, version, err := w.do(ctx, hub.create, path, w.template)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	w.replace[w.uid] = uid
	path += "/" + sampleName
	if _, version, err = w.do(ctx, hub.merge, path, at(w.claim, uid, version)); err != nil {
		return 0, err
	}
	bindings := bindingsIn(floorNamespace)
	bound, boundVersion, err := w.do(ctx, hub.create, bindings, w.binding)
	if err != nil {
		return 0, err
	}
	w.replace[w.bindingUID] = bound
	if _, _, err = w.do(ctx, hub.create, revisionsIn(floorNamespace), w.revision); err != nil {
		return 0, err
	}
	binding := bindings + "/" + w.bindingName
	if _, boundVersion, err = w.do(ctx, hub.merge, binding, at(w.clusters, bound, boundVersion)); err != nil {
		return 0, err
	}
	if err = w.deliver(ctx, ready); err != nil {
		return 0, err
	}
	if _, _, err = w.do(ctx, hub.put, binding+"/status", at(w.bindingStatus, bound, boundVersion)); err != nil {
		return 0, err
	}
	if w.templateStatus != "" {
		_, _, err = w.do(ctx, hub.merge, path+"/status", at(w.templateStatus, uid, version))
	}
	return time.Since(began), err
}

// deliver makes the requests for each member.
func (w *writing) deliver(ctx context.Context, ready func(member string) error) error {
	type made struct{ uid, version string }
	works := map[string]made{}
	for _, m := range w.lab.members {
		uid, version, err := w.do(ctx, w.lab.hub.create, worksOf(m.name), w.work[m.name])
		if err != nil {
			return err
		}
		works[m.name] = made{uid, version}
	}
	for _, m := range w.lab.members {
		if _, _, err := w.do(ctx, m.apply, place(w.kind, floorNamespace)+"/"+sampleName, w.manifest[m.name]); err != nil {
			return err
		}
	}
	for _, m := range w.lab.members {
		if err := ready(m.name); err != nil {
			return err
		}
		k := works[m.name]
		if _, _, err := w.do(ctx, w.lab.hub.put, worksOf(m.name)+"/"+w.workName+"/status", at(w.workStatus[m.name], k.uid, k.version)); err != nil {
			return err
		}
	}
	return nil
}

// floor makes the requests for many templates, so many at a time: one template
// after the other where that is one. It tells how long all took, and each.
func (b *bench) floor(ctx context.Context, kind string, names []string, slots int) (time.Duration, []time.Duration, error) {
	return b.floorOn(ctx, b.lab, kind, names, slots)
}

// floorOn makes them to this lab.
func (b *bench) floorOn(ctx context.Context, l *lab, kind string, names []string, slots int) (time.Duration, []time.Duration, error) {
	each := make([]time.Duration, len(names))
	var slot chan struct{}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(1)
	if slots > 1 {
		slot = make(chan struct{}, slots)
		group.SetLimit(len(names))
	}
	began := time.Now()
	for i, name := range names {
		group.Go(func() (err error) {
			each[i], err = b.writing(l, kind, name, slot).run(gctx, func(member string) error {
				if kind != "Deployment" {
					return nil
				}
				_, err := b.track.await(gctx, []string{available(member, kind, name)})
				return err
			})
			return err
		})
	}
	err := group.Wait()
	return time.Since(began), each, err
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
