// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sluice.dev/test/lab"
)

const (
	kubeVariable = "SLUICE_LAB_KUBE"     // the kube binary that the tests use
	dirVariable  = "SLUICE_LAB_TEST_DIR" // makes the test program a lab
)

// world is a lab of a hub and one member in a directory of the test.
type world struct {
	t    *testing.T
	kube string
	dir  string
	lab  *lab.Lab
}

func newWorld(t *testing.T) *world {
	t.Helper()
	kube := os.Getenv(kubeVariable)
	if kube == "" {
		t.Skipf("needs %s: the path of the kube binary, which test/lab/build.sh builds", kubeVariable)
	}
	w := &world{t: t, kube: kube, dir: t.TempDir()}
	w.lab = w.open()
	t.Cleanup(func() {
		if err := w.open().Down(context.Background()); err != nil {
			t.Errorf("down: %v", err)
		}
		if pids := w.processes(); len(pids) > 0 {
			t.Errorf("processes after down: %v", pids)
		}
	})
	return w
}

// open is the lab as another command sees it.
func (w *world) open() *lab.Lab {
	w.t.Helper()
	l, err := lab.Open(w.dir, testLog{w.t})
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) up(ctx context.Context, o lab.Options) error {
	o.Kube, o.Members = w.kube, 1
	return w.lab.Up(ctx, o)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) status() *lab.Status {
	w.t.Helper()
	s, err := w.open().Status(context.Background())
	w.must(err)
	return s
}

// pid is the process of a component, 0 if it does not run.
func (w *world) pid(cluster, component string) int {
	w.t.Helper()
	for _, c := range w.status().Clusters {
		for _, p := range c.Components {
			if c.Name == cluster && p.Name == component {
				return p.PID
			}
		}
	}
	w.t.Fatalf("no component %s/%s", cluster, component)
	return 0
}

// kubectl runs kubectl with the user's kubeconfig of a cluster.
func (w *world) kubectl(cluster, stdin string, args ...string) (string, error) {
	cmd := exec.Command(w.kube, append([]string{
		"kubectl", "--kubeconfig", filepath.Join(w.dir, "kubeconfig", cluster),
	}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (w *world) mustKubectl(cluster, stdin string, args ...string) string {
	w.t.Helper()
	out, err := w.kubectl(cluster, stdin, args...)
	if err != nil {
		w.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// processes are the pids of all that has the lab's directory in its command line.
func (w *world) processes() (pids []string) {
	w.t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	w.must(err)
	for _, f := range files {
		// A process that ended meanwhile has no file, a zombie an empty one.
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(w.dir)) {
			pids = append(pids, filepath.Base(filepath.Dir(f)))
		}
	}
	return pids
}

type testLog struct{ t *testing.T }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimRight(string(b), "\n"))
	return len(b), nil
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: example.com/web:1}]}
`

func TestDetachedLab(t *testing.T) {
	w, ctx := newWorld(t), context.Background()
	w.must(w.up(ctx, lab.Options{Audit: true}))
	first := w.status()
	if !first.Up {
		t.Fatalf("not up: %+v", first)
	}

	t.Run("a Deployment becomes available in a member", func(t *testing.T) {
		w.mustKubectl("member1", deployment, "apply", "-f-")
		w.mustKubectl("member1", "", "wait", "--for=condition=Available", "deployment/web", "--timeout=3m")
	})
	t.Run("a Deployment starts nothing on the hub", func(t *testing.T) {
		w.mustKubectl("hub", deployment, "apply", "-f-")
		time.Sleep(2 * time.Second)
		if out := w.mustKubectl("hub", "", "get", "replicasets,pods", "-o=name"); out != "" {
			t.Errorf("on the hub: %s", out)
		}
		if out := w.mustKubectl("hub", "", "get", "deployment/web", "-o=jsonpath={.status}"); out != "{}" {
			t.Errorf("status on the hub: %s", out)
		}
	})
	t.Run("the hub calls a webhook on loopback", w.testWebhook)
	t.Run("the hub's namespaces go when they are deleted", func(t *testing.T) {
		w.mustKubectl("hub", "", "create", "namespace", "gone")
		w.mustKubectl("hub", deployment, "apply", "-n=gone", "-f-")
		w.mustKubectl("hub", "", "delete", "namespace", "gone", "--timeout=3m")
	})
	t.Run("requests are in the audit log", func(t *testing.T) {
		b, err := os.ReadFile(first.Clusters[0].AuditLog)
		w.must(err)
		if !bytes.Contains(b, []byte(`"verb":"patch"`)) && !bytes.Contains(b, []byte(`"verb":"create"`)) {
			t.Error("no write in the audit log")
		}
	})
	w.testRestarts(ctx, first)
}

// testRestarts stops, kills and starts again.
func (w *world) testRestarts(ctx context.Context, first *lab.Status) {
	t := w.t
	t.Run("a second up leaves it as it is", func(t *testing.T) {
		w.must(w.up(ctx, lab.Options{}))
		if got, want := w.pid("hub", "etcd"), first.Clusters[0].Components[0].PID; got != want {
			t.Errorf("etcd has pid %d, had %d", got, want)
		}
	})
	t.Run("a lab of another size is refused", func(t *testing.T) {
		if err := w.lab.Up(ctx, lab.Options{Kube: w.kube, Members: 2}); err == nil {
			t.Error("no error")
		}
	})
	t.Run("a stopped member comes back with its data at its address", func(t *testing.T) {
		w.must(w.open().Stop(ctx, "member1"))
		if s := w.status().Clusters[1]; s.State != lab.StateStopped {
			t.Errorf("state %q after stop", s.State)
		}
		if out, err := w.kubectl("member1", "", "get", "deployments"); err == nil {
			t.Errorf("answers while stopped: %s", out)
		}
		w.must(w.open().Start(ctx, "member1"))
		w.mustKubectl("member1", "", "get", "deployment", "web")
		w.mustKubectl("member1", "", "scale", "deployment/web", "--replicas=3")
		w.mustKubectl("member1", "", "wait", "--for=jsonpath={.status.readyReplicas}=3", "deployment/web", "--timeout=3m")
	})
	t.Run("up starts again what died", func(t *testing.T) {
		w.must(syscall.Kill(w.pid("member1", "kcm"), syscall.SIGKILL))
		eventually(t, "the death is seen", func() bool { return w.status().Clusters[1].State == lab.StateDead })
		w.must(w.up(ctx, lab.Options{}))
		eventually(t, "it is up", func() bool { return w.status().Up })
	})
}

// testWebhook has the hub ask a server of this test whether a ConfigMap may be made.
func (w *world) testWebhook(t *testing.T) {
	var asked atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var review struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Request    struct {
				UID string `json:"uid"`
			} `json:"request"`
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(rw, `{"apiVersion":%q,"kind":%q,"response":{"uid":%q,"allowed":false,"status":{"message":"asked"}}}`,
			review.APIVersion, review.Kind, review.Request.UID)
	}))
	srv.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	srv.StartTLS()
	defer srv.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	w.mustKubectl("hub", fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: ask}
webhooks:
- name: ask.example.com
  clientConfig: {url: %q, caBundle: %q}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: default}}
  sideEffects: None
  admissionReviewVersions: [v1]
`, srv.URL+"/ask", base64.StdEncoding.EncodeToString(ca)), "create", "-f-")
	eventually(t, "the webhook denies", func() bool {
		out, err := w.kubectl("hub", "", "create", "configmap", "c"+strconv.Itoa(int(time.Now().UnixNano())))
		return err != nil && strings.Contains(out, "asked")
	})
	w.mustKubectl("hub", "", "delete", "validatingwebhookconfiguration", "ask")
	if asked.Load() == 0 {
		t.Error("nobody asked")
	}
}

