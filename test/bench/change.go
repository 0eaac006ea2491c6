// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "context"

// change is something that befalls many templates at once, all of which are in all
// members before the first of them.
type change struct {
	name string
	// people is what is done to the templates, or to their policies.
	people func(*bench, context.Context, []string) error
	// floor are the requests for one template: what people do to it is among them.
	floor func(context.Context, *writing)
	// away is how many members have no object after it, and says what the others' say.
	away func(members int) int
	says string
	// writes and reads are how many requests the pipeline may make for a template.
	writes, reads func(members int) int
}

// What the templates say: when they are made, changed, and overridden. They occur in
// nothing else, for the floor replaces them.
const (
	says       = "hello"
	saysNow    = "hello again"
	overridden = "hello from here"
)

var changes = []change{
	{
		name: "changed", people: (*bench).edit, floor: edited, says: saysNow, away: none,
		writes: func(n int) int { return 3 + 3*n }, // revision, binding; Work, apply, status; the binding's status
		reads:  none,
	},
	{
		name: "placed in one member less", people: (*bench).narrow, floor: narrowed, says: saysNow, away: one,
		writes: func(int) int { return 6 }, // binding, clusters; Work, object, Work; the binding's status
		reads:  func(int) int { return 4 }, // template, binding, cluster and object prove the removal
	},
	{
		name: "placed in one member more", people: (*bench).widen, floor: widened, says: saysNow, away: none,
		writes: func(int) int { return 6 },
		reads:  one, // is somebody else's object there?
	},
	{
		name: "overridden", people: (*bench).override, floor: rendered(overridden), says: overridden, away: none,
		writes: func(n int) int { return 3 * n },
		reads:  none,
	},
	{
		name: "overridden no more", people: (*bench).unoverride, floor: rendered(saysNow), says: saysNow, away: none,
		writes: func(n int) int { return 3 * n },
		reads:  none,
	},
	{
		name: "deleted", people: (*bench).remove, floor: deleted, away: func(n int) int { return n },
		writes: func(n int) int { return 1 + 3*n }, // the binding; Work, object, Work
		reads:  func(n int) int { return 6 + 3*n }, // template, by each who asks, and binding; template, cluster and object prove each removal
	},
}

func none(int) int { return 0 }
func one(int) int  { return 1 }

const (
	changeKind      = "ConfigMap"
	changeNamespace = "changes"
	overridePath    = "/apis/policy.karmada.io/v1alpha1/namespaces/" + changeNamespace + "/overridepolicies/all"
)

// edit changes each template, as many at a time as are created.
func (b *bench) edit(ctx context.Context, names []string) error {
	return each(ctx, names, func(ctx context.Context, name string) error {
		_, err := b.lab.hub.merge(ctx, place(changeKind, changeNamespace)+"/"+name, encoded(map[string]any{"data": map[string]any{"greeting": saysNow}}))
		return err
	})
}

// remove deletes each template.
func (b *bench) remove(ctx context.Context, names []string) error {
	return each(ctx, names, func(ctx context.Context, name string) error {
		_, err := b.lab.hub.remove(ctx, place(changeKind, changeNamespace)+"/"+name)
		return err
	})
}

func (b *bench) narrow(ctx context.Context, _ []string) error { return b.placeIn(ctx, b.members-1) }
func (b *bench) widen(ctx context.Context, _ []string) error  { return b.placeIn(ctx, b.members) }

// placeIn has the policy place its templates in the first members.
func (b *bench) placeIn(ctx context.Context, members int) error {
	_, err := b.lab.hub.merge(ctx, policyPath(changeNamespace, "all"), encoded(map[string]any{"spec": placementIn(b.lab.members[:members])}))
	return err
}

func placementIn(members []*cluster) map[string]any {
	var clusters []string
	for _, m := range members {
		clusters = append(clusters, m.name)
	}
	return map[string]any{"placement": map[string]any{"clusterAffinity": map[string]any{"clusterNames": clusters}}}
}

func (b *bench) override(ctx context.Context, _ []string) error {
	_, err := b.lab.hub.apply(ctx, overridePath, encoded(map[string]any{
		"apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy", "metadata": map[string]any{"namespace": changeNamespace, "name": "all"},
		"spec": map[string]any{
			"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": changeKind}},
			"overrideRules": []any{map[string]any{"overriders": map[string]any{
				"plaintext": []any{map[string]any{"path": "/data/greeting", "operator": "replace", "value": overridden}},
			}}},
		},
	}))
	return err
}

func (b *bench) unoverride(ctx context.Context, _ []string) error {
	_, err := b.lab.hub.remove(ctx, overridePath)
	return err
}
