// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package screen writes output for people and for programs: tables, progress, JSON and
// YAML.
//
// Invariants:
//   - Colours, and lines that change in place, are only used on terminals.
//   - Progress goes to the error stream, so that output can be piped.
//   - Output for programs does not depend on whether there is a terminal.
//
// It must not know what it writes about.
package screen

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"
)

// Screen is where a command writes to.
type Screen struct {
	out, err io.Writer
	// colours are used on the output, live says that lines change in place on the error
	// stream.
	colours, live bool
}

// New returns a Screen for the streams.
func New(s genericiooptions.IOStreams) *Screen {
	return &Screen{
		out: s.Out, err: s.ErrOut,
		colours: terminal(s.Out) && os.Getenv("NO_COLOR") == "",
		live:    terminal(s.ErrOut),
	}
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// Printf writes to the output.
func (s *Screen) Printf(format string, args ...any) { _, _ = fmt.Fprintf(s.out, format, args...) }

// Println writes a line to the output.
func (s *Screen) Println(line string) { _, _ = fmt.Fprintln(s.out, line) }

// Note writes a line to the error stream, for people and not for the next program in a
// pipe.
func (s *Screen) Note(format string, args ...any) { _, _ = fmt.Fprintf(s.err, format+"\n", args...) }

// Live reports whether progress changes in place.
func (s *Screen) Live() bool { return s.live }

// Encode writes v as "json" or "yaml".
func (s *Screen) Encode(format string, v any) error {
	raw, err := json.MarshalIndent(v, "", "    ")
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if format == "yaml" {
		if raw, err = yaml.JSONToYAML(raw); err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		s.Printf("%s", raw)
		return nil
	}
	s.Printf("%s\n", raw)
	return nil
}
