// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const working = "Mon-Fri 09:00-17:00"

func window(t *testing.T, hours string) Window {
	t.Helper()
	w, err := Parse(hours, "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func at(t *testing.T, s string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestOpen(t *testing.T) {
	tests := map[string]struct {
		hours string // by default working
		at    string
		want  bool
	}{
		"a minute before nine is too early":                       {at: "2026-11-23T08:59:59+01:00"},
		"nine is open":                                            {at: "2026-11-23T09:00:00+01:00", want: true},
		"a second before five is open":                            {at: "2026-11-23T16:59:59+01:00", want: true},
		"five is too late":                                        {at: "2026-11-23T17:00:00+01:00"},
		"nobody works on Saturday":                                {at: "2026-11-21T12:00:00+01:00"},
		"the place's clock counts, not the server's":              {at: "2026-11-23T08:30:00Z", want: true},
		"Monday in Sydney is Sunday in Berlin":                    {at: "2026-11-23T09:30:00+11:00"},
		"in winter nine in Berlin is eight in UTC":                {at: "2026-03-27T08:00:00Z", want: true},
		"in winter seven in UTC is too early":                     {at: "2026-03-27T07:00:00Z"},
		"after the clocks went forward nine is seven in UTC":      {at: "2026-03-30T07:00:00Z", want: true},
		"and five is three in UTC":                                {at: "2026-03-30T15:00:00Z"},
		"after the clocks went back nine is eight in UTC again":   {at: "2026-10-26T07:59:00Z"},
		"and the window is open at eight in UTC":                  {at: "2026-10-26T08:00:00Z", want: true},
		"half past two does not come when the clocks go forward":  {hours: "Sun 02:30-02:45", at: "2026-03-29T01:00:00Z"},
		"a window that begins in the missing hour opens after it": {hours: "Sun 02:30-04:00", at: "2026-03-29T01:00:00Z", want: true},
		"and not before it":                                       {hours: "Sun 02:30-04:00", at: "2026-03-29T00:59:00Z"},
		"the hour that comes twice is open the first time":        {hours: "Sun 02:00-03:00", at: "2026-10-25T00:30:00Z", want: true},
		"and the second time":                                     {hours: "Sun 02:00-03:00", at: "2026-10-25T01:30:00Z", want: true},
		"and then it is over":                                     {hours: "Sun 02:00-03:00", at: "2026-10-25T02:00:00Z"},
		"a night begins on its day":                               {hours: "Fri 22:00-06:00", at: "2026-11-27T23:00:00+01:00", want: true},
		"and goes on in the next morning":                         {hours: "Fri 22:00-06:00", at: "2026-11-28T05:59:00+01:00", want: true},
		"but the morning of its day is the night's before":        {hours: "Fri 22:00-06:00", at: "2026-11-27T05:00:00+01:00"},
		"a week may begin where another ends":                     {hours: "Sat-Mon 10:00-12:00", at: "2026-11-22T11:00:00+01:00", want: true},
		"midnight is the end of a day":                            {hours: "Mon-Sun 00:00-24:00", at: "2026-11-22T23:59:59+01:00", want: true},
		"each of several spans counts":                            {hours: "Mon-Thu 09:00-17:00, Fri 09:00-12:00", at: "2026-11-27T11:00:00+01:00", want: true},
		"and none stands for another":                             {hours: "Mon-Thu 09:00-17:00, Fri 09:00-12:00", at: "2026-11-27T13:00:00+01:00"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.hours == "" {
				tc.hours = working
			}
			if got := window(t, tc.hours).Open(at(t, tc.at)); got != tc.want {
				t.Errorf("%s at %s: open is %v, want %v", tc.hours, tc.at, got, tc.want)
			}
		})
	}
}

func TestNext(t *testing.T) {
	tests := map[string]struct {
		hours string // by default working
		after string
		want  string
	}{
		"in the morning it is the same day":                       {after: "2026-11-23T07:12:13+01:00", want: "2026-11-23T09:00:00+01:00"},
		"in the evening it is the next":                           {after: "2026-11-23T17:00:00+01:00", want: "2026-11-24T09:00:00+01:00"},
		"on Friday evening it is Monday":                          {after: "2026-11-27T20:00:00+01:00", want: "2026-11-30T09:00:00+01:00"},
		"over the weekend on which the clocks go forward":         {after: "2026-03-27T18:00:00+01:00", want: "2026-03-30T09:00:00+02:00"},
		"over the weekend on which they go back":                  {after: "2026-10-23T18:00:00+02:00", want: "2026-10-26T09:00:00+01:00"},
		"what begins in the missing hour begins after it":         {hours: "Sun 02:30-04:00", after: "2026-03-28T20:00:00+01:00", want: "2026-03-29T03:00:00+02:00"},
		"the end of the hour that comes twice leads to its start": {hours: "Sun 02:00-02:30", after: "2026-10-25T02:45:00+02:00", want: "2026-10-25T02:00:00+01:00"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.hours == "" {
				tc.hours = working
			}
			got, ok := window(t, tc.hours).Next(at(t, tc.after))
			if !ok || !got.Equal(at(t, tc.want)) {
				t.Errorf("after %s: got %s, %v, want %s", tc.after, got, ok, tc.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ hours, place string }{
		"no hours":                {"", "Europe/Berlin"},
		"no days":                 {"09:00-17:00", "Europe/Berlin"},
		"no end":                  {"Mon 09:00", "Europe/Berlin"},
		"a day of another tongue": {"Mo-Fr 09:00-17:00", "Europe/Berlin"},
		"a time that no day has":  {"Mon 09:00-25:00", "Europe/Berlin"},
		"no time at all":          {"Mon 09:00-09:00", "Europe/Berlin"},
		"a place that is none":    {working, "Europe/Entenhausen"},
		"no place":                {working, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if w, err := Parse(tc.hours, tc.place); err == nil || w.Open(time.Now()) {
				t.Errorf("got %v, want a refusal that is closed", w)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	day, night := at(t, "2026-11-23T12:00:00+01:00"), at(t, "2026-11-23T20:00:00+01:00")
	morning := at(t, "2026-11-24T09:00:00+01:00")
	w := window(t, working)
	tests := map[string]struct {
		template Template
		window   *Window
		now      time.Time
		want     Decision
	}{
		"by day everything passes":                       {window: &w, now: day, want: Decision{Pass: true, Reason: WindowOpen}},
		"by night it waits until the morning":            {window: &w, now: night, want: Decision{Reason: OutsideWindow, Opens: morning}},
		"a deletion waits for nobody":                    {template: Template{Deleted: true}, window: &w, now: night, want: Decision{Pass: true, Reason: Deleted}},
		"a suspension waits for nobody":                  {template: Template{Suspended: true}, window: &w, now: night, want: Decision{Pass: true, Reason: Suspended}},
		"a window that cannot be read is closed":         {now: day, want: Decision{Reason: WindowUnreadable}},
		"and lets deletions pass":                        {template: Template{Deleted: true}, now: day, want: Decision{Pass: true, Reason: Deleted}},
		"the suspended template that goes is a deletion": {template: Template{Deleted: true, Suspended: true}, window: &w, now: night, want: Decision{Pass: true, Reason: Deleted}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Decide(tc.template, tc.window, tc.now)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
