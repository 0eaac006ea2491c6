// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/carrying"
)

// seeOff removes the objects of a Work that is being deleted from the member, each with
// a proof, and removes the finalizer when none is left. If the Work is wanted, it keeps
// the finalizer, and the renderer creates it again. at is the position that an earlier
// event reached.
func (s *Stage) seeOff(ctx context.Context, w *propagation.Work, at string) (result, error) {
	m, identity, err := s.reach(ctx, w)
	if err != nil && !errors.Is(err, outcome.ErrGone) {
		return s.unreached(ctx, w, w.Results, err)
	}
	to := &heirs{}
	if err == nil {
		rest, err := s.removeAll(ctx, m, w, identity, telling.Brought(w), seenOf(w, at), to)
		switch {
		case errors.Is(err, errLater):
			return s.leavesLater(ctx, w, rest, to)
		case err != nil:
			return s.unreached(ctx, w, w.Results, err)
		case rest.wanted:
			if err := s.keepOnly(ctx, w, rest.left); err != nil {
				return result{}, err
			}
			return result{event: events.WorkFailed, reason: string(applying.ReasonWanted), message: "its placement gives it to the member"}, nil
		case len(rest.left) > 0:
			if err := s.sayLeft(ctx, w, rest.left); err != nil {
				return result{}, err
			}
			return result{event: events.WorkFailed, reason: "Leaving", message: fmt.Sprintf("%d objects are still in the member", len(rest.left)), heirs: to.keys}, nil
		}
	}
	if err := s.hub.ReleaseWork(ctx, w); err != nil {
		return result{}, fmt.Errorf("release %s: %w", w.Key, err)
	}
	if key, waits := s.first(ctx, w); waits {
		to.add(key)
	}
	return result{event: events.WorkDeleted, reason: string(applying.ReasonDeleted), heirs: to.keys}, nil
}

// leavesLater records which objects of the Work are left, so that another event does
// not handle the others again, and continues after those that were handled.
func (s *Stage) leavesLater(ctx context.Context, w *propagation.Work, rest remains, to *heirs) (result, error) {
	if err := s.keepOnly(ctx, w, rest.left); err != nil {
		return result{}, err
	}
	return result{later: true, next: place(w, len(w.Spec.Workload.Manifests)+rest.seen), heirs: to.keys}, nil
}

// keepOnly records that no others of the Work's objects are left.
func (s *Stage) keepOnly(ctx context.Context, w *propagation.Work, left []placementv1.ManifestCondition) error {
	if len(left) == len(telling.Brought(w)) {
		return nil
	}
	if _, err := s.hub.CommitWorkResults(ctx, w, placementv1.WorkStatus{Conditions: w.Status.Conditions, ManifestConditions: telling.Remains(w, left, s.now())}); err != nil {
		return fmt.Errorf("commit status of %s: %w", w.Key, err)
	}
	return nil
}

// remains are the objects that are left of those that have to go, in the order in which
// they were applied.
type remains struct {
	left []placementv1.ManifestCondition
	// seen is how many of them, from the end, were handled.
	seen int
	// wanted: the placement wants some of them in the member by this very Work.
	wanted bool
}

// removeAll removes objects from the member, the last one first. The last from of them
// are skipped, since they were handled before. With errLater, those that were not
// reached are left.
func (s *Stage) removeAll(ctx context.Context, m Member, w *propagation.Work, identity string, former []placementv1.ManifestCondition, from int, to *heirs) (rest remains, err error) {
	if len(former) == 0 {
		return rest, nil
	}
	round, err := s.removing(ctx, w, identity)
	if err != nil {
		return rest, err
	}
	former, from = slices.Clone(former), min(from, len(former))
	slices.Reverse(former)
	stays, wants := make([]*placementv1.ManifestCondition, len(former)), make([]bool, len(former))
	done, err := s.inOrder(kindsOfResults(former)[from:], func() error { return round.may(ctx) }, func(n int) (err error) {
		stays[from+n], wants[from+n], err = round.remove(ctx, m, former[from+n], to)
		return err
	})
	if err != nil && !errors.Is(err, errLater) {
		return rest, err
	}
	for n, r := range former {
		switch {
		case n < from || n >= from+done:
			rest.left = append(rest.left, r)
		case stays[n] != nil:
			rest.left = append(rest.left, *stays[n])
		}
		if n < from+done {
			rest.seen = len(rest.left)
		}
	}
	slices.Reverse(rest.left)
	rest.wanted = slices.Contains(wants, true)
	return rest, err
}

