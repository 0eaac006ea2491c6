// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/yaml"
)

// maxBody is how large a request may be, as in a real API server.
const maxBody = 3 << 20

// write answers a request that creates or changes one object.
func (m *member) write(rec *recorder, r *http.Request, t target) (int, []byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(rec, r.Body, maxBody))
	if err != nil {
		return 0, nil, apierrors.NewRequestEntityTooLargeError(err.Error())
	}
	q := r.URL.Query()
	manager := q.Get("fieldManager")
	if manager == "" {
		manager, _, _ = strings.Cut(r.UserAgent(), "/")
	}
	content, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	switch patch := types.PatchType(content); {
	case r.Method == http.MethodPost && t.name == "":
		rec.verb = "create"
		u, err := decode(body, &t)
		if err != nil {
			return 0, nil, err
		}
		rec.target = t
		setDefaults(u)
		m.fill(u)
		i, err := m.create(t, u, manager)
		return http.StatusCreated, rawOf(i), err
	case r.Method == http.MethodPut && t.name != "":
		rec.verb = "update"
		u, err := decode(body, &t)
		if err != nil {
			return 0, nil, err
		}
		i, err := m.change(t, func(old *unstructured.Unstructured) (runtime.Object, error) { return m.updated(t, old, u, manager) })
		return http.StatusOK, rawOf(i), err
	case r.Method == http.MethodPatch && t.name != "" && patch == types.ApplyPatchType:
		rec.verb = "patch"
		return m.apply(t, body, q.Get("fieldManager"), isTrue(q.Get("force")))
	case r.Method == http.MethodPatch && t.name != "" && (patch == types.MergePatchType || patch == types.JSONPatchType):
		rec.verb = "patch"
		i, err := m.change(t, func(old *unstructured.Unstructured) (runtime.Object, error) {
			u, err := patched(patch, old, body)
			if err != nil {
				return nil, err
			}
			return m.updated(t, old, u, manager)
		})
		return http.StatusOK, rawOf(i), err
	case r.Method == http.MethodPatch:
		return 0, nil, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType, Message: content + " is not served",
		}}
	}
	return 0, nil, apierrors.NewMethodNotSupported(t.groupResource(), strings.ToLower(r.Method))
}

// decode reads an object and completes the target with its name and its namespace.
func decode(body []byte, t *target) (*unstructured.Unstructured, error) {
	raw, err := yaml.YAMLToJSON(body)
	u := &unstructured.Unstructured{}
	if err == nil {
		err = u.UnmarshalJSON(raw)
	}
	switch {
	case err != nil:
		return nil, apierrors.NewBadRequest(err.Error())
	case u.GroupVersionKind() != t.GroupVersionKind:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object is a %s, not a %s", u.GroupVersionKind(), t.GroupVersionKind))
	case u.GetName() == "" && u.GetGenerateName() != "" && t.name == "":
		u.SetName(u.GetGenerateName() + string(uuid.NewUUID())[:5])
	case u.GetName() == "" && t.name != "":
		u.SetName(t.name)
	}
	if t.name == "" {
		t.name = u.GetName()
	}
	if t.namespaced && u.GetNamespace() == "" {
		u.SetNamespace(t.namespace)
	}
	switch {
	case t.name == "":
		return nil, apierrors.NewBadRequest("name or generateName is required")
	case u.GetName() != t.name || u.GetNamespace() != t.namespace:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object is %s/%s, the request is about %s", u.GetNamespace(), u.GetName(), t.key()))
	}
	return u, nil
}

// create stores a new object.
func (m *member) create(t target, u *unstructured.Unstructured, manager string) (*item, error) {
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	if m.store.items[t.kind][t.key()] != nil {
		return nil, apierrors.NewAlreadyExists(t.groupResource(), t.name)
	}
	if err := m.roomFor(t); err != nil {
		return nil, err
	}
	u.SetManagedFields(nil)
	next, err := m.managers.of(target{kind: t.kind}).Update(empty(t), u, manager)
	if err != nil {
		return nil, err
	}
	return m.commit(t, nil, next)
}

