// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package count

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/page"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

const (
	// every is the minimum time between two updates of the policies' statuses: they are
	// for people, and not worth a write for each template.
	every = 5 * time.Second
	// during is how long one sweep writes statuses; the next one continues. A longer
	// sweep would delay other work.
	during = time.Second
	// position is the name under which progress is stored.
	position = "count"
)

// Hub is the control plane's API.
type Hub interface {
	Policies(ctx context.Context) ([]*propagation.Policy, error)
	CommitPolicyStatus(ctx context.Context, p *propagation.Policy, status policyv1alpha1.PropagationStatus) error
	// Definitions returns for each API group a text that changes whenever a
	// CustomResourceDefinition of the group is changed.
	Definitions(ctx context.Context) (map[string]string, error)
}

// Index knows which policy holds which template.
type Index interface {
	HeldCount(ctx context.Context, key propagation.PolicyKey) (int64, error)
	// Says reports whether the index has the policy's present selectors.
	Says(ctx context.Context, p *propagation.Policy) (bool, error)
}

// Rights knows what Sluice's accounts may do on the hub.
type Rights interface {
	// Missing returns the rights that are needed for the policy's templates and are
	// missing.
	Missing(ctx context.Context, p *propagation.Policy) ([]propagation.Right, error)
}

// Counter counts. It has no state of its own.
type Counter struct {
	hub   Hub
	index Index
	now   func() time.Time
	// rights is nil if this process may do everything.
	rights Rights
}

// New returns a Counter.
func New(h Hub, i Index, now func() time.Time) *Counter {
	return &Counter{hub: h, index: i, now: now}
}

// Checking makes the Counter report on policies which rights their kinds lack.
func (c *Counter) Checking(r Rights) *Counter {
	c.rights = r
	return c
}

// progress is how far the policies are counted.
type progress struct {
	// Began is when this count began, or the last one.
	Began time.Time `json:"began"`
	// After is the policy that was reached; empty: all were.
	After string `json:"after,omitempty"`
	// SoFar are the counts of this round's pages, if bindings are read in pages, and
	// Totals those of the last round while they are being written.
	SoFar  []sum `json:"soFar,omitempty"`
	Totals []sum `json:"totals,omitempty"`
	// Due: the totals have to be written.
	Due bool `json:"due,omitempty"`
	// Defined are the definitions, by the API groups that policies name, when the
	// policies were last announced because of them.
	Defined map[string]string `json:"defined,omitempty"`
}

// sum has the counts of a policy's templates.
type sum struct {
	Claim  propagation.Claim             `json:"claim"`
	Counts policyv1alpha1.TemplateCounts `json:"counts"`
}

// add adds the counts of a page.
func add(sums []sum, counts map[propagation.Claim]policyv1alpha1.TemplateCounts) []sum {
	all := totals(sums)
	for claim, c := range counts {
		was := all[claim]
		all[claim] = policyv1alpha1.TemplateCounts{
			Claimed: was.Claimed + c.Claimed, Active: was.Active + c.Active, Pending: was.Pending + c.Pending,
			Suspended: was.Suspended + c.Suspended, Failed: was.Failed + c.Failed,
		}
	}
	out := make([]sum, 0, len(all))
	for claim, c := range all {
		out = append(out, sum{claim, c})
	}
	slices.SortFunc(out, func(a, b sum) int { return strings.Compare(a.Claim.ID, b.Claim.ID) })
	return out
}

// totals returns the sums by policy.
func totals(sums []sum) map[propagation.Claim]policyv1alpha1.TemplateCounts {
	all := make(map[propagation.Claim]policyv1alpha1.TemplateCounts, len(sums))
	for _, s := range sums {
		all[s.Claim] = s.Counts
	}
	return all
}

// count returns the counts of each policy; false: nothing has to be written.
func (at *progress) count(p *page.Page, now time.Time) (map[propagation.Claim]policyv1alpha1.TemplateCounts, bool) {
	if p.Whole {
		return at.whole(p, now)
	}
	counts, due := at.turn(p, now)
	if all := p.Listed(); all.Whole { // another room needed all bindings
		if now, is := at.whole(all, now); is {
			return now, true
		}
	}
	return counts, due
}

// turn adds a page, and returns the counts of each policy at the end of a round; false:
// nothing has to be written.
func (at *progress) turn(p *page.Page, now time.Time) (map[propagation.Claim]policyv1alpha1.TemplateCounts, bool) {
	if p.Fresh {
		if p.First {
			at.SoFar = nil
		}
		at.SoFar = add(at.SoFar, reporting.Counts(p.Bindings))
		if p.Last {
			at.Totals, at.SoFar, at.Due, at.After, at.Began = at.SoFar, nil, true, "", now.UTC()
		}
	}
	return totals(at.Totals), at.Due
}

// whole counts all bindings; false: it is too early for that.
func (at *progress) whole(p *page.Page, now time.Time) (map[propagation.Claim]policyv1alpha1.TemplateCounts, bool) {
	if at.After == "" {
		if since := now.Sub(at.Began); since >= 0 && since < every {
			return nil, false
		}
		at.Began = now.UTC()
	}
	at.Totals, at.Due = nil, false
	return reporting.Counts(p.Bindings), true
}

