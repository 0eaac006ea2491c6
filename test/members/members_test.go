// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// world is a member, simulated or real.
type world struct {
	t         *testing.T
	file      string // its kubeconfig
	cfg       *rest.Config
	objects   dynamic.Interface
	namespace string
}

// each runs a test on a simulated member and, where there is one, on a real one: what
// holds of the former has to hold of the latter.
func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Run("simulated", func(t *testing.T) {
		dir := t.TempDir()
		fleet, err := Start(Options{Dir: dir, Names: Names(1), Audit: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := fleet.Stop(); err != nil {
				t.Error(err)
			}
		})
		f(t, newWorld(t, filepath.Join(dir, "kubeconfig", "member1")))
	})
	t.Run("real", func(t *testing.T) {
		file := os.Getenv("SLUICE_MEMBER_KUBECONFIG")
		if file == "" {
			t.Skip("no real member: make lab-up, and SLUICE_MEMBER_KUBECONFIG=_output/kubeconfig/member1")
		}
		f(t, newWorld(t, file))
	})
}

func newWorld(t *testing.T, file string) *world {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	cfg.QPS = -1
	cfg.WarningHandler = rest.NoWarnings{}
	w := &world{t: t, file: file, cfg: cfg, objects: dynamic.NewForConfigOrDie(cfg), namespace: "members-" + rand.String(6)}
	if _, err := w.at("v1", "namespaces", "").Create(t.Context(), object("v1", "Namespace", w.namespace, ""), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := w.at("v1", "namespaces", "").Delete(ctx, w.namespace, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return w
}

func object(apiVersion, kind, name, more string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\n%s", apiVersion, kind, name, more)), &u.Object); err != nil {
		panic(err)
	}
	// As it comes from a server: whole numbers are int64.
	raw, err := json.Marshal(u.Object)
	if err != nil {
		panic(err)
	}
	if err := u.UnmarshalJSON(raw); err != nil {
		panic(err)
	}
	return u
}

func (w *world) at(apiVersion, resource, namespace string) dynamic.ResourceInterface {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		w.t.Fatal(err)
	}
	at := w.objects.Resource(gv.WithResource(resource))
	if namespace == "" {
		return at
	}
	return at.Namespace(namespace)
}

func (w *world) maps() dynamic.ResourceInterface { return w.at("v1", "configmaps", w.namespace) }

func (w *world) apply(at dynamic.ResourceInterface, u *unstructured.Unstructured, manager string, force bool) *unstructured.Unstructured {
	w.t.Helper()
	out, err := at.Apply(w.t.Context(), u.GetName(), u.DeepCopy(), metav1.ApplyOptions{FieldManager: manager, Force: force})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// owners is who owns which fields: "manager operation subresource: fields".
func owners(u *unstructured.Unstructured) []string {
	var all []string
	for _, m := range u.GetManagedFields() {
		all = append(all, fmt.Sprintf("%s %s %s: %s", m.Manager, m.Operation, m.Subresource, m.FieldsV1.Raw))
	}
	slices.Sort(all)
	return all
}

const deployment = `
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: app, image: nginx, ports: [{containerPort: 80}]}]}
`

func TestAnApplyIsNoWriteWhenNothingChanges(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		u := object("v1", "ConfigMap", "a", "data: {k: v}")
		first := w.apply(w.maps(), u, "sluice", true)
		again := w.apply(w.maps(), u, "sluice", true)
		if diff := cmp.Diff(first, again); diff != "" {
			t.Error(diff)
		}
		u.Object["data"] = map[string]any{"k": "w"}
		if next := w.apply(w.maps(), u, "sluice", true); next.GetResourceVersion() == first.GetResourceVersion() || next.GetUID() != first.GetUID() {
			t.Errorf("the change made %s of %s", next.GetResourceVersion(), first.GetResourceVersion())
		}
	})
}

