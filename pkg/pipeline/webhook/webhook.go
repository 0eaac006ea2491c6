// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "sluice.dev/apis/config/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/admission"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// Name of the function.
const Name = "webhook"

type webhook struct {
	hub   Hub
	newID func() string
}

// New returns the webhook. newID returns a new permanent id at each call.
func New(h Hub, newID func() string) http.Handler {
	w := &webhook{hub: h, newID: newID}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /mutate", answer(w.mutate))
	mux.HandleFunc("POST /validate", answer(w.validate))
	return mux
}

// mutate fills in defaults. An object that cannot be decoded is left to the schema,
// which describes the fault better.
func (w *webhook) mutate(_ context.Context, req *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	if key, ok := policyKey(req); ok {
		sent, old, err := policies(req, key)
		if err != nil {
			return allow(), nil
		}
		p := admission.Default(policyOf(sent, key), old, w.newID())
		defaulted := *sent
		defaulted.Metadata.Labels, defaulted.Spec = p.Labels, p.Spec
		return patched(sent, defaulted)
	}
	if key, ok := overrideKey(req); ok {
		sent, err := decode[policyv1alpha1.OverrideSpec](req.Object.Raw)
		if err != nil {
			return allow(), nil
		}
		defaulted := *sent
		defaulted.Spec = admission.DefaultOverride(overrideOf(sent, key)).Spec
		return patched(sent, defaulted)
	}
	return allow(), nil
}

// validate refuses objects that break a rule.
func (w *webhook) validate(ctx context.Context, req *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	if key, ok := policyKey(req); ok {
		sent, old, err := policies(req, key)
		if err != nil {
			return judge(req, unreadable(err)), nil
		}
		p := policyOf(sent, key)
		scopes, err := w.scopes(ctx, admission.Kinds(p, old))
		if err != nil {
			return nil, err
		}
		res := judge(req, admission.Validate(p, old, scopes))
		if f, err := w.hub.Features(ctx); err == nil { // otherwise it is not known which fields have no effect
			res.Warnings = admission.Warn(p, f)
		}
		return res, nil
	}
	if key, ok := overrideKey(req); ok {
		sent, err := decode[policyv1alpha1.OverrideSpec](req.Object.Raw)
		if err != nil {
			return judge(req, unreadable(err)), nil
		}
		return judge(req, admission.ValidateOverride(overrideOf(sent, key))), nil
	}
	if req.Kind.Group == configv1alpha1.GroupName && req.Kind.Kind == configv1alpha1.KindResourceInterpreter {
		return validateInterpreter(req), nil
	}
	return w.validatePlacing(ctx, req)
}

// scopes asks the hub for the scope of each kind. Kinds that it does not serve are left
// out.
func (w *webhook) scopes(ctx context.Context, kinds []schema.GroupVersionKind) (admission.Scopes, error) {
	scopes := admission.Scopes{}
	for _, gvk := range kinds {
		if err := ctx.Err(); err != nil { // the caller gave up
			return nil, err
		}
		namespaced, err := w.hub.Namespaced(gvk)
		switch {
		case errors.Is(err, outcome.ErrNotServed):
		case err != nil:
			return nil, fmt.Errorf("scope of %s: %w", gvk.Kind, err)
		case namespaced:
			scopes[gvk] = propagation.Namespaced
		default:
			scopes[gvk] = propagation.Cluster
		}
	}
	return scopes, nil
}

func unreadable(err error) []admission.Fault {
	return []admission.Fault{{Detail: "it cannot be read: " + err.Error()}}
}

// policyKey returns the key of the policy that the request is about, if it is about
// one.
func policyKey(req *admissionv1.AdmissionRequest) (propagation.PolicyKey, bool) {
	gv := schema.GroupVersion{Group: req.Kind.Group, Version: req.Kind.Version}
	return hub.PolicyKeyOf(propagation.TemplateKey{APIVersion: gv.String(), Kind: req.Kind.Kind, Namespace: req.Namespace, Name: req.Name})
}

// overrideKey returns the key of the override policy that the request is about, if it
// is about one.
func overrideKey(req *admissionv1.AdmissionRequest) (propagation.PolicyKey, bool) {
	key := propagation.PolicyKey{Scope: propagation.ScopeOf(req.Namespace), Namespace: req.Namespace, Name: req.Name}
	own := req.Kind.Group == policyv1alpha1.SchemeGroupVersion.Group && req.Kind.Version == policyv1alpha1.SchemeGroupVersion.Version
	return key, own && strings.HasSuffix(req.Kind.Kind, policyv1alpha1.KindOverridePolicy)
}
