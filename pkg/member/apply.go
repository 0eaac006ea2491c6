// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// Observed is an object as a member has it.
type Observed = applying.Observed

// LabelCreated is on each namespace that Sluice created because an object needed it.
const LabelCreated = applying.LabelCreated

// Looking says how to read an object.
type Looking struct {
	// First: nothing was ever applied there. Then the API server may answer from its
	// cache that no object exists, which is cheap: somebody could create one between a
	// read and a write anyway.
	First bool
	// Whole: including the data of ConfigMaps and Secrets.
	Whole bool
	// Live: read from the API server, not from a watch.
	Live bool
}

// Look returns the member's object of that name, or that there is none. It is an error
// if the member does not answer the question.
func (c *Client) Look(ctx context.Context, ref Ref, how Looking) (applying.Read[*Observed], error) {
	if ref.APIVersion == "" || ref.Kind == "" || ref.Name == "" {
		return applying.Read[*Observed]{}, &Refused{c.name, "a manifest needs apiVersion, kind and metadata.name"}
	}
	return Answer(c.look(ctx, ref, how))
}

// Known returns the object as a watch told of it last; nil: there is no watch, or it knows
// of none.
func (c *Client) Known(ref Ref) *Observed {
	if s := c.store(ref.GroupVersionKind()); s != nil {
		return s.get(keyOf(ref.Namespace, ref.Name))
	}
	return nil
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

// endedError says that an object is gone which had finished before.
type endedError struct {
	error
	last *Observed
}

func (e *endedError) Unwrap() error { return e.error }

// Answer turns the result of reading an object into a Read.
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
// resulting object. live is the object as it was read before; nil: there was none.
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
	now, err := c.write(ctx, ref, desired, w)
	if live == nil || !applying.HasPorts(desired) || !applying.Forces(w) || !errors.As(err, new(*Refused)) {
		return now, err
	}
	switch took, failure := c.takePorts(ctx, ref); {
	case failure != nil:
		return nil, failure
	case !took:
		return nil, err
	}
	return c.write(ctx, ref, desired, w)
}

// ErrExists says that the member has an object of that name, or had one that finished.
var ErrExists = errors.New("the member has an object of that name")

// noObjects is a version that no object has: where there is one, an API server answers
// that it was changed, and where there is none, it creates it.
const noObjects = "1"

// Create applies the manifest as Write does where the member has no object of that name.
// Otherwise it changes nothing, and the error is ErrExists. So nobody can create one
// between a read and a write, and where there is none that costs no read.
func (c *Client) Create(ctx context.Context, w *propagation.Work, hub string, manifest map[string]any) (*Observed, error) {
	ref, desired := refOf(manifest), applying.Desired(w, hub, manifest)
	if s := c.store(ref.GroupVersionKind()); s != nil {
		if key := keyOf(ref.Namespace, ref.Name); s.get(key) != nil || s.over(key) != nil {
			return nil, ErrExists
		}
	}
	applying.LeaveNodePorts(desired, nil)
	if err := unstructured.SetNestedField(desired, noObjects, "metadata", "resourceVersion"); err != nil {
		return nil, &Refused{c.name, err.Error()}
	}
	return c.write(ctx, ref, desired, w)
}

// write applies the object in the version that the member serves, and registers the
// change with the watch as Sluice's own. Without force, the API server refuses it if
// somebody else owns a field and has another value there; that is a *Contested. Of an
// object with a version it is ErrExists. write changes obj.
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
	_, creates, _ := unstructured.NestedString(obj, "metadata", "resourceVersion")
	if creates && apierrors.IsConflict(err) {
		done(nil)
		return nil, ErrExists
	}
	if err != nil {
		done(nil)
		return nil, c.classify(ctx, err, ref.GroupVersionKind(), ref.Namespace)
	}
	unstructured.RemoveNestedField(obj, "metadata", "resourceVersion")
	changed := applying.Changed(obj, now.Object)
	o := observe(ref.APIVersion, now.Object, false)
	o.For, o.Changed = w.UID, changed
	done(o)
	return o, nil
}

// leavesReplicas reports whether the number of replicas is the member's: the template
// asks for that, or an autoscaler of the member sets it. Autoscalers are read only if
// somebody else has scaled the object.
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
