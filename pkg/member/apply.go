// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// Observed is an object as a member has it.
type Observed = applying.Observed

// LabelCreated is on each namespace that Sluice made because an object needed it.
const LabelCreated = applying.LabelCreated

// Looking says how to look at an object.
type Looking struct {
	// First: nothing was ever applied there. That there is no object in the way the
	// API server may tell from its cache, which costs it little: between a read and
	// a write there is time for others anyway.
	First bool
	// Whole: with the data of ConfigMaps and Secrets.
	Whole bool
	// Live: as it is now, whatever the watch says.
	Live bool
}

// Look tells what the member has of that name. Where it does not answer the
// question, that is an error.
func (c *Client) Look(ctx context.Context, ref Ref, how Looking) (applying.Read[*Observed], error) {
	if ref.APIVersion == "" || ref.Kind == "" || ref.Name == "" {
		return applying.Read[*Observed]{}, &Refused{c.name, "a manifest needs apiVersion, kind and metadata.name"}
	}
	return Answer(c.look(ctx, ref, how))
}

func (c *Client) look(ctx context.Context, ref Ref, how Looking) (_ *Observed, err error) {
	if s := c.store(ref.GroupVersionKind()); s != nil && !how.Live && !how.Whole {
		key := keyOf(ref.Namespace, ref.Name)
		if o := s.get(key); o != nil {
			return o, nil
		}
		defer func() {
			if last := s.over(key); last != nil && errors.Is(err, outcome.ErrGone) {
				err = &endedError{err, last}
			}
		}()
	}
	if how.First {
		if _, err := c.read(ctx, ref, metav1.GetOptions{ResourceVersion: "0"}, how.Whole); err != nil {
			return nil, err
		}
	}
	return c.read(ctx, ref, metav1.GetOptions{}, how.Whole)
}

// endedError says that an object is gone which had come to its end.
type endedError struct {
	error
	last *Observed
}

func (e *endedError) Unwrap() error { return e.error }

// Answer is what the member's answer to the question for an object tells.
func Answer(o *Observed, err error) (applying.Read[*Observed], error) {
	var (
		notServed *NotServed
		ended     *endedError
	)
	switch {
	case err == nil:
		return applying.Have(o), nil
	case errors.As(err, &ended):
		return applying.Read[*Observed]{Answer: applying.Absent, Last: ended.last}, nil
	case errors.Is(err, outcome.ErrGone):
		return applying.None[*Observed](), nil
	case errors.As(err, &notServed):
		return applying.Read[*Observed]{Answer: applying.NotServed, Why: err.Error()}, nil
	}
	return applying.Read[*Observed]{Why: err.Error()}, err
}

// Write applies the manifest with the marks of its Work and hub, and returns the
// object as it is then. live is the object as it was looked at; nil: there was
// none.
func (c *Client) Write(ctx context.Context, w *propagation.Work, hub string, manifest map[string]any, live *Observed) (*Observed, error) {
	ref, desired := refOf(manifest), applying.Desired(w, hub, manifest)
	if leave, err := c.leavesReplicas(ctx, ref, desired, live); err != nil {
		return nil, err
	} else if leave {
		applying.LeaveReplicas(desired, live)
	}
	if live != nil {
		applying.LeaveFields(w, desired, live)
	}
	applying.LeaveNodePorts(desired, live)
	return c.write(ctx, ref, desired, w)
}

// write applies the object in the version that the member serves, and lets the watch
// know that the change is ours. Without force, a field that somebody else owns and
// has otherwise refuses it: that is a *Contested. obj is changed.
func (c *Client) write(ctx context.Context, ref Ref, obj map[string]any, w *propagation.Work) (*Observed, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	at, gv, err := c.resource(ctx, ref)
	if err != nil {
		return nil, err
	}
	obj["apiVersion"] = gv.String()
	done := c.writing(ref)
	now, err := at.Apply(ctx, ref.Name, &unstructured.Unstructured{Object: obj}, metav1.ApplyOptions{FieldManager: propagation.FieldManager, Force: applying.Forces(w)})
	if err != nil {
		done(nil)
		return nil, c.classify(ctx, err, ref.GroupVersionKind(), ref.Namespace)
	}
	o := observe(ref.APIVersion, now.Object, false)
	o.For = w.UID
	done(o)
	return o, nil
}

// leavesReplicas tells whether the number of replicas is the member's: the template
// asks for that, or an autoscaler of the member sets it. The member is asked for its
// autoscalers only where somebody else has scaled the object.
func (c *Client) leavesReplicas(ctx context.Context, ref Ref, desired map[string]any, live *Observed) (bool, error) {
	switch {
	case live == nil:
		return false, nil
	case applying.RetainsReplicas(desired):
		return true, nil
	case live.Replicas != applying.Scaler:
		return false, nil
	}
	return c.autoscaled(ctx, ref)
}

func refOf(manifest map[string]any) Ref {
	u := unstructured.Unstructured{Object: manifest}
	return Ref{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
}
