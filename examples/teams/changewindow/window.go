// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Window is when changes may go out: hours of days of the week, on the clocks of
// a place. The zero Window is always closed.
type Window struct {
	place *time.Location
	spans []span
}

// span is from one minute of the day until another, which is one of the next day
// where it is not later.
type span struct {
	days        [7]bool
	from, until int
}

const day = 24 * 60

// Parse reads hours such as "Mon-Thu 09:00-17:00, Fri 09:00-12:00" and a place
// such as "Europe/Berlin".
func Parse(hours, place string) (Window, error) {
	location, err := time.LoadLocation(place)
	if err != nil || place == "" {
		return Window{}, errors.Join(fmt.Errorf("timezone %q: want one such as Europe/Berlin", place), err)
	}
	w := Window{place: location}
	for _, s := range strings.Split(hours, ",") {
		sp, err := parse(s)
		if err != nil {
			return Window{}, fmt.Errorf("hours %q: want them as in Mon-Fri 09:00-17:00: %w", hours, err)
		}
		w.spans = append(w.spans, sp)
	}
	return w, nil
}

func parse(s string) (sp span, err error) {
	days, times, found := strings.Cut(strings.TrimSpace(s), " ")
	from, until, both := strings.Cut(strings.TrimSpace(times), "-")
	if !found || !both {
		return sp, fmt.Errorf("%q lacks days, a beginning or an end", s)
	}
	if sp.days, err = parseDays(days); err != nil {
		return sp, err
	}
	if sp.from, err = minute(from); err != nil {
		return sp, err
	}
	if sp.until, err = minute(until); err != nil {
		return sp, err
	}
	if sp.from == sp.until || sp.from == day {
		return sp, fmt.Errorf("%q is no time at all", times)
	}
	return sp, nil
}

var names = []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}

func parseDays(s string) (days [7]bool, err error) {
	first, last, isRange := strings.Cut(s, "-")
	if !isRange {
		last = first
	}
	from, until := slices.Index(names, first), slices.Index(names, last)
	if from < 0 || until < 0 {
		return days, fmt.Errorf("%q: days are %s", s, strings.Join(names, ", "))
	}
	for d := from; ; d = (d + 1) % 7 {
		if days[d] = true; d == until {
			return days, nil
		}
	}
}

// minute of the day, 24:00 included.
func minute(s string) (int, error) {
	h, m, found := strings.Cut(s, ":")
	hour, errH := strconv.Atoi(h)
	mins, errM := strconv.Atoi(m)
	n := hour*60 + mins
	if !found || errH != nil || errM != nil || hour < 0 || mins < 0 || mins > 59 || n > day {
		return 0, fmt.Errorf("%q is no time of a day", s)
	}
	return n, nil
}

// Open tells whether changes may go out at that time.
func (w Window) Open(at time.Time) bool {
	if w.place == nil {
		return false
	}
	at = at.In(w.place)
	now, today := at.Hour()*60+at.Minute(), at.Weekday()
	yesterday := (today + 6) % 7
	return slices.ContainsFunc(w.spans, func(s span) bool {
		if s.from < s.until {
			return s.days[today] && s.from <= now && now < s.until
		}
		return s.days[today] && s.from <= now || s.days[yesterday] && now < s.until
	})
}

// Next is the first full minute after that time in which the window is open;
// false where there is none within a week and a day.
func (w Window) Next(after time.Time) (time.Time, bool) {
	at := after.Truncate(time.Minute)
	for range 8 * day {
		if at = at.Add(time.Minute); w.Open(at) {
			return at.In(w.place), true
		}
	}
	return time.Time{}, false
}
