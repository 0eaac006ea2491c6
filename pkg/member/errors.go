// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redact"
)

// NotOurs says that the object exists and does not belong to the Work.
type NotOurs struct {
	Cluster string
	Ref     Ref
	// Work that the object belongs to; empty: Sluice did not create it.
	Work string
	// Hub of that Work, if it is another one.
	Hub string
	// Lost: it belonged to the Work before, and is not taken back.
	Lost bool
}

// HowToTakeBack is for people: what has to be done in a member with an object that
// somebody took over.
const HowToTakeBack = "it is not taken back: to have it back, remove its label " + propagation.LabelMemberWork + " and its annotation " + applying.AnnotationHub + " there"

// Error says what exists, and what can be done.
func (e *NotOurs) Error() string {
	maker := "was not made by Sluice"
	switch {
	case e.Hub != "":
		maker = "belongs to another hub (" + e.Hub + "), there to the Work " + e.Work
	case e.Work != "":
		maker = "belongs to the Work " + e.Work
	}
	if e.Lost {
		return fmt.Sprintf("%s exists in %s and %s now; %s", e.Ref, e.Cluster, maker, HowToTakeBack)
	}
	return fmt.Sprintf("%s exists in %s and %s; set conflictResolution: Overwrite to take it over", e.Ref, e.Cluster, maker)
}

// NoNamespace says that the object's namespace does not exist.
type NoNamespace struct{ Cluster, Namespace string }

// Error names the namespace.
func (e *NoNamespace) Error() string {
	return fmt.Sprintf("%s has no namespace %s", e.Cluster, e.Namespace)
}

// NotServed says that the member does not serve the kind.
type NotServed struct {
	Cluster string
	GVK     schema.GroupVersionKind
}

// Error names the kind.
func (e *NotServed) Error() string {
	return fmt.Sprintf("%s does not serve %s %s", e.Cluster, e.GVK.GroupVersion(), e.GVK.Kind)
}

// Refused says that the member's API server rejected the object.
type Refused struct {
	Cluster string
	// Message is the API server's own.
	Message string
}

// Error returns the API server's own message.
func (e *Refused) Error() string { return fmt.Sprintf("%s refused: %s", e.Cluster, e.Message) }

// Misplaced is a *Refused: the member serves the kind with another scope than the hub, so
// that the object cannot be there.
type Misplaced struct{ Refused Refused }

// Error says which scope it has.
func (e *Misplaced) Error() string { return e.Refused.Error() }

// Unwrap returns the *Refused.
func (e *Misplaced) Unwrap() error { return &e.Refused }

// Contested says that somebody else owns a field of the object, and that it is not
// taken over.
type Contested struct{ Refused Refused }

// Error returns the API server's own message, which names the fields and their owners,
// and what can be done.
func (e *Contested) Error() string {
	return e.Refused.Error() + ": let go of them there, or set spec.strategy.applyStrategy.serverSideApplyConfig.force"
}

// Unwrap returns the error as a *Refused.
func (e *Contested) Unwrap() error { return &e.Refused }

// Unreachable says that the member did not answer, or did not answer as an API server
// does.
type Unreachable struct {
	Cluster string
	Err     error
}

// Error has only the innermost cause: the addresses and ports in the outer ones differ
// from one attempt to the next.
func (e *Unreachable) Error() string {
	return fmt.Sprintf("%s cannot be reached: %s", e.Cluster, cause(e.Err))
}

// Unwrap returns the underlying error.
func (e *Unreachable) Unwrap() error { return e.Err }

func cause(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return conditions.Message(printable(err.Error()))
}

// untyped is part of the message with which an API server rejects an applied object
// whose fields have wrong types. It reports that as an internal error (500).
const untyped = "failed to create typed patch object"

// classify turns the error of a request into one of the types above, a conflict, or
// outcome.ErrGone. If the caller gave up, it returns err.
func (c *Client) classify(ctx context.Context, err error, gvk schema.GroupVersionKind, namespace string) error {
	if gvk.Group == "" && gvk.Kind == "Secret" {
		err = redact.Error(err)
	}
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return err // the caller gave up
	case errors.Is(err, errBusy):
		return err // the caller tries again
	case errors.As(err, new(*resting)):
		return &Unreachable{c.name, err} // the failures before this one have set doubted already
	case !errors.As(err, &status):
		return c.unreachable(err)
	}
	s := status.Status()
	switch {
	case s.Code == http.StatusNotFound && unknownPath(s.Details):
		c.kinds.Forget(gvk.Group)
		return &NotServed{c.name, gvk}
	case s.Code == http.StatusNotFound && s.Details != nil && s.Details.Kind == "namespaces" && s.Details.Name == namespace && gvk.Kind != "Namespace":
		return &NoNamespace{c.name, namespace}
	case s.Code == http.StatusNotFound:
		return fmt.Errorf("%s: %w", s.Message, outcome.ErrGone)
	case s.Code == http.StatusConflict && ownedByOther(s.Details):
		return &Contested{Refused{c.name, conditions.Message(printable(s.Message))}}
	case s.Code == http.StatusConflict:
		return outcome.Conflict(err)
	case s.Code == http.StatusInternalServerError && strings.Contains(s.Message, untyped):
		return &Refused{c.name, conditions.Message(printable(s.Message))}
	case s.Code == http.StatusTooManyRequests || s.Code >= http.StatusInternalServerError:
		return c.unreachable(err)
	case s.Code == http.StatusUnauthorized:
		c.doubted.Store(true)
	}
	return &Refused{c.name, conditions.Message(printable(s.Message))}
}

// ownedByOther reports whether a conflict is about who owns a field.
func ownedByOther(details *metav1.StatusDetails) bool {
	return details != nil && slices.ContainsFunc(details.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeFieldManagerConflict })
}

// printable returns a member's text without control characters, which a terminal or a
// log might interpret.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '?'
		}
		return r
	}, s)
}

// unreachable returns an Unreachable, and makes the fleet check the credentials.
func (c *Client) unreachable(err error) error {
	c.doubted.Store(true)
	return &Unreachable{c.name, err}
}

// unknownPath distinguishes a 404 for a path that is not served from one for an object.
// Only the former is not written by the API's own code, and has this cause.
func unknownPath(d *metav1.StatusDetails) bool {
	return d != nil && slices.ContainsFunc(d.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeUnexpectedServerResponse })
}
