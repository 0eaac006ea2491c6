// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"sluice.dev/pkg/hub"
)

// listing is an API server that has some bindings of each scope, and gives them in
// pages. It forgets each list that is gone on with, as often as forgets says.
type listing struct {
	namespaced, cluster []string
	forgets             int
	// offers says that it tells where to go on in what it has forgotten.
	offers bool
	asked  []string
}

func (l *listing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, names, kind := r.URL.Query(), l.namespaced, "resourcebindings"
	if strings.HasSuffix(r.URL.Path, "/clusterresourcebindings") {
		names, kind = l.cluster, "clusterresourcebindings"
	}
	l.asked = append(l.asked, strings.TrimSuffix(strings.Join([]string{kind, q.Get("limit"), q.Get("continue")}, " "), " "))
	w.Header().Set("Content-Type", "application/json")
	refuse := func(code int, reason, cont string) {
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{"continue":%q},"status":"Failure","reason":%q,"code":%d}`, cont, reason, code)
	}
	at, cont := 0, q.Get("continue")
	if cont != "" {
		if _, err := fmt.Sscanf(cont, "at-%d", &at); err != nil {
			refuse(http.StatusBadRequest, "BadRequest", "")
			return
		}
		if l.forgets > 0 {
			if l.forgets--; !l.offers {
				cont = ""
			}
			refuse(http.StatusGone, "Expired", cont)
			return
		}
	}
	limit := 0
	_, _ = fmt.Sscan(q.Get("limit"), &limit)
	next := ""
	if names = names[at:]; len(names) > limit {
		names, next = names[:limit], fmt.Sprint("at-", at+limit)
	}
	var items []string
	for _, name := range names {
		items = append(items, fmt.Sprintf(`{"metadata":{"name":%q,"uid":%q,"resourceVersion":"1"}}`, name, "uid-"+name))
	}
	fmt.Fprintf(w, `{"metadata":{"resourceVersion":"9","continue":%q},"items":[%s]}`, next, strings.Join(items, ","))
}

// TestBindingsAreListedByPages: each page is one request, of no more than was asked
// for, whatever the API server forgets meanwhile.
func TestBindingsAreListedByPages(t *testing.T) {
	for sentence, tc := range map[string]struct {
		on         listing
		from       string
		want       []string
		wantMost   int
		wantAsked1 string
	}{
		"both scopes come, one after the other": {
			on:   listing{namespaced: []string{"a", "b", "c", "d", "e"}, cluster: []string{"x", "y", "z"}},
			want: []string{"a b", "c d", "e", "x y", "z"}, wantMost: 5, wantAsked1: "resourcebindings 2",
		},
		"where there are none, each scope is asked once": {want: []string{"", ""}, wantMost: 2, wantAsked1: "resourcebindings 2"},
		"a list that is forgotten goes on where the server offers it": {
			on:   listing{namespaced: []string{"a", "b", "c", "d", "e"}, forgets: 1, offers: true},
			want: []string{"a b", "c d", "e", ""}, wantMost: 5, wantAsked1: "resourcebindings 2",
		},
		"a list that is forgotten begins anew where it offers nothing": {
			on:   listing{namespaced: []string{"a", "b", "c", "d", "e"}, forgets: 1},
			want: []string{"a b", "a b", "c d", "e", ""}, wantMost: 6, wantAsked1: "resourcebindings 2",
		},
		"where another release went on begins anew": {
			on: listing{namespaced: []string{"a"}}, from: "shop/nginx-deployment",
			want: []string{"a", ""}, wantMost: 2, wantAsked1: "resourcebindings 2",
		},
		"where the server does not understand how to go on, the scope begins anew": {
			on: listing{namespaced: []string{"a"}, cluster: []string{"x"}}, from: "Cluster:nonsense",
			want: []string{"x"}, wantMost: 2, wantAsked1: "clusterresourcebindings 2 nonsense",
		},
		"what only a watch knew, begins anew without one": {
			on: listing{cluster: []string{"x"}}, from: "Cluster:known:/w",
			want: []string{"x"}, wantMost: 1, wantAsked1: "clusterresourcebindings 2",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := httptest.NewServer(&tc.on)
			defer s.Close()
			h, err := hub.Connect(&rest.Config{Host: s.URL})
			must(t, err)
			var got []string
			for cont := tc.from; ; {
				page, next, err := h.ListBindings(t.Context(), "", 2, cont)
				must(t, err)
				var names []string
				for _, b := range page {
					names = append(names, b.Key.Name)
				}
				got = append(got, strings.Join(names, " "))
				if cont = next; cont == "" {
					break
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("pages (-want +got):\n%s", diff)
			}
			if len(tc.on.asked) > tc.wantMost || tc.on.asked[0] != tc.wantAsked1 {
				t.Errorf("asked for %q, want at most %d, the first for %q", tc.on.asked, tc.wantMost, tc.wantAsked1)
			}
		})
	}
}

// TestAWatchListsByPages: what is known is listed by pages, too, without a request.
func TestAWatchListsByPages(t *testing.T) {
	on := &listing{namespaced: []string{"a", "b", "c", "d", "e"}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			<-r.Context().Done()
			return
		}
		on.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close) // when the watch has ended, for which its context has to
	h, err := hub.Connect(&rest.Config{Host: s.URL})
	must(t, err)
	must(t, h.Watch(t.Context(), bindings.GroupVersion().WithKind("ResourceBinding"), func(hub.Change) {}))
	on.asked = nil
	var got []string
	for cont := ""; len(got) < 3; {
		page, next, err := h.ListBindings(t.Context(), "", 2, cont)
		must(t, err)
		got, cont = append(got, fmt.Sprint(len(page), " then ", next)), next
	}
	if diff := cmp.Diff([]string{"2 then Namespaced:known:/b", "2 then Namespaced:known:/d", "1 then Cluster:"}, got); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	if len(on.asked) != 0 {
		t.Errorf("asked for %q of what is known", on.asked)
	}
}

// TestTheWorksOfOneMemberAreListedAlone: what a placement has in one member of many
// is asked for in that member's namespace.
func TestTheWorksOfOneMemberAreListedAlone(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+"?"+r.URL.Query().Get("labelSelector"))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"metadata":{"resourceVersion":"9"},"items":[
			{"metadata":{"namespace":"fleet-member-m1","name":"shop-work","uid":"u","resourceVersion":"1","labels":{"kubernetes-fleet.io/parent-CRP":"shop"}}}]}`)
	}))
	defer s.Close()
	h, err := hub.Connect(&rest.Config{Host: s.URL})
	must(t, err)
	works, err := h.WorksOfPlacementOn(t.Context(), "shop", "m1")
	must(t, err)
	if len(works) != 1 || works[0].Placement() != "shop" {
		t.Errorf("found %v, want the one of shop", works)
	}
	want := []string{"/apis/placement.kubernetes-fleet.io/v1/namespaces/fleet-member-m1/works?kubernetes-fleet.io/parent-CRP=shop"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}
