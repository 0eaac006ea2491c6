// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/mirroring"
)

const (
	// usagePage is how many nodes or pods one request lists.
	usagePage = 500
	// usagePages bounds what is listed: of a member with more pods it is not told
	// what is available.
	usagePages = 40
)

// counted are the resources that are added up.
var counted = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// Usage adds up the member's nodes, and what its pods leave of them.
func (f *Fleet) Usage(ctx context.Context, cluster string) (*mirroring.Usage, error) {
	c, err := f.Client(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return c.usage(ctx)
}

func (c *Client) usage(ctx context.Context) (*mirroring.Usage, error) {
	u := &mirroring.Usage{Capacity: corev1.ResourceList{}, Allocatable: corev1.ResourceList{}}
	whole, err := pages(ctx, c, "/api/v1/nodes", "", func(n struct {
		Status struct {
			Capacity    corev1.ResourceList `json:"capacity"`
			Allocatable corev1.ResourceList `json:"allocatable"`
		} `json:"status"`
	}) {
		u.Nodes++
		add(u.Capacity, n.Status.Capacity)
		add(u.Allocatable, n.Status.Allocatable)
	})
	if err != nil || !whole {
		return nil, err
	}
	free := u.Allocatable.DeepCopy()
	whole, err = pages(ctx, c, "/api/v1/pods", "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!=", func(p pod) {
		requests := p.Spec.Requests()
		for _, name := range counted {
			q := free[name]
			q.Sub(requests[name])
			if q.Sign() < 0 {
				q.Set(0)
			}
			free[name] = q
		}
	})
	if err == nil && whole {
		u.Available = free
	}
	return u, nil // of pods it may not be told
}

// pages calls f for each object of a list; whole: there are not more.
func pages[T any](ctx context.Context, c *Client, path, fields string, f func(T)) (whole bool, err error) {
	cont := ""
	for range usagePages {
		page, cancel := context.WithTimeout(ctx, requestTimeout)
		req := c.plain.Get().AbsPath(path).SetHeader("Accept", "application/json").Param("limit", strconv.Itoa(usagePage))
		for param, value := range map[string]string{"fieldSelector": fields, "continue": cont} {
			if value != "" {
				req.Param(param, value)
			}
		}
		raw, err := req.DoRaw(page)
		cancel()
		if err != nil {
			return false, c.classify(ctx, err, schema.GroupVersionKind{}, "")
		}
		var list struct {
			Metadata metav1.ListMeta `json:"metadata"`
			Items    []T             `json:"items"`
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return false, fmt.Errorf("decode %s: %w", path, err)
		}
		for _, item := range list.Items {
			f(item)
		}
		if cont = list.Metadata.Continue; cont == "" {
			return true, nil
		}
	}
	return false, nil
}

// pod is what of a pod is requested of a node.
type pod struct {
	Spec kinds.PodSpec `json:"spec"`
}

func add(to, some corev1.ResourceList) {
	for _, name := range counted {
		if q, ok := some[name]; ok {
			total := to[name]
			total.Add(q)
			to[name] = total
		}
	}
}
