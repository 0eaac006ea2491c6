// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"fmt"
	"io"
	"sync"
	"time"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/function"
)

// show writes each handled event as one line: time, stage, object, outcome,
// reason, milliseconds. A tick that found nothing is not worth one, and all is quiet at
// rest.
func show(out io.Writer) func(function.Line) {
	var mu sync.Mutex
	return func(l function.Line) {
		if l.Type == events.Ping && l.Outcome == function.Done && l.Reason == "" {
			return
		}
		why := l.Reason
		if l.Err != nil {
			why += ": " + l.Err.Error()
		}
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(out, "%s  %-12s  %-44s  %-8s  %6.1f ms  %s\n",
			time.Now().Format("15:04:05.000"), l.Stage, l.Object, l.Outcome, float64(l.Duration.Microseconds())/1000, why)
	}
}
