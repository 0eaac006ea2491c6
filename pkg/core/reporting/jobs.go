// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import "slices"

// jobTotal adds up the counts, and ends the Job once all members' have ended:
// failed where any has failed. The API server wants the criterion of the end
// beside the end, takes no end back, and lets no start time be changed.
func jobTotal(have map[string]any, members []member) map[string]any {
	status := sums("active", "succeeded", "failed")(have, members)
	if start := extreme(members, "startTime", earlier); start != "" && text(have, "startTime") == "" {
		status["startTime"] = start
	}
	var ended, failed int
	for _, m := range members {
		of := map[string]any{"status": m.status}
		switch {
		case condition(of, "Failed") == "True":
			ended, failed = ended+1, failed+1
		case condition(of, "Complete") == "True":
			ended++
		}
	}
	if ended < len(members) || ended == 0 || text(status, "startTime") == "" {
		return status
	}
	if failed > 0 {
		status["conditions"] = withEnd(have, members, "FailureTarget", "Failed")
		return status
	}
	status["conditions"] = withEnd(have, members, "SuccessCriteriaMet", "Complete")
	if done := extreme(members, "completionTime", later); done != "" && text(have, "completionTime") == "" {
		status["completionTime"] = done
	}
	return status
}

// withEnd are the conditions with those of the types, as the member that came
// to them last has them. Those that are there already stay as they are.
func withEnd(have map[string]any, members []member, criterion, end string) []any {
	conditions, _ := have["conditions"].([]any)
	out := slices.Clone(conditions)
	for _, t := range []string{criterion, end} {
		if condition(map[string]any{"status": have}, t) != "" {
			continue
		}
		last := map[string]any{}
		for _, m := range members {
			for _, c := range elements(m.status, "conditions") {
				if (c["type"] == t || c["type"] == end && len(last) == 0) && text(c, "lastTransitionTime") >= text(last, "lastTransitionTime") {
					last = copyOf(c)
				}
			}
		}
		last["type"], last["status"] = t, "True"
		out = append(out, last)
	}
	return out
}

// cronJobTotal lists the Jobs that run anywhere.
func cronJobTotal(have map[string]any, members []member) map[string]any {
	status := copyOf(have)
	var active []any
	for _, m := range members {
		for _, ref := range elements(m.status, "active") {
			active = append(active, ref)
		}
	}
	if delete(status, "active"); len(active) > 0 {
		status["active"] = active
	}
	for _, f := range []string{"lastScheduleTime", "lastSuccessfulTime"} {
		if t := extreme(members, f, later); t != "" {
			status[f] = t
		}
	}
	return status
}

// Times of one format and zone are ordered as their texts are.
func earlier(a, b string) bool { return a < b }
func later(a, b string) bool   { return a > b }

// extreme is the earliest or the latest of the members' times; empty: none has
// one.
func extreme(members []member, field string, before func(a, b string) bool) string {
	var out string
	for _, m := range members {
		if t := text(m.status, field); t != "" && (out == "" || before(t, out)) {
			out = t
		}
	}
	return out
}
