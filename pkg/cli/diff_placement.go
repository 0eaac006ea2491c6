// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/cli/screen"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// placementOf returns a placement of a file as the hub would store it.
func (o *diffOptions) placementOf(ctx context.Context, u *unstructured.Unstructured) (*placementv1.ClusterResourcePlacement, error) {
	key := propagation.TemplateKey{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Name: u.GetName()}
	client, err := o.place(u)
	if err != nil {
		return nil, err
	}
	answer, err := dryRun(ctx, client, u)
	if err != nil {
		return nil, fmt.Errorf("the hub would refuse %s: %w", refOf(key), err)
	}
	p := &placementv1.ClusterResourcePlacement{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(answer.Object, p); err != nil {
		return nil, fmt.Errorf("decode %s: %w", refOf(key), err)
	}
	return p, nil
}

// outlooks returns what the placements of a file would do.
func (o *diffOptions) outlooks(ctx context.Context, h *hub.Hub, planned []*placementv1.ClusterResourcePlacement) ([]explaining.Outlook, error) {
	var out []explaining.Outlook
	for _, next := range planned {
		var now explaining.Placed
		_, err := h.Placement(ctx, next.Name)
		if err == nil {
			now, err = placed(ctx, h, propagation.PlacementKey(next.Name))
		}
		if err != nil && !errors.Is(err, outcome.ErrGone) {
			return nil, err
		}
		content, err := o.selected(ctx, h, placing.SelectorsOf(next), now.Selected())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", refOf(propagation.PlacementKey(next.Name)), err)
		}
		members, err := h.Fleet(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, now.Outlook(next, content, members, h.Now()))
	}
	return out, nil
}

// gathering collects the objects that selectors select on the hub.
type gathering struct {
	*hub.Hub
	selectors placing.Selectors
	inside    []schema.GroupVersionKind
	items     []placing.Item
	// dark are the kinds that could not be read.
	dark []schema.GroupKind
}

// selected returns what the selectors select; latest is what the placement has now. It
// returns an error also if Sluice would refuse the selection.
func (o *diffOptions) selected(ctx context.Context, h *hub.Hub, selectors placing.Selectors, latest placing.Content) (placing.Content, error) {
	s := gathering{Hub: h, selectors: selectors}
	kinds, namespaces := selectors.Kinds()
	if namespaces {
		var err error
		if s.inside, err = h.KindsInNamespaces(ctx); err != nil {
			return placing.Content{}, err
		}
	}
	for _, gvk := range kinds {
		if err := s.list(ctx, gvk, "", s.whole); err != nil {
			return placing.Content{}, err
		}
	}
	for _, gk := range s.dark {
		o.screen.Note("%s cannot be read, and is left out here.", gk.Kind)
	}
	content := placing.NewContent(s.items)
	return content, s.mistaken(ctx, latest, content)
}

// mistaken returns the error with which the placer would refuse to remove objects that
// still exist.
func (s *gathering) mistaken(ctx context.Context, latest, content placing.Content) error {
	for _, m := range s.selectors.Mistakes(latest, content, func(gk schema.GroupKind) bool { return slices.Contains(s.dark, gk) }) {
		t, err := s.Template(ctx, m.Left)
		if errors.Is(err, outcome.ErrGone) || err == nil && placing.Leaving(t.Object) {
			continue
		}
		return m
	}
	return nil
}

func (s *gathering) list(ctx context.Context, gvk schema.GroupVersionKind, namespace string, each func(context.Context, *propagation.Template) error) error {
	for cont := ""; ; {
		page, next, err := s.ListTemplates(ctx, gvk, namespace, 500, cont)
		if errors.Is(err, outcome.ErrNotServed) || apierrors.IsForbidden(err) {
			if !slices.Contains(s.dark, gvk.GroupKind()) {
				s.dark = append(s.dark, gvk.GroupKind())
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", gvk.Kind, err)
		}
		for _, t := range page {
			if err := each(ctx, t); err != nil {
				return err
			}
		}
		if cont = next; cont == "" {
			return nil
		}
	}
}

// whole adds a cluster-scoped object and, if it is a Namespace, everything in it.
func (s *gathering) whole(ctx context.Context, t *propagation.Template) error {
	if placing.Leaving(t.Object) || placing.Exempt(t.Key, t.Object, false) != "" {
		return nil
	}
	ok, err := s.selectors.Select(t.Key, t.Object)
	if err != nil || !ok {
		return err
	}
	if err := s.take(t); err != nil || !placing.IsNamespace(t.Key) {
		return err
	}
	for _, gvk := range s.inside {
		if placing.ExemptKind(gvk.GroupKind()) {
			continue
		}
		if err := s.list(ctx, gvk, t.Key.Name, s.within); err != nil {
			return err
		}
	}
	return nil
}

func (s *gathering) within(ctx context.Context, t *propagation.Template) error {
	hasService := false
	if placing.NeedsService(t.Key) {
		_, err := s.Template(ctx, propagation.TemplateKey{APIVersion: "v1", Kind: "Service", Namespace: t.Key.Namespace, Name: t.Key.Name})
		if err != nil && !errors.Is(err, outcome.ErrGone) {
			return err
		}
		hasService = err == nil
	}
	if placing.Leaving(t.Object) || placing.Exempt(t.Key, t.Object, hasService) != "" {
		return nil
	}
	return s.take(t)
}

func (s *gathering) take(t *propagation.Template) error {
	item, err := placing.NewItem(t.Key, t.Object)
	if err != nil {
		return err
	}
	s.items = append(s.items, item)
	return nil
}

// selected says how many objects a placement selects, and what may be the matter if there
// are none.
func selected(n int) string {
	if n == 0 {
		return "0 objects (its selectors find nothing that is on the hub and not Kubernetes' or Sluice's own)"
	}
	return noun(n, "object", "objects")
}

// showOutlooks shows what would be selected, where it would go, and in which order.
func (o *diffOptions) showOutlooks(all []explaining.Outlook) {
	for _, out := range all {
		o.screen.Printf("Placement   %s: %s\n", out.Name, selected(len(out.Selected)))
		counts, kinds := map[string]int{}, []string(nil)
		for _, id := range out.Selected {
			if counts[id.Kind]++; counts[id.Kind] == 1 {
				kinds = append(kinds, id.Kind)
			}
		}
		for _, kind := range kinds {
			o.screen.Printf("            %d %s\n", counts[kind], kind)
		}
		if out.New {
			o.screen.Println("Snapshot    a new one, for the content is not that of the newest")
		} else {
			o.screen.Printf("Snapshot    %s, which is there\n", out.Snapshot)
		}
		if out.Unfulfilled != "" {
			o.screen.Printf("Scheduled   %s\n", out.Unfulfilled)
		}
		o.screen.Println("Clusters, step by step as far as each becomes available")
		var rows [][]screen.Cell
		for _, m := range out.Members {
			picked, step, change := "no", "", screen.Text(m.Change)
			if m.Picked {
				picked = "yes"
			}
			if m.Step > 0 {
				step, change.Paint = strconv.Itoa(m.Step), screen.Warn
			}
			rows = append(rows, []screen.Cell{screen.Text(step), screen.Text(m.Cluster), screen.Text(picked), change, screen.Text(m.Why)})
		}
		o.screen.Table("  ", screen.Columns("STEP", "CLUSTER", "PICKED", "CHANGE", "WHY"), rows, o.wide())
		if out.Stuck != "" {
			o.screen.Printf("Then it stops: %s\n", out.Stuck)
		}
	}
}
