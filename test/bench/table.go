// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// table is what the run has found.
type table struct{ rows [][3]string }

// row adds a line: what is measured and its budget, the measurement, and how it
// was made.
func (t *table) row(budget, measured, how string) {
	t.rows = append(t.rows, [3]string{budget, measured, how})
	say("  %s: %s", budget, measured)
}

func (t *table) print(out io.Writer) {
	fmt.Fprintln(out, "| budget | measured | how |")
	fmt.Fprintln(out, "|---|---|---|")
	for _, r := range t.rows {
		fmt.Fprintln(out, "| "+strings.Join(r[:], " | ")+" |")
	}
}

// over is an error if something is beyond its budget.
func (t *table) over() error {
	n := 0
	for _, r := range t.rows {
		if strings.Contains(r[1], beyond) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d measurements are beyond their budgets", n, len(t.rows))
}

// beyond begins what is said of a measurement that is.
const beyond = "**over:** "

// verdict marks what is beyond its budget.
func verdict(within bool, format string, args ...any) string {
	s := fmt.Sprintf(format, args...)
	if within {
		return s
	}
	return beyond + s
}

func ms(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d.Microseconds())/1000) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
