// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// answer is what an API server says to one request.
type answer struct {
	// to is the request: "list", "list CONTINUE", "version", or "watch VERSION".
	to   string
	body string
	code int // 0: it is answered
	// again is after how many seconds the client shall try again, cause why.
	again string
	cause metav1.CauseType
	// after is how long the answer takes.
	after time.Duration
}

// script is an API server that expects requests in their order. The one behind the last
// answer is never answered.
type script struct {
	mu      sync.Mutex
	answers []answer
	asked   []string
	accept  map[string]bool
	done    chan struct{}
}

func request(r *http.Request) string {
	q := r.URL.Query()
	switch {
	case q.Get("watch") != "":
		return "watch " + q.Get("resourceVersion")
	case q.Get("limit") == "1":
		return "version"
	}
	return strings.TrimSpace("list " + q.Get("continue"))
}

var reasons = map[int]metav1.StatusReason{
	http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusGone: metav1.StatusReasonExpired,
	http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests, http.StatusInternalServerError: metav1.StatusReasonInternalError, http.StatusGatewayTimeout: metav1.StatusReasonTimeout,
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, request(r))
	s.accept[r.Header.Get("Accept")] = true
	n := len(s.asked) - 1
	s.mu.Unlock()
	if n >= len(s.answers) {
		if n == len(s.answers) {
			close(s.done)
		}
		<-r.Context().Done()
		return
	}
	a := s.answers[n]
	select {
	case <-time.After(a.after): // as the API server takes it: the loop measures real time
	case <-r.Context().Done():
	}
	w.Header().Set("Content-Type", "application/json")
	if a.code != 0 {
		if a.again != "" {
			w.Header().Set("Retry-After", a.again)
		}
		w.WriteHeader(a.code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"details":{"causes":[{"reason":%q}]}}`, a.code, reasons[a.code], a.cause)
		return
	}
	fmt.Fprint(w, a.body)
}

func serve(t *testing.T, answers ...answer) (*script, Objects) {
	t.Helper()
	s := &script{answers: answers, accept: map[string]bool{}, done: make(chan struct{})}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	client, err := rest.UnversionedRESTClientFor(&rest.Config{
		Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{NegotiatedSerializer: serializer.NewCodecFactory(scheme).WithoutConversion()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, Objects{Client: client, Path: []string{"/api/v1/things"}}
}

func thing(name, version string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"resourceVersion":%q}}`, name, version)
}

func list(version, cont string, items ...string) string {
	return fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"continue":%q},"items":[%s]}`, version, cont, strings.Join(items, ","))
}

func told(what, object string) string { return fmt.Sprintf(`{"type":%q,"object":%s}`, what, object) }

func decode(raw []byte) (m metav1.ObjectMeta, err error) {
	var o metav1.PartialObjectMetadata
	err = json.Unmarshal(raw, &o)
	return o.ObjectMeta, err
}

// diary is a loop that writes down what it is told.
func diary(o Objects) (*Loop[metav1.ObjectMeta], *[]string) {
	var lines []string
	note := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	return &Loop[metav1.ObjectMeta]{
		Objects: o, PageSize: 2, Decode: decode,
		Replace: func(all []metav1.ObjectMeta, version string) {
			var names []string
			for _, m := range all {
				names = append(names, m.Name)
			}
			note("all at %s: %s", version, strings.Join(names, " "))
		},
		Tell: func(m metav1.ObjectMeta, deleted bool) string {
			if deleted {
				m.Name = "-" + m.Name
			}
			note("%s at %s", m.Name, m.ResourceVersion)
			return m.ResourceVersion
		},
		Progress: func(version string) { note("up to %s", version) },
		Reached: func(err error) {
			if err != nil {
				note("not reached: %s", apierrors.ReasonForError(err))
			}
		},
		Anew: func(err error) bool { return apierrors.IsForbidden(err) || ended(err) },
	}, &lines
}

const expired = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Expired"}}`

