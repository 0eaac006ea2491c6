// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
)

// quickstart applies examples/quickstart to the hub and returns when it is
// where it belongs, and the hub knows.
func (s *session) quickstart(ctx context.Context) error {
	dir := filepath.Join(s.source, "examples", "quickstart")
	objects, err := manifests(dir)
	if err != nil {
		return err
	}
	if err := s.hub.apply(ctx, objects); err != nil {
		return err
	}
	s.out.say("applied %s", relative(dir))
	applied := time.Now()
	templates := slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GroupVersionKind().Group == policyv1alpha1.GroupName
	})
	if err := s.awaitTemplates(ctx, templates); err != nil {
		return err
	}
	s.out.say("it is in every member, available and reported, %.1f s later", time.Since(applied).Seconds())
	s.out.print("\n" + s.table(ctx, templates))
	return nil
}

// awaitTemplates waits for the outcome, for ever where patience is 0.
func (s *session) awaitTemplates(ctx context.Context, templates []*unstructured.Unstructured) error {
	if s.patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.patience, fmt.Errorf("after %v", s.patience))
		defer cancel()
	}
	var lacking []string
	told := time.Now()
	err := wait(ctx, func() bool {
		lacking = s.lacking(ctx, templates)
		if len(lacking) > 0 && time.Since(told) > nag {
			told = time.Now()
			s.out.say("still waiting: %s", strings.Join(lacking, "; "))
		}
		return len(lacking) == 0
	})
	if err != nil && ctx.Err() != nil && len(lacking) > 0 {
		return fmt.Errorf("%w the quickstart is not where it belongs:\n  %s\nthe end of %s:\n%s", err,
			strings.Join(lacking, "\n  "), relative(s.dir.log("pipeline")), tail(s.dir.log("pipeline")))
	}
	return err
}

// lacking says what is not as it shall be.
func (s *session) lacking(ctx context.Context, templates []*unstructured.Unstructured) (all []string) {
	for _, t := range templates {
		for _, m := range s.members {
			if state, ok := m.state(ctx, t, 1); !ok {
				all = append(all, fmt.Sprintf("%s in %s: %s", title(t), m.name, state))
			}
		}
		// The template's status is the sum of the members'.
		if state, ok := s.hub.state(ctx, t, len(s.members)); !ok {
			all = append(all, fmt.Sprintf("%s on the hub reports %s", title(t), state))
		}
		all = append(all, s.unreported(ctx, t)...)
	}
	return all
}

// state is what a cluster has of a template, in a few words, and whether that
// is all it shall have: so many times the replicas that the object asks for.
func (c *cluster) state(ctx context.Context, template *unstructured.Unstructured, times int) (string, bool) {
	r, err := c.resource(template)
	if err != nil {
		return err.Error(), false
	}
	o, err := r.Get(ctx, template.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "missing", false
	}
	if err != nil {
		return err.Error(), false
	}
	if o.GetKind() != "Deployment" {
		return "present", true
	}
	want, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	have, _, _ := unstructured.NestedInt64(o.Object, "status", "availableReplicas")
	want *= int64(times)
	return fmt.Sprintf("%d/%d available", have, want), have == want
}

// unreported says what the binding of a template does not tell yet.
func (s *session) unreported(ctx context.Context, t *unstructured.Unstructured) (all []string) {
	gvr := workv1alpha2.SchemeGroupVersion.WithResource(workv1alpha2.ResourceResourceBindings)
	bindings, err := s.hub.list(ctx, gvr, t.GetNamespace())
	if err != nil {
		return []string{err.Error()}
	}
	for _, b := range bindings {
		kind, _, _ := unstructured.NestedString(b.Object, "spec", "resource", "kind")
		name, _, _ := unstructured.NestedString(b.Object, "spec", "resource", "name")
		if kind != t.GetKind() || name != t.GetName() {
			continue
		}
		for _, c := range []string{workv1alpha2.ConditionScheduled, workv1alpha2.ConditionFullyApplied} {
			if status, why := condition(&b, c); status != "True" {
				all = append(all, fmt.Sprintf("%s: condition %s of its binding is %q (%s)", title(t), c, status, why))
			}
		}
		return all
	}
	return []string{title(t) + " has no binding on the hub"}
}

// table shows what runs where.
func (s *session) table(ctx context.Context, templates []*unstructured.Unstructured) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	row := []string{"WHAT RUNS WHERE", "the hub's view"}
	for _, m := range s.members {
		row = append(row, m.name)
	}
	_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
	for _, t := range templates {
		view, _ := s.hub.state(ctx, t, len(s.members))
		row = []string{title(t), view}
		for _, m := range s.members {
			state, _ := m.state(ctx, t, 1)
			row = append(row, state)
		}
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush()
	return b.String()
}

// announce says that the playground is ready, and what to do with it.
func (s *session) announce() error {
	hub, last := relative(s.hub.kubeconfig), relative(s.members[len(s.members)-1].kubeconfig)
	kubectl := s.kubectl()
	lines := []string{
		"Try:",
		fmt.Sprintf("  %s --kubeconfig %s get deployments,pods,configmaps", kubectl, last),
		fmt.Sprintf("  %s --kubeconfig %s get clusters,propagationpolicies,resourcebindings,works.work.karmada.io -A", kubectl, hub),
		fmt.Sprintf("  %s --kubeconfig %s scale deployment nginx --replicas 3", kubectl, hub),
	}
	if path, err := binary(s.bin, "kubectl-sluice"); err == nil {
		lines = append(lines, fmt.Sprintf("  %s --kubeconfig %s get", relative(path), hub))
	}
	lines = append(lines,
		"  make pipeline-restart                 # kill -9, and all goes on",
		"  make pipeline-flush                   # empty its Redis, nothing is lost",
		"  make member-stop M=member1            # the others are not held up",
		"  make member-start M=member1",
		fmt.Sprintf("  curl -s http://%s/metrics", s.pipeline.address),
		"",
		fmt.Sprintf("Sluice is ready: a hub and %d members, after %.0f s. Ctrl-C ends it.", len(s.members), time.Since(s.began).Seconds()))
	s.out.print(strings.Join(lines, "\n"))
	return nil
}
