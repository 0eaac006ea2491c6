// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/pending"
)

// world is a hub, the Redis beside it, and the time. Of each request it keeps what it
// was about.
type world struct {
	placements map[string]*placementv1.ClusterResourcePlacement
	resources  map[string]*placementv1.ClusterResourceSnapshot
	policies   map[string]*placementv1.ClusterSchedulingPolicySnapshot
	bindings   []*placementv1.ClusterResourceBinding
	objects    map[string]map[string]any
	inside     []schema.GroupVersionKind
	// dark are kinds that are not served, broken is one that no list is answered of; fails
	// is asked in front of each write.
	dark   map[string]bool
	broken string
	denied map[string]bool // kinds that nobody granted
	// defined is when kinds were, going those whose definition is being deleted;
	// undefinable is the answer to whoever asks.
	defined     map[string]time.Time
	going       map[string]bool
	undefinable error
	// retired: placements go with their kind.
	retired bool
	fails   func(what string) error

	states  map[string]*state
	now     time.Time
	version int
	reads   []string
	writes  []string
	told    []string
}

// state is what is pending of a placement.
type state struct {
	pending.State
	changed map[propagation.TemplateKey]bool
}

func newWorld() *world {
	return &world{
		placements: map[string]*placementv1.ClusterResourcePlacement{}, resources: map[string]*placementv1.ClusterResourceSnapshot{},
		policies: map[string]*placementv1.ClusterSchedulingPolicySnapshot{}, objects: map[string]map[string]any{},
		inside: []schema.GroupVersionKind{
			{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Secret"}, {Group: "example.com", Version: "v1", Kind: "Widget"},
		},
		defined: map[string]time.Time{}, going: map[string]bool{},
		dark: map[string]bool{}, states: map[string]*state{}, now: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC),
	}
}

func (w *world) read(what string) { w.reads = append(w.reads, what) }

func (w *world) write(what string) error {
	if w.fails != nil {
		if err := w.fails(what); err != nil {
			return err
		}
	}
	w.writes = append(w.writes, what)
	return nil
}

func (w *world) stamp(m *metav1.ObjectMeta) {
	w.version++
	m.ResourceVersion = strconv.Itoa(w.version)
	if m.UID == "" {
		m.UID, m.CreationTimestamp = types.UID("uid-"+m.ResourceVersion), metav1.NewTime(w.now)
	}
}

func forbidden(kind string) error {
	return fmt.Errorf("ask: %w", apierrors.NewForbidden(schema.GroupResource{Resource: strings.ToLower(kind) + "s"}, "", errors.New("no")))
}

func gone(what string) error { return fmt.Errorf("get %s: %w", what, outcome.ErrGone) }

func (w *world) Placement(_ context.Context, name string) (*placementv1.ClusterResourcePlacement, error) {
	if p := w.placements[name]; p != nil {
		return p.DeepCopy(), nil
	}
	return nil, gone(name)
}

func (w *world) Placements(context.Context) ([]*placementv1.ClusterResourcePlacement, error) {
	var all []*placementv1.ClusterResourcePlacement
	for _, name := range slices.Sorted(maps.Keys(w.placements)) {
		all = append(all, w.placements[name].DeepCopy())
	}
	return all, nil
}

func (w *world) commit(p, next *placementv1.ClusterResourcePlacement, what string) (*placementv1.ClusterResourcePlacement, error) {
	if w.placements[p.Name].ResourceVersion != p.ResourceVersion {
		return nil, outcome.Conflict(errors.New(what))
	}
	if err := w.write(what); err != nil {
		return nil, err
	}
	w.stamp(&next.ObjectMeta)
	w.placements[p.Name] = next
	if next.DeletionTimestamp != nil && len(next.Finalizers) == 0 {
		delete(w.placements, p.Name)
	}
	return next.DeepCopy(), nil
}

func (w *world) CommitPlacement(_ context.Context, old, next *placementv1.ClusterResourcePlacement) (*placementv1.ClusterResourcePlacement, error) {
	return w.commit(old, next.DeepCopy(), "placement "+old.Name)
}

func (w *world) CommitPlacementStatus(_ context.Context, p *placementv1.ClusterResourcePlacement, status placementv1.ClusterResourcePlacementStatus) (*placementv1.ClusterResourcePlacement, error) {
	next := p.DeepCopy()
	next.Status = status
	return w.commit(p, next, "status of "+p.Name)
}

