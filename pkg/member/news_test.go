// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/pkg/core/propagation"
)

// news is what the member tells of the objects of the world's namespace.
func (w *world) news(since string) (lines []string, n News) {
	w.t.Helper()
	n, err := w.News(w.t.Context(), configMaps, since, "hub")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range n.Changes {
		if c.Ref.Namespace == w.namespace {
			lines = append(lines, line(c))
		}
	}
	return lines, n
}

func line(c Change) string {
	return fmt.Sprintf("%s of %s, deleted: %v", c.Ref.Name, c.Work, c.Deleted)
}

func TestNewsIsWhatHappenedSince(t *testing.T) {
	w := anywhere(t)
	_, began := w.news("")
	settings, of := w.manifest(configMap), work("settings-x")
	w.apply(of, settings)
	other := w.manifest(configMap)
	set(other, "other", "metadata", "name")
	w.apply(work("other-x"), other)
	_, at := w.news(began.Until)

	w.edit(refOf(settings), "kubectl", func(obj map[string]any) { set(obj, "changed", "data", "a") })
	resources, _, err := w.kubectl.resource(t.Context(), refOf(other))
	if err == nil {
		err = resources.Delete(t.Context(), "other", metav1.DeleteOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	w.writes.Store(0)
	got, now := w.news(at.Until)
	want := []string{"settings of settings-x, deleted: false", "other of other-x, deleted: true"}
	if d := cmp.Diff(want, got); d != "" || now.Lost {
		t.Errorf("lost: %v; (-want +got)\n%s", now.Lost, d)
	}
	got, again := w.news(now.Until)
	if again.Lost || got != nil || propagation.Version(again.Until) < propagation.Version(now.Until) {
		t.Errorf("after that it is told %v, %+v", got, again)
	}
	w.wantWrites(0, "by asking")

	// What the member has not come to.
	const ahead = "900000000000000"
	if got, n := w.news(ahead); !n.Lost || got != nil || propagation.Version(n.Until) < propagation.Version(now.Until) || propagation.Version(n.Until) >= propagation.Version(ahead) {
		t.Errorf("since %s it is told %v, %+v", ahead, got, n)
	}
}

// told is an event of a watch about a ConfigMap, with more metadata.
func told(what, name, version, more string) string {
	return fmt.Sprintf(`{"type": %q, "object": {"metadata": {"namespace": "shop", "name": %q, "resourceVersion": %q, "labels": {"sluice.dev/work": "w"}%s}}}`, what, name, version, more)
}

func TestNewsByWhatAMemberAnswers(t *testing.T) {
	own := func(hub string) string {
		return `, "annotations": {"sluice.dev/hub": "` + hub + `"}, "managedFields": [
			{"manager": "kubectl", "time": "2026-11-24T12:00:00Z"}, {"manager": "sluice", "time": "2026-11-24T12:00:01Z"}]`
	}
	bookmark := func(version string) string {
		return `{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "` + version + `"}}}`
	}
	long := strings.Repeat("n", 600)
	for sentence, tc := range map[string]struct {
		watch []string
		list  string // the answer to a list
		since string
		want  []string
		until string
		lost  bool
	}{
		"what the hub wrote itself is no news":                {watch: []string{told("MODIFIED", "a", "210", own("hub")), bookmark("220")}, until: "220"},
		"what another hub wrote is":                           {watch: []string{told("MODIFIED", "a", "210", own("another")), bookmark("220")}, until: "220", want: []string{"a"}},
		"that it is gone is, whoever wrote it":                {watch: []string{told("DELETED", "a", "210", own("hub")), bookmark("220")}, until: "220", want: []string{"a"}},
		"a watch that is cut goes on behind the last change":  {watch: []string{told("ADDED", "a", "210", ""), told("ADDED", "b", "215", ""), `{"type": "ADD`}, until: "215", want: []string{"a", "b"}},
		"what comes behind a bookmark is asked for next time": {watch: []string{bookmark("220"), told("ADDED", "a", "230", "")}, until: "220"},
		"a name that no object has is left out":               {watch: []string{told("ADDED", long, "210", ""), bookmark("220")}, until: "220"},
		"a quiet member is where it was":                      {list: `{"metadata": {"resourceVersion": "300"}}`, until: "200"},
		"a quiet member that has not come there went back":    {list: `{"metadata": {"resourceVersion": "150"}}`, until: "150", lost: true},
		"a bookmark that is older says so, too":               {watch: []string{bookmark("150")}, list: `{"metadata": {"resourceVersion": "150"}}`, until: "150", lost: true},
		"an error in the watch says what is forgotten": {
			watch: []string{`{"type": "ERROR", "object": {"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410}}`},
			list:  `{"metadata": {"resourceVersion": "300"}}`, until: "300", lost: true,
		},
		"of a kind that is new all objects are told": {
			since: "none", list: `{"metadata": {"resourceVersion": "300"}, "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"` + own("hub") + `}}]}`, until: "300", want: []string{"a"},
		},
		"too many are not listed": {since: "none", list: `{"metadata": {"resourceVersion": "300", "continue": "more"}, "items": []}`, until: "300", lost: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := onFake(t)
			w.api.answer = func(rw http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/configmaps") {
					return false
				}
				if q := r.URL.Query(); q.Get("labelSelector") != propagation.LabelMemberWork || !strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata") {
					t.Errorf("it asks %s for %s", r.URL, r.Header.Get("Accept"))
				}
				rw.Header().Set("Content-Type", "application/json")
				body := tc.list
				if r.URL.Query().Get("watch") != "" {
					body = strings.Join(tc.watch, "\n")
				}
				_, _ = io.WriteString(rw, body)
				return true
			}
			since := "200"
			if tc.since == "none" {
				since = ""
			}
			n, err := w.News(t.Context(), configMaps, since, "hub")
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, c := range n.Changes {
				names = append(names, c.Ref.Name)
			}
			if d := cmp.Diff(tc.want, names); d != "" || n.Until != tc.until || n.Lost != tc.lost {
				t.Errorf("until %s, lost %v; want %s, %v; (-want +got)\n%s", n.Until, n.Lost, tc.until, tc.lost, d)
			}
		})
	}
}

