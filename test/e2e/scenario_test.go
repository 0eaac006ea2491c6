// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// form is one of the ways in which each rule holds: of which scope the policy
// is, and its template.
type form struct {
	name string
	// clusterPolicy: ClusterPropagationPolicy rather than PropagationPolicy.
	clusterPolicy bool
	// clusterTemplate: a ClusterRole rather than a Deployment.
	clusterTemplate bool
}

var (
	pp    = form{name: "PP"}
	cpp   = form{name: "CPP", clusterPolicy: true}
	cppcr = form{name: "CPP-ClusterRole", clusterPolicy: true, clusterTemplate: true}

	everyForm     = []form{pp, cpp, cppcr}
	inNamespaces  = []form{pp, cpp}
	clusterScopes = []form{cpp, cppcr}
)

// scenario is one course of events in a namespace of its own.
type scenario struct {
	*testing.T
	form
	lab       *lab
	ns        string
	start     time.Time
	refreshes atomic.Int64
	// owned is what has to be deleted beside the namespace, used are the kinds of
	// what was applied; owning guards them.
	owning sync.Mutex
	owned  []thing
	used   map[resource]bool
	// party is whom it does harm together with; nil: it must not do any.
	party *party
}

// each runs the steps once for each form, side by side, with the gates as
// wanted.
func each(t *testing.T, want gating, forms []form, steps func(s *scenario)) {
	t.Helper()
	t.Parallel()
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			needLab(t)
			theLab.gates.need(t, want)
			steps(begin(t, f))
		})
	}
}

// once runs the steps for a namespaced policy, beside others.
func once(t *testing.T, want gating, steps func(s *scenario)) {
	t.Helper()
	t.Parallel()
	needLab(t)
	theLab.gates.need(t, want)
	steps(begin(t, pp))
}

// needLab skips the test where there is no lab. One that somebody named has to be
// there.
func needLab(t *testing.T) {
	t.Helper()
	switch {
	case noLab == nil:
	case os.Getenv(labVariable) == "":
		t.Skip(noLab)
	default:
		t.Fatal(noLab)
	}
}

var noName = regexp.MustCompile("[^a-z0-9]+")

const scenarioPrefix = "e2e-"

// begin makes the scenario's namespace.
func begin(t *testing.T, f form) *scenario {
	t.Helper()
	id := noName.ReplaceAllString(strings.ToLower(strings.TrimPrefix(t.Name(), "Test")), "-")
	ns := fmt.Sprintf("%s%.40s-%05d", scenarioPrefix, id, rand.IntN(100000)) //nolint:gosec // a name
	s := &scenario{T: t, form: f, lab: theLab, ns: ns, start: time.Now()}
	s.lab.begun.Store(ns, true)
	s.Apply(newThing(namespaces, "", ns))
	t.Cleanup(s.end)
	return s
}

// end says what there was if the test failed, and takes it away from the hub. The
// members' namespaces go when all scenarios are over.
func (s *scenario) end() {
	if s.Failed() {
		s.Log(s.dump())
	}
	if os.Getenv("SLUICE_E2E_KEEP") != "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	for i := len(s.owned) - 1; i >= 0; i-- {
		o := s.owned[i]
		err := s.lab.hub.on(o.resource, o.namespace()).Delete(ctx, o.name(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			s.Errorf("clean up %s: %v", o, err)
		}
	}
	err := s.lab.hub.on(namespaces, "").Delete(ctx, s.ns, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.Errorf("clean up namespace %s: %v", s.ns, err)
	}
}

// unique is a name for what has no namespace.
func (s *scenario) unique(name string) string { return name + "-" + s.ns }

// Apply applies things to the hub, as kubectl apply --server-side does. A field
// that was applied before and is no longer there goes.
func (s *scenario) Apply(things ...applied) {
	s.Helper()
	for _, a := range things {
		if err := s.apply(s.lab.hub, a.itself()); err != nil {
			s.Fatalf("apply %s: %v", a.itself(), err)
		}
	}
}

