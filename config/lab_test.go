// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// lab is a real API server with the accounts, roles and bounds of config. Nothing
// of Sluice runs there, and requests are dry runs.
type lab struct {
	*testing.T
	cfg   *rest.Config
	admin dynamic.Interface
}

// knative are its kinds that bounds are about; what they look like is Knative's.
var knative = map[string][]string{
	"eventing.knative.dev": {"Trigger"},
	"sources.knative.dev":  {"ContainerSource", "ApiServerSource"},
}

// installed are accounts, roles and bounds on the lab.
var installed sync.Once

func newLab(t *testing.T) *lab {
	t.Helper()
	path := os.Getenv("SLUICE_HUB_KUBECONFIG")
	if path == "" {
		path = filepath.Join("..", "_output", "kubeconfig", "hub")
		if _, err := os.Stat(path); err != nil {
			t.Skipf("no hub: run `make lab-up`, or name a kubeconfig in SLUICE_HUB_KUBECONFIG (%v)", err)
		}
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	cfg.QPS = -1
	l := &lab{T: t, cfg: cfg}
	l.admin = l.as("")
	installed.Do(func() {
		l.apply([]byte("{apiVersion: v1, kind: Namespace, metadata: {name: sluice-system}}"))
		l.serveKnative()
		for _, d := range documents(t) {
			bounds := strings.HasSuffix(d.file, "/bounds.yaml")
			if bounds || strings.HasPrefix(d.file, "200-rbac/") || d.file == "450-webhook/rbac.yaml" {
				l.apply(d.raw)
			}
		}
	})
	return l
}

// serveKnative makes the API server serve Knative's kinds.
func (l *lab) serveKnative() {
	l.Helper()
	for group, kinds := range knative {
		for _, kind := range kinds {
			plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind})
			l.apply(fmt.Appendf(nil, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s}
spec:
  group: %[2]s
  scope: Namespaced
  names: {kind: %[3]s, plural: %[1]s}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, plural.Resource, group, kind))
			l.eventually(func() error {
				_, err := l.admin.Resource(plural).List(l.Context(), metav1.ListOptions{Limit: 1})
				return err
			})
		}
	}
}

// as is a client of somebody; "" is the administrator.
func (l *lab) as(user string, groups ...string) dynamic.Interface {
	l.Helper()
	cfg := rest.CopyConfig(l.cfg)
	if user != "" {
		cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	}
	c, err := dynamic.NewForConfig(cfg)
	if err != nil {
		l.Fatal(err)
	}
	return c
}

// account is a client of one of Sluice's accounts.
func (l *lab) account(name string) dynamic.Interface {
	l.Helper()
	return l.as("system:serviceaccount:sluice-system:"+name, "system:serviceaccounts", "system:serviceaccounts:sluice-system")
}

func object(text []byte) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	return o, yaml.Unmarshal(text, &o.Object)
}

// of is where objects like o are.
func of(c dynamic.Interface, o *unstructured.Unstructured) dynamic.ResourceInterface {
	plural, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	if o.GetNamespace() == "" {
		return c.Resource(plural)
	}
	return c.Resource(plural).Namespace(o.GetNamespace())
}

// apply has the administrator apply manifests.
func (l *lab) apply(text []byte) {
	l.Helper()
	for one := range bytes.SplitSeq(text, []byte("\n---\n")) {
		o, err := object(one)
		if err != nil {
			l.Fatal(err)
		}
		l.eventually(func() error { // a kind may have been made a moment ago
			_, err := of(l.admin, o).Apply(l.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "test", Force: true})
			return err
		})
	}
}

// uid of an object that there is.
func (l *lab) uid(text string) string {
	l.Helper()
	o, err := object([]byte(text))
	if err != nil {
		l.Fatal(err)
	}
	live, err := of(l.admin, o).Get(l.Context(), o.GetName(), metav1.GetOptions{})
	if err != nil {
		l.Fatal(err)
	}
	return string(live.GetUID())
}

// namespace is one of the test's own, with a label where label is not empty.
func (l *lab) namespace(label string) string {
	l.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": "bounds-"}}}
	if key, value, ok := strings.Cut(label, "="); ok {
		o.SetLabels(map[string]string{key: value})
	}
	made, err := of(l.admin, o).Create(l.Context(), o, metav1.CreateOptions{})
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = of(l.admin, o).Delete(context.Background(), made.GetName(), metav1.DeleteOptions{}) })
	return made.GetName()
}

// eventually waits until it is so.
func (l *lab) eventually(is func() error) {
	l.Helper()
	var err error
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(50 * time.Millisecond) {
		if err = is(); err == nil {
			return
		}
	}
	l.Error(err)
}

// request of one account, as a dry run.
type request struct {
	// verb is create, patch, update, delete, or scale, which patches the subresource.
	verb string
	// object that is created, or named by the others.
	object string
	// patch is what is merged into the object that there is, for patch and update.
	patch string
}

func (r request) by(ctx context.Context, c, admin dynamic.Interface) error {
	o, err := object([]byte(r.object))
	if err != nil {
		return err
	}
	dry := []string{metav1.DryRunAll}
	switch r.verb {
	case "create":
		_, err = of(c, o).Create(ctx, o, metav1.CreateOptions{DryRun: dry})
	case "delete":
		err = of(c, o).Delete(ctx, o.GetName(), metav1.DeleteOptions{DryRun: dry})
	case "patch", "scale":
		var raw []byte
		var sub []string
		if r.verb == "scale" {
			sub = []string{r.verb}
		}
		if raw, err = yaml.YAMLToJSON([]byte(r.patch)); err == nil {
			_, err = of(c, o).Patch(ctx, o.GetName(), types.MergePatchType, raw, metav1.PatchOptions{DryRun: dry}, sub...)
		}
	case "update":
		// What the administrator's dry run of the patch gives is what is asked for.
		var raw []byte
		if raw, err = yaml.YAMLToJSON([]byte(r.patch)); err != nil {
			return err
		}
		next, failed := of(admin, o).Patch(ctx, o.GetName(), types.MergePatchType, raw, metav1.PatchOptions{DryRun: dry})
		if failed != nil {
			return failed
		}
		live, failed := of(admin, o).Get(ctx, o.GetName(), metav1.GetOptions{})
		if failed != nil {
			return failed
		}
		next.SetResourceVersion(live.GetResourceVersion())
		_, err = of(c, o).Update(ctx, next, metav1.UpdateOptions{DryRun: dry})
	default:
		err = errors.New("no verb: " + r.verb)
	}
	return err
}

// refused is what came of a request that a policy has to refuse.
func refused(err error, policy string) error {
	if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+policy+"'") {
		return fmt.Errorf("want a refusal by %s, but: %w", policy, orPassed(err))
	}
	return nil
}

var errPassed = errors.New("it passed")

func orPassed(err error) error {
	if err == nil {
		return errPassed
	}
	return err
}
