// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

const system = "sluice-system"

// members that every template of these tests goes to.
var members = []string{"member1", "member2"}

// The kinds that the tests look at.
var (
	deployments      = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	replicaSets      = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	accounts         = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	kubeServices     = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	configMaps       = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	namespaces       = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	pods             = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	policies         = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "propagationpolicies"}
	bindings         = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha2", Resource: "resourcebindings"}
	works            = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha1", Resource: "works"}
	services         = schema.GroupVersionResource{Group: "serving.knative.dev", Version: "v1", Resource: "services"}
	clusterRoles     = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	roleBindings     = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
	channels         = schema.GroupVersionResource{Group: "messaging.knative.dev", Version: "v1", Resource: "inmemorychannels"}
	containerSources = schema.GroupVersionResource{Group: "sources.knative.dev", Version: "v1", Resource: "containersources"}
	triggers         = schema.GroupVersionResource{Group: "eventing.knative.dev", Version: "v1", Resource: "triggers"}
)

// world is the hub and its members, and a namespace of the test's own.
type world struct {
	*testing.T
	hub       dynamic.Interface
	members   map[string]dynamic.Interface
	namespace string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := os.Getenv("SLUICE_KNATIVE_DIR")
	if dir == "" {
		t.Skip("there is no Knative: test/knative/run brings one up (needs root)")
	}
	w := &world{T: t, members: map[string]dynamic.Interface{}}
	w.hub = w.connect(filepath.Join(dir, "run", "e2e", "kubeconfig", "hub"))
	for _, m := range members {
		w.members[m] = w.connect(filepath.Join(dir, "run", "e2e", "kubeconfig", m))
	}
	w.namespace = fmt.Sprintf("knative-%s-%d", strings.ToLower(path.Base(t.Name())), time.Now().Unix()%100000)
	w.must(w.hub.Resource(namespaces).Create(t.Context(), object("v1", "Namespace", "", w.namespace, map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"sluice.dev/templates": "true"}},
	}), metav1.CreateOptions{}))
	t.Cleanup(w.clean)
	return w
}

// clean deletes the test's namespace and waits until the members have nothing of
// it: the next test has the pipeline for itself.
func (w *world) clean() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := w.hub.Resource(namespaces).Delete(ctx, w.namespace, metav1.DeleteOptions{}); err != nil {
		w.Errorf("delete namespace %s: %v", w.namespace, err)
		return
	}
	w.emptied(ctx)
}

// emptied waits until the members have nothing of the test.
func (w *world) emptied(ctx context.Context) {
	for tick := time.NewTicker(time.Second); ; <-tick.C {
		left := 0
		for _, m := range members {
			list, err := w.members[m].Resource(configMaps).Namespace(w.namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name!=kube-root-ca.crt"})
			if err != nil {
				w.Errorf("after the test: %v", err)
				return
			}
			left += len(list.Items)
		}
		if left == 0 {
			return
		}
	}
}

func (w *world) connect(kubeconfig string) dynamic.Interface {
	w.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		w.Fatal(err)
	}
	cfg.QPS = -1
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		w.Fatal(err)
	}
	return client
}

func (w *world) must(u *unstructured.Unstructured, err error) *unstructured.Unstructured {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
	return u
}

func object(apiVersion, kind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: content}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// heard is how long the first template of a new namespace may take: its source starts
// anew for it, and nobody waits for the next tick, a minute, to hear of what that missed.
const heard = 30 * time.Second

// policy has the members get every ConfigMap of the namespace with a label, and
// returns when it acts.
func (w *world) policy() {
	w.Helper()
	w.must(w.hub.Resource(policies).Namespace(w.namespace).Create(w.Context(), object("policy.karmada.io/v1alpha1", "PropagationPolicy", w.namespace, "all", map[string]any{
		"spec": map[string]any{
			"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "labelSelector": map[string]any{"matchLabels": map[string]any{"app": "test"}}}},
			"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": []any{members[0], members[1]}}},
		},
	}), metav1.CreateOptions{}))
	w.template("first", "1")
	w.arrive(heard, 1)
}

// template makes a ConfigMap, or changes it.
func (w *world) template(name, value string) {
	w.Helper()
	content := map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": "test"}}, "data": map[string]any{"value": value},
	}
	w.put(configMaps, object("v1", "ConfigMap", w.namespace, name, content))
}

// put applies an object to the hub, as a user does.
func (w *world) put(r schema.GroupVersionResource, u *unstructured.Unstructured) {
	w.Helper()
	w.must(w.hub.Resource(r).Namespace(w.namespace).Apply(w.Context(), u.GetName(), u, metav1.ApplyOptions{FieldManager: "user", Force: true}))
}