func TestForegroundLab(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- w.up(ctx, lab.Options{Foreground: true}) }()
	eventually(t, "it is up", func() bool { return w.status().Up })

	t.Run("other commands stop and start a member", func(t *testing.T) {
		for range 2 {
			w.must(w.open().Stop(ctx, "member1"))
			w.must(w.open().Start(ctx, "member1"))
		}
		eventually(t, "it is up", func() bool { return w.status().Up })
	})
	t.Run("a death ends it and is reported", func(t *testing.T) {
		w.must(syscall.Kill(w.pid("member1", "kcm"), syscall.SIGKILL))
		var death *lab.Death
		if err := <-ended; !errors.As(err, &death) {
			t.Fatalf("ended with %v", err)
		}
		if death.Cluster != "member1" || death.Component != "kcm" || len(death.Tail) == 0 {
			t.Errorf("reported %+v", death)
		}
		if pids := w.processes(); len(pids) > 0 {
			t.Errorf("processes left: %v", pids)
		}
	})
	t.Run("its end is no error", func(t *testing.T) {
		go func() { ended <- w.up(ctx, lab.Options{Foreground: true}) }()
		eventually(t, "it is up", func() bool { return w.status().Up })
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestKilledLab kills a foreground lab as nobody can prepare for.
func TestKilledLab(t *testing.T) {
	w := newWorld(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), dirVariable+"="+w.dir)
	w.must(cmd.Start())
	eventually(t, "it is up", func() bool { return w.status().Up })
	w.must(cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	eventually(t, "the processes are gone", func() bool { return len(w.processes()) == 0 })
	w.must(w.up(context.Background(), lab.Options{}))
}

// TestMain is a foreground lab if the variable says so, see TestKilledLab.
func TestMain(m *testing.M) {
	dir := os.Getenv(dirVariable)
	if dir == "" {
		os.Exit(m.Run())
	}
	l, err := lab.Open(dir, os.Stdout)
	if err == nil {
		err = l.Up(context.Background(), lab.Options{Kube: os.Getenv(kubeVariable), Members: 1, Foreground: true})
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited three minutes until %s", what)
		}
	}
}
