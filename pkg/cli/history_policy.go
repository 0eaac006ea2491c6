// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

var controllerRevision = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"}

// policyLine is one revision of a policy.
type policyLine struct {
	Revision int64     `json:"revision"`
	Name     string    `json:"name"`
	Hash     string    `json:"hash"`
	Present  bool      `json:"present"`
	Created  time.Time `json:"created,omitzero"`
}

// policyHistory returns a policy and its stored revisions, the newest first. Objects
// that have its label and are not its revisions are left out.
func policyHistory(ctx context.Context, h *hub.Hub, key propagation.PolicyKey) (*propagation.Policy, []*propagation.PolicyRevision, error) {
	p, err := h.Policy(ctx, key)
	if errors.Is(err, outcome.ErrGone) {
		return nil, nil, fmt.Errorf("%s not found: 'kubectl get %s%s' lists them", policyRef(key), shortNames[key.Scope], inNamespace(key.Namespace))
	}
	if err != nil {
		return nil, nil, installed(err)
	}
	all, err := h.PolicyRevisions(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	all = slices.DeleteFunc(all, func(r *propagation.PolicyRevision) bool { return !r.Of(p) })
	slices.SortFunc(all, func(x, y *propagation.PolicyRevision) int {
		return cmp.Or(cmp.Compare(y.Number, x.Number), cmp.Compare(x.Name, y.Name))
	})
	return p, all, nil
}

// numbered returns the revision with that number. If there are two, somebody else
// created one.
func numbered(key propagation.PolicyKey, all []*propagation.PolicyRevision, number int64) (*propagation.PolicyRevision, error) {
	var found *propagation.PolicyRevision
	kept := make([]string, 0, len(all))
	for _, r := range all {
		kept = append(kept, strconv.FormatInt(r.Number, 10))
		switch {
		case r.Number != number:
		case found != nil:
			return nil, fmt.Errorf("there are two revisions %d of %s, %s and %s: not both are Sluice's, delete the one that nobody wants", number, policyRef(key), found.Name, r.Name)
		default:
			found = r
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%s has no revision %d: there are %s ('%s history %s%s')", policyRef(key), number, cmp.Or(strings.Join(kept, ", "), "none"), name, policyRef(key), inNamespace(key.Namespace))
	}
	return found, nil
}

// asPolicy returns the policy as it was, to be compared or applied.
func asPolicy(p *propagation.Policy, r *propagation.PolicyRevision) map[string]any {
	about, meta := hub.AboutPolicy(p), map[string]any{"name": p.Key.Name}
	if p.Key.Namespace != "" {
		meta["namespace"] = p.Key.Namespace
	}
	return map[string]any{"apiVersion": about.APIVersion, "kind": about.Kind, "metadata": meta, "spec": r.Spec}
}

// policy lists the revisions of a policy, or prints one of them.
func (o *historyOptions) policy(ctx context.Context, h *hub.Hub, key propagation.PolicyKey) error {
	p, all, err := policyHistory(ctx, h, key)
	if err != nil {
		return err
	}
	if o.revision != 0 {
		r, err := numbered(key, all, o.revision)
		if err != nil {
			return err
		}
		return o.screen.Encode(cmp.Or(o.machineFormat(), formatYAML), asPolicy(p, r))
	}
	items := o.policyLines(ctx, p, all)
	lines := make([]keptLine, len(items))
	for i, l := range items {
		lines[i] = keptLine{l.Revision, l.Name, l.Hash, l.Created, l.Present}
	}
	return o.show(items, lines, "PRESENT", fmt.Sprintf("Nothing is kept of %s yet.", policyRef(key)))
}

func (o *historyOptions) policyLines(ctx context.Context, p *propagation.Policy, all []*propagation.PolicyRevision) []policyLine {
	now := p.Revision()
	lines := make([]policyLine, 0, len(all))
	for _, r := range all {
		lines = append(lines, policyLine{Revision: r.Number, Name: r.Name, Hash: propagation.HashJSON(r.Spec), Present: r.Name == now.Name})
	}
	created, err := o.created(ctx, controllerRevision, now.Namespace, propagation.LabelPolicyUID+"="+string(p.UID))
	if err != nil {
		return lines // without permission to list the metadata there is no age
	}
	for i := range lines {
		lines[i].Created = created[types.NamespacedName{Namespace: now.Namespace, Name: lines[i].Name}].CreationTimestamp.Time
	}
	return lines
}

// restate sets the policy's spec to that of a revision, after showing what that
// changes. To the hub it is an edit of the policy like any other.
func (s *session) restate(ctx context.Context, key propagation.PolicyKey, revision int64) error {
	h, err := s.hub()
	if err != nil {
		return err
	}
	return again(func() error {
		p, all, err := policyHistory(ctx, h, key)
		if err != nil {
			return err
		}
		r, err := numbered(key, all, revision)
		if err != nil {
			return err
		}
		difference := explaining.SpecDiff(p.Revision().Spec, r.Spec)
		if difference == "" {
			s.screen.Printf("%s says already what revision %d says\n", policyRef(key), revision)
			return nil
		}
		s.screen.Diff("", difference)
		raw, err := json.Marshal(asPolicy(p, r))
		if err != nil {
			return err
		}
		what := fmt.Sprintf("revision %d", revision)
		objects, err := objectsOf(what, raw)
		if err != nil {
			return err
		}
		if err := (&diffOptions{session: s, path: what}).compare(ctx, h, objects); err != nil {
			return err
		}
		if _, err := h.CommitPolicySpec(ctx, p, r.Spec); err != nil {
			return err
		}
		s.screen.Printf("%s says again what revision %d says: it acts as every edit of it does\n", policyRef(key), revision)
		return nil
	})
}
