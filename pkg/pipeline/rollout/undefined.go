// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/rollout"
	"sluice.dev/pkg/outcome"
)

// authored are the overrides that people wrote.
type authored struct {
	cluster []*placementv1.ClusterResourceOverride
	inNames []*placementv1.ResourceOverride
	// clusterUnserved and inNamesUnserved say that the hub does not serve their kind, so
	// that nobody can tell which there are.
	clusterUnserved, inNamesUnserved error
}

// authored returns all overrides.
func (s *Stage) authored(ctx context.Context) (all authored, err error) {
	if all.cluster, err = s.hub.ClusterOverrides(ctx); errors.Is(err, outcome.ErrNotServed) {
		all.clusterUnserved, err = err, nil
	}
	if err != nil {
		return all, fmt.Errorf("list overrides: %w", err)
	}
	if all.inNames, err = s.hub.NamespaceOverrides(ctx); errors.Is(err, outcome.ErrNotServed) {
		all.inNamesUnserved, err = err, nil
	}
	if err != nil {
		return all, fmt.Errorf("list overrides: %w", err)
	}
	return all, nil
}

// names are those of the overrides.
func (all authored) names() map[types.NamespacedName]bool {
	names := map[types.NamespacedName]bool{}
	for _, o := range all.cluster {
		names[types.NamespacedName{Name: o.Name}] = true
	}
	for _, o := range all.inNames {
		names[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}] = true
	}
	return names
}

// undefined lists, by member, the overrides that its binding names and that nobody deleted:
// neither they nor a snapshot in force are there, and they went with the definition of their
// kind (decision 0084). Where none is missing it costs no request.
func (s *Stage) undefined(ctx context.Context, kept stored, of authored, bindings []*placementv1.ClusterResourceBinding) (map[string]string, error) {
	kinds := map[bool]kindOfOverrides{
		true:  {placementv1.KindClusterResourceOverride, once(ctx, of.clusterUnserved, s.hub.ClusterOverridesDefined)},
		false: {placementv1.KindResourceOverride, once(ctx, of.inNamesUnserved, s.hub.NamespaceOverridesDefined)},
	}
	inForce, there, all := kept.inForce().made(), of.names(), map[string]string{}
	for _, b := range bindings {
		var went []string
		for _, snapshot := range rollout.Named(b) {
			override := rollout.OverrideOf(snapshot)
			if _, is := inForce[snapshot]; is || there[override] || b.DeletionTimestamp != nil {
				continue
			}
			kind := kinds[override.Namespace == ""]
			is, err := kind.took(b)
			if err != nil {
				return nil, fmt.Errorf("find out what became of %s: %w", kind.named(override), err)
			}
			if is {
				went = append(went, kind.named(override))
			}
		}
		if len(went) > 0 {
			all[b.Spec.TargetCluster] = rollout.Went(went)
		}
	}
	return all, nil
}

// kindOfOverrides is a kind, and when it was defined.
type kindOfOverrides struct {
	name    string
	defined func() (time.Time, error)
}

// once asks at most once when a kind was defined, and not where it is not served.
func once(ctx context.Context, unserved error, defined func(context.Context) (time.Time, error)) func() (time.Time, error) {
	return sync.OnceValues(func() (time.Time, error) {
		if unserved != nil {
			return time.Time{}, unserved
		}
		return defined(ctx)
	})
}

// took reports whether an override that the binding names, and that is missing, went with
// the definition of the kind.
func (k kindOfOverrides) took(b *placementv1.ClusterResourceBinding) (bool, error) {
	at, err := k.defined()
	if errors.Is(err, outcome.ErrNotServed) {
		return true, nil
	}
	return err == nil && rollout.WentUndefined(b, at), err
}

func (k kindOfOverrides) named(override types.NamespacedName) string {
	if override.Namespace == "" {
		return k.name + " " + override.Name
	}
	return k.name + " " + override.String()
}
