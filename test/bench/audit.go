// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// auditLog is what an API server writes of each request.
type auditLog struct {
	path    string
	cluster string
	read    int64 // so far
}

// request is one line of the audit log, of the pipeline's.
type request struct {
	cluster  string
	verb     string
	resource string // with the subresource behind a slash; a path where it is none
	name     string
	code     int
	at       time.Time // of the answer
}

func (r request) write() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.verb)
}

// event tells whether it writes a Kubernetes Event.
func (r request) event() bool { return r.resource == "events" }

// count tells whether it writes how many templates a policy holds, which is done
// once in some seconds, however many there are.
func (r request) count() bool {
	return r.resource == "propagationpolicies/status" || r.resource == "clusterpropagationpolicies/status"
}

// background tells whether it is made now and then, whatever happens: a member's
// credentials are read again, and it is asked what it has and serves; a sweep asks how
// far the hub is, and which namespaces are protected.
func (r request) background() bool {
	return r.verb == "get" && slices.Contains([]string{"secrets", "/api", "/apis", "/readyz", "/version"}, r.resource) ||
		r.verb == "list" && slices.Contains([]string{"nodes", "pods", "clusters", "namespaces"}, r.resource)
}

// ours tells whether a user agent is the pipeline's, on the hub or in a member.
func ours(agent string) bool { return agent == "sluice" || strings.HasPrefix(agent, "sluice/") }

// next is what the pipeline has asked for since the last call. A probe of a
// member's health is not counted: there is one with each tick.
func (a *auditLog) next() ([]request, error) {
	f, err := os.Open(a.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(a.read, io.SeekStart); err != nil {
		return nil, err
	}
	var all []request
	for lines := bufio.NewReaderSize(f, 1<<20); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return all, nil // half a line is read the next time
		}
		if err != nil {
			return nil, err
		}
		a.read += int64(len(line))
		r, ok, err := a.parse(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.path, err)
		}
		if ok {
			all = append(all, r)
		}
	}
}

func (a *auditLog) parse(line []byte) (request, bool, error) {
	var e struct {
		Stage, RequestURI, Verb, UserAgent string
		StageTimestamp                     time.Time
		ObjectRef                          struct{ Resource, Subresource, Name string }
		ResponseStatus                     struct{ Code int }
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return request{}, false, err
	}
	end := e.Stage == "ResponseComplete" && e.Verb != "watch" || e.Stage == "ResponseStarted" && e.Verb == "watch"
	probe := e.RequestURI == "/readyz" || strings.HasPrefix(e.RequestURI, "/version")
	if !end || probe || !ours(e.UserAgent) {
		return request{}, false, nil
	}
	r := request{cluster: a.cluster, verb: e.Verb, resource: e.ObjectRef.Resource, name: e.ObjectRef.Name, code: e.ResponseStatus.Code, at: e.StageTimestamp}
	if e.ObjectRef.Subresource != "" {
		r.resource += "/" + e.ObjectRef.Subresource
	}
	r.resource = cmp.Or(r.resource, e.RequestURI)
	return r, true, nil
}

// requests are what the pipeline asked for in a phase.
type requests []request

// requests are those since the last call.
func (l *lab) requests() (requests, error) {
	var all requests
	for _, c := range l.all() {
		some, err := c.audit.next()
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// that are those of a sort.
func (rs requests) that(is func(request) bool) requests {
	var some requests
	for _, r := range rs {
		if is(r) {
			some = append(some, r)
		}
	}
	return some
}

func (rs requests) hub() requests { return rs.that(func(r request) bool { return r.cluster == "hub" }) }

func (rs requests) member() requests {
	return rs.that(func(r request) bool { return r.cluster != "hub" })
}

// writes are all but those of Kubernetes Events.
func (rs requests) writes() requests {
	return rs.that(func(r request) bool { return r.write() && !r.event() })
}

func (rs requests) events() requests {
	return rs.that(func(r request) bool { return r.write() && r.event() })
}

// caused are those that are made for what happens: neither Kubernetes Events, nor a
// policy's count, nor what is asked now and then.
func (rs requests) caused() requests {
	return rs.that(func(r request) bool { return !r.event() && !r.count() && !r.background() })
}

// last is when the last of them was answered.
func (rs requests) last() time.Time {
	var last time.Time
	for _, r := range rs {
		if r.at.After(last) {
			last = r.at
		}
	}
	return last
}

func (rs requests) of(resource string) requests {
	return rs.that(func(r request) bool { return strings.Split(r.resource, "/")[0] == resource })
}

// by counts, the most frequent first: "12 create works, 3 get secrets".
func (rs requests) by(label func(request) string) string {
	counts := map[string]int{}
	for _, r := range rs {
		counts[label(r)]++
	}
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, k := range keys {
		keys[i] = fmt.Sprintf("%d %s", counts[k], k)
	}
	if len(keys) == 0 {
		return "none"
	}
	return strings.Join(keys, ", ")
}

func byVerb(r request) string { return r.verb }

func byResource(r request) string {
	if r.code >= 400 {
		return fmt.Sprintf("%s %s (%d)", r.verb, r.resource, r.code)
	}
	return r.verb + " " + r.resource
}
