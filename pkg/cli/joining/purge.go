// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package joining

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"sluice.dev/pkg/core/propagation"
)

// Object is an object that a Work created in a member.
type Object struct {
	propagation.TemplateKey
	// Work is the name of the Work.
	Work string
	// Owners are the label values that mark the object as the Work's.
	Owners []string
}

// ObjectsOf returns the objects in Works, in the order in which they may be deleted:
// namespaced ones first. Manifests that cannot be decoded were never applied.
func ObjectsOf(works []*propagation.Work) []Object {
	var out []Object
	for _, w := range works {
		for _, m := range w.Spec.Workload.Manifests {
			var u unstructured.Unstructured
			if err := u.UnmarshalJSON(m.Raw); err != nil || u.GetName() == "" {
				continue
			}
			out = append(out, Object{
				TemplateKey: propagation.TemplateKey{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()},
				Work:        w.Key.Name,
				Owners:      w.Owners(),
			})
		}
	}
	slices.SortFunc(out, func(a, b Object) int {
		return cmp.Or(-cmp.Compare(min(len(a.Namespace), 1), min(len(b.Namespace), 1)), cmp.Compare(a.ID(), b.ID()))
	})
	return out
}

// Purge deletes objects from the member, if they still have the label of their Work. It
// calls deleted for each.
func (c *Credentials) Purge(ctx context.Context, objects []Object, deleted func(Object)) (err error) {
	defer func() { err = c.ofMember(err) }()
	client, err := c.client()
	if err != nil {
		return err
	}
	objectsClient, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return fmt.Errorf("use the credentials of %s: %w", c.source, err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	for _, o := range objects {
		gvk := o.GroupVersionKind()
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if meta.IsNoMatchError(err) {
			continue // the member does not serve the kind, or no longer
		}
		if err != nil {
			return fmt.Errorf("find out where the member serves %s: %w", gvk.Kind, err)
		}
		done, err := purge(ctx, objectsClient.Resource(mapping.Resource).Namespace(o.Namespace), o)
		if err != nil {
			return fmt.Errorf("delete %s from the member: %w", o, err)
		}
		if done {
			deleted(o)
		}
	}
	return nil
}

func purge(ctx context.Context, client dynamic.ResourceInterface, o Object) (bool, error) {
	live, err := client.Get(ctx, o.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && (!slices.Contains(o.Owners, live.GetLabels()[propagation.LabelMemberWork]) || live.GetDeletionTimestamp() != nil) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	uid, background := live.GetUID(), metav1.DeletePropagationBackground
	err = client.Delete(ctx, o.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	return err == nil, err
}
