// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/admission"
	"sluice.dev/pkg/core/propagation"
)

// document is the part of an object that the webhook reads and writes, with its JSON
// names.
type document[Spec any] struct {
	Metadata metadata `json:"metadata"`
	Spec     Spec     `json:"spec"`
}

type metadata struct {
	UID               types.UID         `json:"uid,omitempty"`
	DeletionTimestamp *metav1.Time      `json:"deletionTimestamp,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
}

// decode decodes an object. If that fails, the document has what could be decoded.
func decode[Spec any](raw []byte) (*document[Spec], error) {
	d := &document[Spec]{}
	return d, json.Unmarshal(raw, d)
}

type policyDocument = document[policyv1alpha1.PropagationSpec]

// policies returns the policy as it was sent and as it is stored; nil: it is new.
func policies(req *admissionv1.AdmissionRequest, key propagation.PolicyKey) (sent *policyDocument, old *admission.Policy, err error) {
	if sent, err = decode[policyv1alpha1.PropagationSpec](req.Object.Raw); err != nil {
		return nil, nil, err
	}
	if req.Operation == admissionv1.Update {
		// A policy that was stored under another schema must be correctable: the part
		// that can be decoded is enough.
		stands, _ := decode[policyv1alpha1.PropagationSpec](req.OldObject.Raw)
		p := policyOf(stands, key)
		old = &p
	}
	return sent, old, nil
}

func policyOf(d *policyDocument, key propagation.PolicyKey) admission.Policy {
	return admission.Policy{
		Key: key, UID: d.Metadata.UID, Labels: d.Metadata.Labels, Deleting: d.Metadata.DeletionTimestamp != nil, Spec: d.Spec,
	}
}

func overrideOf(d *document[policyv1alpha1.OverrideSpec], key propagation.PolicyKey) admission.Override {
	return admission.Override{Key: key, Deleting: d.Metadata.DeletionTimestamp != nil, Spec: d.Spec}
}