func TestLoop(t *testing.T) {
	for sentence, tc := range map[string]struct {
		from    string
		answers []answer
		next    string // what is asked for behind the last answer
		want    []string
	}{
		"it lists by pages, and watches from the version of the first": {
			answers: []answer{{to: "list", body: list("10", "more", thing("a", "5"))}, {to: "list more", body: list("10", "", thing("b", "6"))}},
			next:    "watch 10", want: []string{"all at 10: a b"},
		},
		"a list that is forgotten on the way begins anew": {
			answers: []answer{{to: "list", body: list("10", "more", thing("a", "5"))}, {to: "list more", code: 410}, {to: "list", body: list("11", "", thing("b", "6"))}},
			next:    "watch 11", want: []string{"all at 11: b"},
		},
		"from a version it watches at once, and tells what happens": {
			from:    "10",
			answers: []answer{{to: "watch 10", body: told("ADDED", thing("a", "11")) + told("MODIFIED", thing("b", "12")) + told("DELETED", thing("a", "13"))}},
			next:    "watch 13", want: []string{"a at 11", "b at 12", "-a at 13"},
		},
		"it goes on from a bookmark, also where the line was cut": {
			from: "10",
			answers: []answer{
				{to: "watch 10", body: told("BOOKMARK", thing("", "20")) + `{"type":"MOD`},
				{to: "watch 20", body: told("ADDED", thing("a", "21"))}, {to: "version", body: list("21", "")},
			},
			next: "watch 21", want: []string{"up to 20", "a at 21"},
		},
		"what cannot be decoded hides nothing else": {
			answers: []answer{
				{to: "list", body: list("10", "", `{"metadata":7}`, thing("a", "5"))},
				{to: "watch 10", body: told("ADDED", `{"metadata":7}`) + told("ADDED", thing("b", "11"))},
			},
			next: "watch 11", want: []string{"all at 10: a", "b at 11"},
		},
		"a version that is forgotten has all listed, in the watch": {
			from:    "10",
			answers: []answer{{to: "watch 10", body: expired}, {to: "list", body: list("30", "", thing("a", "5"))}},
			next:    "watch 30", want: []string{"all at 30: a"},
		},
		"or in front of it": {
			from:    "10",
			answers: []answer{{to: "watch 10", code: 410}, {to: "list", body: list("30", "")}},
			next:    "watch 30", want: []string{"not reached: Expired", "all at 30: "},
		},
		"a server that went back to a backup has all listed": {
			from: "10",
			answers: []answer{
				{to: "watch 10", body: told("BOOKMARK", thing("", "40"))},
				{to: "watch 40"}, {to: "version", body: list("12", "")},
				{to: "list", body: list("12", "", thing("a", "5"))},
			},
			next: "watch 12", want: []string{"up to 40", "not reached: Expired", "all at 12: a"},
		},
		"a server that was not heard for a while may have been restored, and has all listed however far it has come": {
			from: "10",
			answers: []answer{
				{to: "watch 10", body: told("BOOKMARK", thing("", "40"))},
				{to: "watch 40", after: brief + brief/10, body: told("ADDED", thing("a", "51"))},
				{to: "list", body: list("51", "", thing("a", "51"))},
			},
			next: "watch 51", want: []string{"up to 40", "not reached: Expired", "all at 51: a"},
		},
		"that a server stops or starts is known at once": {
			from: "10",
			answers: []answer{
				{to: "watch 10", body: told("BOOKMARK", thing("", "40"))},
				{to: "watch 40", code: 429, again: "5"},
			},
			next: "watch 40", want: []string{"up to 40", "not reached: TooManyRequests"},
		},
		"also where it is asked for a list": {
			answers: []answer{{to: "list", code: 429, again: "5"}, {to: "list", body: list("10", "")}},
			next:    "watch 10", want: []string{"not reached: TooManyRequests", "all at 10: "},
		},
		"while it cannot say how far it has come, it is not believed": {
			from: "10",
			answers: []answer{
				{to: "watch 10", body: told("BOOKMARK", thing("", "40"))},
				{to: "watch 40", body: told("ADDED", thing("a", "41"))}, {to: "version", code: 403},
				{to: "list", body: list("41", "", thing("a", "41"))},
			},
			next: "watch 41", want: []string{"up to 40", "not reached: Forbidden", "all at 41: a"},
		},
		"a server that is down is asked again from where it was": {
			from:    "10",
			answers: []answer{{to: "watch 10", code: 500}, {to: "watch 10", body: told("ADDED", thing("a", "11"))}, {to: "version", body: list("11", "")}},
			next:    "watch 11", want: []string{"not reached: InternalError", "a at 11"},
		},
		"who wants that has all listed after an error": {
			from:    "10",
			answers: []answer{{to: "watch 10", code: 403}, {to: "list", code: 403}, {to: "list", body: list("11", "")}},
			next:    "watch 11", want: []string{"not reached: Forbidden", "not reached: Forbidden", "all at 11: "},
		},
		"so who wants it has behind the pause after a watch that told nothing": {
			from:    "10",
			answers: []answer{{to: "watch 10"}, {to: "list", body: list("11", "")}},
			next:    "watch 11", want: []string{"all at 11: "},
		},
		"versions that are no numbers are gone on from as they are": {
			answers: []answer{{to: "list", body: list("x", "")}, {to: "watch x", body: told("ADDED", thing("a", "y"))}},
			next:    "watch y", want: []string{"all at x: ", "a at y"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s, o := serve(t, tc.answers...)
			loop, lines := diary(o)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); loop.Follow(ctx, tc.from) }()
			select {
			case <-s.done:
			case <-time.After(30 * time.Second):
				t.Error("it asks for nothing more")
			}
			cancel()
			<-ended
			want := []string{}
			for _, a := range tc.answers {
				want = append(want, a.to)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if d := cmp.Diff(append(want, tc.next), s.asked); d != "" {
				t.Errorf("it asked for (-want +got)\n%s", d)
			}
			if got := *lines; !cmp.Equal(tc.want, got[:min(len(got), len(tc.want))]) || len(got) > len(tc.want)+1 {
				t.Errorf("it told (-want +got; the last may be of its end)\n%s", cmp.Diff(tc.want, got))
			}
		})
	}
}

