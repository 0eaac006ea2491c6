// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// build builds the functions, once for all tests: to link them takes minutes of a slow
// machine, less without symbols. built is where they are; empty: nobody asked for them.
var (
	built string
	build = sync.OnceValue(func() error {
		var err error
		if built, err = os.MkdirTemp("", "functions"); err != nil {
			return err
		}
		cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", built, "sluice.dev/functions/...")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	})
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := os.RemoveAll(built); err != nil { // of nothing it removes nothing
		fmt.Fprintln(os.Stderr, "the functions that were built stay behind:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// binaries builds the functions; the lab's own programs have to be there.
func binaries(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(labTool("lab")); err != nil {
		t.Skip("needs the lab: build it with make build")
	}
	if err := build(); err != nil {
		t.Fatalf("build the functions: %v", err)
	}
	return built
}

func labTool(name string) string {
	dir := os.Getenv("SLUICE_BIN")
	if dir == "" {
		dir = filepath.Join("..", "..", "_output", "bin")
	}
	abs, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return name
	}
	return abs
}

// lab is a hub and one member.
type lab struct{ dir, hub string }

func startLab(t *testing.T, _ string) lab {
	t.Helper()
	l := lab{dir: t.TempDir()}
	l.hub = l.kubeconfig("hub")
	tool(t, "lab", "up", "--dir", l.dir, "--members", "1", "--kube", labTool("kube"))
	t.Cleanup(func() { tool(t, "lab", "down", "--dir", l.dir) })
	l.run(t, l.hub, "apply", "--server-side", "-f", filepath.Join("..", "..", "config", "300-crds"))
	l.run(t, l.hub, "create", "namespace", "sluice-system")
	l.run(t, l.hub, "-n", "sluice-system", "create", "secret", "generic", "member1", "--from-file=kubeconfig="+l.kubeconfig("member1"))
	l.apply(t, l.hub, `
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: member1}
spec: {syncMode: Push, secretRef: {namespace: sluice-system, name: member1}}
`)
	return l
}

func (l lab) kubeconfig(name string) string { return filepath.Join(l.dir, "kubeconfig", name) }

func (l lab) apply(t *testing.T, kubeconfig, manifest string) {
	t.Helper()
	cmd := exec.Command(labTool("kube"), "kubectl", "--kubeconfig", kubeconfig, "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(manifest)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("apply: %v\n%s", err, out)
	}
}

func (l lab) run(t *testing.T, kubeconfig string, args ...string) {
	t.Helper()
	tool(t, "kube", append([]string{"kubectl", "--kubeconfig", kubeconfig}, args...)...)
}

// eventually waits until kubectl prints the last argument.
func (l lab) eventually(t *testing.T, cluster string, args ...string) {
	t.Helper()
	want, args := args[len(args)-1], args[:len(args)-1]
	wait(t, fmt.Sprintf("kubectl %s prints %q in %s", strings.Join(args, " "), want, cluster), func() bool {
		cmd := exec.Command(labTool("kube"), append([]string{"kubectl", "--kubeconfig", l.kubeconfig(cluster)}, args...)...)
		out, err := cmd.Output()
		return err == nil && strings.TrimSpace(string(out)) == want
	})
}

func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(labTool(name), args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// wait polls until ok, for a minute.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited a minute, and it is not so: %s", what)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
