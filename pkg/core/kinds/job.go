// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"slices"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
)

var job = Kind{
	prune:     pruneJob,
	replicas:  "parallelism",
	reports:   []string{"active", "succeeded", "failed", "startTime", "completionTime", "conditions"},
	health:    jobHealth,
	total:     jobTotal,
	refers:    refersByTemplate,
	ends:      jobEnded,
	unawaited: always,
}

// jobLabels are put by the API server on a Job's pods.
var jobLabels = []string{"controller-uid", "batch.kubernetes.io/controller-uid", "job-name", "batch.kubernetes.io/job-name"}

// managedByHub is what a guarded hub writes into a Job's spec.managedBy, for its own
// controller to leave the Job alone (examples/overlays/hub-guard).
const managedByHub = "sluice.dev/hub"

// pruneJob removes spec.managedBy where a guarded hub set it, and the selector and
// labels that the API server generated.
func pruneJob(obj map[string]any) {
	spec := child(obj, "spec")
	if spec["managedBy"] == managedByHub {
		delete(spec, "managedBy")
	}
	if spec["manualSelector"] == true {
		return
	}
	delete(spec, "selector")
	drop(child(obj, "metadata"), "labels", jobLabels...)
	drop(child(spec, "template", "metadata"), "labels", jobLabels...)
}

func jobEnded(obj map[string]any) bool {
	return condition(obj, "Complete") == "True" || condition(obj, "Failed") == "True"
}

// jobHealth is Unknown while the Job runs: how it will end is not known.
func jobHealth(obj map[string]any) Health {
	switch {
	case condition(obj, "Failed") == "True":
		return workv1alpha1.ResourceUnhealthy
	case condition(obj, "Complete") == "True":
		return workv1alpha1.ResourceHealthy
	}
	return workv1alpha1.ResourceUnknown
}

// jobTotal adds up the counts, and marks the template as finished once the Jobs of all
// members are: as failed if any of them has failed. The API server requires
// FailureTarget beside Failed and SuccessCriteriaMet beside Complete, and refuses to
// take a finished condition back or to change startTime.
func jobTotal(template map[string]any, members []Member) map[string]any {
	have := child(template, "status")
	status := sums("active", "succeeded", "failed")(template, members)
	if start := extreme(members, "startTime", earlier); start != "" && text(have, "startTime") == "" {
		status["startTime"] = start
	}
	var ended, failed int
	for _, m := range members {
		of := map[string]any{"status": m.Status}
		if jobEnded(of) {
			ended++
		}
		if condition(of, "Failed") == "True" {
			failed++
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

// withEnd returns the template's conditions with those of the types criterion and end
// added, as the member has them that finished last. A condition that is there already
// stays as it is.
func withEnd(have map[string]any, members []Member, criterion, end string) []any {
	conditions, _ := have["conditions"].([]any)
	out := slices.Clone(conditions)
	for _, t := range []string{criterion, end} {
		if condition(map[string]any{"status": have}, t) != "" {
			continue
		}
		last := map[string]any{}
		for _, m := range members {
			for _, c := range elements(m.Status, "conditions") {
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

// cronJob is healthy as soon as it exists: the health of its Jobs is told by the Jobs.
var cronJob = Kind{
	reports: []string{"active", "lastScheduleTime", "lastSuccessfulTime"},
	health:  isThere,
	total:   cronJobTotal,
	refers: func(c *collector, obj map[string]any) {
		c.pod(child(obj, "spec", "jobTemplate", "spec", "template"))
	},
	unawaited: always,
}

// cronJobTotal lists the Jobs that run anywhere.
func cronJobTotal(template map[string]any, members []Member) map[string]any {
	status := copyOf(child(template, "status"))
	var active []any
	for _, m := range members {
		for _, ref := range elements(m.Status, "active") {
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
