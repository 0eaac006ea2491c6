// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func deleteOptions(r *http.Request) (metav1.DeleteOptions, error) {
	var opts metav1.DeleteOptions
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err == nil && len(body) > 0 {
		err = json.Unmarshal(body, &opts)
	}
	if err != nil {
		return opts, apierrors.NewBadRequest(err.Error())
	}
	return opts, nil
}

// deleteOne answers with a Status where the object is gone, and with the object where
// a finalizer keeps it.
func (m *member) deleteOne(r *http.Request, t target) ([]byte, error) {
	opts, err := deleteOptions(r)
	if err != nil {
		return nil, err
	}
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	have, err := m.have(t)
	if err != nil {
		return nil, err
	}
	kept, uid, err := m.end(t, have, opts)
	if err != nil || kept != nil {
		return rawOf(kept), err
	}
	return encoded(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: t.name, Group: t.Group, Kind: t.resource, UID: uid},
	}), nil
}

// deleteAll deletes what is chosen.
func (m *member) deleteAll(r *http.Request, t target) ([]byte, error) {
	opts, err := deleteOptions(r)
	if err != nil {
		return nil, err
	}
	is, err := chosen(r, t)
	if err != nil {
		return nil, err
	}
	all, version := m.store.list(t.kind, is)
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	for _, i := range all {
		t.namespace, t.name = i.namespace, i.name
		have, err := m.have(t)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err == nil {
			_, _, err = m.end(t, have, opts)
		}
		if err != nil {
			return nil, err
		}
	}
	return listed(t.kind, all, version, "", 0), nil
}

// end deletes an object, or marks it where a finalizer keeps it; then it is returned.
// The lock is held.
func (m *member) end(t target, have *item, opts metav1.DeleteOptions) (*item, types.UID, error) {
	u, err := have.object()
	if err != nil {
		return nil, "", err
	}
	if p := opts.Preconditions; p != nil {
		if p.UID != nil && *p.UID != u.GetUID() {
			why := fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", *p.UID, u.GetUID())
			return nil, "", apierrors.NewConflict(t.groupResource(), t.name, why)
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != u.GetResourceVersion() {
			return nil, "", apierrors.NewConflict(t.groupResource(), t.name, errors.New("Precondition failed: the resource version is another"))
		}
	}
	if len(u.GetFinalizers()) > 0 {
		if u.GetDeletionTimestamp() != nil {
			return have, u.GetUID(), nil
		}
		now, grace := metav1.NewTime(time.Now().Truncate(time.Second)), int64(0)
		u.SetDeletionTimestamp(&now)
		u.SetDeletionGracePeriodSeconds(&grace)
		if t.generation {
			u.SetGeneration(u.GetGeneration() + 1)
		}
		kept, err := m.store.put(t.kind, u)
		return kept, u.GetUID(), err
	}
	if t.Kind == "Namespace" {
		if err := m.empty(t.name); err != nil {
			return nil, "", err
		}
	}
	_, err = m.store.remove(t.kind, u)
	return nil, u.GetUID(), err
}

// empty deletes all that is in a namespace. The lock is held.
func (m *member) empty(namespace string) error {
	for _, k := range kinds {
		for _, i := range m.store.items[k] {
			if i.namespace != namespace {
				continue
			}
			u, err := i.object()
			if err == nil {
				_, err = m.store.remove(k, u)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
