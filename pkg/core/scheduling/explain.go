// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"fmt"
	"slices"
	"strings"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
)

// maxNamed is how many clusters a message names; it counts the others.
const maxNamed = 10

// MessageSuccess is the message of Scheduled when there is nothing more to say.
const MessageSuccess = "Binding has been scheduled successfully."

// success says that the template is scheduled, which of the clusters that the
// placement names are not there, and which keep it for now.
func (a attempt) success() string {
	more := missing(a.absent)
	for _, name := range a.kept {
		more = append(more, name+" would be left out and keeps it: the removal is held")
	}
	if len(more) == 0 {
		return MessageSuccess
	}
	return strings.TrimSuffix(MessageSuccess, ".") + "; " + list(more) + "."
}

// refuseAll says why no term could be satisfied. Clusters that fit and are not
// enough, or have no room, are no reason to take the template away from where
// it is.
func refuseAll(tried []attempt, joined int, present []workv1alpha2.TargetCluster) Decision {
	fit, messages := 0, make([]string, 0, len(tried))
	for _, a := range tried {
		fit = max(fit, a.fit)
		m := a.failure(joined)
		if a.term.AffinityName != "" {
			m = a.term.AffinityName + ": " + m
		}
		messages = append(messages, m)
	}
	message := strings.Join(messages, " | ")
	if fit > 0 {
		return refuse(present, workv1alpha2.ReasonUnschedulable, message)
	}
	return refuse(nil, workv1alpha2.ReasonNoClusterFit, message)
}

// failure is in the form of the Kubernetes scheduler's: how many of all, then
// which and why.
func (a attempt) failure(joined int) string {
	head := fmt.Sprintf("%d/%d clusters are available", a.fit, joined)
	if a.fit > 0 {
		head += ", " + a.why
	}
	reasons := append(missing(a.absent), a.refused...)
	if len(reasons) == 0 {
		return head
	}
	return head + ": " + list(reasons)
}

func missing(names []string) []string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, n+" is not joined")
	}
	return out
}

func list(reasons []string) string { return strings.Join(bounded(reasons), "; ") }

// bounded are as many as a message names, and how many there are besides.
func bounded(all []string) []string {
	if rest := len(all) - maxNamed; rest > 0 {
		return append(slices.Clone(all[:maxNamed]), fmt.Sprintf("and %d more", rest))
	}
	return all
}
