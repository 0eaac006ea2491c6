// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// cluster is the hub or a member, as its user sees it.
type cluster struct {
	name       string
	kubeconfig string
	client     dynamic.Interface
	mapper     *restmapper.DeferredDiscoveryRESTMapper
}

// connect makes the clients of all clusters.
func (s *session) connect() error {
	var err error
	if s.hub, err = s.open("hub"); err != nil {
		return err
	}
	for i := range s.options.members {
		m, err := s.open(fmt.Sprintf("member%d", i+1))
		if err != nil {
			return err
		}
		s.members = append(s.members, m)
	}
	return nil
}

func (s *session) open(name string) (*cluster, error) {
	c := &cluster{name: name, kubeconfig: s.dir.kubeconfig(name)}
	cfg, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	cfg.UserAgent = "playground"
	if c.client, err = dynamic.NewForConfig(cfg); err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))
	return c, nil
}

// resource is where objects of o's kind are served.
func (c *cluster) resource(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := o.GroupVersionKind()
	m, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	r := c.client.Resource(m.Resource)
	if m.Scope.Name() == "namespace" {
		return r.Namespace(o.GetNamespace()), nil
	}
	return r, nil
}

// apply brings the objects to the cluster, in their order.
func (c *cluster) apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		r, err := c.resource(o)
		if err == nil {
			_, err = r.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "playground", Force: true})
		}
		if err != nil {
			return fmt.Errorf("apply %s to %s: %w", title(o), c.name, err)
		}
	}
	return nil
}

// list reads the objects of a resource.
func (c *cluster) list(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]unstructured.Unstructured, error) {
	l, err := c.client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list %s of %s: %w", resource.Resource, c.name, err)
	}
	return l.Items, nil
}

func title(o *unstructured.Unstructured) string { return o.GetKind() + " " + o.GetName() }

// condition is the status of a condition and why, "" where it is not set.
func condition(o *unstructured.Unstructured, kind string) (status, why string) {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range all {
		c, _ := c.(map[string]any)
		if c["type"] == kind {
			status, _ = c["status"].(string)
			reason, _ := c["reason"].(string)
			message, _ := c["message"].(string)
			return status, reason + ": " + message
		}
	}
	return "", "not set yet"
}

// manifests reads the YAML files of a directory, none if it is not there.
func manifests(dir string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		objects, err := decode(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}

func decode(r io.Reader) (objects []*unstructured.Unstructured, err error) {
	for d := yaml.NewYAMLOrJSONDecoder(r, 4<<10); ; {
		o := &unstructured.Unstructured{}
		if err := d.Decode(&o.Object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}

// missing reports whether there is no such directory.
func missing(dir string) bool {
	_, err := os.Stat(dir)
	return errors.Is(err, fs.ErrNotExist)
}
