// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// get is the object.
func (m *member) get(t target) (*item, error) {
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	return m.have(t)
}

// have is the object. The store's lock is held.
func (m *member) have(t target) (*item, error) {
	i := m.store.items[t.kind][t.key()]
	if i == nil {
		return nil, apierrors.NewNotFound(t.groupResource(), t.name)
	}
	return i, nil
}

// chosen is what a request's selectors and its namespace let through.
func chosen(r *http.Request, t target) (func(*item) bool, error) {
	q := r.URL.Query()
	byLabel, err := labels.Parse(q.Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	byField, err := fields.ParseSelector(q.Get("fieldSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	for _, f := range byField.Requirements() {
		if f.Field != "metadata.name" && f.Field != "metadata.namespace" && t.Kind != "Pod" { // there are no pods
			return nil, apierrors.NewBadRequest(fmt.Sprintf("field label not supported: %s", f.Field))
		}
	}
	return func(i *item) bool {
		return (t.namespace == "" || i.namespace == t.namespace) && byLabel.Matches(i.labels) &&
			byField.Matches(fields.Set{"metadata.name": i.name, "metadata.namespace": i.namespace})
	}, nil
}

// mark is where a list goes on.
type mark struct {
	Version         uint64
	Namespace, Name string
}

// list answers with the objects that are chosen, or a page of them.
func (m *member) list(r *http.Request, t target) ([]byte, error) {
	is, err := chosen(r, t)
	if err != nil {
		return nil, err
	}
	all, version := m.store.list(t.kind, is)
	q := r.URL.Query()
	if from, err := strconv.ParseUint(q.Get("resourceVersion"), 10, 64); err == nil && from > version {
		return nil, apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", from, version), 1)
	}
	if cont := q.Get("continue"); cont != "" {
		var at mark
		raw, err := base64.RawURLEncoding.DecodeString(cont)
		if err == nil {
			err = json.Unmarshal(raw, &at)
		}
		if err != nil {
			return nil, apierrors.NewBadRequest("continue key is not valid")
		}
		last, version0 := &item{namespace: at.Namespace, name: at.Name}, at.Version
		all = slices.DeleteFunc(all, func(i *item) bool { return byKey(i, last) <= 0 })
		version = version0
	}
	limit, _ := strconv.Atoi(q.Get("limit")) // none is 0: all
	next, left := "", 0
	if limit > 0 && len(all) > limit {
		left, all = len(all)-limit, all[:limit]
		last := all[limit-1]
		raw, err := json.Marshal(mark{version, last.namespace, last.name})
		if err != nil {
			return nil, err
		}
		next = base64.RawURLEncoding.EncodeToString(raw)
	}
	return listed(t.kind, all, version, next, left), nil
}

func listed(k *kind, all []*item, version uint64, next string, left int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"%d"`, k.Kind, k.GroupVersion(), version)
	if next != "" {
		fmt.Fprintf(&b, `,"continue":%q,"remainingItemCount":%d`, next, left)
	}
	b.WriteString(`},"items":[`)
	for n, i := range all {
		if n > 0 {
			b.WriteByte(',')
		}
		b.Write(i.raw)
	}
	b.WriteString("]}")
	return b.Bytes()
}
