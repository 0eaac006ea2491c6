// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/admission"
)

type placementDocument = document[placementv1.ClusterResourcePlacementSpec]

// validatePlacing refuses objects that break a rule of placements.
func (w *webhook) validatePlacing(ctx context.Context, req *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	if req.Kind.Group != placementv1.GroupName || req.Kind.Version != placementv1.SchemeGroupVersion.Version {
		return allow(), nil
	}
	switch req.Kind.Kind {
	case placementv1.KindClusterResourcePlacement:
		return w.validatePlacement(ctx, req)
	case placementv1.KindClusterResourceOverride:
		d, err := decode[placementv1.ClusterResourceOverrideSpec](req.Object.Raw)
		return judgeOverride(req, d.Spec.Policy, d.Metadata, err), nil
	case placementv1.KindResourceOverride:
		d, err := decode[placementv1.ResourceOverrideSpec](req.Object.Raw)
		return judgeOverride(req, d.Spec.Policy, d.Metadata, err), nil
	}
	if strings.HasSuffix(req.Kind.Kind, "Snapshot") && req.Operation == admissionv1.Update {
		if changed, err := anotherSpec(req); err != nil || changed {
			return judge(req, admission.SnapshotChanged()), nil
		}
	}
	return allow(), nil
}

func (w *webhook) validatePlacement(ctx context.Context, req *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	sent, err := decode[placementv1.ClusterResourcePlacementSpec](req.Object.Raw)
	if err != nil {
		return judge(req, unreadable(err)), nil
	}
	var old *admission.Placement
	if req.Operation == admissionv1.Update {
		stands, _ := decode[placementv1.ClusterResourcePlacementSpec](req.OldObject.Raw)
		p := placementOf(stands)
		old = &p
	}
	p := placementOf(sent)
	scopes, err := w.scopes(ctx, admission.PlacementKinds(p, old))
	if err != nil {
		return nil, err
	}
	return judge(req, admission.ValidatePlacement(p, old, scopes)), nil
}

func placementOf(d *placementDocument) admission.Placement {
	return admission.Placement{Deleting: d.Metadata.DeletionTimestamp != nil, Spec: d.Spec}
}

func judgeOverride(req *admissionv1.AdmissionRequest, p *placementv1.OverridePolicy, m metadata, err error) *admissionv1.AdmissionResponse {
	switch {
	case err != nil:
		return judge(req, unreadable(err))
	case m.DeletionTimestamp != nil:
		return allow()
	}
	return judge(req, admission.ValidateOverridePolicy(p))
}

// anotherSpec reports whether an update changes the spec.
func anotherSpec(req *admissionv1.AdmissionRequest) (bool, error) {
	var is, was struct {
		Spec any `json:"spec"`
	}
	if err := json.Unmarshal(req.Object.Raw, &is); err != nil {
		return false, err
	}
	if err := json.Unmarshal(req.OldObject.Raw, &was); err != nil {
		return false, err
	}
	return !equality.Semantic.DeepEqual(is.Spec, was.Spec), nil
}
