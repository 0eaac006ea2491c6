// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package joining

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// Orphan is an object that a hub created in a member. It is an orphan if the hub has no
// Work for it.
type Orphan struct {
	Object
	Created time.Time
}

// listed is a kind that the member lists.
type listed struct {
	schema.GroupVersionKind
	resource string
}

// Orphans returns the member's objects that have the hub's mark. Kinds that the
// credentials may not list are returned as unseen. Objects that other controllers
// derive from an object may have its labels, but not the hub's mark.
func (c *Credentials) Orphans(ctx context.Context, hub string) (orphans []Orphan, unseen []string, err error) {
	defer func() { err = c.ofMember(err) }()
	client, err := c.client()
	if err != nil {
		return nil, nil, err
	}
	objects, err := metadata.NewForConfig(c.config)
	if err != nil {
		return nil, nil, fmt.Errorf("use the credentials of %s: %w", c.source, err)
	}
	kinds, unseen, err := kindsOf(client.Discovery())
	if err != nil {
		return nil, nil, fmt.Errorf("ask the member at %s for its kinds: %w", c.Endpoint, err)
	}
	seen := map[types.UID]bool{}
	for _, k := range kinds {
		list, err := objects.Resource(k.GroupVersion().WithResource(k.resource)).List(ctx, metav1.ListOptions{LabelSelector: propagation.LabelMemberWork})
		switch {
		case apierrors.IsForbidden(err):
			unseen = append(unseen, k.GroupKind().String())
			continue
		case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("list %s of the member: %w", k.Kind, err)
		}
		for i := range list.Items {
			if o := &list.Items[i].ObjectMeta; !seen[o.UID] && o.Annotations[applying.AnnotationHub] == hub {
				seen[o.UID] = true
				orphans = append(orphans, orphanOf(k, o))
			}
		}
	}
	return orphans, unseen, nil
}

func orphanOf(k listed, o *metav1.ObjectMeta) Orphan {
	version, kind := k.ToAPIVersionAndKind()
	return Orphan{
		Object: Object{
			TemplateKey: propagation.TemplateKey{APIVersion: version, Kind: kind, Namespace: o.Namespace, Name: o.Name},
			Work:        o.Labels[propagation.LabelMemberWork],
		},
		Created: o.CreationTimestamp.Time,
	}
}

// kindsOf returns the kinds that can be listed, and the groups that do not answer.
func kindsOf(d discovery.DiscoveryInterface) (kinds []listed, unseen []string, err error) {
	lists, err := discovery.ServerPreferredResources(d)
	if failed, partly := discovery.GroupDiscoveryFailedErrorGroups(err); partly {
		for gv := range failed {
			unseen = append(unseen, gv.String())
		}
	} else if err != nil {
		return nil, nil, err
	}
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			return nil, nil, err
		}
		for _, r := range l.APIResources {
			if slices.Contains(r.Verbs, "list") {
				kinds = append(kinds, listed{gv.WithKind(r.Kind), r.Name})
			}
		}
	}
	return kinds, unseen, nil
}
