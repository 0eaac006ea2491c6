// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"knative.dev/eventing/pkg/adapter/v2"
)

// lookAgain is how often is asked for what was not served.
const lookAgain = time.Minute

// lenient is a cluster that serves nothing of the groups that it does not serve.
// Knative's adapter leaves out what its group does not have, and does not start where
// the group is missing: one CRD of the hub's that a member does not have, and nothing
// of that member would be told.
type lenient struct {
	kubernetes.Interface
	discovery.DiscoveryInterface

	mu     sync.Mutex
	absent []string
}

func newLenient(client kubernetes.Interface) *lenient {
	return &lenient{Interface: client, DiscoveryInterface: client.Discovery()}
}

// Discovery is that of the cluster, and lenient.
func (l *lenient) Discovery() discovery.DiscoveryInterface { return l }

// ServerResourcesForGroupVersion has no resources where the group is not served.
func (l *lenient) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	list, err := l.DiscoveryInterface.ServerResourcesForGroupVersion(groupVersion)
	if !apierrors.IsNotFound(err) {
		return list, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.absent, groupVersion) {
		l.absent = append(l.absent, groupVersion)
	}
	return &metav1.APIResourceList{GroupVersion: groupVersion}, nil
}

// come is a group that was asked for before it was served; empty: there is none. What
// cannot be asked now is asked for again.
func (l *lenient) come() string {
	l.mu.Lock()
	absent := slices.Clone(l.absent)
	l.mu.Unlock()
	for _, groupVersion := range absent {
		if _, err := l.DiscoveryInterface.ServerResourcesForGroupVersion(groupVersion); err == nil {
			return groupVersion
		}
	}
	return ""
}

// ending is an adapter that ends, to be started anew, when the cluster serves what it
// did not.
type ending struct {
	adapter.Adapter
	cluster *lenient
	every   time.Duration
}

// Start runs the adapter.
func (e *ending) Start(ctx context.Context) error {
	return until(ctx, e.every, func() error {
		if groupVersion := e.cluster.come(); groupVersion != "" {
			return fmt.Errorf("%s is served by now, and watched by who starts anew", groupVersion)
		}
		return nil
	}, e.Adapter.Start)
}
