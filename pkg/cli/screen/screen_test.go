// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestTable(t *testing.T) {
	columns := []Column{{Title: "NAME"}, {Title: "STATE"}, {Title: "WHY", Wide: true}}
	rows := [][]Cell{
		{Text("nginx"), {Text: "ready", Paint: Good}, Text("because")},
		{Text("größer"), Text(""), Text("")},
	}
	for name, tc := range map[string]struct {
		wide, colours bool
		want          string
	}{
		"columns line up, whatever the letters": {want: "  NAME     STATE\n  nginx    ready\n  größer   -\n"},
		"wide columns on request":               {wide: true, want: "  NAME     STATE   WHY\n  nginx    ready   because\n  größer   -       -\n"},
		"colours take no room":                  {wide: true, colours: true, want: "  NAME     STATE   WHY\n  nginx    \x1b[32mready\x1b[0m   because\n  größer   -       -\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			s := &Screen{out: &out, colours: tc.colours}
			s.Table("  ", columns, rows, tc.wide)
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	for name, tc := range map[string]struct {
		live bool
		want string
	}{
		"elsewhere each news is a line":      {want: "waiting\nready\n"},
		"on a terminal one line is replaced": {live: true, want: "\r\x1b[Kwaiting (0s)\r\x1b[Kwaiting (0s)\r\x1b[Kready (0s)\r\x1b[K"},
	} {
		t.Run(name, func(t *testing.T) {
			var errOut bytes.Buffer
			p := (&Screen{err: &errOut, live: tc.live}).Progress()
			p.Say("waiting")
			p.Say("waiting")
			p.Say("ready")
			p.Clear()
			p.Clear()
			if diff := cmp.Diff(tc.want, errOut.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEncode(t *testing.T) {
	for format, want := range map[string]string{"json": "{\n    \"a\": 1\n}\n", "yaml": "a: 1\n"} {
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		if err := New(streams).Encode(format, map[string]int{"a": 1}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestBar(t *testing.T) {
	for want, n := range map[string][2]int{
		"[                        ] 0/4": {0, 4},
		"[============            ] 2/4": {2, 4},
		"[========================] 4/4": {4, 4},
		"[========================] 0/0": {0, 0},
	} {
		if got := Bar(n[0], n[1]); got != want {
			t.Errorf("Bar(%d, %d) = %q, want %q", n[0], n[1], got, want)
		}
	}
}
