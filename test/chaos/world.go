// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	secrets     = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	clusters    = schema.GroupVersionResource{Group: "cluster.karmada.io", Version: "v1alpha1", Resource: "clusters"}
	policies    = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "propagationpolicies"}
	bindings    = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha2", Resource: "resourcebindings"}
)

// user is who makes and changes templates.
const user = "chaos-user"

// world is what runs.
type world struct {
	options
	pipeline, redis *child
	address         string // of the pipeline
	port            int    // the next one to try
	clusters        map[string]dynamic.Interface
}

func (w *world) names() []string {
	all := make([]string, w.members)
	for i := range all {
		all[i] = fmt.Sprintf("member%d", i+1)
	}
	return all
}

// up starts the lab, or what of it was killed.
func (w *world) up(ctx context.Context) error {
	return w.command(ctx, "lab", "up", "--members", fmt.Sprint(w.members), "--audit", "--dir", w.dir)
}

func (w *world) command(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(w.bin, program), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", program, args[0], err, out)
	}
	return nil
}

// end ends all that was started.
func (w *world) end(ctx context.Context) error {
	var errs []error
	for _, c := range []*child{w.pipeline, w.redis} {
		if c != nil {
			errs = append(errs, c.signal(syscall.SIGKILL))
		}
	}
	return errors.Join(append(errs, w.command(ctx, "lab", "down", "--dir", w.dir))...)
}

func (w *world) start(ctx context.Context) error {
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("%w: apt-get install redis-server, or have it in PATH", err)
	}
	say("starting a hub and %d members in %s", w.members, w.dir)
	if err := w.up(ctx); err != nil {
		return err
	}
	w.clusters = map[string]dynamic.Interface{}
	for _, name := range append(w.names(), "hub") {
		cfg, err := clientcmd.BuildConfigFromFlags("", w.kubeconfig(name))
		if err != nil {
			return err
		}
		cfg.UserAgent, cfg.QPS, cfg.Timeout = user, -1, 5*time.Second
		cfg.WarningHandler = rest.NoWarnings{}
		if w.clusters[name], err = dynamic.NewForConfig(cfg); err != nil {
			return err
		}
	}
	hub := []string{"--kubeconfig", w.kubeconfig("hub")}
	if err := w.command(ctx, "kubectl", append(hub, "apply", "--server-side", "-f", "config/300-crds")...); err != nil {
		return err
	}
	if err := w.command(ctx, "kubectl", append(hub, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")...); err != nil {
		return err
	}
	if err := w.join(ctx); err != nil {
		return err
	}
	// Without its gates, the pipeline would hold back what the model says is done.
	if err := w.command(ctx, "kubectl", append(hub, "apply", "--server-side", "-f", "config/400-config/features.yaml")...); err != nil {
		return err
	}
	port, err := w.freePort()
	if err != nil {
		return err
	}
	w.redis = &child{path: redis, log: filepath.Join(w.dir, "redis.log"), args: []string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", w.dir}}
	if err := w.redis.start(); err != nil {
		return err
	}
	listen, err := w.freePort()
	if err != nil {
		return err
	}
	w.address = "127.0.0.1:" + listen
	w.pipeline = &child{path: filepath.Join(w.bin, "standalone"), log: filepath.Join(w.dir, "pipeline.log"), args: []string{"--hub-kubeconfig", w.kubeconfig("hub"), "--listen", w.address, "--redis", "127.0.0.1:" + port}}
	if err := w.pipeline.start(); err != nil {
		return err
	}
	return await(ctx, 2*time.Minute, func() error { return w.ready(ctx) })
}

func (w *world) kubeconfig(name string) string { return filepath.Join(w.dir, "kubeconfig", name) }

// freePort is one that the kernel does not give to clients, nor this program twice.
func (w *world) freePort() (string, error) {
	var errs []error
	for ; w.port < 32768; w.port++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", w.port))
		if err == nil {
			port := fmt.Sprint(w.port)
			w.port++
			return port, l.Close()
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// ready is nil when the pipeline says that it is.
func (w *world) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.address+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New("the pipeline is not ready: " + resp.Status)
	}
	return nil
}

// join has the members join the hub.
func (w *world) join(ctx context.Context) error {
	if err := w.apply(ctx, namespaces, made("v1", "Namespace", "", "sluice-system", nil)); err != nil {
		return err
	}
	for _, name := range w.names() {
		raw, err := os.ReadFile(w.kubeconfig(name))
		if err != nil {
			return err
		}
		secret := made("v1", "Secret", "sluice-system", name, map[string]any{"stringData": map[string]any{"kubeconfig": string(raw)}})
		if err := w.apply(ctx, secrets, secret); err != nil {
			return err
		}
		cluster := made("cluster.karmada.io/v1alpha1", "Cluster", "", name, map[string]any{"spec": map[string]any{
			"syncMode": "Push", "secretRef": map[string]any{"namespace": "sluice-system", "name": name},
		}})
		if err := w.apply(ctx, clusters, cluster); err != nil {
			return err
		}
	}
	return nil
}

func made(apiVersion, kind, namespace, name string, more map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	for k, v := range more {
		u.Object[k] = v
	}
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// apply writes an object on the hub.
func (w *world) apply(ctx context.Context, gvr schema.GroupVersionResource, u *unstructured.Unstructured) error {
	_, err := w.at("hub", gvr, u.GetNamespace()).Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: user, Force: true})
	return err
}

func (w *world) at(cluster string, gvr schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return w.clusters[cluster].Resource(gvr)
	}
	return w.clusters[cluster].Resource(gvr).Namespace(namespace)
}

// await asks again and again until there is no error any more.
func await(ctx context.Context, patience time.Duration, ok func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := ok()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %v in vain: %w", patience, err)
		}
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}
