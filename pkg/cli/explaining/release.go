// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/scheduling"
)

// Release is what letting a template's pending change take effect would do.
type Release struct {
	Template propagation.TemplateKey `json:"template"`
	Policy   *propagation.PolicyKey  `json:"policy,omitempty"`
	// Pending reports whether a change is pending that a request can release.
	Pending bool   `json:"pending"`
	Moves   *Moves `json:"moves,omitempty"`
	// Refusal says why the pending change cannot be released.
	Refusal string `json:"refusal,omitempty"`

	// Current is the binding as it is (nil: none), and Requested the one with the
	// request.
	Current   *propagation.Binding `json:"-"`
	Requested *propagation.Binding `json:"-"`
}

// Release returns what a release of the template would do.
func (w World) Release(s Subject) Release {
	r := Release{Template: s.Template.Key, Current: s.Binding}
	in := w.Gate(s)
	d := gating.Decide(in)
	if in.Policy != nil {
		r.Policy = &in.Policy.Key
	}
	// A request that was recorded and is not fulfilled yet counts as pending.
	requested := d.Reason == gating.Requested && d.Next != in.Binding
	switch {
	case !d.Pending() && !requested:
	case in.Policy == nil:
		r.Refusal = "no policy holds it: make one that selects it"
	case d.Reason == gating.TemplateDeleting:
		r.Refusal = "it is being deleted"
	case !requested && !d.Releasable():
		r.Refusal = d.Message
	default:
		moves := w.moves(in.Binding, Released(in))
		r.Pending, r.Moves, r.Requested = true, &moves, WithRequest(in)
	}
	return r
}

// Stands reports whether a request is for the present form of the policy that holds the
// template.
func (w World) Stands(s Subject, request string) bool {
	in := w.Gate(s)
	return in.Policy != nil && gating.ActivationOf(in.Policy) == request
}

// Available reports whether every cluster of the template has what is in force and the
// template is healthy there; otherwise missing says what is not. Suspended clusters are
// not waited for. A state that does not change by itself is an error.
func (w World) Available(s Subject) (done bool, missing string, err error) {
	b := s.Binding
	if foreign := b.ForeignScheduler(); foreign == "" {
		d := scheduling.Decide(scheduling.Input{Binding: b, Clusters: w.Clusters})
		switch {
		case d.Unschedulable:
			return false, "", fmt.Errorf("it cannot be scheduled: %s", d.Condition.Message)
		case !equality.Semantic.DeepEqual(d.Targets, b.Spec.Clusters):
			return false, "waiting for the scheduler", nil
		}
	}
	var waiting []string
	for _, c := range clusters(s.Template, b, s.Works) {
		switch c.State {
		case Held:
		case Failed:
			return false, "", fmt.Errorf("%s refused it: %s: %s", c.Name, c.Reason, c.Message)
		case Applied:
			// An object whose health is Unknown counts as available.
			if c.Health == string(workv1alpha1.ResourceUnhealthy) {
				waiting = append(waiting, c.Name)
			}
		default:
			waiting = append(waiting, c.Name)
		}
	}
	if len(waiting) > 0 {
		return false, "waiting for " + strings.Join(waiting, ", "), nil
	}
	return true, "", nil
}