// roomFor refuses what a namespace has to be there for. The lock is held.
func (m *member) roomFor(t target) error {
	if !t.namespaced {
		return nil
	}
	namespaces := target{kind: kinds[0], name: t.namespace}
	_, err := m.have(namespaces)
	return err
}

func empty(t target) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(t.GroupVersionKind)
	u.SetName(t.name)
	u.SetNamespace(t.namespace)
	return u
}

// change stores what f makes of an object that is there.
func (m *member) change(t target, f func(old *unstructured.Unstructured) (runtime.Object, error)) (*item, error) {
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	have, err := m.have(t)
	if err != nil {
		return nil, err
	}
	old, err := have.object()
	if err != nil {
		return nil, err
	}
	next, err := f(old.DeepCopy())
	if err != nil {
		return nil, err
	}
	return m.commit(t, old, next)
}

// apply is a server-side apply.
func (m *member) apply(t target, body []byte, manager string, force bool) (int, []byte, error) {
	if manager == "" {
		return 0, nil, apierrors.NewBadRequest("fieldManager is required for apply patch")
	}
	u, err := decode(body, &t)
	if err != nil {
		return 0, nil, err
	}
	if u.GetManagedFields() != nil {
		return 0, nil, apierrors.NewBadRequest("metadata.managedFields must be nil")
	}
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	code, live := http.StatusOK, empty(t)
	var old *unstructured.Unstructured
	if have := m.store.items[t.kind][t.key()]; have != nil {
		if old, err = have.object(); err != nil {
			return 0, nil, err
		}
		if err := matches(t, old, u); err != nil {
			return 0, nil, err
		}
		live = old.DeepCopy()
	} else {
		if t.sub != "" {
			return 0, nil, apierrors.NewNotFound(t.groupResource(), t.name)
		}
		if err := m.roomFor(t); err != nil {
			return 0, nil, err
		}
		code = http.StatusCreated
	}
	next, err := m.managers.of(t).Apply(live, u, manager, force)
	if err != nil {
		return 0, nil, asRequest(err)
	}
	i, err := m.commit(t, old, next)
	return code, rawOf(i), err
}

// asRequest makes what the schema says of an object the client's fault.
func asRequest(err error) error {
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		return err
	}
	return apierrors.NewBadRequest(err.Error())
}

