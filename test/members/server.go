// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// member is one API server.
type member struct {
	name     string
	token    string
	managers managers
	store    *store
	audit    *audit
}

// first are what every cluster has.
func (m *member) first() error {
	for _, name := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		t, _ := parse("/api/v1/namespaces/" + name)
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
		u.SetName(name)
		if _, err := m.create(t, u, "kube-apiserver"); err != nil {
			return err
		}
	}
	t, _ := parse("/api/v1/nodes/node-1")
	room := map[string]any{"cpu": "1000", "memory": "4000Gi", "pods": "100000"}
	node := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "node-1"},
		"status": map[string]any{"capacity": room, "allocatable": room, "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
	}}
	_, err := m.create(t, node, "kubelet")
	return err
}

// ServeHTTP answers one request.
func (m *member) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := &recorder{ResponseWriter: w, began: time.Now(), audit: m.audit, request: r}
	defer rec.end()
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+m.token)) != 1 {
		fail(rec, apierrors.NewUnauthorized("Unauthorized"))
		return
	}
	if r.Method == http.MethodGet && discover(rec, r) || r.Method == http.MethodPost && review(rec, r) {
		return
	}
	t, ok := parse(r.URL.Path)
	if !ok {
		http.Error(rec, "404 page not found", http.StatusNotFound)
		return
	}
	rec.target = t
	if r.Method == http.MethodGet && t.name == "" && isTrue(r.URL.Query().Get("watch")) {
		rec.verb = "watch"
		if err := m.watch(rec, r, t); err != nil {
			fail(rec, err)
		}
		return
	}
	code, raw, err := m.answer(rec, r, t)
	if err != nil {
		fail(rec, err)
		return
	}
	send(rec, code, raw)
}

// answer is the answer to a request that ends.
func (m *member) answer(rec *recorder, r *http.Request, t target) (int, []byte, error) {
	switch {
	case r.Method == http.MethodGet && t.name == "":
		rec.verb = "list"
		raw, err := m.list(r, t)
		return http.StatusOK, raw, err
	case r.Method == http.MethodGet:
		rec.verb = "get"
		i, err := m.get(t)
		return http.StatusOK, rawOf(i), err
	case r.Method == http.MethodDelete && t.name == "":
		rec.verb = "deletecollection"
		raw, err := m.deleteAll(r, t)
		return http.StatusOK, raw, err
	case r.Method == http.MethodDelete && t.sub == "":
		rec.verb = "delete"
		raw, err := m.deleteOne(r, t)
		return http.StatusOK, raw, err
	}
	return m.write(rec, r, t)
}

func rawOf(i *item) []byte {
	if i == nil {
		return nil
	}
	return i.raw
}

// review answers what the token may do, which is everything; false: that was not asked.
func review(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path != "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" {
		return false
	}
	reply(w, http.StatusCreated, authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
		Status:   authorizationv1.SubjectAccessReviewStatus{Allowed: true},
	})
	return true
}

func isTrue(v string) bool { return v == "true" || v == "1" }

func send(w http.ResponseWriter, code int, raw []byte) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(code)
	_, _ = w.Write(raw) // who asked may have gone
}

func reply(w http.ResponseWriter, code int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		code, raw = http.StatusInternalServerError, []byte(err.Error())
	}
	send(w, code, raw)
}

// fail answers with a Status, as an API server does.
func fail(w http.ResponseWriter, err error) {
	s := statusOf(err)
	reply(w, int(s.Code), s)
}

func statusOf(err error) metav1.Status {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(fmt.Errorf("%w", err))
	}
	s := known.Status()
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return s
}
