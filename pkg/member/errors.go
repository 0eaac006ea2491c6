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

	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redact"
)

// NotOurs says that an object exists that this Work did not make.
type NotOurs struct {
	Cluster string
	Ref     Ref
	// Work that made it; empty: Sluice did not.
	Work string
	// Hub of that Work, where it is another one.
	Hub string
}

// Error says what exists, and what can be done.
func (e *NotOurs) Error() string {
	maker := "was not made by Sluice"
	switch {
	case e.Hub != "":
		maker = "belongs to another hub (" + e.Hub + "), there to the Work " + e.Work
	case e.Work != "":
		maker = "belongs to the Work " + e.Work
	}
	return fmt.Sprintf("%s exists in %s and %s; set conflictResolution: Overwrite to take it over", e.Ref, e.Cluster, maker)
}

// NoNamespace says that the object's namespace does not exist.
type NoNamespace struct{ Cluster, Namespace string }

// Error names the namespace.
func (e *NoNamespace) Error() string {
	return fmt.Sprintf("%s has no namespace %s", e.Cluster, e.Namespace)
}

// NotServed says that the member does not know the kind.
type NotServed struct {
	Cluster string
	GVK     schema.GroupVersionKind
}

// Error names the kind.
func (e *NotServed) Error() string {
	return fmt.Sprintf("%s does not serve %s %s", e.Cluster, e.GVK.GroupVersion(), e.GVK.Kind)
}

// Refused says that the member's API server does not want the object.
type Refused struct {
	Cluster string
	// Message is the member's own.
	Message string
}

// Error is the member's own message.
func (e *Refused) Error() string { return fmt.Sprintf("%s refused: %s", e.Cluster, e.Message) }

// Contested says that somebody else owns a field of the object, which is not taken.
type Contested struct{ Refused Refused }

// Error is the member's own message, which names the fields and who owns them, and
// what can be done.
func (e *Contested) Error() string {
	return e.Refused.Error() + ": let go of them there, or set spec.strategy.applyStrategy.serverSideApplyConfig.force"
}

// Unwrap makes it a *Refused.
func (e *Contested) Unwrap() error { return &e.Refused }

// Unreachable says that the member did not answer, or not with an answer.
type Unreachable struct {
	Cluster string
	Err     error
}

// Error has only the innermost cause: addresses and ports around it differ from
// one attempt to the next.
func (e *Unreachable) Error() string {
	return fmt.Sprintf("%s cannot be reached: %s", e.Cluster, cause(e.Err))
}

// Unwrap is the whole error.
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

// untyped is what an API server says, as an error of its own (500), of an applied object
// whose fields are not of their types.
const untyped = "failed to create typed patch object"

// classify turns the error of a request into one of the types above, a conflict,
// outcome.ErrGone, or the caller's own end.
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
		return err // and whoever asked comes again
	case errors.As(err, new(*resting)):
		return &Unreachable{c.name, err} // of its credentials the failures before have raised doubts
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

// ownedByOther tells whether a conflict is about who owns a field.
func ownedByOther(details *metav1.StatusDetails) bool {
	return details != nil && slices.ContainsFunc(details.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeFieldManagerConflict })
}

// printable is a member's text without what a terminal or a log would obey.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '?'
		}
		return r
	}, s)
}

// unreachable makes the fleet look at the credentials again.
func (c *Client) unreachable(err error) error {
	c.doubted.Store(true)
	return &Unreachable{c.name, err}
}

// unknownPath tells a 404 for a path that nobody serves from one for an object:
// the former is not made by the API's own code.
func unknownPath(d *metav1.StatusDetails) bool {
	return d != nil && slices.ContainsFunc(d.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeUnexpectedServerResponse })
}
