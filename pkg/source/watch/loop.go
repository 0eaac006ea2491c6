// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"sluice.dev/pkg/core/propagation"
)

const (
	// A watch is opened anew after this many seconds, and up to twice as many.
	watchSeconds = 300
	// The pause before a broken watch is opened again doubles from firstPause
	// to longestPause, until one lasts for steady or tells anything.
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
	steady       = 5 * time.Second
	// A watch goes on from where another ended if it is open within this time. Nobody
	// stops an API server, gives it other content, and starts it in less.
	brief = time.Second
)

// Loop keeps somebody up to date about the objects of a kind.
type Loop[T any] struct {
	Objects
	// PageSize is how many objects are listed with one request.
	PageSize int64
	// Decode makes of JSON what is kept of an object. Items of lists lack apiVersion and
	// kind. What it cannot decode is left out.
	Decode func(raw []byte) (T, error)
	// Replace takes all that there is, as it was at a version.
	Replace func(all []T, version string)
	// Tell takes what happened to one object, and returns its version.
	Tell func(object T, deleted bool) (version string)
	// Progress takes that there is nothing new up to a version; nil: nobody wants to know.
	Progress func(version string)
	// Known returns the newest version that is known from elsewhere, such as a write of
	// this process that no watch has reported yet; nil: there is none.
	Known func() uint64
	// Back takes that the API server has not come to a version that was known: it was
	// restored from a backup, and its versions count anew; nil: nobody wants to know.
	Back func()
	// Ended takes that a watch has ended: until another is open, or all is listed, it is not
	// known what happens; nil: nobody wants to know.
	Ended func()
	// Reached takes the result of each list, and of opening each watch: as long as it is
	// an error, changes are not reported. If it cancels the context, as for a kind that is
	// no longer served, the loop ends.
	Reached func(err error)
	// Anew reports whether everything has to be listed again after this error, which ended
	// a watch or kept it from being opened. It is not asked where a watch came to its end
	// and the next is opened at once; nobody knows who is away during a pause. (After an
	// error that the version is forgotten it is listed anyway.) Nil: never.
	Anew func(err error) bool

	// heard is when the last list came, or the last watch ended.
	heard time.Time
}

// List lists all there is, and returns the version to Follow from. It is for the
// beginning: if the API server is starting, it waits.
func (l *Loop[T]) List(ctx context.Context) (version string, err error) {
	return l.list(ctx, l.Objects)
}

func (l *Loop[T]) list(ctx context.Context, o Objects) (version string, err error) {
	known := l.known()
	all, err := List(ctx, o, l.PageSize, l.Decode)
	if err == nil {
		_ = l.reached(all.Version, known) // what is listed counts
		l.Replace(all.Objects, all.Version)
		l.heard = time.Now()
	}
	return all.Version, err
}

// known is the newest version that is known besides; 0: none is.
func (l *Loop[T]) known() uint64 {
	if l.Known == nil {
		return 0
	}
	return l.Known()
}

// reached is an error where the API server has come to the version now, and a newer one
// was known.
func (l *Loop[T]) reached(now string, known uint64) error {
	to := propagation.Version(now)
	if to >= known {
		return nil
	}
	if l.Back != nil {
		l.Back()
	}
	return apierrors.NewResourceExpired(fmt.Sprintf("the API server has come to version %d, and %d was known", to, known))
}

// Follow tells what happens from a version on, which a list had, until ctx ends; where
// the version is empty, it lists first.
func (l *Loop[T]) Follow(ctx context.Context, version string) {
	// What was known before a request is compared with its answer. So a list does not wait
	// for an API server: meanwhile this process may write, and the server may be restored.
	again := l.Objects
	again.once = true
	pause := firstPause
	l.heard = time.Now()
	for goesOn := false; ctx.Err() == nil; goesOn = true {
		var err error
		if version == "" {
			goesOn = false
			if version, err = l.list(ctx, again); err != nil {
				l.Reached(err)
			}
		}
		opened, before := time.Now(), version
		if err == nil {
			version, err = l.stream(ctx, version, goesOn)
		}
		// The API server closes a watch that lags behind a burst: one that told
		// anything is not broken.
		lasted := time.Since(opened) > steady
		atOnce := ended(err) && (lasted || version != before)
		anew := Forgotten(err) || err != nil && !atOnce && l.Anew != nil && l.Anew(err)
		if lasted || !anew && version != before {
			pause = firstPause
			if !anew {
				continue
			}
		}
		if anew {
			version = ""
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
	}
}

// stream reads one watch to its end, and returns the version that the next one starts
// from. One that goes on from where another ended is verified.
func (l *Loop[T]) stream(ctx context.Context, version string, goesOn bool) (string, error) {
	body, err := l.open(ctx, version, watchSeconds+rand.IntN(watchSeconds))
	if err == nil {
		defer func() { _ = body.Close() }()
		if goesOn {
			err = l.verify(ctx, version)
		}
	}
	if l.Reached(err); err != nil {
		return version, err
	}
	err = read(body, func(what watch.EventType, raw json.RawMessage) error {
		if what == watch.Bookmark {
			var mark metav1.PartialObjectMetadata
			if err := json.Unmarshal(raw, &mark); err != nil {
				return fmt.Errorf("decode a bookmark: %w", err)
			}
			if version = newest(version, mark.ResourceVersion); l.Progress != nil {
				l.Progress(version)
			}
			return nil
		}
		if object, err := l.Decode(raw); err == nil { // as in a list
			version = newest(version, l.Tell(object, what == watch.Deleted))
		}
		return nil
	})
	if l.Ended != nil {
		l.Ended()
	}
	l.heard = time.Now()
	return version, err
}

// verify makes sure that the API server has come to the version that an open watch goes on
// from, and to what is known besides. Where it was restored from a backup it has not, and
// would tell of nothing until it has: that version is as good as forgotten. So it is if
// the server was not heard for a time in which it may have been restored: by now its
// versions may have grown past all that are known.
func (l *Loop[T]) verify(ctx context.Context, version string) error {
	if away := time.Since(l.heard); away > brief {
		return apierrors.NewResourceExpired(fmt.Sprintf("the API server was not heard for %s, and may have been restored meanwhile", away.Round(time.Millisecond)))
	}
	known := max(propagation.Version(version), l.known())
	now, err := l.Version(ctx)
	if err != nil {
		return err
	}
	return l.reached(now, known)
}
