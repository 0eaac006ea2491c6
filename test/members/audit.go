// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"sync"
	"time"
)

// audit is a member's log of requests, in the form of Kubernetes' audit log; nil:
// there is none.
type audit struct {
	mu  sync.Mutex
	out *bufio.Writer
	to  *os.File
}

func newAudit(path string) (*audit, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	return &audit{out: bufio.NewWriterSize(f, 64<<10), to: f}, nil
}

// entry is what is noted of a request.
type entry struct {
	Stage          string `json:"stage"`
	RequestURI     string `json:"requestURI"`
	Verb           string `json:"verb"`
	UserAgent      string `json:"userAgent"`
	ObjectRef      ref    `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Milliseconds int64 `json:"milliseconds"`
}

type ref struct {
	Resource    string `json:"resource,omitempty"`
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	Name        string `json:"name,omitempty"`
}

// note writes a line, whole: who reads finds no half ones.
func (a *audit) note(e *entry) {
	if a == nil {
		return
	}
	raw := append(encoded(e), '\n')
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = a.out.Write(raw) // the disk is full: the counts will say so
	_ = a.out.Flush()
}

func (a *audit) close() error {
	if a == nil {
		return nil
	}
	return a.to.Close()
}

// recorder is an answer that is noted when it ends, and a watch when it begins.
type recorder struct {
	http.ResponseWriter
	audit   *audit
	request *http.Request
	target  target
	verb    string
	code    int
	began   time.Time
}

// WriteHeader is part of http.ResponseWriter.
func (r *recorder) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
	r.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) started() { r.note("ResponseStarted") }

func (r *recorder) end() { r.note("ResponseComplete") }

func (r *recorder) note(stage string) {
	if r.audit == nil {
		return
	}
	e := &entry{Stage: stage, RequestURI: r.request.RequestURI, Verb: r.verb, UserAgent: r.request.UserAgent(), Milliseconds: time.Since(r.began).Milliseconds()}
	if e.Verb == "" {
		e.Verb = map[string]string{http.MethodGet: "get"}[r.request.Method]
	}
	e.ResponseStatus.Code = r.code
	if t := r.target; t.kind != nil {
		e.ObjectRef = ref{t.resource, t.sub, t.namespace, t.name}
	}
	r.audit.note(e)
}

// encoded is v in JSON; v is made of what always can be.
func encoded(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}
