// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/pkg/outcome"
)

const believed = 30 * time.Second

// server is an API server that serves the kind Widget in some versions, the preferred one
// first; none: nobody answers. And a clock.
type server struct {
	*Cache
	mu       sync.Mutex
	versions []string
	asked    []string
	now      time.Time
}

func serving(believe time.Duration, versions ...string) *server {
	s := &server{versions: versions, now: time.Unix(0, 0)}
	s.Cache = New(s.answer, believe, func() time.Time { return s.now })
	return s
}

var errDown = errors.New("connection refused")

func (s *server) answer(_ context.Context, path []string, into any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, strings.Join(path, "/"))
	if len(s.versions) == 0 {
		return errDown
	}
	if g, ok := into.(*metav1.APIGroup); ok {
		g.PreferredVersion.Version = s.versions[0]
		for _, v := range s.versions {
			g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{Version: v})
		}
		return nil
	}
	for _, v := range s.versions {
		if path[len(path)-1] == v {
			into.(*metav1.APIResourceList).APIResources = []metav1.APIResource{
				{Name: "widgets", Kind: "Widget", Namespaced: true, Verbs: []string{"get", "list"}},
				{Name: "widgets/status", Kind: "Widget", Namespaced: true},
				{Name: "things", Kind: "Thing"},
			}
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, "")
}

func widget(version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "example.org", Version: version, Kind: "Widget"}
}

// finds says how a version of Widget is found: its version, "not served", or "nobody can
// tell".
func finds(find func(schema.GroupVersionKind) (Resource, error), version string) string {
	r, err := find(widget(version))
	switch {
	case errors.Is(err, outcome.ErrNotServed):
		return "not served"
	case err != nil:
		return "nobody can tell"
	}
	return r.Version
}

func TestAKindIsFoundWhereItIsServed(t *testing.T) {
	s := serving(believed, "v1")
	r, err := s.Find(widget("v1"))
	want := Resource{GroupVersionKind: widget("v1"), Plural: "widgets", Namespaced: true, Status: true, Lists: true}
	if err != nil || r != want {
		t.Errorf("found %+v, %v, want %+v", r, err, want)
	}
	if other, err := s.Find(widget("v1").GroupVersion().WithKind("Thing")); err != nil || other.Status || other.Lists || other.Namespaced {
		t.Errorf("found %+v, %v", other, err)
	}
	if len(s.asked) != 1 || s.asked[0] != "/apis/example.org/v1" {
		t.Errorf("it asked for %v", s.asked)
	}
	for want, path := range map[string][]string{
		"/apis/example.org/v1/widgets":                       r.Path(types.NamespacedName{}),
		"/apis/example.org/v1/namespaces/n/widgets":          r.Path(types.NamespacedName{Namespace: "n"}),
		"/apis/example.org/v1/namespaces/n/widgets/w/status": r.Path(types.NamespacedName{Namespace: "n", Name: "w"}, "status"),
		"/api/v1/nodes/x":                                    Resource{GroupVersionKind: schema.GroupVersionKind{Version: "v1"}, Plural: "nodes"}.Path(types.NamespacedName{Namespace: "n", Name: "x"}),
	} {
		if got := strings.Join(path, "/"); got != want {
			t.Errorf("its path is %s, want %s", got, want)
		}
	}
}

func TestZ14AVersionThatIsServedNoMoreIsNoticedWhileItsWatchIsSilent(t *testing.T) {
	s := serving(believed, "v1", "v1beta1")
	if got := finds(s.Find, "v1beta1"); got != "v1beta1" {
		t.Fatal(got)
	}
	s.versions = []string{"v1"}
	if got := finds(s.Find, "v1beta1"); got != "v1beta1" || len(s.asked) != 1 {
		t.Errorf("it is asked for with each read: %v", s.asked)
	}
	s.now = s.now.Add(believed)
	if got := finds(s.Find, "v1beta1"); got != "not served" {
		t.Errorf("after a while it is %s", got)
	}
	if got := finds(s.Locate, "v1beta1"); got != "v1" {
		t.Errorf("it is located in %s, want in the version that is served", got)
	}
}

