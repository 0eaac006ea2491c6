// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// An API server sends a bookmark two seconds before it ends a watch, at which
	// all that came before has been told.
	sinceSeconds = 4
	// grace is added for an API server that answers slowly.
	grace = 6 * time.Second
)

// Since calls f for each change of an object since a version, in order, and returns the
// version to continue from: that of the last change or bookmark. It reads up to the
// first bookmark or the end of the watch, and at most so many bytes (0: no limit); the
// next call continues there. f gets the metadata of objects, and no more is requested
// if they are Bare.
//
// It takes a few seconds, however much happened, for it waits until the API server says
// that there is no more.
func (o Objects) Since(ctx context.Context, since string, most int64, f func(what watch.EventType, m *metav1.ObjectMeta)) (until string, err error) {
	ctx, cancel := context.WithTimeout(ctx, sinceSeconds*time.Second+grace)
	defer cancel()
	body, err := o.open(ctx, since, sinceSeconds)
	if err != nil {
		return since, err
	}
	defer func() { _ = body.Close() }()
	var in io.Reader = body
	if most > 0 {
		in = io.LimitReader(body, most)
	}
	until = since
	err = read(in, func(what watch.EventType, raw json.RawMessage) error {
		var o metav1.PartialObjectMetadata
		if err := json.Unmarshal(raw, &o); err != nil {
			return fmt.Errorf("decode a change: %w", err)
		}
		if until = o.ResourceVersion; what == watch.Bookmark {
			return io.EOF
		}
		f(what, &o.ObjectMeta)
		return nil
	})
	if ended(err) || errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return until, err
}

// ended tells whether a watch was read to its end, or until the connection was cut.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