func patched(kind types.PatchType, old *unstructured.Unstructured, patch []byte) (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(old.Object)
	if err != nil {
		return nil, err
	}
	if kind == types.MergePatchType {
		raw, err = jsonpatch.MergePatch(raw, patch)
	} else {
		var p jsonpatch.Patch
		if p, err = jsonpatch.DecodePatch(patch); err == nil {
			raw, err = p.Apply(raw)
		}
	}
	u := &unstructured.Unstructured{}
	if err == nil {
		err = u.UnmarshalJSON(raw)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return u, nil
}

// updated is an object as an update by somebody leaves it.
func (m *member) updated(t target, old, u *unstructured.Unstructured, manager string) (runtime.Object, error) {
	if err := matches(t, old, u); err != nil {
		return nil, err
	}
	if t.sub == "status" { // that alone
		status := u.Object["status"]
		managed := u.GetManagedFields()
		u = old.DeepCopy()
		u.Object["status"] = status
		u.SetManagedFields(managed)
	} else {
		setDefaults(u)
	}
	return m.managers.of(t).Update(old, u, manager)
}

// matches refuses a write that was made for another state of the object.
func matches(t target, old, u *unstructured.Unstructured) error {
	if v := u.GetResourceVersion(); v != "" && v != old.GetResourceVersion() {
		return apierrors.NewConflict(t.groupResource(), t.name, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if uid := u.GetUID(); uid != "" && uid != old.GetUID() {
		return apierrors.NewConflict(t.groupResource(), t.name, fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, old.GetUID()))
	}
	return nil
}

// commit stores an object over another one (nil: there is none), unless it is the
// same, and does what controllers would. The lock is held.
func (m *member) commit(t target, old *unstructured.Unstructured, obj runtime.Object) (*item, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the merge made a %T", obj)
	}
	m.complete(t, old, u)
	if old != nil {
		u.SetResourceVersion(old.GetResourceVersion())
		if same(old, u) {
			return m.have(t)
		}
	}
	if old != nil && old.GetDeletionTimestamp() != nil && len(u.GetFinalizers()) == 0 {
		return m.store.remove(t.kind, u)
	}
	i, err := m.store.put(t.kind, u)
	if err == nil && t.Kind == "Deployment" && t.sub == "" {
		err = m.roll(t, u)
	}
	return i, err
}

// complete sets what the API server alone sets.
func (m *member) complete(t target, old, u *unstructured.Unstructured) {
	if old == nil {
		u.SetUID(uuid.NewUUID())
		u.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
		u.SetDeletionTimestamp(nil)
		if t.generation {
			u.SetGeneration(1)
		}
		if t.status && t.Kind != "Node" {
			delete(u.Object, "status")
		}
	} else {
		u.SetUID(old.GetUID())
		u.SetCreationTimestamp(old.GetCreationTimestamp())
		u.SetDeletionTimestamp(old.GetDeletionTimestamp())
		u.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
		u.SetGeneration(old.GetGeneration())
		if t.status && t.sub == "" {
			keep(u.Object, old.Object, "status")
		}
		if t.generation && !reflect.DeepEqual(old.Object["spec"], u.Object["spec"]) {
			u.SetGeneration(old.GetGeneration() + 1)
		}
	}
	switch t.Kind {
	case "Namespace":
		missing(u.Object, map[string]any{"spec": map[string]any{"finalizers": []any{"kubernetes"}}, "status": map[string]any{"phase": "Active"}})
		missing(part(u.Object, "metadata", "labels"), map[string]any{"kubernetes.io/metadata.name": t.name})
	case "Service":
		m.allocate(u, old)
	}
}

func keep(to, from map[string]any, field string) {
	delete(to, field)
	if v, ok := from[field]; ok {
		to[field] = v
	}
}

// allocate gives a Service the address that it keeps.
func (m *member) allocate(u, old *unstructured.Unstructured) {
	spec := part(u.Object, "spec")
	if spec["type"] == "ExternalName" || spec["clusterIP"] != nil {
		return
	}
	n := m.store.version + 1
	ip := fmt.Sprintf("10.%d.%d.%d", 96+n>>16&15, n>>8&255, n&255)
	if old != nil {
		if kept, ok := part(old.Object, "spec")["clusterIP"].(string); ok {
			ip = kept
		}
	}
	missing(spec, map[string]any{"clusterIP": ip, "clusterIPs": []any{ip}, "ipFamilies": []any{"IPv4"}, "ipFamilyPolicy": "SingleStack"})
}

// roll has a Deployment's status say that all of its pods are available. The lock is
// held.
func (m *member) roll(t target, u *unstructured.Unstructured) error {
	observed, _, err := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	if err != nil || observed == u.GetGeneration() || u.GetDeletionTimestamp() != nil {
		return err
	}
	next := u.DeepCopy()
	next.Object["status"] = available(u, time.Now())
	t.sub = "status"
	obj, err := m.managers.of(t).Update(u.DeepCopy(), next, "kube-controller-manager")
	if err != nil {
		return err
	}
	_, err = m.commit(t, u, obj)
	return err
}

// same tells whether a write would change nothing but the times in managed fields,
// in which case it is none.
func same(old, u *unstructured.Unstructured) bool {
	a, b := old.DeepCopy(), u.DeepCopy()
	a.SetManagedFields(timeless(a.GetManagedFields()))
	b.SetManagedFields(timeless(b.GetManagedFields()))
	return reflect.DeepEqual(a.Object, b.Object)
}

func timeless(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	for i := range entries {
		entries[i].Time = nil
	}
	return entries
}
