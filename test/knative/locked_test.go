// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// With the overlay locked, on a network that enforces policies: the pipeline goes on,
// and a pod of somebody else's gets no connection to what is Sluice's own.
func TestLocked(t *testing.T) {
	w := newWorld(t)
	stranger := w.stranger()
	renderer, redis, source, webhook := w.addressOf("app.kubernetes.io/name=renderer"), w.addressOf("app.kubernetes.io/name=redis"),
		w.addressOf("app.kubernetes.io/name=source"), w.addressOf("app.kubernetes.io/name=webhook")

	// One connection that is allowed says that there is a way at all.
	w.reaches(stranger, map[string]bool{
		net.JoinHostPort(webhook, "8443"):  true, // of API servers, who may be anywhere
		net.JoinHostPort(renderer, "8012"): false,
		net.JoinHostPort(renderer, "8080"): false,
		net.JoinHostPort(redis, "6379"):    false,
		net.JoinHostPort(source, "8080"):   false,
	})
	w.merge(t.Context(), namespaces, "", stranger.GetNamespace(), `{"metadata":{"labels":{"sluice.dev/metrics":"true"}}}`)
	w.reaches(stranger, map[string]bool{
		net.JoinHostPort(renderer, "8080"): true, // metrics
		net.JoinHostPort(renderer, "8012"): false,
		net.JoinHostPort(redis, "6379"):    false,
	})

	w.policy()
	w.template("second", "2")
	w.arrive(recovery, 2)
}

// reaches makes sure of which addresses a pod gets a connection to.
func (w *world) reaches(from *unstructured.Unstructured, want map[string]bool) {
	w.Helper()
	process := w.process(from)
	w.eventually(time.Minute, func() string {
		var wrong []string
		for address, may := range want {
			if does := w.connects(process, address); does != may {
				wrong = append(wrong, fmt.Sprintf("connects to %s: %t, want %t", address, does, may))
			}
		}
		slices.Sort(wrong)
		return strings.Join(wrong, "; ")
	})
}

// connects tells whether a connection is made from the network of a process.
func (w *world) connects(process, address string) bool {
	w.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.Context(), 2*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, "nsenter", "--net=/proc/"+process+"/ns/net", "bash", "-c", ": <>/dev/tcp/"+host+"/"+port).Run() == nil
}

// stranger is a pod that runs in a namespace of its own, where nothing is Sluice's.
func (w *world) stranger() *unstructured.Unstructured {
	w.Helper()
	const name = "stranger"
	namespace := w.namespace + "-" + name
	w.must(w.hub.Resource(namespaces).Create(w.Context(), object("v1", "Namespace", "", namespace, map[string]any{}), metav1.CreateOptions{}))
	w.Cleanup(func() {
		if err := w.hub.Resource(namespaces).Delete(context.Background(), namespace, metav1.DeleteOptions{}); err != nil {
			w.Error(err)
		}
	})
	// An image that is here.
	containers, _, err := unstructured.NestedSlice(w.must(w.hub.Resource(deployments).Namespace(system).Get(w.Context(), "redis", metav1.GetOptions{})).Object,
		"spec", "template", "spec", "containers")
	if err != nil || len(containers) == 0 {
		w.Fatalf("Redis has no container: %v", err)
	}
	image, _, err := unstructured.NestedString(containers[0].(map[string]any), "image")
	if err != nil {
		w.Fatal(err)
	}
	w.must(w.hub.Resource(pods).Namespace(namespace).Create(w.Context(), object("v1", "Pod", namespace, name, map[string]any{"spec": map[string]any{
		"terminationGracePeriodSeconds": int64(0),
		"containers":                    []any{map[string]any{"name": name, "image": image, "command": []any{"redis-server", "--port", "0", "--save", ""}}},
	}}), metav1.CreateOptions{}))
	var pod *unstructured.Unstructured
	w.eventually(time.Minute, func() string {
		pod = w.must(w.hub.Resource(pods).Namespace(namespace).Get(w.Context(), name, metav1.GetOptions{}))
		if phase := w.text(pod, "status", "phase"); phase != "Running" {
			return "the pod is " + phase
		}
		return ""
	})
	return pod
}

// process is one of a pod's, as this machine knows it.
func (w *world) process(pod *unstructured.Unstructured) string {
	w.Helper()
	var found string
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "cgroup.procs" || !strings.Contains(path, "/pod"+string(pod.GetUID())+"/") {
			return nil //nolint:nilerr // what has ended meanwhile
		}
		if raw, err := os.ReadFile(path); err == nil && found == "" {
			found, _, _ = strings.Cut(string(raw), "\n")
		}
		return nil
	})
	if err != nil || found == "" {
		w.Fatalf("no process of pod %s is found: %v", pod.GetName(), err)
	}
	return found
}
