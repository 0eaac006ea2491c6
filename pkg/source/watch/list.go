// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"sluice.dev/pkg/core/propagation"
)

// PageSize is the number of objects that one request lists at most.
const PageSize = 500

// Ways to ask for the metadata of objects only.
const (
	MetadataOnly  = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	metadataLists = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

// Objects are the objects of a kind, where an API server has them.
type Objects struct {
	Client rest.Interface
	// Path of the collection.
	Path []string
	// Labels and Fields select among them; empty: all.
	Labels, Fields string
	// Bare asks for nothing but metadata.
	Bare bool
	// Timeout ends a request that lists; 0: its caller does.
	Timeout time.Duration
	// NotOlderThan is a version of these objects. A list has all that was written until
	// then, and comes at once; empty: all that was written until it was asked for, which
	// the API server first makes sure of.
	NotOlderThan string
	// once says that a request is made once. An API server that stops or starts says how
	// long to wait, and the client would, in silence: the answer may be another server's,
	// or that of one which was restored from a backup meanwhile.
	once bool
}

func (o Objects) request(bare string) *rest.Request {
	req := o.Client.Get().AbsPath(o.Path...).SetHeader("Accept", runtime.ContentTypeJSON)
	if o.once {
		req.MaxRetries(0)
	}
	if o.Bare {
		req.SetHeader("Accept", bare)
	}
	for param, value := range map[string]string{"labelSelector": o.Labels, "fieldSelector": o.Fields} {
		if value != "" {
			req.Param(param, value)
		}
	}
	return req
}

// Page is a part of a list.
type Page[T any] struct {
	Objects []T
	// Version is that of the list as a whole.
	Version string
	// Continue is where to go on; empty: that was all.
	Continue string
}

// ListPage lists at most limit objects (0: all), from where another page says. What
// cannot be decoded was let in by an older schema, and is left out: it hides no other
// object, and a read of it says what is wrong.
func ListPage[T any](ctx context.Context, o Objects, limit int64, cont string, decode func(raw []byte) (T, error)) (Page[T], error) {
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	req := o.request(metadataLists)
	if limit > 0 {
		req.Param("limit", strconv.FormatInt(limit, 10))
	}
	switch {
	case cont != "":
		req.Param("continue", cont)
	case o.NotOlderThan != "":
		// An API server that was restored from a backup may never come to the version. It
		// says so after three seconds, and that it may be asked again, ten times.
		req.Param("resourceVersion", o.NotOlderThan).Param("resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan)).MaxRetries(0)
	}
	answer := req.Do(ctx)
	if err := answer.Error(); err != nil { // which is what a Status says
		return Page[T]{}, err
	}
	raw, err := answer.Raw()
	if err != nil {
		return Page[T]{}, err
	}
	var list struct {
		Metadata metav1.ListMeta   `json:"metadata"`
		Items    []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return Page[T]{}, fmt.Errorf("decode list: %w", err)
	}
	p := Page[T]{Version: list.Metadata.ResourceVersion, Continue: list.Metadata.Continue}
	for _, item := range list.Items {
		if object, err := decode(item); err == nil {
			p.Objects = append(p.Objects, object)
		}
	}
	return p, nil
}

// List is all pages of one consistent list. Where the API server forgets it meanwhile,
// it begins anew.
func List[T any](ctx context.Context, o Objects, limit int64, decode func(raw []byte) (T, error)) (Page[T], error) {
	var all Page[T]
	for cont := ""; ; {
		p, err := ListPage(ctx, o, limit, cont, decode)
		if Forgotten(err) && cont != "" {
			all, cont = Page[T]{}, ""
			continue
		}
		if err != nil {
			return Page[T]{}, err
		}
		all.Objects = append(all.Objects, p.Objects...)
		all.Version = cmp.Or(all.Version, p.Version)
		if cont = p.Continue; cont == "" {
			return all, nil
		}
	}
}

// Version is how far the API server has come with these objects, asked live and once. It
// falls only where it is restored from a backup.
func (o Objects) Version(ctx context.Context) (string, error) {
	o.once = true
	p, err := ListPage(ctx, o, 1, "", func([]byte) (struct{}, error) { return struct{}{}, nil })
	return p.Version, err
}

// Forgotten tells whether an API server does not remember a version, or has not come to
// it: everything has to be listed.
func Forgotten(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// Newer orders versions. Those that are no numbers have no order: another one is a newer
// one.
func Newer(a, b string) bool {
	va, vb := propagation.Version(a), propagation.Version(b)
	if va == 0 || vb == 0 {
		return a != b
	}
	return va > vb
}

func newest(a, b string) string {
	if b != "" && Newer(b, a) {
		return b
	}
	return a
}

// open opens a watch from a version on.
func (o Objects) open(ctx context.Context, from string, seconds int) (io.ReadCloser, error) {
	o.once = true
	return o.request(MetadataOnly).
		Param("watch", "true").
		Param("allowWatchBookmarks", "true").
		Param("resourceVersion", from).
		Param("timeoutSeconds", strconv.Itoa(seconds)).Stream(ctx)
}

// read calls f for each event of a watch, until it ends, f returns an error, or the watch
// tells of one.
func read(body io.Reader, f func(what watch.EventType, object json.RawMessage) error) error {
	for events := json.NewDecoder(body); ; {
		var e struct {
			Type   watch.EventType `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := events.Decode(&e); err != nil {
			return err // at the end: io.EOF
		}
		if e.Type == watch.Error {
			return errorOf(e.Object)
		}
		if err := f(e.Type, e.Object); err != nil {
			return err
		}
	}
}

// errorOf is the error that ends a watch.
func errorOf(raw []byte) error {
	var status metav1.Status
	if err := json.Unmarshal(raw, &status); err != nil {
		return fmt.Errorf("decode the error: %w", err)
	}
	return apierrors.FromObject(&status)
}
