// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	spaces = 3  // namespaces, each with a policy of its own
	most   = 60 // templates that live at a time
)

// load is what people do.
type load struct {
	*world
	rng   *rand.Rand
	model *model
	made  int
}

func newLoad(w *world) *load {
	return &load{world: w, rng: rand.New(rand.NewPCG(w.seed, 2)), model: newModel()}
}

// prepare makes the namespaces and their policies.
func (l *load) prepare(ctx context.Context) error {
	for i := range spaces {
		namespace := fmt.Sprintf("chaos-%d", i)
		if err := l.apply(ctx, namespaces, made("v1", "Namespace", "", namespace, nil)); err != nil {
			return err
		}
		if err := l.place(ctx, namespace, l.names()); err != nil {
			return err
		}
	}
	return nil
}

// run does one thing after the other until it is over.
func (l *load) run(ctx context.Context, over <-chan struct{}) error {
	for {
		select {
		case <-over:
			return nil
		case <-time.After(50*time.Millisecond + time.Duration(l.rng.Int64N(int64(200*time.Millisecond)))):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := l.next(ctx); err != nil {
			return err
		}
	}
}

func (l *load) next(ctx context.Context) error {
	n := l.rng.IntN(100)
	living := l.model.list()
	switch {
	case len(living) == 0 || n < 45 && len(living) < most:
		l.made++
		t := template{kind: "ConfigMap", namespace: fmt.Sprintf("chaos-%d", l.rng.IntN(spaces)), name: fmt.Sprintf("t%d", l.made)}
		if l.rng.IntN(4) == 0 {
			t.kind = "Deployment"
		}
		return l.write(ctx, t, 1)
	case n < 75:
		t := living[l.rng.IntN(len(living))]
		return l.write(ctx, t, l.model.living[t]+1)
	case n < 92:
		return l.remove(ctx, living[l.rng.IntN(len(living))])
	}
	var some []string
	for _, name := range l.names() {
		if l.rng.IntN(3) > 0 {
			some = append(some, name)
		}
	}
	if len(some) == 0 {
		some = l.names()
	}
	return l.place(ctx, fmt.Sprintf("chaos-%d", l.rng.IntN(spaces)), some)
}

// insist does something until the hub has said that it is done. It may be down, or
// its answer lost: what is done twice here is done once.
func insist(ctx context.Context, f func(context.Context) error) error {
	return await(ctx, 3*time.Minute, func() error { return f(ctx) })
}

func (l *load) write(ctx context.Context, t template, version int) error {
	err := insist(ctx, func(ctx context.Context) error { return l.apply(ctx, t.resource(), t.object(version)) })
	if err != nil {
		return fmt.Errorf("write %v: %w", t, err)
	}
	l.model.wrote(t, version)
	return nil
}

func (l *load) remove(ctx context.Context, t template) error {
	l.model.removed(t, l.names(), time.Now())
	err := insist(ctx, func(ctx context.Context) error {
		err := l.at("hub", t.resource(), t.namespace).Delete(ctx, t.name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("delete %v: %w", t, err)
	}
	return nil
}

// place has a namespace's templates go to these members.
func (l *load) place(ctx context.Context, namespace string, members []string) error {
	l.model.placed(namespace, members, time.Now())
	names := make([]any, len(members))
	for i := range members {
		names[i] = members[i]
	}
	policy := made("policy.karmada.io/v1alpha1", "PropagationPolicy", namespace, "all", map[string]any{"spec": map[string]any{
		"resourceSelectors": []any{
			map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "labelSelector": map[string]any{"matchLabels": map[string]any{"chaos": "yes"}}},
			map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"},
		},
		"placement": map[string]any{"clusterAffinity": map[string]any{"clusterNames": names}},
	}})
	if err := insist(ctx, func(ctx context.Context) error { return l.apply(ctx, policies, policy) }); err != nil {
		return fmt.Errorf("place %s: %w", namespace, err)
	}
	return nil
}

// template is one that people make. No name is used twice.
type template struct{ kind, namespace, name string }

func (t template) resource() schema.GroupVersionResource {
	if t.kind == "Deployment" {
		return deployments
	}
	return configMaps
}

// object is the template as it is written the so-manieth time.
func (t template) object(version int) *unstructured.Unstructured {
	var u *unstructured.Unstructured
	says := fmt.Sprintf("v%d", version)
	if t.kind == "ConfigMap" {
		u = made("v1", t.kind, t.namespace, t.name, map[string]any{"data": map[string]any{"version": says}})
	} else {
		app := map[string]any{"app": t.name}
		u = made("apps/v1", t.kind, t.namespace, t.name, map[string]any{"spec": map[string]any{
			"replicas": int64(1), "selector": map[string]any{"matchLabels": app},
			"template": map[string]any{
				"metadata": map[string]any{"labels": app},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "app", "image": "nginx:" + says}}},
			},
		}})
	}
	u.SetLabels(map[string]string{"chaos": "yes"})
	return u
}

// says is which version an object says it is.
func (t template) says(u *unstructured.Unstructured) string {
	if t.kind == "ConfigMap" {
		v, _, _ := unstructured.NestedString(u.Object, "data", "version")
		return v
	}
	all, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	if len(all) != 1 {
		return ""
	}
	container, _ := all[0].(map[string]any)
	image, _ := container["image"].(string)
	if len(image) < len("nginx:") {
		return ""
	}
	return image[len("nginx:"):]
}