// remove removes one object from the member. It returns the object's result if it
// stays; nil: it is gone, or nobody's any more.
func (r *removing) remove(ctx context.Context, m Member, former placementv1.ManifestCondition, to *heirs) (stays *placementv1.ManifestCondition, wanted bool, err error) {
	s, w := r.stage, r.work
	evidence, rivals := r.known()
	evidence.Object, evidence.Holding = applying.KeyOf(former.Identifier), telling.Holding(former)
	f, err := s.finding(ctx, evidence, rivals)
	if err != nil {
		return nil, false, err
	}
	in := applying.Input{Work: w, Hub: r.identity, Leaving: true, Finding: f}
	if former.Applied != nil {
		in.Known = knownOf(*former.Applied)
	}
	if evidence.Placement.Answer == applying.Found && evidence.Placement.Value.DeletionTimestamp == nil && propagation.PlacementSuspended(evidence.Placement.Value.Annotations, w.Key.Cluster) {
		in.Held = "the placement is suspended"
	}
	d, err := s.away(ctx, m, in, r.accounting(ctx), member.Ref(evidence.Object))
	switch {
	case err != nil:
		return nil, false, err
	case d.Action == applying.Pass:
		to.add(*in.Finding.Heir)
	case d.Action == applying.Wait && (d.Reason == applying.ReasonTerminating || in.Finding.Wanted): // the removal is under way
		return &former, in.Finding.Wanted, nil
	case d.Reason == applying.ReasonKindNotServed && (former.Applied == nil || defines(w, former.Identifier)): // it never came to be, or went with its kind
	case d.Action == applying.Wait:
		former.Applied = cmp.Or(former.Applied, &placementv1.AppliedState{})
		return new(telling.Held(w, former, string(d.Reason), d.Message, s.now())), false, nil
	case d.Reason == applying.ReasonHoldsOthers:
		s.hub.Record(ctx, hub.AboutPlacement(evidence.Placement.Value), hub.Warning, string(d.Reason), d.Message)
	case d.Action == applying.Release:
		r.let(evidence.Object)
	}
	return nil, false, nil
}

// defines reports whether the Work brought the definition of the object's kind, too. That
// leaves with it, and with the definition all objects of the kind.
func defines(w *propagation.Work, of placementv1.WorkResourceIdentifier) bool {
	return slices.ContainsFunc(w.Spec.Workload.Manifests, func(m workv1alpha1.Manifest) bool {
		var obj map[string]any
		if err := utiljson.Unmarshal(m.Raw, &obj); err != nil {
			return false
		}
		h := applying.HolderOf(obj)
		return h.Definition && h.Kind.Group == of.Group && h.Kind.Kind == of.Kind
	})
}