// Sweep writes to each policy's status the counts of its templates, and which removals
// are held. If bindings are read in pages, it goes on counting and writes when it has
// seen all of them.
func (c *Counter) Sweep(ctx context.Context, t *tick.Tick, p *page.Page, held map[propagation.Claim]string) error {
	now := c.now()
	var at progress
	t.Read(position, &at)
	counts, due := at.count(p, now)
	if !due && p.Whole {
		return nil
	}
	if !due {
		return t.Write(position, at)
	}
	policies, err := c.hub.Policies(ctx)
	if err != nil {
		return fmt.Errorf("list policies: %w", err)
	}
	slices.SortFunc(policies, func(a, b *propagation.Policy) int { return strings.Compare(a.Key.ID(), b.Key.ID()) })
	failed := c.redefined(ctx, t, &at, policies)
	for _, p := range policies {
		if p.Key.ID() <= at.After {
			continue
		}
		if c.now().Sub(now) > during {
			return errors.Join(failed, t.Write(position, at))
		}
		at.After = p.Key.ID()
		failed = errors.Join(failed, c.one(ctx, t, p, counts[p.Claim()], held[p.Claim()]))
	}
	at.After, at.Totals, at.Due = "", nil, false
	return errors.Join(failed, t.Write(position, at))
}

// redefined announces the policies that name kinds whose definitions were changed. A
// version may have been served no more and served again since the last sweep: no status
// tells of that, and meanwhile templates may have been found to be nobody's.
func (c *Counter) redefined(ctx context.Context, t *tick.Tick, at *progress, policies []*propagation.Policy) error {
	if !slices.ContainsFunc(policies, func(p *propagation.Policy) bool { return len(groups(p)) > 0 }) {
		at.Defined = nil
		return nil
	}
	all, err := c.hub.Definitions(ctx)
	if err != nil {
		return fmt.Errorf("list definitions of kinds: %w", err)
	}
	defined := map[string]string{}
	for _, p := range policies {
		changed := false
		for _, g := range groups(p) {
			was, known := at.Defined[g]
			changed = changed || !known || was != all[g]
			defined[g] = all[g]
		}
		if changed {
			t.Out.Emit(events.PolicyChanged, events.Data{Policy: &p.Key, Reason: "KindsDefined"})
		}
	}
	at.Defined = defined
	return nil
}

// groups returns the API groups of what the policy selects that may be defined by
// CustomResourceDefinitions.
func groups(p *propagation.Policy) []string {
	var out []string
	for _, k := range matching.Kinds([]*propagation.Policy{p}) {
		if propagation.MayBeDefined(k.Group) {
			out = append(out, k.Group)
		}
	}
	return out
}

// one writes to the status of one policy its counts, which of its kinds have no effect,
// and which removals are held, if anything changed. If the hub began or ceased to serve
// what the policy names, the policy is announced: it may select other templates than
// before, though neither it nor they were changed.
func (c *Counter) one(ctx context.Context, t *tick.Tick, p *propagation.Policy, counts policyv1alpha1.TemplateCounts, kept string) error {
	held, err := c.index.HeldCount(ctx, p.Key)
	if err != nil {
		return fmt.Errorf("count the templates of %s: %w", p.Key, err)
	}
	status := p.Status
	status.Templates = counts
	if waiting := int32(held) - status.Templates.Claimed; waiting > 0 { //nolint:gosec // a count of objects
		status.Templates.Claimed += waiting
		status.Templates.Pending += waiting
	}
	var missing []propagation.Right
	if c.rights != nil {
		if missing, err = c.rights.Missing(ctx, p); err != nil {
			return fmt.Errorf("ask for the rights to what %s selects: %w", p.Key, err)
		}
	}
	list, changed := reporting.PolicyConditions(p, missing, kept, c.now())
	if status.Templates == p.Status.Templates && !changed {
		return nil
	}
	// A write changes the policy's version, which decides whether the policy existed
	// before a template. So Redis has to have the version that people wrote first.
	if says, err := c.index.Says(ctx, p); err != nil || !says {
		return err // the next count tries again
	}
	if notServed(list) != notServed(status.Conditions) {
		t.Out.Emit(events.PolicyChanged, events.Data{Policy: &p.Key, Reason: reporting.ConditionKindsServed})
	}
	status.Conditions = list
	status.ObservedGeneration = p.Generation
	err = c.hub.CommitPolicyStatus(ctx, p, status)
	if outcome.IsConflict(err) || errors.Is(err, outcome.ErrGone) {
		return nil // it changed meanwhile: the next count tries again
	}
	if err != nil {
		return fmt.Errorf("commit status of %s: %w", p.Key, err)
	}
	return nil
}

// notServed returns which kinds the conditions say that the hub does not serve.
func notServed(list []metav1.Condition) string {
	if c := meta.FindStatusCondition(list, reporting.ConditionKindsServed); c != nil && c.Status == metav1.ConditionFalse {
		return c.Message
	}
	return ""
}