// A server that answers and tells nothing, or forgets each version that it has just told,
// is not asked without a pause.
func TestALoopPauses(t *testing.T) {
	for sentence, answers := range map[string][]answer{
		"where a watch ends at once":          {{body: ""}, {body: list("10", "")}},
		"where each version is forgotten":     {{body: told("ADDED", thing("a", "11")) + expired}, {body: list("10", "")}},
		"where the kind is not served":        {{code: 404}},
		"where it may neither list nor watch": {{code: 403}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			var all []answer
			for range 1000 {
				all = append(all, answers...)
			}
			s, o := serve(t, all...)
			loop, _ := diary(o)
			ctx, cancel := context.WithTimeout(t.Context(), 5*firstPause)
			defer cancel()
			loop.Follow(ctx, "10")
			s.mu.Lock()
			defer s.mu.Unlock()
			if n := len(s.asked); n < 2 || n > 14 {
				t.Errorf("in %s it asked %d times: %v", 5*firstPause, n, s.asked)
			}
		})
	}
}

func TestALoopEndsWithWhoEndsIt(t *testing.T) {
	_, o := serve(t, answer{code: 404})
	loop, _ := diary(o)
	ctx, cancel := context.WithCancel(t.Context())
	loop.Reached = func(err error) {
		if err != nil {
			cancel()
		}
	}
	loop.Follow(ctx, "10")
	if t.Context().Err() != nil {
		t.Error("it went on")
	}
}

func TestAListThatFailsReplacesNothing(t *testing.T) {
	_, o := serve(t, answer{body: list("10", "more", thing("a", "5"))}, answer{code: 500})
	loop, lines := diary(o)
	if version, err := loop.List(t.Context()); err == nil || version != "" || len(*lines) > 0 {
		t.Errorf("version %q, %v, told %v", version, err, *lines)
	}
}

func TestSince(t *testing.T) {
	for sentence, tc := range map[string]struct {
		body  string
		code  int
		most  int64
		want  []string
		until string
		fails func(error) bool
	}{
		"it reads to the first bookmark": {
			body: told("ADDED", thing("a", "11")) + told("DELETED", thing("b", "12")) + told("BOOKMARK", thing("", "20")) + told("ADDED", thing("c", "21")),
			want: []string{"ADDED a", "DELETED b"}, until: "20",
		},
		"or to the end":                            {body: told("MODIFIED", thing("a", "11")), want: []string{"MODIFIED a"}, until: "11"},
		"or to where the line was cut":             {body: told("MODIFIED", thing("a", "11")) + `{"type":"AD`, want: []string{"MODIFIED a"}, until: "11"},
		"or as much as it may":                     {body: told("ADDED", thing("a", "11")) + told("ADDED", thing("b", "12")), most: 100, want: []string{"ADDED a"}, until: "11"},
		"where nothing is told it is where it was": {until: "10"},
		"a version that is forgotten is an error":  {body: expired, until: "10", fails: Forgotten},
		"so is one that it has not come to":        {code: 504, until: "10", fails: func(err error) bool { return err != nil && !Forgotten(err) }},
		"what is no object is an error":            {body: told("ADDED", "7"), until: "10", fails: func(err error) bool { return errors.As(err, new(*json.UnmarshalTypeError)) }},
	} {
		t.Run(sentence, func(t *testing.T) {
			s, o := serve(t, answer{body: tc.body, code: tc.code})
			o.Bare = true
			var got []string
			until, err := o.Since(t.Context(), "10", tc.most, func(what watch.EventType, m *metav1.ObjectMeta) {
				got = append(got, string(what)+" "+m.Name)
			})
			if d := cmp.Diff(tc.want, got); d != "" || until != tc.until {
				t.Errorf("until %s, want %s; (-want +got)\n%s", until, tc.until, d)
			}
			if tc.fails == nil && err != nil || tc.fails != nil && !tc.fails(err) {
				t.Errorf("error %v", err)
			}
			if !s.accept[MetadataOnly] {
				t.Errorf("it asks for %v", s.accept)
			}
		})
	}
}

func TestNewer(t *testing.T) {
	for sentence, tc := range map[string]struct {
		a, b string
		want bool
	}{
		"the larger number":              {"10", "9", true},
		"not the smaller":                {"9", "10", false},
		"not the same":                   {"9", "9", false},
		"another that is no number":      {"x", "y", true},
		"not the same that is no number": {"x", "x", false},
		"a number where there was none":  {"9", "", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := Newer(tc.a, tc.b); got != tc.want {
				t.Errorf("%q against %q: %v", tc.a, tc.b, got)
			}
		})
	}
}

// An API server that was restored from a backup has not come to a version, and asks its
// clients to try again: a list tells of that at once.
func TestAListOfAVersionToComeIsAskedForOnce(t *testing.T) {
	s, o := serve(t, answer{to: "list", code: http.StatusGatewayTimeout, again: "1", cause: metav1.CauseTypeResourceVersionTooLarge})
	o.NotOlderThan = "9"
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	_, err := List(ctx, o, 0, decode)
	if d := cmp.Diff([]string{"list"}, s.asked); !Forgotten(err) || d != "" {
		t.Errorf("got %v; asked (-want +got):\n%s", err, d)
	}
}
