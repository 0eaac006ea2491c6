// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"sluice.dev/pkg/core/propagation"
)

// said is what a revision of a policy holds.
type said struct {
	Spec map[string]any `json:"spec"`
}

func decodePolicyRevision(raw []byte) (record[*propagation.PolicyRevision], error) {
	var o appsv1.ControllerRevision
	if err := utiljson.Unmarshal(raw, &o); err != nil {
		return record[*propagation.PolicyRevision]{}, fmt.Errorf("decode: %w", err)
	}
	var content said
	_ = utiljson.Unmarshal(o.Data.Raw, &content) // what is no JSON says nothing
	return recordOf(&o.ObjectMeta, &propagation.PolicyRevision{
		Namespace: o.Namespace, Name: o.Name, UID: o.UID, Number: o.Revision, Spec: content.Spec,
	}), nil
}

// PolicyRevision returns the revision that has the name of the policy's present
// content. Somebody may have edited it, so its content may be another.
func (h *Hub) PolicyRevision(ctx context.Context, p *propagation.Policy) (*propagation.PolicyRevision, error) {
	r := p.Revision()
	return h.history.get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: r.Name})
}

// PolicyRevisions are all that are kept of the policy, whoever wrote them, sorted by
// name.
func (h *Hub) PolicyRevisions(ctx context.Context, p *propagation.Policy) ([]*propagation.PolicyRevision, error) {
	return h.history.listLike(ctx, query{
		namespace: p.Revision().Namespace, labels: propagation.LabelPolicyUID + "=" + string(p.UID), limit: pageSize,
	})
}

// KeepPolicyRevision creates a revision of what the policy says, owned by the policy.
// If the revision exists already, that is a Conflict.
func (h *Hub) KeepPolicyRevision(ctx context.Context, p *propagation.Policy, r *propagation.PolicyRevision) error {
	content, err := json.Marshal(said{r.Spec})
	if err != nil {
		return fmt.Errorf("encode %s: %w", r.Name, err)
	}
	name, t, yes := types.NamespacedName{Namespace: r.Namespace, Name: r.Name}, policyKinds[p.Key.Scope].TypeMeta(), true
	_, err = h.history.create(ctx, name, "", appsv1.ControllerRevision{
		TypeMeta: revisionKind.TypeMeta(),
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.Namespace, Name: r.Name, Labels: map[string]string{propagation.LabelPolicyUID: string(p.UID)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: t.APIVersion, Kind: t.Kind, Name: p.Key.Name, UID: p.UID, Controller: &yes}},
		},
		Data: runtime.RawExtension{Raw: content}, Revision: r.Number,
	})
	return err
}

// DropPolicyRevision forgets a revision. That it is gone already is fine.
func (h *Hub) DropPolicyRevision(ctx context.Context, r *propagation.PolicyRevision) error {
	return h.history.delete(ctx, types.NamespacedName{Namespace: r.Namespace, Name: r.Name}, r.UID)
}

// CommitPolicySpec sets the policy's spec to that of a revision, if the policy still is
// as it was read. If it says so already, nothing is written.
func (h *Hub) CommitPolicySpec(ctx context.Context, p *propagation.Policy, spec map[string]any) (*propagation.Policy, error) {
	patch, err := patchOf(map[string]any{"spec": p.Spec}, map[string]any{"spec": spec})
	if err != nil {
		return nil, fmt.Errorf("roll %s back: %w", p.Key, err)
	}
	if len(patch) == 0 {
		return p, nil
	}
	return h.policies[p.Key.Scope].patch(ctx, types.NamespacedName{Namespace: p.Key.Namespace, Name: p.Key.Name}, conditional(patch, p.UID, p.ResourceVersion))
}
