// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// How long an answer is believed: one that is missing is granted by somebody who
// waits for it, one that is there is seldom taken away.
const (
	deniedFor  = 10 * time.Second
	grantedFor = 5 * time.Minute
)

// Kinds says how a kind is served.
type Kinds interface {
	Resources
	// HasStatus tells whether the status of the kind's objects is written apart.
	HasStatus(gvk schema.GroupVersionKind) bool
}

// Rights asks the hub what Sluice's accounts may do with templates.
type Rights struct {
	reviews authorization.SubjectAccessReviewInterface
	kinds   Kinds
	now     func() time.Time

	mu    sync.Mutex
	known map[propagation.Right]answer
}

type answer struct {
	granted bool
	until   time.Time
}

// NewRights are those of the functions' accounts on the hub.
func NewRights(reviews authorization.SubjectAccessReviewInterface, k Kinds, now func() time.Time) *Rights {
	return &Rights{reviews: reviews, kinds: k, now: now, known: map[propagation.Right]answer{}}
}

// needs are what a template takes: one account for each role that config/200-rbac
// makes of templates' kinds.
var needs = []struct {
	account, verb string
	status        bool
}{
	{"source", "watch", false},
	{"gate", "get", false},
	{"detector", "patch", false},
	{"reporter", "patch", true},
}

// Missing are the rights to what the policy selects that are not there.
func (r *Rights) Missing(ctx context.Context, p *propagation.Policy) ([]propagation.Right, error) {
	var missing []propagation.Right
	for _, s := range p.Spec.ResourceSelectors {
		gvk := schema.FromAPIVersionAndKind(s.APIVersion, s.Kind)
		if slices.Contains(p.NotServed, gvk) {
			continue
		}
		resource, err := r.kinds.Resource(gvk)
		if errors.Is(err, outcome.ErrNotServed) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", gvk, err)
		}
		namespace := s.Namespace
		if p.Key.Scope == propagation.Namespaced {
			namespace = p.Key.Namespace
		}
		for _, n := range needs {
			right := propagation.Right{Account: n.account, Verb: n.verb, Status: n.status, Resource: resource.GroupResource(), Namespace: namespace}
			if n.status && !r.kinds.HasStatus(gvk) || slices.Contains(missing, right) {
				continue
			}
			granted, err := r.granted(ctx, right)
			if err != nil {
				return nil, err
			}
			if !granted {
				missing = append(missing, right)
			}
		}
	}
	return missing, nil
}

// granted answers from what is known, or asks.
func (r *Rights) granted(ctx context.Context, right propagation.Right) (bool, error) {
	now := r.now()
	r.mu.Lock()
	known, ok := r.known[right]
	r.mu.Unlock()
	if ok && now.Before(known.until) {
		return known.granted, nil
	}
	granted, err := r.ask(ctx, right)
	if err != nil {
		return false, err
	}
	until := now.Add(deniedFor)
	if granted {
		until = now.Add(grantedFor)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for other, a := range r.known { // nobody asks for a policy that is gone
		if now.After(a.until.Add(grantedFor)) {
			delete(r.known, other)
		}
	}
	r.known[right] = answer{granted, until}
	return granted, nil
}

func (r *Rights) ask(ctx context.Context, right propagation.Right) (bool, error) {
	what := &authorizationv1.ResourceAttributes{
		Namespace: right.Namespace, Verb: right.Verb, Group: right.Resource.Group, Resource: right.Resource.Resource,
	}
	if right.Status {
		what.Subresource = "status"
	}
	review, err := r.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: reviewOf(propagation.SystemNamespace, right.Account, what),
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask whether %s: %w", right, err)
	}
	return review.Status.Allowed, nil
}

// reviewOf asks whether a ServiceAccount may do something.
func reviewOf(namespace, account string, what *authorizationv1.ResourceAttributes) authorizationv1.SubjectAccessReviewSpec {
	return authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:" + namespace + ":" + account,
		Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
		ResourceAttributes: what,
	}
}