func TestAnApplyRemovesWhatItLeavesOutAndKeepsOthersFields(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.apply(w.maps(), object("v1", "ConfigMap", "a", "data: {mine: one, gone: two}"), "sluice", true)
		w.apply(w.maps(), object("v1", "ConfigMap", "a", "data: {theirs: three}"), "person", false)
		got := w.apply(w.maps(), object("v1", "ConfigMap", "a", "data: {mine: one}"), "sluice", true)
		if diff := cmp.Diff(map[string]any{"mine": "one", "theirs": "three"}, got.Object["data"]); diff != "" {
			t.Error(diff)
		}
		want := []string{`person Apply : {"f:data":{"f:theirs":{}}}`, `sluice Apply : {"f:data":{"f:mine":{}}}`}
		if diff := cmp.Diff(want, owners(got)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAnothersFieldIsAConflictAndIsTakenByForce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.apply(w.maps(), object("v1", "ConfigMap", "a", "data: {k: theirs}"), "person", false)
		u := object("v1", "ConfigMap", "a", "data: {k: mine}")
		_, err := w.maps().Apply(t.Context(), "a", u, metav1.ApplyOptions{FieldManager: "sluice"})
		if !apierrors.IsConflict(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
			t.Errorf("got %v", err)
		}
		if got := owners(w.apply(w.maps(), u, "sluice", true)); len(got) != 1 || !strings.HasPrefix(got[0], "sluice ") {
			t.Errorf("owned by %v", got)
		}
	})
}

func TestListsAreMergedByTheirKeys(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		at := w.at("apps/v1", "deployments", w.namespace)
		w.apply(at, object("apps/v1", "Deployment", "d", deployment), "sluice", true)
		w.apply(at, object("apps/v1", "Deployment", "d", "spec: {template: {spec: {containers: [{name: sidecar, image: envoy}]}}}"), "person", false)
		got := w.apply(at, object("apps/v1", "Deployment", "d", strings.ReplaceAll(deployment, "nginx", "nginx:2")), "sluice", true)
		containers, _, err := unstructured.NestedSlice(got.Object, "spec", "template", "spec", "containers")
		if err != nil || len(containers) != 2 {
			t.Errorf("containers %v, %v", containers, err)
		}
	})
}

func TestADeploymentBecomesAvailable(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		at := w.at("apps/v1", "deployments", w.namespace)
		u := object("apps/v1", "Deployment", "d", deployment)
		applied := w.apply(at, u, "sluice", true)
		if applied.GetGeneration() != 1 {
			t.Errorf("generation %d", applied.GetGeneration())
		}
		u.Object["spec"].(map[string]any)["replicas"] = int64(3) //nolint:forcetypeassert // it was decoded here
		if got := w.apply(at, u, "sluice", true); got.GetGeneration() != 2 {
			t.Errorf("generation %d", got.GetGeneration())
		}
		w.await(at, "d", func(u *unstructured.Unstructured) bool {
			n, _, _ := unstructured.NestedInt64(u.Object, "status", "availableReplicas")
			seen, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
			return n == 3 && seen == 2
		})
	})
}

// await waits for a state of an object, by way of a watch.
func (w *world) await(at dynamic.ResourceInterface, name string, is func(*unstructured.Unstructured) bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	follow, err := at.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		w.t.Fatal(err)
	}
	defer follow.Stop()
	for e := range follow.ResultChan() {
		if u, ok := e.Object.(*unstructured.Unstructured); ok && is(u) {
			return
		}
	}
	w.t.Fatalf("waited in vain for %s", name)
}

func TestAStatusIsWrittenByItsSubresourceAlone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		at := w.at("v1", "services", w.namespace)
		u := w.apply(at, object("v1", "Service", "s", "spec: {type: LoadBalancer, ports: [{port: 80}]}\nstatus: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}"), "sluice", true)
		if ip, _, _ := unstructured.NestedString(u.Object, "spec", "clusterIP"); ip == "" {
			t.Error("no address was allocated")
		}
		if got, _, _ := unstructured.NestedSlice(u.Object, "status", "loadBalancer", "ingress"); got != nil {
			t.Errorf("the apply wrote the status: %v", got)
		}
		patch := `{"spec": {"sessionAffinity": "ClientIP"}, "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4", "ipMode": "VIP"}]}}}`
		got, err := at.Patch(t.Context(), "s", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		if err != nil {
			t.Fatal(err)
		}
		ingress, _, _ := unstructured.NestedSlice(got.Object, "status", "loadBalancer", "ingress")
		affinity, _, _ := unstructured.NestedString(got.Object, "spec", "sessionAffinity")
		if len(ingress) != 1 || affinity != "None" {
			t.Errorf("ingress %v, affinity %s", ingress, affinity)
		}
	})
}

