// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// What the hub says of an object's age counts by the hub's clock, so that a process whose
// own is ahead does not take what was made this moment for old.
func TestZ18TimeIsTheHubs(t *testing.T) {
	noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	type answer struct {
		date         string
		began, ended time.Duration
	}
	at := func(d time.Duration) string { return noon.Add(d).Format(http.TimeFormat) }
	for sentence, tc := range map[string]struct {
		heard []answer
		want  time.Duration
	}{
		"nothing was heard":                              {nil, 0},
		"the clocks agree":                               {[]answer{{at(0), 0, 300 * time.Millisecond}, {at(time.Second), 1900 * time.Millisecond, 1950 * time.Millisecond}}, 0},
		"an answer took long":                            {[]answer{{at(0), 0, 20 * time.Second}, {at(19 * time.Second), 0, 20 * time.Second}}, 0},
		"the hub is an hour behind":                      {[]answer{{at(-time.Hour), 0, 0}}, -time.Hour + time.Second},
		"the hub is an hour behind, and says it twice":   {[]answer{{at(-time.Hour), 0, 0}, {at(-time.Hour), 800 * time.Millisecond, 800 * time.Millisecond}}, -time.Hour + 200*time.Millisecond},
		"the hub is an hour ahead":                       {[]answer{{at(time.Hour), 0, 100 * time.Millisecond}}, time.Hour - 100*time.Millisecond},
		"the hub was an hour ahead, and somebody set it": {[]answer{{at(time.Hour), 0, 0}, {at(10 * time.Second), 10 * time.Second, 10 * time.Second}}, time.Second},
		"an answer without a date":                       {[]answer{{at(time.Hour), 0, 0}, {"", time.Second, time.Second}}, time.Hour},
		"an answer whose date is none":                   {[]answer{{"yesterday", 0, 0}}, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := &clock{now: func() time.Time { return noon }}
			for _, a := range tc.heard {
				c.hear(a.date, noon.Add(a.began), noon.Add(a.ended))
			}
			if got := c.time().Sub(noon); got != tc.want {
				t.Errorf("the hub is %s ahead, want %s", got, tc.want)
			}
		})
	}
	t.Run("each answer is heard, also that something is missing", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusNotFound)
		}))
		defer server.Close()
		h, err := Connect(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Clusters(context.Background()); err == nil {
			t.Fatal("clusters were found")
		}
		if ahead := time.Until(h.Now()); ahead < -time.Hour-time.Minute || ahead > -time.Hour+time.Minute {
			t.Errorf("the hub's time is %s from now, want an hour before", ahead)
		}
	})
}
