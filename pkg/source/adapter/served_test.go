// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery/fake"
	kube "k8s.io/client-go/kubernetes/fake"
)

func TestAGroupThatAMemberDoesNotServeHasNothing(t *testing.T) {
	client := kube.NewSimpleClientset()
	served := client.Discovery().(*fake.FakeDiscovery)
	served.Resources = []*metav1.APIResourceList{{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Name: "deployments"}}}}
	l := newLenient(client)
	for groupVersion, want := range map[string]int{"apps/v1": 1, "example.com/v1": 0} {
		list, err := l.Discovery().ServerResourcesForGroupVersion(groupVersion)
		if err != nil || len(list.APIResources) != want {
			t.Errorf("%s: %v, %v; want %d resources", groupVersion, list, err, want)
		}
	}
	if came := l.come(); came != "" {
		t.Errorf("%s came", came)
	}

	served.Resources = append(served.Resources, &metav1.APIResourceList{GroupVersion: "example.com/v1"})
	runs := adapterFunc(func(ctx context.Context) error { <-ctx.Done(); return nil })
	ends := &ending{Adapter: runs, cluster: l, every: time.Millisecond}
	if err := ends.Start(t.Context()); err == nil {
		t.Error("the adapter does not end with an error when example.com is served")
	}
}

func TestAnAdapterEndsAsItDoes(t *testing.T) {
	failed := errors.New("failed")
	for name, tt := range map[string]struct {
		runs adapterFunc
		want error
	}{
		"when it is ended": {runs: func(ctx context.Context) error { <-ctx.Done(); return nil }},
		"by an error":      {runs: func(context.Context) error { return failed }, want: failed},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			e := &ending{Adapter: tt.runs, cluster: newLenient(kube.NewSimpleClientset()), every: time.Hour}
			if err := e.Start(ctx); !errors.Is(err, tt.want) {
				t.Errorf("ended with %v, want %v", err, tt.want)
			}
		})
	}
}

type adapterFunc func(ctx context.Context) error

func (f adapterFunc) Start(ctx context.Context) error { return f(ctx) }