func (w *world) PlacementBindingsOf(context.Context, string) ([]*placementv1.ClusterResourceBinding, error) {
	return w.bindings, w.served("ClusterResourceBinding")
}

// served is the error for a kind that is not.
func (w *world) served(kind string) error {
	if w.dark[kind] {
		return fmt.Errorf("list %s: %w", kind, outcome.ErrNotServed)
	}
	return nil
}

func (w *world) PlacementsRetired(context.Context) (bool, error) { return w.retired, w.undefinable }

func (w *world) ResourceSnapshotsOf(_ context.Context, placement string) ([]*placementv1.ClusterResourceSnapshot, error) {
	if err := w.served("ClusterResourceSnapshot"); err != nil {
		return nil, err
	}
	var all []*placementv1.ClusterResourceSnapshot
	for _, name := range slices.Sorted(maps.Keys(w.resources)) {
		if s := w.resources[name].DeepCopy(); s.Labels[placementv1.LabelParentCRP] == placement {
			s.Spec = placementv1.ResourceSnapshotSpec{}
			all = append(all, s)
		}
	}
	return all, nil
}

func (w *world) ResourceSnapshot(_ context.Context, name string) (*placementv1.ClusterResourceSnapshot, error) {
	w.read("snapshot " + name)
	if s := w.resources[name]; s != nil {
		return s.DeepCopy(), nil
	}
	return nil, gone(name)
}

func (w *world) CommitResourceSnapshot(_ context.Context, old, next *placementv1.ClusterResourceSnapshot) (*placementv1.ClusterResourceSnapshot, error) {
	have, verb := w.resources[next.Name], "label "
	if old == nil {
		verb = "create "
	}
	if (old == nil) != (have == nil) || old != nil && have.ResourceVersion != old.ResourceVersion {
		return nil, outcome.Conflict(errors.New(next.Name))
	}
	if err := w.write(verb + next.Name); err != nil {
		return nil, err
	}
	made := next.DeepCopy()
	if old != nil {
		made.Spec = have.Spec
	}
	w.stamp(&made.ObjectMeta)
	w.resources[next.Name] = made
	return made.DeepCopy(), nil
}

func (w *world) DeleteResourceSnapshot(_ context.Context, s *placementv1.ClusterResourceSnapshot) error {
	delete(w.resources, s.Name)
	return w.write("delete " + s.Name)
}

func (w *world) PolicySnapshotsOf(_ context.Context, placement string) ([]*placementv1.ClusterSchedulingPolicySnapshot, error) {
	if err := w.served("ClusterSchedulingPolicySnapshot"); err != nil {
		return nil, err
	}
	var all []*placementv1.ClusterSchedulingPolicySnapshot
	for _, name := range slices.Sorted(maps.Keys(w.policies)) {
		if s := w.policies[name]; s.Labels[placementv1.LabelParentCRP] == placement {
			all = append(all, s.DeepCopy())
		}
	}
	return all, nil
}

func (w *world) CommitPolicySnapshot(_ context.Context, old, next *placementv1.ClusterSchedulingPolicySnapshot) (*placementv1.ClusterSchedulingPolicySnapshot, error) {
	have := w.policies[next.Name]
	if (old == nil) != (have == nil) || old != nil && have.ResourceVersion != old.ResourceVersion {
		return nil, outcome.Conflict(errors.New(next.Name))
	}
	if err := w.write("policy " + next.Name); err != nil {
		return nil, err
	}
	made := next.DeepCopy()
	w.stamp(&made.ObjectMeta)
	w.policies[next.Name] = made
	return made.DeepCopy(), nil
}

func (w *world) DeletePolicySnapshot(_ context.Context, s *placementv1.ClusterSchedulingPolicySnapshot) error {
	delete(w.policies, s.Name)
	return w.write("delete policy " + s.Name)
}

func (w *world) Template(_ context.Context, key propagation.TemplateKey) (*propagation.Template, error) {
	w.read("get " + key.String())
	if w.dark[key.Kind] {
		return nil, outcome.ErrNotServed
	}
	if w.denied[key.Kind] {
		return nil, forbidden(key.Kind)
	}
	if obj := w.objects[key.ID()]; obj != nil {
		return &propagation.Template{Key: key, Object: runtime.DeepCopyJSON(obj)}, nil
	}
	return nil, gone(key.String())
}

