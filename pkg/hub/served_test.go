// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

const (
	podList = `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","namespaced":true,"kind":"Pod","verbs":["get","list"]}]}`
	pod     = `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"n","name":"p","uid":"u","resourceVersion":"7"}}`
)

// answers is an API server that answers the same to everything but discovery.
func answers(t *testing.T, status int, contentType, body string) *hub.Hub {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		if r.URL.Path == "/api/v1" {
			_, _ = w.Write([]byte(podList))
			return
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	h, err := hub.Connect(&rest.Config{Host: s.URL})
	must(t, err)
	return h
}

// TestWhatAMissingTemplateIs: a template is gone only where the API that serves it
// says so of this very object.
func TestWhatAMissingTemplateIs(t *testing.T) {
	const inJSON = "application/json"
	status := func(code, details string) string {
		return `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"m","reason":"` + code + `","code":404` + details + `}`
	}
	for sentence, tc := range map[string]struct {
		status            int
		content, body     string
		wantGone, wantNot bool
	}{
		"the object is named: it is gone":           {404, inJSON, status("NotFound", `,"details":{"name":"p","kind":"pods"}`), true, false},
		"nobody serves the path":                    {404, "text/plain", "404 page not found\n", false, true},
		"a status that names nothing":               {404, inJSON, status("NotFound", ""), false, true},
		"a status that names a kind only":           {404, inJSON, status("NotFound", `,"details":{"kind":"pods"}`), false, true},
		"an HTML page of a proxy":                   {404, "text/html", "<html>not here</html>", false, true},
		"the method is not supported":               {405, inJSON, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"MethodNotAllowed","code":405,"details":{"name":"p","kind":"pods"}}`, false, true},
		"forbidden is neither":                      {403, inJSON, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"details":{"name":"p","kind":"pods"}}`, false, false},
		"an aggregated API that is down is neither": {503, "text/plain", "service unavailable", false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := answers(t, tc.status, tc.content, tc.body)
			_, err := h.Template(t.Context(), propagation.TemplateKey{APIVersion: "v1", Kind: "Pod", Namespace: "n", Name: "p"})
			if gone, not := errors.Is(err, outcome.ErrGone), errors.Is(err, outcome.ErrNotServed); err == nil || gone != tc.wantGone || not != tc.wantNot {
				t.Errorf("gone %t, want %t; not served %t, want %t: %v", gone, tc.wantGone, not, tc.wantNot, err)
			}
		})
	}
}

// TestWhatWasServedIsAskedForAgain: what this process knows of where a kind is served
// ends with the first answer that it is not.
func TestWhatWasServedIsAskedForAgain(t *testing.T) {
	var served atomic.Bool
	served.Store(true)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !served.Load():
			http.NotFound(w, r)
		case r.URL.Path == "/api/v1":
			_, _ = w.Write([]byte(podList))
		default:
			_, _ = w.Write([]byte(pod))
		}
	}))
	t.Cleanup(s.Close)
	h, err := hub.Connect(&rest.Config{Host: s.URL})
	must(t, err)
	read := func() error {
		_, err := h.Template(context.Background(), propagation.TemplateKey{APIVersion: "v1", Kind: "Pod", Namespace: "n", Name: "p"})
		return err
	}
	must(t, read())
	served.Store(false)
	for range 2 {
		if err := read(); !errors.Is(err, outcome.ErrNotServed) || errors.Is(err, outcome.ErrGone) {
			t.Errorf("when it is not served any more: %v", err)
		}
	}
	served.Store(true)
	(&lab{t: t}).waitFor("it is served again", func() bool { return read() == nil })
}