// text is a field of an object; empty where it has none.
func (w *world) text(u *unstructured.Unstructured, fields ...string) string {
	w.Helper()
	v, _, err := unstructured.NestedString(u.Object, fields...)
	if err != nil {
		w.Fatal(err)
	}
	return v
}

// number is a field of an object; 0 where it has none.
func (w *world) number(u *unstructured.Unstructured, fields ...string) int64 {
	w.Helper()
	v, _, err := unstructured.NestedInt64(u.Object, fields...)
	if err != nil {
		w.Fatal(err)
	}
	return v
}

// in are the values of the test's ConfigMaps in a cluster, by name.
func (w *world) in(cluster dynamic.Interface) map[string]string {
	w.Helper()
	list, err := cluster.Resource(configMaps).Namespace(w.namespace).List(w.Context(), metav1.ListOptions{LabelSelector: "app=test"})
	if err != nil {
		w.Fatal(err)
	}
	values := map[string]string{}
	for _, o := range list.Items {
		values[o.GetName()] = w.text(&o, "data", "value")
	}
	return values
}

// eventually waits until ok says nothing.
func (w *world) eventually(limit time.Duration, ok func() string) {
	w.Helper()
	deadline := time.Now().Add(limit)
	for tick := time.NewTicker(200 * time.Millisecond); ; <-tick.C {
		why := ok()
		if why == "" {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("after %s: %s", limit, why)
		}
	}
}

// arrive waits until all members have what the hub has, which is n templates.
func (w *world) arrive(limit time.Duration, n int) {
	w.Helper()
	w.eventually(limit, func() string {
		want := w.in(w.hub)
		if len(want) != n {
			return fmt.Sprintf("the hub has %d templates, want %d", len(want), n)
		}
		for _, m := range members {
			got := w.in(w.members[m])
			right := 0
			for name, value := range want {
				if got[name] == value {
					right++
				}
			}
			if right < n {
				return fmt.Sprintf("%s has %d of %d", m, right, n)
			}
		}
		return ""
	})
}

// once makes sure that nothing came twice: one binding a template, one Work a
// template and member, and each object written once.
func (w *world) once(n int) {
	w.Helper()
	list, err := w.hub.Resource(bindings).Namespace(w.namespace).List(w.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != n {
		w.Errorf("%d bindings, %v; want one for each of %d templates", len(list.Items), err, n)
	}
	for _, m := range members {
		all, err := w.hub.Resource(works).Namespace("karmada-es-"+m).List(w.Context(), metav1.ListOptions{})
		if err != nil {
			w.Fatal(err)
		}
		mine := 0
		for _, o := range all.Items {
			if raw, _ := json.Marshal(o.Object["spec"]); strings.Contains(string(raw), `"namespace":"`+w.namespace+`"`) {
				mine++
			}
			if o.GetGeneration() != 1 && strings.Contains(o.GetName(), "load-") {
				w.Errorf("Work %s of %s was written %d times", o.GetName(), m, o.GetGeneration())
			}
		}
		if mine != n {
			w.Errorf("%s has %d Works, want %d", m, mine, n)
		}
	}
}

// logged are the lines that the pods of a name have written.
func (w *world) logged(namespace, name string) []string {
	w.Helper()
	logs, err := filepath.Glob(filepath.Join(os.Getenv("SLUICE_KNATIVE_DIR"), "run", "pods", namespace+"_"+name+"-*", "*", "*.log"))
	if err != nil {
		w.Fatal(err)
	}
	var lines []string
	for _, file := range logs {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // its pod has just gone
		}
		for line := range strings.Lines(string(raw)) {
			// 2026-11-21T22:16:24.055990486Z stdout F   type: dev.sluice.…
			for _, stream := range []string{" stdout F ", " stderr F "} {
				if _, said, ok := strings.Cut(line, stream); ok {
					lines = append(lines, said)
					break
				}
			}
		}
	}
	return lines
}

// autoscale sets annotations of autoscaling.knative.dev on functions, nil takes one
// away, waits until they run so, and returns what puts back what there was.
func (w *world) autoscale(annotations map[string]any, functions ...string) (restore func()) {
	w.Helper()
	var undo []func()
	for _, name := range functions {
		s := w.must(w.hub.Resource(services).Namespace(system).Get(w.Context(), name, metav1.GetOptions{}))
		is, _, err := unstructured.NestedStringMap(s.Object, "spec", "template", "metadata", "annotations")
		if err != nil {
			w.Fatal(err)
		}
		prefixed, before := map[string]any{}, map[string]any{}
		for k, v := range annotations {
			k = "autoscaling.knative.dev/" + k
			prefixed[k], before[k] = v, nil
			if was, ok := is[k]; ok {
				before[k] = was
			}
		}
		w.annotate(name, prefixed)
		undo = append(undo, func() { w.annotate(name, before) })
	}
	w.rolledOut(functions)
	return func() {
		w.Helper()
		for _, f := range undo {
			f()
		}
		w.rolledOut(functions)
	}
}