func TestWritesHavePreconditions(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		old, err := w.maps().Create(t.Context(), object("v1", "ConfigMap", "a", "data: {k: v}"), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.maps().Create(t.Context(), object("v1", "ConfigMap", "a", ""), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
			t.Errorf("a second creation: %v", err)
		}
		next := old.DeepCopy()
		next.Object["data"] = map[string]any{"k": "w"}
		if _, err := w.maps().Update(t.Context(), next, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.maps().Update(t.Context(), next, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("an update of an old state: %v", err)
		}
		other, uid := types.UID("another"), old.GetUID()
		if err := w.maps().Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}}); !apierrors.IsConflict(err) {
			t.Errorf("a deletion of another object: %v", err)
		}
		if err := w.maps().Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); err != nil {
			t.Error(err)
		}
		if _, err := w.maps().Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("after the deletion: %v", err)
		}
	})
}

func TestAFinalizerKeepsAnObject(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		u := object("v1", "ConfigMap", "a", "")
		u.SetFinalizers([]string{"example.com/keep"})
		if _, err := w.maps().Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := w.maps().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if got, err := w.maps().Get(t.Context(), "a", metav1.GetOptions{}); err != nil || got.GetDeletionTimestamp() == nil {
			t.Fatalf("it has to stay, marked: %v, %v", got, err)
		}
		if _, err := w.maps().Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.maps().Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("without its finalizer: %v", err)
		}
	})
}

func TestANamespaceHasToBeThere(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, err := w.at("v1", "configmaps", "nowhere").Apply(t.Context(), "a", object("v1", "ConfigMap", "a", ""), metav1.ApplyOptions{FieldManager: "sluice"})
		var status *apierrors.StatusError
		if !apierrors.IsNotFound(err) {
			t.Fatalf("got %v", err)
		}
		status, _ = err.(*apierrors.StatusError) //nolint:errorlint // client-go returns it as it is
		if d := status.ErrStatus.Details; d.Kind != "namespaces" || d.Name != "nowhere" {
			t.Errorf("details %+v", d)
		}
	})
}

func TestAWatchGoesOnFromAVersionAndSelects(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ours := func(name string) *unstructured.Unstructured {
			u := object("v1", "ConfigMap", name, "")
			u.SetLabels(map[string]string{"ours": "yes"})
			return u
		}
		w.apply(w.maps(), ours("before"), "sluice", true)
		list, err := w.maps().List(t.Context(), metav1.ListOptions{LabelSelector: "ours", Limit: 1})
		if err != nil || len(list.Items) != 1 {
			t.Fatal(list, err)
		}
		w.apply(w.maps(), ours("added"), "sluice", true)
		w.apply(w.maps(), object("v1", "ConfigMap", "others", ""), "sluice", true)
		w.apply(w.maps(), object("v1", "ConfigMap", "added", ""), "sluice", true) // without the label
		if err := w.maps().Delete(t.Context(), "before", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		follow, err := w.maps().Watch(t.Context(), metav1.ListOptions{LabelSelector: "ours", ResourceVersion: list.GetResourceVersion()})
		if err != nil {
			t.Fatal(err)
		}
		defer follow.Stop()
		for _, want := range []string{"ADDED added", "DELETED added", "DELETED before"} {
			if got := told(<-follow.ResultChan()); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
}

func told(e watch.Event) string {
	u, ok := e.Object.(*unstructured.Unstructured)
	if !ok {
		return fmt.Sprintf("%s %v", e.Type, e.Object)
	}
	return string(e.Type) + " " + u.GetName()
}

func TestAWatchBeginsWithWhatIsThere(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.apply(w.maps(), object("v1", "ConfigMap", "a", ""), "sluice", true)
		initial := true
		follow, err := w.maps().Watch(t.Context(), metav1.ListOptions{
			SendInitialEvents: &initial, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true, FieldSelector: "metadata.name=a",
		})
		if err != nil {
			t.Fatal(err)
		}
		defer follow.Stop()
		if got := told(<-follow.ResultChan()); got != "ADDED a" {
			t.Errorf("got %s", got)
		}
		e := <-follow.ResultChan()
		u, ok := e.Object.(*unstructured.Unstructured)
		if !ok || e.Type != watch.Bookmark || u.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" || u.GetResourceVersion() == "" {
			t.Errorf("got %v %v", e.Type, e.Object)
		}
	})
}

