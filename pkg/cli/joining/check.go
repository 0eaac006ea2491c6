// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package joining

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
)

// answerWithin is how long a member may take to answer one request.
const answerWithin = 10 * time.Second

// Identity is what a member says about itself.
type Identity struct {
	// ID is the uid of the member's namespace kube-system, by which two names of one
	// cluster are recognized.
	ID      string
	Version string
	// Without are the kinds that the credentials may not write.
	Without []string
}

// Check asks the member whether it is ready, whether the credentials may do what Sluice
// does, and for its identity.
func (c *Credentials) Check(ctx context.Context) (id Identity, err error) {
	defer func() { err = c.ofMember(err) }()
	client, err := c.client()
	if err != nil {
		return Identity{}, err
	}
	if err := c.ready(ctx, client); err != nil {
		return Identity{}, err
	}
	without, err := c.rights(ctx, client)
	if err != nil {
		return Identity{}, err
	}
	uid, err := SystemID(ctx, client)
	if err != nil {
		return Identity{}, fmt.Errorf("ask the member who it is: %w", err)
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return Identity{}, fmt.Errorf("ask the member for its version: %w", err)
	}
	return Identity{ID: uid, Version: version.GitVersion, Without: without}, nil
}

// MemberError is what went wrong with a member, and says nothing about the hub.
type MemberError struct{ error }

func (e MemberError) Unwrap() error { return e.error }

// ofMember returns the error as one of the member; nil stays nil.
func (c *Credentials) ofMember(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsUnauthorized(err):
		err = fmt.Errorf("the member at %s does not accept the credentials of %s: are they still valid? %w", c.Endpoint, c.source, err)
	}
	return MemberError{err}
}

func (c *Credentials) client() (*kubernetes.Clientset, error) {
	client, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return nil, fmt.Errorf("use the credentials of %s: %w", c.source, err)
	}
	return client, nil
}

func (c *Credentials) ready(ctx context.Context, client kubernetes.Interface) error {
	raw, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	switch {
	case err == nil, apierrors.IsForbidden(err): // it answers; the rights are checked next
		return nil
	case apierrors.IsUnauthorized(err):
		return err
	case len(raw) > 0:
		return fmt.Errorf("the member at %s is not ready: %s", c.Endpoint, strings.Join(strings.Fields(string(raw)), " "))
	}
	return fmt.Errorf("the member at %s does not answer: is it running, and is this address right? %w", c.Endpoint, err)
}

// rights returns the kinds that the credentials may not write; none if they may write
// every kind. It is an error if they may not write any kind.
func (c *Credentials) rights(ctx context.Context, client kubernetes.Interface) ([]string, error) {
	denied, err := c.denied(ctx, client, schema.GroupResource{Group: "*", Resource: "*"}, verbs)
	if err != nil || len(denied) == 0 {
		return nil, err
	}
	var without []string
	for _, kind := range Kinds {
		some, err := c.denied(ctx, client, kind, verbs)
		if err != nil {
			return nil, err
		}
		if len(some) > 0 {
			without = append(without, kind.String())
		}
	}
	if len(without) == len(Kinds) {
		return nil, fmt.Errorf("the credentials of %s may not %s any kind of object in the member: 'join --print-role' prints the least that they need", c.source, strings.Join(denied, ", "))
	}
	if no, err := c.denied(ctx, client, schema.GroupResource{Resource: "namespaces"}, []string{"get", "create"}); err != nil || len(no) > 0 {
		return nil, errors.Join(err, fmt.Errorf("the credentials of %s may not %s namespaces in the member: 'join --print-role' prints the least that they need", c.source, strings.Join(no, ", ")))
	}
	return without, nil
}

// denied returns the verbs that the credentials may not use on objects of the kind.
func (c *Credentials) denied(ctx context.Context, client kubernetes.Interface, kind schema.GroupResource, verbs []string) ([]string, error) {
	var denied []string
	for _, verb := range verbs {
		review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: kind.Group, Resource: kind.Resource}},
		}, metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("ask the member what the credentials of %s may do: %w", c.source, err)
		}
		if !review.Status.Allowed {
			denied = append(denied, verb)
		}
	}
	return denied, nil
}

// SystemID returns the identity of a cluster.
func SystemID(ctx context.Context, client kubernetes.Interface) (string, error) {
	ns, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("get namespace %s: %w", metav1.NamespaceSystem, err)
	}
	return string(ns.UID), nil
}
