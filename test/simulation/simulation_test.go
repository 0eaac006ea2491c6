// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sluice.dev/test/pipelinetest"
)

var (
	seedsFlag = flag.Int("seeds", 0, "how many histories (default: SIM_SEEDS, or 1000; 100 with -short)")
	seedFlag  = flag.Int("seed", 0, "the one history to run (default: SIM_SEED)")
	tracing   = os.Getenv("SIM_TRACE") != ""
)

// number is the value of a variable of the environment, which go test takes into account
// only if it is read while tests run: otherwise it repeats what another value brought.
func number(variable string) int {
	n, _ := strconv.Atoi(os.Getenv(variable)) // none: the default
	return n
}

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// seeds are those to run, as first and last.
func seeds() (first, last int) {
	one, many := cmp.Or(*seedFlag, number("SIM_SEED")), cmp.Or(*seedsFlag, number("SIM_SEEDS"))
	switch {
	case one > 0:
		return one, one
	case many > 0:
		return 1, many
	case testing.Short():
		return 1, 100
	}
	return 1, 1000
}

// share is one of so many of the seeds; or as many as those, from where it is asked for.
func share(of int) (first, last int) {
	first, last = seeds()
	if n := number("SIM_FROM"); n > 0 {
		return n, n + last - first
	}
	return first, first + (last-first)/of
}

// lab is what a goroutine needs to run one history after the other.
type lab struct {
	redis  *pipelinetest.Redis
	routes *pipelinetest.Routes
	// did is how often what was done in all histories.
	did map[verb]int
}

func newLab(t testing.TB) *lab {
	t.Helper()
	redis, err := pipelinetest.StartRedis()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(redis.Stop)
	routes, err := pipelinetest.LoadRoutes()
	if err != nil {
		t.Fatal(err)
	}
	return &lab{redis, routes, map[verb]int{}}
}

func (l *lab) start(c climate) *world {
	w := start(c, l.redis, l.routes)
	w.did = l.did
	return w
}

// run takes a world of that climate through the history.
func (l *lab) run(c climate, h []op) error { return l.start(c).run(h) }

// TestSimulation runs histories, each drawn from a seed, against the model.
func TestSimulation(t *testing.T) {
	first, last := share(1)
	each(t, first, last, drawn)
}

// each tries the seeds from first to last, on as many labs as there are processors, and
// tells how often what was done.
func each(t *testing.T, first, last int, draw func(seed int) (climate, []op)) map[verb]int {
	t.Helper()
	var next atomic.Int64
	next.Store(int64(first) - 1)
	var wg sync.WaitGroup
	var labs []*lab
	for range min(runtime.GOMAXPROCS(0), last-first+1) {
		l := newLab(t)
		labs = append(labs, l)
		wg.Go(func() {
			for seed := int(next.Add(1)); seed <= last && !t.Failed(); seed = int(next.Add(1)) {
				l.try(t, seed, draw)
			}
		})
	}
	wg.Wait()
	did := map[verb]int{}
	for _, l := range labs {
		for v, n := range l.did {
			did[v] += n
		}
	}
	return did
}

// drawn is the history of a seed.
func drawn(seed int) (climate, []op) {
	d := newDrawer(uint64(seed)) //nolint:gosec // a seed
	return d.climate(), d.history()
}

// try runs the history of a seed and, where it fails, a shorter one that fails
// too.
func (l *lab) try(t *testing.T, seed int, draw func(seed int) (climate, []op)) {
	c, h := draw(seed)
	err := l.run(c, h)
	if err == nil {
		return
	}
	if !tracing {
		c, h, err = l.shrink(c, h, err)
	}
	var b strings.Builder
	for _, o := range h {
		fmt.Fprintf(&b, "  %s\n", o)
	}
	trace := ""
	if tracing {
		w := l.start(c)
		var lines strings.Builder
		w.trace = func(format string, args ...any) { fmt.Fprintf(&lines, format+"\n", args...) }
		_ = w.run(h)
		trace = "\n" + lines.String()
	}
	t.Errorf("seed %d: %v\nclimate %+v\n%s%s\nagain: SIM_SEED=%d go test ./test/simulation -run %s", seed, err, c, cmp.Or(b.String(), "  nothing\n"), trace, seed, t.Name())
}