// Rejects is the error that the hub's API answers an apply with; it is a
// failure if there is none.
func (s *scenario) Rejects(a applied) error {
	s.Helper()
	err := s.apply(s.lab.hub, a.itself())
	if err == nil {
		s.Errorf("%s was accepted: %s", a.itself(), asJSON(a.itself().body["spec"]))
		return fmt.Errorf("accepted")
	}
	if !isRefusal(err) {
		s.Errorf("apply %s: %v; want a rejection", a.itself(), err)
	}
	return err
}

// isRefusal tells whether the API refused what was sent.
func isRefusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)
}

// ApplyIn applies things to a member, as its own people do.
func (s *scenario) ApplyIn(member string, things ...thing) {
	s.Helper()
	for _, o := range things {
		if err := s.apply(s.lab.clusters[member], o); err != nil {
			s.Fatalf("apply %s in %s: %v", o, member, err)
		}
	}
}

func (s *scenario) apply(c *cluster, o thing) error {
	s.use(o.resource)
	if o.clusterScoped && c == s.lab.hub {
		s.own(o)
	}
	_, err := c.on(o.resource, o.namespace()).Apply(s.Context(), o.name(), o.object(), applyOptions)
	return err
}

const mergePatch = types.MergePatchType

var (
	applyOptions = metav1.ApplyOptions{FieldManager: "e2e", Force: true}
	patchOptions = metav1.PatchOptions{FieldManager: "e2e"}
)

// use remembers a kind of what the scenario is about.
func (s *scenario) use(r resource) {
	s.owning.Lock()
	defer s.owning.Unlock()
	if s.used == nil {
		s.used = map[resource]bool{}
	}
	s.used[r] = true
}

// uses tells whether the scenario applied anything of the kind, or a Deployment, of
// which the members make it.
func (s *scenario) uses(r resource) bool {
	s.owning.Lock()
	defer s.owning.Unlock()
	return s.used[r] || s.used[deployments] && (r.kind == "ReplicaSet" || r.kind == "Pod")
}

// own remembers what has to be deleted at the end.
func (s *scenario) own(o thing) {
	s.owning.Lock()
	defer s.owning.Unlock()
	for _, have := range s.owned {
		if have.resource == o.resource && have.name() == o.name() {
			return
		}
	}
	s.owned = append(s.owned, o)
}

// Patch merges JSON into an object of the hub, as kubectl patch does.
func (s *scenario) Patch(a applied, patch string) { s.patch(s.lab.hub, a, "e2e-patch", patch) }

// PatchAs does so under the name of another program.
func (s *scenario) PatchAs(manager string, a applied, patch string, subresource ...string) {
	s.Helper()
	s.patch(s.lab.hub, a, manager, patch, subresource...)
}

// PatchIn patches an object in a member.
func (s *scenario) PatchIn(member string, a applied, patch string) {
	s.Helper()
	s.patch(s.lab.clusters[member], a, "somebody", patch)
}

func (s *scenario) patch(c *cluster, a applied, manager, patch string, subresource ...string) {
	s.Helper()
	o := a.itself()
	_, err := c.on(o.resource, o.namespace()).Patch(s.Context(), o.name(), types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: manager}, subresource...)
	if err != nil {
		s.Fatalf("patch %s in %s: %v", o, c.name, err)
	}
}

// Touch updates a label of the template, as the seeds' diagrams do.
func (s *scenario) Touch(a applied) {
	s.Helper()
	s.Patch(a, fmt.Sprintf("{\"metadata\":{\"labels\":{\"refresh-time\":\"%d\"}}}", s.refreshes.Add(1)))
}

// Delete deletes an object of the hub and returns when it is gone.
func (s *scenario) Delete(a applied) {
	s.Helper()
	s.deleteIn(s.lab.hub, a.itself())
}