// annotate patches the annotations of a function's pods.
func (w *world) annotate(function string, annotations map[string]any) {
	w.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": annotations}}}})
	if err != nil {
		w.Fatal(err)
	}
	w.must(w.hub.Resource(services).Namespace(system).Patch(w.Context(), function, types.MergePatchType, patch, metav1.PatchOptions{}))
}

// rolledOut waits until the functions run as their Services say.
func (w *world) rolledOut(functions []string) {
	w.Helper()
	w.eventually(5*time.Minute, func() string {
		for _, name := range functions {
			s := w.must(w.hub.Resource(services).Namespace(system).Get(w.Context(), name, metav1.GetOptions{}))
			created, ready := w.text(s, "status", "latestCreatedRevisionName"), w.text(s, "status", "latestReadyRevisionName")
			if created != ready || w.number(s, "status", "observedGeneration") != s.GetGeneration() {
				return name + " is not ready"
			}
		}
		return ""
	})
}

// labelFunction is on each pod of a function, with the function's name.
const labelFunction = "serving.knative.dev/service"

// sluice_events_total{outcome="done",stage="gate",type="…"} 12
var eventsTotal = regexp.MustCompile(`(?m)^sluice_events_total\{[^}]*outcome="([^"]*)"[^}]*\} (\d+)`)

// counted is how many events of an outcome the function at address says that it has
// had; "": of any.
func (w *world) counted(address, outcome string) (int, error) {
	req, err := http.NewRequestWithContext(w.Context(), http.MethodGet, address+"metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("metrics of %s: %s", address, resp.Status)
	}
	total := 0
	for _, m := range eventsTotal.FindAllStringSubmatch(string(raw), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			return 0, err
		}
		if outcome == "" || outcome == m[1] {
			total += n
		}
	}
	return total, nil
}

// arrivals tells when each of the test's ConfigMaps appears in a member.
func (w *world) arrivals(member string) <-chan arrival {
	w.Helper()
	out := make(chan arrival, 1000)
	watching, err := w.members[member].Resource(configMaps).Namespace(w.namespace).Watch(w.Context(), metav1.ListOptions{LabelSelector: "app=test"})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(watching.Stop)
	go func() {
		for e := range watching.ResultChan() {
			if u, ok := e.Object.(*unstructured.Unstructured); ok && e.Type == watch.Added {
				out <- arrival{u.GetName(), time.Now()}
			}
		}
	}()
	return out
}

type arrival struct {
	name string
	at   time.Time
}

func percentile(all []time.Duration, p float64) time.Duration {
	slices.Sort(all)
	return all[min(len(all)-1, int(float64(len(all))*p))].Round(time.Millisecond)
}

// kubeconfig of a member, as pods reach it.
func kubeconfig(member string) string {
	return filepath.Join(os.Getenv("SLUICE_KNATIVE_DIR"), "run", "members", member)
}

// told says whether so many sources tell of the last member, which has neither a Trigger
// nor a source of its own.
func (w *world) told(n int) string {
	w.Helper()
	for _, r := range []schema.GroupVersionResource{triggers, containerSources} {
		list, err := w.hub.Resource(r).Namespace(system).List(w.Context(), metav1.ListOptions{LabelSelector: "sluice.dev/cluster=" + members[1]})
		if err != nil || len(list.Items) > 0 {
			return fmt.Sprintf("%s has %d %s of its own, %v", members[1], len(list.Items), r.Resource, err)
		}
	}
	list, err := w.hub.Resource(containerSources).Namespace(system).List(w.Context(), metav1.ListOptions{LabelSelector: "sluice.dev/source=members"})
	if err != nil {
		return err.Error()
	}
	tell := 0
	for _, source := range list.Items {
		raw, err := source.MarshalJSON()
		if err != nil {
			return err.Error()
		}
		if strings.Contains(string(raw), `"`+members[1]+`/kubeconfig"`) {
			tell++
		}
	}
	if tell != n {
		return fmt.Sprintf("%d of %d sources tell of %s, want %d", tell, len(list.Items), members[1], n)
	}
	return ""
}
