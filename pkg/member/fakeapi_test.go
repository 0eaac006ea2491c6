// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/yaml"

	"sluice.dev/pkg/core/propagation"
)

// fakeAPI is an API server of a few kinds, with Kubernetes' own server-side
// apply, resource versions, selectors by the label of ours, and watches.
type fakeAPI struct {
	*httptest.Server

	mu      sync.Mutex
	more    *sync.Cond
	version int
	kinds   map[string][]metav1.APIResource // by group/version
	objects map[string]*unstructured.Unstructured
	log     []fakeEvent
	closed  bool
	// answer, if set, may answer a request in the place of the server.
	answer func(w http.ResponseWriter, r *http.Request) bool
}

// fakeEvent is one change of an object: nil for what was not there.
type fakeEvent struct {
	version  int
	resource string
	old, new *unstructured.Unstructured
}

func newFakeAPI(t *testing.T) *fakeAPI {
	f := &fakeAPI{objects: map[string]*unstructured.Unstructured{}, version: 100, kinds: map[string][]metav1.APIResource{
		"v1": {{Name: "namespaces", Kind: "Namespace"}, {Name: "configmaps", Kind: "ConfigMap", Namespaced: true},
			{Name: "secrets", Kind: "Secret", Namespaced: true}, {Name: "services", Kind: "Service", Namespaced: true}},
		"apps/v1":        {{Name: "deployments", Kind: "Deployment", Namespaced: true}, {Name: "deployments/scale", Kind: "Scale", Namespaced: true}},
		"autoscaling/v2": {{Name: "horizontalpodautoscalers", Kind: "HorizontalPodAutoscaler", Namespaced: true}},
	}}
	f.more = sync.NewCond(&f.mu)
	f.Server = httptest.NewTLSServer(http.HandlerFunc(f.serve))
	t.Cleanup(func() {
		f.mu.Lock()
		f.closed = true
		f.more.Broadcast()
		f.mu.Unlock()
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

// target is what a path names.
type target struct {
	resource, namespace, name, sub string
	gvk                            schema.GroupVersionKind
}

func (t target) key() string { return t.resource + "/" + t.namespace + "/" + t.name }

func (f *fakeAPI) serve(w http.ResponseWriter, r *http.Request) {
	if f.answer != nil && f.answer(w, r) {
		return
	}
	p := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/readyz":
		_, _ = io.WriteString(w, "ok")
		return
	case r.URL.Path == "/version":
		_, _ = io.WriteString(w, `{"gitVersion": "v1.36.0"}`)
		return
	}
	gv, rest := "v1", p[2:]
	if p[0] == "apis" && len(p) >= 3 {
		gv, rest = p[1]+"/"+p[2], p[3:]
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	served, ok := f.kinds[gv]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if len(rest) == 0 {
		reply(w, http.StatusOK, metav1.APIResourceList{APIResources: served})
		return
	}
	t, ok := parse(gv, rest, served)
	if !ok {
		http.NotFound(w, r)
		return
	}
	f.dispatch(w, r, t)
}

func parse(gv string, rest []string, served []metav1.APIResource) (target, bool) {
	t := target{}
	if rest[0] == "namespaces" && len(rest) > 2 {
		t.namespace, rest = rest[1], rest[2:]
	}
	i := slices.IndexFunc(served, func(s metav1.APIResource) bool { return s.Name == rest[0] })
	if i < 0 {
		return t, false
	}
	t.resource, t.gvk = rest[0], schema.FromAPIVersionAndKind(gv, served[i].Kind)
	if len(rest) > 1 {
		t.name = rest[1]
	}
	if len(rest) > 2 {
		t.sub = rest[2]
	}
	return t, true
}

func (f *fakeAPI) dispatch(w http.ResponseWriter, r *http.Request, t target) {
	old := f.objects[t.key()]
	body, _ := io.ReadAll(r.Body)
	switch {
	case r.Method == http.MethodGet && t.name == "" && r.URL.Query().Get("watch") != "":
		f.watch(w, r, t)
	case r.Method == http.MethodGet && t.name == "":
		f.list(w, t)
	case r.Method == http.MethodPost:
		obj := decodeBody(body)
		t.name = obj.GetName()
		if f.objects[t.key()] != nil {
			fail(w, http.StatusConflict, metav1.StatusReasonAlreadyExists, t, "already exists")
			return
		}
		f.store(w, t, nil, obj, r, false)
	case old == nil && r.Method != http.MethodPatch:
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, t, fmt.Sprintf("%s %q not found", t.resource, t.name))
	case r.Method == http.MethodGet:
		reply(w, http.StatusOK, old)
	case r.Method == http.MethodDelete:
		f.remove(w, t, old, body)
	case t.namespace != "" && f.objects["namespaces//"+t.namespace] == nil:
		ns := target{resource: "namespaces", name: t.namespace}
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, ns, fmt.Sprintf("namespaces %q not found", t.namespace))
	case r.Header.Get("Content-Type") == string(types.MergePatchType):
		f.merge(w, t, old, body, r)
	default:
		f.store(w, t, old, decodeBody(body), r, r.Method == http.MethodPatch)
	}
}

// store writes obj over old, as an apply or an update.
func (f *fakeAPI) store(w http.ResponseWriter, t target, old, obj *unstructured.Unstructured, r *http.Request, apply bool) {
	if t.sub == "scale" {
		n, _, _ := unstructured.NestedInt64(obj.Object, "spec", "replicas")
		obj = old.DeepCopy()
		_ = unstructured.SetNestedField(obj.Object, n, "spec", "replicas")
	}
	if name := obj.GetName(); strings.HasPrefix(name, "invalid") {
		fail(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, t, name+" is invalid")
		return
	}
	if v := obj.GetResourceVersion(); apply && old != nil && v != "" && v != old.GetResourceVersion() {
		fail(w, http.StatusConflict, metav1.StatusReasonConflict, t, "the object has been modified")
		return
	}
	was := old
	if was == nil {
		was = &unstructured.Unstructured{Object: map[string]any{}}
		was.SetGroupVersionKind(t.gvk)
		was.SetName(t.name)
		was.SetNamespace(t.namespace)
	}
	m, err := managedfields.NewDefaultFieldManager(managedfields.NewDeducedTypeConverter(), plain{}, plain{}, plain{}, t.gvk, t.gvk.GroupVersion(), t.sub, nil)
	if err != nil {
		panic(err)
	}
	manager := r.URL.Query().Get("fieldManager")
	var next runtime.Object
	if apply {
		next, err = m.Apply(was.DeepCopy(), obj, manager, r.URL.Query().Get("force") == "true")
	} else {
		next, err = m.Update(was.DeepCopy(), obj, manager)
	}
	if err != nil {
		var status apierrors.APIStatus
		if errors.As(err, &status) {
			s := status.Status()
			s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			reply(w, int(s.Code), s)
			return
		}
		fail(w, http.StatusConflict, metav1.StatusReasonConflict, t, err.Error())
		return
	}
	u := next.(*unstructured.Unstructured)
	if old == nil {
		u.SetUID(types.UID(fmt.Sprintf("uid-%d", f.version)))
	} else if u.SetManagedFields(stamped(u.GetManagedFields())); equalButTimes(old, u) {
		reply(w, http.StatusOK, old)
		return
	}
	f.commit(t, old, u)
	reply(w, http.StatusOK, u)
}

func (f *fakeAPI) commit(t target, old, u *unstructured.Unstructured) {
	f.version++
	if u != nil {
		u.SetManagedFields(stamped(u.GetManagedFields()))
		u.SetResourceVersion(strconv.Itoa(f.version))
		f.objects[t.key()] = u
	} else {
		delete(f.objects, t.key())
	}
	f.log = append(f.log, fakeEvent{f.version, t.resource, old, u})
	f.more.Broadcast()
}

// restore makes an object what it was, and forgets what happened since; so many other
// things have happened after that.
func (f *fakeAPI) restore(t target, was map[string]any, others int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects[t.key()] = &unstructured.Unstructured{Object: was}
	f.log = nil
	f.version += others
}

func (f *fakeAPI) remove(w http.ResponseWriter, t target, old *unstructured.Unstructured, body []byte) {
	var opts metav1.DeleteOptions
	_ = json.Unmarshal(body, &opts)
	if p := opts.Preconditions; p != nil && p.UID != nil && *p.UID != old.GetUID() {
		fail(w, http.StatusConflict, metav1.StatusReasonConflict, t, "the UID is another")
		return
	}
	f.commit(t, old, nil)
	reply(w, http.StatusOK, metav1.Status{Status: metav1.StatusSuccess})
}

func ours(u *unstructured.Unstructured) bool {
	return u != nil && u.GetLabels()[propagation.LabelMemberWork] != ""
}

func (f *fakeAPI) list(w http.ResponseWriter, t target) {
	l := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": t.gvk.GroupVersion().String(), "kind": t.gvk.Kind + "List"}}
	l.SetResourceVersion(strconv.Itoa(f.version))
	for _, key := range slices.Sorted(maps.Keys(f.objects)) {
		if u := f.objects[key]; strings.HasPrefix(key, t.resource+"/") && ours(u) {
			l.Items = append(l.Items, *u)
		}
	}
	reply(w, http.StatusOK, l)
}

// fakeForgot is below the versions that are remembered.
const fakeForgot = 100

// watch sends the changes of the objects of ours since a version.
func (f *fakeAPI) watch(w http.ResponseWriter, r *http.Request, t target) {
	if r.URL.Query().Get("sendInitialEvents") != "" {
		fail(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, t, "sendInitialEvents is not served")
		return
	}
	since, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if since < fakeForgot {
		fail(w, http.StatusGone, metav1.StatusReasonExpired, t, "too old resource version")
		return
	}
	bookmark := strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata")
	w.Header().Set("Content-Type", "application/json")
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-r.Context().Done():
			f.mu.Lock()
			f.more.Broadcast()
			f.mu.Unlock()
		case <-stop:
		}
	}()
	for next := 0; r.Context().Err() == nil && !f.closed; f.more.Wait() {
		for ; next < len(f.log); next++ {
			if e := f.log[next]; e.version > since && e.resource == t.resource {
				send(w, e)
			}
		}
		if bookmark && since > f.version { // a real one waits, and ends it in time
			return
		}
		if bookmark {
			_, _ = fmt.Fprintf(w, `{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "%d"}}}`, f.version)
		}
		_ = flush.Flush()
	}
}