// DeleteIn deletes an object in a member and returns when it is gone, or is
// another one already.
func (s *scenario) DeleteIn(member string, a applied) {
	s.Helper()
	s.deleteIn(s.lab.clusters[member], a.itself())
}

func (s *scenario) deleteIn(c *cluster, o thing) {
	s.Helper()
	s.deleteWithin(timeout, c, o)
}

func (s *scenario) deleteWithin(d time.Duration, c *cluster, o thing) {
	s.Helper()
	was, err := c.on(o.resource, o.namespace()).Get(s.Context(), o.name(), metav1.GetOptions{})
	if err != nil {
		s.Fatalf("delete %s in %s: %v", o, c.name, err)
	}
	if err := c.on(o.resource, o.namespace()).Delete(s.Context(), o.name(), metav1.DeleteOptions{}); err != nil {
		s.Fatalf("delete %s in %s: %v", o, c.name, err)
	}
	err = s.within(d, func() error {
		is, err := c.on(o.resource, o.namespace()).Get(s.Context(), o.name(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && is.GetUID() != was.GetUID() {
			return nil
		}
		if err != nil {
			return fmt.Errorf("get %s in %s: %w", o, c.name, err)
		}
		return fmt.Errorf("%s is still in %s", o, c.name)
	})
	if err != nil {
		s.Fatalf("after %s: %v", d, err)
	}
}

// Live reads an object of the hub; it must be there.
func (s *scenario) Live(a applied) *unstructured.Unstructured {
	s.Helper()
	return s.LiveIn("hub", a)
}

// has tells whether the hub has the object.
func (s *scenario) has(a applied) bool {
	s.Helper()
	o := a.itself()
	_, err := s.lab.hub.on(o.resource, o.namespace()).Get(s.Context(), o.name(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.Fatalf("get %s: %v", o, err)
	}
	return err == nil
}

// LiveIn reads an object in a cluster; it must be there.
func (s *scenario) LiveIn(cluster string, a applied) *unstructured.Unstructured {
	s.Helper()
	o := a.itself()
	live, err := s.lab.clusters[cluster].on(o.resource, o.namespace()).Get(s.Context(), o.name(), metav1.GetOptions{})
	if err != nil {
		s.Fatalf("get %s in %s: %v", o, cluster, err)
	}
	return live
}

// Eventually waits until check says nil.
func (s *scenario) Eventually(check func() error) {
	s.Helper()
	if err := s.within(timeout, check); err != nil {
		s.Fatalf("after %s: %v", timeout, err)
	}
}

// within asks again and again until check says nil, or the time is up. Checks
// look at mirrors, which are up to date within milliseconds and cost nothing.
func (s *scenario) within(d time.Duration, check func() error) error {
	var err error
	for deadline := time.Now().Add(d); ; pause(s.background(), 20*time.Millisecond) {
		if err = check(); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// background outlives the test: what is looked at when it has failed.
func (s *scenario) background() context.Context { return context.WithoutCancel(s.Context()) }

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// warnings are what the hub's API says beside its answer to an apply.
func (s *scenario) warnings(a applied) string {
	s.Helper()
	o := a.itself()
	heard := &warnings{}
	cfg := rest.CopyConfig(s.lab.hub.config)
	cfg.WarningHandler = heard
	c, err := dynamic.NewForConfig(cfg)
	if err != nil {
		s.Fatal(err)
	}
	ri := c.Resource(o.gvr()).Namespace(o.namespace())
	if _, err := ri.Apply(s.Context(), o.name(), o.object(), applyOptions); err != nil {
		s.Fatalf("apply %s: %v", o, err)
	}
	s.own(o)
	return strings.Join(heard.all, "; ")
}

// warnings keeps what an API server warns of.
type warnings struct{ all []string }

func (w *warnings) HandleWarningHeader(_ int, _, text string) { w.all = append(w.all, text) }
