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

// lookAgain is how often groups that were not served are looked for again.
const lookAgain = time.Minute

// lenient is a client whose discovery returns an empty list, not an error, for a group
// that the cluster does not serve. Knative's adapter skips a kind that is missing from
// its group, but does not start if the whole group is missing: then one CRD of the hub
// that a member lacks would keep all events of that member away.
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

// come returns a group that was not served when it was asked for and is served by now;
// empty if there is none. A group whose request fails is tried again the next time.
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

// ending is an adapter that ends when the cluster begins to serve a missing group, so
// that it is started again and watches that, too.
type ending struct {
	adapter.Adapter
	cluster *lenient
	every   time.Duration
}

// Start runs the adapter.
func (e *ending) Start(ctx context.Context) error {
	return until(ctx, e.every, func() error {
		if groupVersion := e.cluster.come(); groupVersion != "" {
			return fmt.Errorf("%s is served by now: the adapter has to start again to watch it", groupVersion)
		}
		return nil
	}, e.Adapter.Start)
}
