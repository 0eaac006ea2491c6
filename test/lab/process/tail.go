// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"io"
	"os"
	"strings"
)

// tailBytes bounds what Tail reads of a long log.
const tailBytes = 16 << 10

// Tail is the last n lines of a log, as much as can be read of them.
func Tail(path string, n int) []string {
	f, err := os.Open(path)
	if err != nil {
		return []string{err.Error()}
	}
	defer f.Close()
	whole := true
	if s, err := f.Stat(); err == nil && s.Size() > tailBytes {
		if _, err := f.Seek(-tailBytes, io.SeekEnd); err == nil {
			whole = false
		}
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return []string{err.Error()}
	}
	text := strings.TrimRight(string(b), "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	if !whole && len(lines) > 1 {
		lines = lines[1:]
	}
	return lines[max(0, len(lines)-n):]
}
