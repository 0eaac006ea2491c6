// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"fmt"
	"strings"
	"time"
)

// Progress shows what a command waits for: on a terminal in one line that changes in
// place, elsewhere in a new line for each change.
type Progress struct {
	screen *Screen
	began  time.Time
	said   string
}

// Progress returns a Progress that begins now.
func (s *Screen) Progress() *Progress { return &Progress{screen: s, began: time.Now()} }

// Say replaces the text that is shown.
func (p *Progress) Say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s := p.screen
	if s.live {
		_, _ = fmt.Fprintf(s.err, "\r\x1b[K%s (%s)", text, time.Since(p.began).Round(time.Second))
		p.said = text
		return
	}
	if text != p.said {
		s.Note("%s", text)
		p.said = text
	}
}

// Clear removes the line, so that something else can be written.
func (p *Progress) Clear() {
	if p.screen.live && p.said != "" {
		_, _ = fmt.Fprint(p.screen.err, "\r\x1b[K")
		p.said = ""
	}
}

const barWidth = 24

// Bar shows how many of all are done.
func Bar(done, all int) string {
	filled := barWidth
	if all > 0 {
		filled = barWidth * done / all
	}
	return fmt.Sprintf("[%s%s] %d/%d", strings.Repeat("=", filled), strings.Repeat(" ", barWidth-filled), done, all)
}