func send(w io.Writer, e fakeEvent) {
	kind, u := "MODIFIED", e.new
	switch was, is := ours(e.old), ours(e.new); {
	case !was && !is:
		return
	case !was:
		kind = "ADDED"
	case !is:
		kind, u = "DELETED", e.old.DeepCopy()
		u.SetResourceVersion(strconv.Itoa(e.version))
	}
	raw, _ := json.Marshal(map[string]any{"type": kind, "object": u})
	_, _ = w.Write(append(raw, '\n'))
}

func decodeBody(body []byte) *unstructured.Unstructured {
	raw, err := yaml.YAMLToJSON(body)
	if err != nil {
		panic(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		panic(err)
	}
	return u
}

func reply(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(raw)
}

func fail(w http.ResponseWriter, code int, reason metav1.StatusReason, t target, message string) {
	reply(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
		Details: &metav1.StatusDetails{Kind: t.resource, Name: t.name},
	})
}

// stamped takes the times out of managed fields: they would make every write a
// change.
func stamped(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	for i := range entries {
		entries[i].Time = nil
	}
	return entries
}

func equalButTimes(a, b *unstructured.Unstructured) bool {
	return propagation.HashJSON(a.Object) == propagation.HashJSON(b.Object)
}

// plain converts, defaults and creates objects of no type.
type plain struct{}

func (plain) Convert(_, _, _ any) error { return fmt.Errorf("no conversion") }
func (plain) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}
func (plain) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}
func (plain) Default(runtime.Object) {}
func (plain) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u, nil
}