// ListTemplates is in pages of two.
func (w *world) ListTemplates(_ context.Context, gvk schema.GroupVersionKind, namespace string, _ int64, cont string) ([]*propagation.Template, string, error) {
	w.read(strings.TrimSpace("list " + gvk.Kind + " " + namespace))
	if w.dark[gvk.Kind] {
		return nil, "", outcome.ErrNotServed
	}
	if w.denied[gvk.Kind] {
		return nil, "", forbidden(gvk.Kind)
	}
	if w.broken == gvk.Kind {
		return nil, "", errors.New("conversion webhook failed")
	}
	var page []*propagation.Template
	for _, id := range slices.Sorted(maps.Keys(w.objects)) {
		key := keyOf(w.objects[id])
		if key.GroupVersionKind() != gvk || namespace != "" && key.Namespace != namespace || id <= cont {
			continue
		}
		if len(page) == 2 {
			return page, page[1].Key.ID(), nil
		}
		page = append(page, &propagation.Template{Key: key, Object: runtime.DeepCopyJSON(w.objects[id])})
	}
	return page, "", nil
}

func (w *world) Defined(_ context.Context, gvk schema.GroupVersionKind) (time.Time, error) {
	w.read("definition of " + gvk.Kind)
	if w.dark[gvk.Kind] || w.going[gvk.Kind] {
		return time.Time{}, outcome.ErrNotServed
	}
	return w.defined[gvk.Kind], w.undefinable
}

func (w *world) Namespaced(gvk schema.GroupVersionKind) (bool, error) {
	return slices.Contains(w.inside, gvk) && !w.dark[gvk.Kind], nil
}

func (w *world) KindsInNamespaces(context.Context) ([]schema.GroupVersionKind, error) {
	return slices.DeleteFunc(slices.Clone(w.inside), func(gvk schema.GroupVersionKind) bool { return w.dark[gvk.Kind] }), nil
}

func (w *world) Record(_ context.Context, _ hub.About, _, reason, message string) {
	w.told = append(w.told, reason+": "+message)
}

func (w *world) Note(_ context.Context, placements []string, key propagation.TemplateKey, now time.Time) error {
	for _, p := range placements {
		if s := w.states[p]; s != nil {
			s.changed[key] = true
			if s.First.IsZero() {
				s.First = now
			}
		}
	}
	return nil
}

func (w *world) States(context.Context) (map[string]pending.State, error) {
	all := map[string]pending.State{}
	for name, s := range w.states {
		all[name] = s.State
	}
	return all, nil
}

func (w *world) Take(_ context.Context, placement string) (pending.Taken, error) {
	s := w.states[placement]
	if s == nil {
		s = &state{changed: map[propagation.TemplateKey]bool{}}
		w.states[placement] = s
	}
	t := pending.Taken{State: s.State}
	for key := range s.changed {
		t.Changed = append(t.Changed, key)
	}
	slices.SortFunc(t.Changed, func(a, b propagation.TemplateKey) int { return strings.Compare(a.ID(), b.ID()) })
	return t, nil
}

func (w *world) Done(_ context.Context, placement string, _ pending.Taken, selected string, last time.Time) error {
	w.states[placement] = &state{State: pending.State{Known: true, Selected: selected, Last: last}, changed: map[propagation.TemplateKey]bool{}}
	return nil
}

func (w *world) Forget(_ context.Context, placement string) error {
	delete(w.states, placement)
	return nil
}

func keyOf(obj map[string]any) propagation.TemplateKey {
	meta := obj["metadata"].(map[string]any)
	namespace, _ := meta["namespace"].(string)
	return propagation.TemplateKey{APIVersion: obj["apiVersion"].(string), Kind: obj["kind"].(string), Namespace: namespace, Name: meta["name"].(string)}
}

// holds is what the snapshots hold: of each, what it says of itself, and the objects.
func (w *world) holds() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(w.resources)) {
		s := w.resources[name]
		line := name
		if s.Labels[placementv1.LabelIsLatestSnapshot] == "true" {
			line += " latest"
		}
		for _, r := range s.Spec.SelectedResources {
			var obj map[string]any
			if err := json.Unmarshal(r.Raw, &obj); err != nil {
				panic(err)
			}
			value, _ := obj["data"].(map[string]any)
			line += ", " + strings.TrimSpace(keyOf(obj).String()+" "+fmt.Sprint(value["value"]))
		}
		all = append(all, strings.ReplaceAll(line, " <nil>", ""))
	}
	return all
}
