// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"sluice.dev/pkg/core/admission"
)

// maxBody is how much of a request is read: an API server accepts objects of at most 3
// MiB, and a review holds two of them.
const maxBody = 7 << 20

var reviewType = metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}

var errNoReview = errors.New("want an AdmissionReview of " + reviewType.APIVersion + " with a request that has a uid")

// decider answers a request. An error means that it cannot decide: then the API server
// follows the failurePolicy.
type decider func(context.Context, *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error)

// answer wraps a decider in an HTTP handler.
func answer(decide decider) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		req, err := read(w, r)
		if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		res, err := decide(r.Context(), req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		res.UID = req.UID
		w.Header().Set("Content-Type", "application/json")
		// If writing fails, the API server gets no complete answer, and follows the
		// failurePolicy.
		_ = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{TypeMeta: reviewType, Response: res})
	}
}

func read(w http.ResponseWriter, r *http.Request) (*admissionv1.AdmissionRequest, error) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&review); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoReview, err)
	}
	if review.TypeMeta != reviewType || review.Request == nil || review.Request.UID == "" {
		return nil, errNoReview
	}
	return review.Request, nil
}

func allow() *admissionv1.AdmissionResponse { return &admissionv1.AdmissionResponse{Allowed: true} }

// judge allows a request without faults, and refuses others with the error that the API
// server itself would return.
func judge(req *admissionv1.AdmissionRequest, faults []admission.Fault) *admissionv1.AdmissionResponse {
	if len(faults) == 0 {
		return allow()
	}
	errs := make(field.ErrorList, len(faults))
	for i, f := range faults {
		errs[i] = &field.Error{Type: field.ErrorTypeInvalid, Field: f.Field, BadValue: field.OmitValueType{}, Detail: f.Detail}
	}
	kind := schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Kind}
	status := apierrors.NewInvalid(kind, req.Name, errs).Status()
	return &admissionv1.AdmissionResponse{Result: &status}
}

// patched allows an object with a patch from one document to the other. The patch
// contains only the fields that differ, so that fields which the documents do not have
// stay as they are.
func patched(from, to any) (*admissionv1.AdmissionResponse, error) {
	before, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(to)
	if err != nil {
		return nil, err
	}
	res := allow()
	operations, err := jsonpatch.CreatePatch(before, after)
	if err != nil || len(operations) == 0 {
		return res, err
	}
	if res.Patch, err = json.Marshal(operations); err != nil {
		return nil, err
	}
	jsonPatch := admissionv1.PatchTypeJSONPatch
	res.PatchType = &jsonPatch
	return res, nil
}
