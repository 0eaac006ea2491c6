// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// bookmarkEvery is how often a watch that wants it is told how far it has come.
	bookmarkEvery = time.Minute
	// shortestWatch is the least time that a watch lasts that says nothing about it.
	shortestWatch = 30 * time.Minute
)

// stream is one watch.
type stream struct {
	w         http.ResponseWriter
	flush     *http.ResponseController
	kind      *kind
	is        func(*item) bool
	bookmarks bool
}

// watch sends what changes, until the client leaves or the watch's time is over. An
// error is answered only in front of the first event.
func (m *member) watch(rec *recorder, r *http.Request, t target) error {
	is, err := chosen(r, t)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	s := &stream{w: rec, flush: http.NewResponseController(rec.ResponseWriter), kind: t.kind, is: is, bookmarks: isTrue(q.Get("allowWatchBookmarks"))}
	initial := isTrue(q.Get("sendInitialEvents"))
	if initial && (!s.bookmarks || q.Get("resourceVersionMatch") != "NotOlderThan") {
		return apierrors.NewBadRequest("sendInitialEvents needs allowWatchBookmarks and resourceVersionMatch=NotOlderThan")
	}
	from, err := versionOf(q.Get("resourceVersion"))
	if err != nil {
		return err
	}
	var have []*item
	if from == 0 || initial {
		have, from = m.store.list(t.kind, is)
	} else if _, _, _, ok := m.store.since(from); !ok {
		return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d", from))
	}
	rec.Header().Set("Content-Type", "application/json")
	rec.WriteHeader(http.StatusOK)
	rec.started()
	for _, i := range have {
		s.send("ADDED", i.raw)
	}
	if initial {
		s.bookmark(from, `,"annotations":{"k8s.io/initial-events-end":"true"}`)
	}
	_ = s.flush.Flush() // who asked may have gone
	lasts := shortestWatch + rand.N(shortestWatch)
	if n, err := strconv.Atoi(q.Get("timeoutSeconds")); err == nil && n > 0 {
		lasts = time.Duration(n) * time.Second
	}
	s.follow(r, m.store, from, lasts)
	return nil
}

func versionOf(v string) (uint64, error) {
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("invalid resource version %q", v))
	}
	return n, nil
}

// follow sends the changes behind a version.
func (s *stream) follow(r *http.Request, from *store, version uint64, lasts time.Duration) {
	end, tick := time.NewTimer(lasts), time.NewTicker(bookmarkEvery)
	defer end.Stop()
	defer tick.Stop()
	for {
		changes, now, more, ok := from.since(version)
		if !ok {
			s.send("ERROR", encoded(statusOf(apierrors.NewResourceExpired("the watch is too far behind"))))
			_ = s.flush.Flush() // it ends anyway
			return
		}
		sent := false
		for _, c := range changes {
			sent = s.tell(c) || sent
		}
		version = now
		if sent && s.flush.Flush() != nil {
			return
		}
		select {
		case <-more:
		case <-tick.C:
			if s.bookmarks {
				s.bookmark(version, "")
				if s.flush.Flush() != nil {
					return
				}
			}
		case <-end.C:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// tell sends a change, if it is one of what is watched.
func (s *stream) tell(c change) bool {
	if c.kind != s.kind {
		return false
	}
	was, is := c.was != nil && s.is(c.was), !c.deleted && s.is(c.is)
	switch {
	case !was && !is:
		return false
	case !was:
		s.send("ADDED", c.is.raw)
	case !is:
		s.send("DELETED", c.is.raw)
	default:
		s.send("MODIFIED", c.is.raw)
	}
	return true
}

func (s *stream) send(kind string, raw []byte) {
	// Who asked may have gone, which the next flush tells.
	_, _ = fmt.Fprintf(s.w, "{\"type\":%q,\"object\":%s}\n", kind, raw)
}

func (s *stream) bookmark(version uint64, more string) {
	s.send("BOOKMARK", fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"%d"%s}}`, s.kind.Kind, s.kind.GroupVersion(), version, more))
}