// A member that tells without end is read in pieces.
func TestNewsOfOneLookIsBounded(t *testing.T) {
	w := onFake(t)
	w.api.answer = func(rw http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("watch") == "" {
			return false
		}
		rw.Header().Set("Content-Type", "application/json")
		for v := 201; ; v++ {
			if _, err := io.WriteString(rw, told("ADDED", fmt.Sprint("a", v), fmt.Sprint(v), `, "annotations": {"x": "`+strings.Repeat("x", 10_000)+`"}`)); err != nil {
				return true
			}
		}
	}
	n, err := w.News(t.Context(), configMaps, "200", "hub")
	if err != nil {
		t.Fatal(err)
	}
	if len(n.Changes) < 150 || len(n.Changes) > 210 || n.Until != n.Changes[len(n.Changes)-1].Version {
		t.Errorf("%d changes, until %s", len(n.Changes), n.Until)
	}
}

func TestNewsIsRefused(t *testing.T) {
	w := onFake(t)
	code := http.StatusForbidden
	w.api.answer = func(rw http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/configmaps") {
			return false
		}
		fail(rw, code, metav1.StatusReasonForbidden, target{resource: "configmaps"}, "no")
		return true
	}
	for _, since := range []string{"", "200"} {
		var refused *Refused
		if _, err := w.News(t.Context(), configMaps, since, "hub"); !errors.As(err, &refused) {
			t.Errorf("since %q: %v, want that it is refused", since, err)
		}
	}
	code = http.StatusBadGateway
	var unreachable *Unreachable
	if _, err := w.News(t.Context(), configMaps, "200", "hub"); !errors.As(err, &unreachable) {
		t.Errorf("%v, want that it cannot be reached", err)
	}
	var notServed *NotServed
	if _, err := w.News(t.Context(), configMaps.GroupVersion().WithKind("Gadget"), "", "hub"); !errors.As(err, &notServed) {
		t.Errorf("%v, want that it is not served", err)
	}
}