func TestAReflectorFollows(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		seen := cache.NewStore(cache.MetaNamespaceKeyFunc)
		lw := &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return w.maps().List(ctx, o) },
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return w.maps().Watch(ctx, o)
			},
		}
		w.apply(w.maps(), object("v1", "ConfigMap", "a", ""), "sluice", true)
		go cache.NewReflectorWithOptions(lw, &unstructured.Unstructured{}, seen, cache.ReflectorOptions{}).RunWithContext(t.Context())
		has := func(name string) func() bool {
			return func() bool { _, ok, _ := seen.GetByKey(w.namespace + "/" + name); return ok }
		}
		until(t, has("a"))
		w.apply(w.maps(), object("v1", "ConfigMap", "b", ""), "sluice", true)
		until(t, has("b"))
		if err := w.maps().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		until(t, func() bool { return !has("a")() })
	})
}

func until(t *testing.T, ok func() bool) {
	t.Helper()
	for tick, late := time.NewTicker(10*time.Millisecond), time.After(30*time.Second); !ok(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("waited in vain")
		}
	}
}

func TestAListComesInPages(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, name := range []string{"c", "a", "b"} {
			u := object("v1", "ConfigMap", name, "")
			u.SetLabels(map[string]string{"paged": "yes"})
			w.apply(w.maps(), u, "sluice", true)
		}
		var names []string
		for o := (metav1.ListOptions{LabelSelector: "paged", Limit: 2}); ; {
			list, err := w.maps().List(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range list.Items {
				names = append(names, i.GetName())
			}
			if o.Continue = list.GetContinue(); o.Continue == "" {
				break
			}
		}
		if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWhatIsServedIsDiscovered(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, legacy := range []bool{false, true} {
			d := discovery.NewDiscoveryClientForConfigOrDie(w.cfg)
			d.UseLegacyDiscovery = legacy
			_, lists, err := d.ServerGroupsAndResources()
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]bool{}
			for _, l := range lists {
				for _, r := range l.APIResources {
					found[fmt.Sprintf("%s %s %s %v", l.GroupVersion, r.Name, r.Kind, r.Namespaced)] = true
				}
			}
			for _, k := range kinds {
				if what := fmt.Sprintf("%s %s %s %v", k.GroupVersion(), k.resource, k.Kind, k.namespaced); !found[what] {
					t.Errorf("legacy %v: %s is not served", legacy, what)
				}
			}
		}
		if v, err := discovery.NewDiscoveryClientForConfigOrDie(w.cfg).ServerVersion(); err != nil || v.Major != "1" {
			t.Errorf("version %v, %v", v, err)
		}
	})
}

func TestWhoHasNoTokenIsNobody(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, err := dynamic.NewForConfigOrDie(rest.AnonymousClientConfig(w.cfg)).Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).
			Namespace(w.namespace).List(t.Context(), metav1.ListOptions{})
		if !apierrors.IsUnauthorized(err) && !apierrors.IsForbidden(err) {
			t.Errorf("got %v", err)
		}
	})
}

func TestWhatTheSchemaDoesNotKnowIsRefused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, err := w.maps().Apply(t.Context(), "a", object("v1", "ConfigMap", "a", "unknown: field"), metav1.ApplyOptions{FieldManager: "sluice"})
		if err == nil {
			t.Error("an unknown field was applied")
		}
	})
}
