// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the kernel's processor times.
const tick = 10 * time.Millisecond

// cpuOf is the time that a process has computed; 0 where there is none.
func cpuOf(pid int) time.Duration {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), ") ") // behind the program's name
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick
}

// memoryOf is what a process holds now and what it held at most, in MB.
func memoryOf(pid int) (now, peak int, err error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		kb, _ := strconv.Atoi(fields[1]) // what is none is not asked for
		switch fields[0] {
		case "VmRSS:":
			now = kb >> 10
		case "VmHWM:":
			peak = kb >> 10
		}
	}
	return now, peak, nil
}

// spent is the time that each has computed: this program, which is a part of the
// floor, and the programs of the clusters, those of the members together.
type spent map[string]time.Duration

func (l *lab) spent() spent {
	all := spent{agent: cpuOf(os.Getpid())}
	files, _ := filepath.Glob(filepath.Join(l.dir, "lab", "*", "*.pid")) // the pattern is well-formed
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		where := "members' "
		if filepath.Base(filepath.Dir(file)) == l.hub.name {
			where = "hub's "
		}
		pid, _, _ := strings.Cut(string(raw), " ")
		if n, err := strconv.Atoi(pid); err == nil {
			all[where+strings.TrimSuffix(filepath.Base(file), ".pid")] += cpuOf(n)
		}
	}
	if l.simulated != nil {
		all["simulated members"] = cpuOf(l.simulated.Process.Pid)
	}
	return all
}

// since is what has been spent since before.
func (s spent) since(before spent) spent {
	d := spent{}
	for who, t := range s {
		d[who] = t - before[who]
	}
	return d
}

func (s spent) add(o spent) {
	for who, t := range o {
		s[who] += t
	}
}

func (s spent) total() time.Duration {
	var all time.Duration
	for _, t := range s {
		all += t
	}
	return all
}

// each is what is spent on one of n, the most first: "api server 12 ms, …".
func (s spent) each(n int) string {
	who := slices.SortedFunc(maps.Keys(s), func(a, b string) int { return cmp.Or(cmp.Compare(s[b], s[a]), cmp.Compare(a, b)) })
	var parts []string
	for _, w := range who {
		parts = append(parts, fmt.Sprintf("%s %.1f", w, float64(s[w].Milliseconds())/float64(n)))
	}
	return strings.Join(parts, ", ")
}