func TestWhatIsNotServedIsAskedForAgain(t *testing.T) {
	s := serving(0, "v1beta1")
	for range 3 {
		if got := finds(s.Find, "v1"); got != "not served" {
			t.Fatal(got)
		}
	}
	if len(s.asked) != 1 {
		t.Errorf("it was asked %d times in a moment", len(s.asked))
	}
	s.versions, s.now = []string{"v1"}, s.now.Add(Again)
	if got := finds(s.Find, "v1"); got != "v1" {
		t.Errorf("it is installed by now, and %s", got)
	}
}

func TestWhatIsBelievedUntilForgetIsAskedForOnce(t *testing.T) {
	s := serving(0, "v1")
	_ = finds(s.Find, "v1")
	s.versions, s.now = []string{"v2"}, s.now.Add(1000*time.Hour)
	if got := finds(s.Find, "v1"); got != "v1" {
		t.Errorf("nobody said otherwise: %s", got)
	}
	s.Forget("another.org")
	if got := finds(s.Find, "v1"); got != "v1" {
		t.Errorf("another group was forgotten: %s", got)
	}
	s.Forget("example.org")
	if got := finds(s.Find, "v1"); got != "not served" {
		t.Errorf("it was forgotten: %s", got)
	}
	s.Forget("example.org")
	if got := finds(s.Find, "v1"); got != "not served" || len(s.asked) != 2 {
		t.Errorf("it was asked a moment ago: %s, asked %v", got, s.asked)
	}
}

func TestWhatSomethingSpeaksAgainstIsAskedForAnew(t *testing.T) {
	s := serving(0, "v1")
	_ = finds(s.Find, "v1")
	s.versions, s.now = []string{"v2"}, s.now.Add(Again/2)
	if got := finds(s.FindAnew, "v1"); got != "v1" || len(s.asked) != 1 {
		t.Errorf("it was asked a moment ago: %s, asked %v", got, s.asked)
	}
	s.now = s.now.Add(Again)
	if got := finds(s.FindAnew, "v1"); got != "not served" || len(s.asked) != 2 {
		t.Errorf("it is another one by now: %s, asked %v", got, s.asked)
	}
}

func TestWhileNobodyAnswersWhatIsKnownStays(t *testing.T) {
	s := serving(believed, "v1")
	if got := finds(s.Find, "v1"); got != "v1" {
		t.Fatal(got)
	}
	s.versions, s.now = nil, s.now.Add(believed)
	for range 2 {
		if got := finds(s.Find, "v1"); got != "v1" {
			t.Errorf("it was served, and nobody says otherwise: %s", got)
		}
	}
	if len(s.asked) != 2 {
		t.Errorf("asked %v: who does not answer is asked with each read", s.asked)
	}
	if got := finds(s.Find, "v2"); got != "nobody can tell" {
		t.Errorf("nobody has heard of v2: %s", got)
	}
	_, err := s.Find(widget("v1").GroupVersion().WithKind("Gadget"))
	if !errors.Is(err, errDown) {
		t.Errorf("nobody has heard of Gadgets: %v", err)
	}
}

func TestWhatLasts(t *testing.T) {
	for sentence, tc := range map[string]struct {
		served []string
		want   string
	}{
		"the preferred version":         {[]string{"v1", "v1beta1"}, "example.org/v1"},
		"the only one":                  {[]string{"v1beta1"}, "example.org/v1beta1"},
		"its own, where nobody can say": {nil, "example.org/v1beta1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := serving(believed, tc.served...).Lasting(widget("v1beta1")); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestWhoAsksAtOnceSharesAQuestion(t *testing.T) {
	s := serving(believed, "v1")
	asked, answered := make(chan struct{}, 20), make(chan struct{})
	c := New(func(ctx context.Context, path []string, into any) error {
		asked <- struct{}{}
		<-answered
		return s.answer(ctx, path, into)
	}, believed, time.Now)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got := finds(c.Find, "v1"); got != "v1" {
				t.Error(got)
			}
		})
	}
	<-asked
	close(answered)
	all.Wait()
	if n := len(asked); n > 0 {
		t.Errorf("it was asked %d times more", n)
	}
}
