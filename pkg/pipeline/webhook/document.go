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

// document is what counts of an object, with the names that it has there.
type document[Spec any] struct {
	Metadata metadata `json:"metadata"`
	Spec     Spec     `json:"spec"`
}

type metadata struct {
	UID               types.UID         `json:"uid,omitempty"`
	DeletionTimestamp *metav1.Time      `json:"deletionTimestamp,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
}

// decode reads an object. Where it fails, the document holds what could be
// read.
func decode[Spec any](raw []byte) (*document[Spec], error) {
	d := &document[Spec]{}
	return d, json.Unmarshal(raw, d)
}

type policyDocument = document[policyv1alpha1.PropagationSpec]

// policies are the policy as it is sent and as it stands; nil: it is new.
func policies(req *admissionv1.AdmissionRequest, key propagation.PolicyKey) (sent *policyDocument, old *admission.Policy, err error) {
	if sent, err = decode[policyv1alpha1.PropagationSpec](req.Object.Raw); err != nil {
		return nil, nil, err
	}
	if req.Operation == admissionv1.Update {
		// One that was stored under another schema may be mended: what can be
		// read of it is enough.
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