// A template that goes with its kind was not deleted: while the kind's definition is
// being deleted, or is gone, nobody can tell. Where there is another since, it says since
// when.
func TestZ11ATemplateThatGoesWithItsKind(t *testing.T) {
	const (
		none      = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"NotFound","code":404,"details":{"name":"a","group":"example.org","kind":"things"}}`
		leaving   = `{"apiVersion":"example.org/v1","kind":"Thing","metadata":{"namespace":"n","name":"a","uid":"u","resourceVersion":"7","deletionTimestamp":"2026-11-25T00:00:00Z"}}`
		going     = `{"metadata":{"name":"things.example.org","deletionTimestamp":"2026-11-25T00:00:00Z"}}`
		defined   = `{"metadata":{"creationTimestamp":"2026-11-24T00:00:00Z"}}`
		refusal   = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`
		undefined = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"name":"things.example.org","group":"apiextensions.k8s.io","kind":"customresourcedefinitions"}}`
		unserved  = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"name":"v1.example.org","group":"apiregistration.k8s.io","kind":"apiservices"}}`
		nowhere   = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
		custom    = `{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":"true"}}}`
		builtIn   = `{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":"onstart"}}}`
		passedOn  = `{"metadata":{},"spec":{"service":{"name":"things"}}}`
		failure   = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":503}`
	)
	since := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	failed := errors.New("any other")
	type answer struct {
		status int
		body   string
	}
	for sentence, tc := range map[string]struct {
		object, definition, service answer
		want                        error // nil: the template
		since                       time.Time
	}{
		"it is missing, and its kind goes":                         {answer{404, none}, answer{200, going}, answer{}, outcome.ErrNotServed, time.Time{}},
		"it is being deleted, and its kind goes":                   {answer{200, leaving}, answer{200, going}, answer{}, outcome.ErrNotServed, time.Time{}},
		"it is missing, and its kind stays":                        {answer{404, none}, answer{200, defined}, answer{}, outcome.ErrGone, since},
		"it is being deleted, and its kind stays":                  {answer{200, leaving}, answer{200, defined}, answer{}, nil, time.Time{}},
		"it is missing, and nobody serves definitions":             {answer{404, none}, answer{404, nowhere}, answer{}, outcome.ErrGone, time.Time{}},
		"it is missing, and Sluice may not read definitions":       {answer{404, none}, answer{403, refusal}, answer{}, outcome.ErrGone, time.Time{}},
		"it is missing, and its kind is gone":                      {answer{404, none}, answer{404, undefined}, answer{404, unserved}, outcome.ErrNotServed, time.Time{}},
		"it is missing, and its kind went a moment ago":            {answer{404, none}, answer{404, undefined}, answer{200, custom}, outcome.ErrNotServed, time.Time{}},
		"it is missing, and its kind is the API server's own":      {answer{404, none}, answer{404, undefined}, answer{200, builtIn}, outcome.ErrGone, time.Time{}},
		"it is missing, and another API server serves its kind":    {answer{404, none}, answer{404, undefined}, answer{200, passedOn}, outcome.ErrGone, time.Time{}},
		"it is missing, and Sluice may not read who serves it":     {answer{404, none}, answer{404, undefined}, answer{403, refusal}, outcome.ErrGone, time.Time{}},
		"it is missing, and nobody says who serves what":           {answer{404, none}, answer{404, undefined}, answer{404, nowhere}, outcome.ErrGone, time.Time{}},
		"it is missing, and who serves it cannot be told just now": {answer{404, none}, answer{404, undefined}, answer{503, failure}, failed, time.Time{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := things(t, tc.definition.status, tc.definition.body, func(w http.ResponseWriter, r *http.Request) {
				a := tc.object
				if r.URL.Path == "/apis/apiregistration.k8s.io/v1/apiservices/v1.example.org" {
					a = tc.service
				}
				w.WriteHeader(a.status)
				if _, err := w.Write([]byte(a.body)); err != nil {
					t.Error(err)
				}
			})
			_, err := h.TemplateNow(t.Context(), propagation.TemplateKey{APIVersion: "example.org/v1", Kind: "Thing", Namespace: "n", Name: "a"})
			other := err != nil && !errors.Is(err, outcome.ErrGone) && !errors.Is(err, outcome.ErrNotServed)
			if !errors.Is(err, tc.want) && (!errors.Is(tc.want, failed) || !other) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			var gone *propagation.NoTemplate
			if errors.As(err, &gone) != errors.Is(tc.want, outcome.ErrGone) || gone != nil && !gone.Defined.Equal(tc.since) {
				t.Errorf("got %#v, of a kind that was defined at %s", gone, tc.since)
			}
			at, err := h.Defined(t.Context(), schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Thing"})
			if errors.Is(err, outcome.ErrNotServed) != errors.Is(tc.want, outcome.ErrNotServed) || (err == nil) != (tc.want == nil || errors.Is(tc.want, outcome.ErrGone)) {
				t.Errorf("of the kind alone it says %v", err)
			}
			if gone != nil && !at.Equal(tc.since) {
				t.Errorf("the kind was defined at %s, want %s", at, tc.since)
			}
		})
	}
}

// Z11: a kind is gone, and its objects are, where the API server says so of its very
// definition; nothing else says so.
func TestZ11AKindThatIsGone(t *testing.T) {
	const works = "works.placement.kubernetes-fleet.io"
	for sentence, tc := range map[string]struct {
		status   int
		body     string
		wantGone bool
		wantErr  bool
	}{
		"its definition is missing":        {status: 404, body: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"name":"` + works + `","group":"apiextensions.k8s.io","kind":"customresourcedefinitions"}}`, wantGone: true},
		"its definition is there":          {status: 200, body: `{"metadata":{"name":"` + works + `"}}`},
		"its definition is being deleted":  {status: 200, body: `{"metadata":{"name":"` + works + `","deletionTimestamp":"2026-11-25T00:00:00Z"}}`},
		"nobody serves definitions":        {status: 404, body: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{}}`, wantErr: true},
		"nobody may read it":               {status: 403, body: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`, wantErr: true},
		"the API server does not know now": {status: 503, body: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":503}`, wantErr: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := answers(t, tc.status, "application/json", tc.body)
			for _, ask := range []func(context.Context) (bool, error){h.PlacementWorksUndefined, h.PolicySnapshotsUndefined} {
				if gone, err := ask(t.Context()); gone != tc.wantGone || (err != nil) != tc.wantErr {
					t.Errorf("gone %t, want %t: %v", gone, tc.wantGone, err)
				}
			}
		})
	}
}
