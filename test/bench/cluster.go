// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// agent is this program's user agent: what it does is not the pipeline's.
const agent = "bench"

// cluster is one API server, in JSON and with paths.
type cluster struct {
	name       string
	kubeconfig string
	relayed    string // the kubeconfig by way of a relay that the pipeline gets; empty: there is none
	client     rest.Interface
	audit      *auditLog
}

func connect(dir, name string) (*cluster, error) {
	c, err := dial(name, filepath.Join(dir, "kubeconfig", name))
	if err != nil {
		return nil, err
	}
	c.audit = &auditLog{path: filepath.Join(dir, "lab", name, "audit.log"), cluster: name}
	return c, nil
}

func dial(name, kubeconfig string) (*cluster, error) {
	c := &cluster{name: name, kubeconfig: kubeconfig}
	cfg, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", name, err)
	}
	cfg.UserAgent, cfg.QPS = agent, -1
	cfg.WarningHandler = rest.NoWarnings{}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	if c.client, err = rest.UnversionedRESTClientFor(cfg); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", name, err)
	}
	return c, nil
}

func (c *cluster) get(ctx context.Context, path string) ([]byte, error) {
	return c.send(ctx, c.client.Get().AbsPath(path))
}

func (c *cluster) create(ctx context.Context, path string, body []byte) ([]byte, error) {
	return c.send(ctx, c.client.Post().AbsPath(path).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body))
}

func (c *cluster) put(ctx context.Context, path string, body []byte) ([]byte, error) {
	return c.send(ctx, c.client.Put().AbsPath(path).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body))
}

func (c *cluster) merge(ctx context.Context, path string, body []byte) ([]byte, error) {
	return c.send(ctx, c.client.Patch(types.MergePatchType).AbsPath(path).Body(body))
}

// apply is a server-side apply with force, by Sluice's field manager.
func (c *cluster) apply(ctx context.Context, path string, body []byte) ([]byte, error) {
	req := c.client.Patch(types.ApplyPatchType).AbsPath(path).Param("fieldManager", "sluice").Param("force", "true")
	return c.send(ctx, req.Body(body))
}

func (c *cluster) remove(ctx context.Context, path string) ([]byte, error) {
	return c.send(ctx, c.client.Delete().AbsPath(path).Param("propagationPolicy", "Background"))
}

// clear deletes what a path lists, with its dependents.
func (c *cluster) clear(ctx context.Context, path, labels string) error {
	req := c.client.Delete().AbsPath(path).Param("propagationPolicy", "Background")
	if labels != "" {
		req.Param("labelSelector", labels)
	}
	_, err := c.send(ctx, req)
	return err
}

func (c *cluster) send(ctx context.Context, req *rest.Request) ([]byte, error) {
	res := req.Do(ctx)
	if err := res.Error(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return res.Raw()
}

func (c *cluster) namespace(ctx context.Context, name string) error {
	_, err := c.create(ctx, "/api/v1/namespaces", encoded(map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	}))
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// object is what the bench reads of any object.
type object struct {
	Metadata struct {
		Namespace       string
		Name            string
		UID             string
		ResourceVersion string
	}
	Spec struct {
		Resource struct{ Kind, Namespace, Name string } // of a binding
	}
	Status struct {
		AvailableReplicas int
		AggregatedStatus  []struct{ Applied bool }
		Conditions        []metav1.Condition
	}
}

func objectOf(raw []byte) (object, error) {
	var o object
	err := json.Unmarshal(raw, &o)
	return o, err
}

func (o *object) condition(kind string) string {
	for _, c := range o.Status.Conditions {
		if c.Type == kind {
			return string(c.Status)
		}
	}
	return ""
}

func conditionOf(raw []byte, kind string) string {
	o, err := objectOf(raw)
	if err != nil {
		return ""
	}
	return o.condition(kind)
}

// watch calls f for each object that a path lists from now on, until ctx ends.
func (c *cluster) watch(ctx context.Context, path string, f func(object)) error {
	raw, err := c.send(ctx, c.client.Get().AbsPath(path).Param("limit", "1"))
	if err != nil {
		return err
	}
	list, err := objectOf(raw)
	if err != nil {
		return err
	}
	version := list.Metadata.ResourceVersion
	open := func() (io.ReadCloser, error) {
		return c.client.Get().AbsPath(path).Param("watch", "true").Param("resourceVersion", version).
			Param("allowWatchBookmarks", "true").Param("timeoutSeconds", "7200").Stream(ctx)
	}
	body, err := open()
	if err != nil {
		return fmt.Errorf("watch %s in %s: %w", path, c.name, err)
	}
	go func() {
		// The API server closes the watch of who lags behind, as everybody does
		// in a burst.
		for ; err == nil; body, err = open() {
			err := read(body, &version, f)
			_ = body.Close() // it has ended
			if err != nil && ctx.Err() == nil {
				say("the watch of %s in %s ended: %v", path, c.name, err)
				return
			}
		}
		if ctx.Err() == nil {
			say("the watch of %s in %s ended: %v", path, c.name, err)
		}
	}()
	return nil
}

// read tells f of a watch's objects, and keeps the version up to which it has;
// that the watch ends is no error.
func read(body io.Reader, version *string, f func(object)) error {
	for events := json.NewDecoder(body); ; {
		var e struct {
			Type   string
			Object object
		}
		switch err := events.Decode(&e); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		case e.Type == "ERROR":
			return errors.New("it went too far behind")
		}
		*version = e.Object.Metadata.ResourceVersion
		if e.Type == "ADDED" || e.Type == "MODIFIED" {
			f(e.Object)
		}
	}
}

// encoded is v in JSON; v is made of what always can be.
func encoded(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// await asks again and again until it is so.
func await(ctx context.Context, patience time.Duration, what string, ok func() bool) error {
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %v in vain until %s", patience, what)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