// evidence reads what the hub says about the objects of a Work.
func (s *Stage) evidence(ctx context.Context, w *propagation.Work) (e applying.PlacementEvidence, err error) {
	e.Work, e.Now = w, s.now()
	name := w.Placement()
	if e.Cluster, err = answer(s.hub.ClusterNow(ctx, w.Key.Cluster)); err != nil {
		return e, fmt.Errorf("get cluster %s: %w", w.Key.Cluster, err)
	}
	if e.Placement, err = answer(s.hub.PlacementNow(ctx, name)); err != nil {
		return e, fmt.Errorf("get placement %s: %w", name, err)
	}
	if e.Member, err = answer(s.hub.MemberNow(ctx, w.Key.Cluster)); err != nil {
		return e, fmt.Errorf("get member %s: %w", w.Key.Cluster, err)
	}
	if e.Placement.Answer != applying.Found {
		return e, nil
	}
	if e.Placement.Value.DeletionTimestamp != nil {
		e.Retired, err = s.hub.PlacementsRetired(ctx)
		return e, err
	}
	bindings, err := answer(s.hub.PlacementBindingsNow(ctx, name))
	if err != nil {
		return e, fmt.Errorf("list the bindings of placement %s: %w", name, err)
	}
	policies, err := s.hub.PolicySnapshotsNow(ctx, name)
	if err != nil && !errors.Is(err, outcome.ErrNotServed) { // policies that are not served leave nobody out
		return e, fmt.Errorf("list the policies of placement %s: %w", name, err)
	}
	if e.LeftOut = telling.LeavesOut(e.Placement.Value, policies, w.Key.Cluster); e.LeftOut && e.Cluster.Answer == applying.Found {
		if e.Alias, err = s.alias(ctx, e.Cluster.Value, e.Placement.Value, policies); err != nil {
			return e, err
		}
	}
	switch b := telling.BindingTo(bindings.Value, w.Key.Cluster); {
	case bindings.Answer != applying.Found:
		e.Binding.Answer = bindings.Answer
	case b == nil:
		e.Binding = applying.None[*placementv1.ClusterResourceBinding]()
	default:
		e.Binding = applying.Have(b)
		e.Gives, err = s.gives(ctx, name, b)
		return e, err
	}
	return e, nil
}

// alias returns another name of the member under which the policies pick it.
func (s *Stage) alias(ctx context.Context, c *clusterv1alpha1.Cluster, p *placementv1.ClusterResourcePlacement, policies []*placementv1.ClusterSchedulingPolicySnapshot) (string, error) {
	clusters, err := s.hub.Clusters(ctx)
	if err != nil {
		return "", fmt.Errorf("list clusters: %w", err)
	}
	for _, name := range applying.AliasesOf(c, clusters) {
		if !telling.LeavesOut(p, policies, name) {
			return name, nil
		}
	}
	return "", nil
}

// gives returns the objects that the binding propagates to its member: those of its
// snapshot, without those that an override leaves out.
func (s *Stage) gives(ctx context.Context, placement string, b *placementv1.ClusterResourceBinding) (applying.Read[map[string]propagation.WorkKey], error) {
	var none applying.Read[map[string]propagation.WorkKey]
	in, err := carrying.Load(ctx, s.hub, placement, b)
	if errors.Is(err, outcome.ErrGone) || errors.Is(err, outcome.ErrNotServed) {
		none.Why = err.Error()
		return none, nil
	}
	if err != nil {
		return none, err
	}
	works, err := rendering.PlacementWorks(in)
	if err != nil {
		none.Why = err.Error()
		return none, nil //nolint:nilerr // not known
	}
	keys := map[string]propagation.WorkKey{}
	for _, w := range works {
		for _, m := range w.Spec.Workload.Manifests {
			var obj map[string]any
			if err := utiljson.Unmarshal(m.Raw, &obj); err == nil {
				keys[propagation.KeyOf(obj).ID()] = w.Key
			}
		}
	}
	return applying.Have(keys), nil
}

// answer turns the hub's answer into a Read.
func answer[T any](v T, err error) (applying.Read[T], error) {
	switch {
	case err == nil:
		return applying.Have(v), nil
	case errors.Is(err, outcome.ErrNotServed):
		return applying.Read[T]{Answer: applying.NotServed}, nil
	case errors.Is(err, outcome.ErrGone):
		return applying.None[T](), nil
	}
	return applying.Read[T]{}, err
}
