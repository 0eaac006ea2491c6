// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// Whose a Work is can be told although somebody edited what its annotations say of that.
func TestZ34WhoseAWorkIsItsNameConfirms(t *testing.T) {
	nginx := propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"}
	viewer := propagation.TemplateKey{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "viewer"}
	other := propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "other"}
	encode := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	template := func(w *propagation.Work) { w.Annotations[propagation.AnnotationTemplate] = encode(other) }
	binding := func(w *propagation.Work) {
		for _, key := range []string{propagation.AnnotationBindingName, propagation.AnnotationClusterBindingName} {
			if w.Annotations[key] != "" {
				w.Annotations[key] = "other-deployment"
			}
		}
	}
	for sentence, tc := range map[string]struct {
		edit []func(*propagation.Work)
		// lost: nobody can tell; formerLost: nobody can of one of the former name.
		lost, formerLost bool
	}{
		"nobody edited it":                    {},
		"its template":                        {edit: []func(*propagation.Work){template}},
		"its template, into what is none":     {edit: []func(*propagation.Work){func(w *propagation.Work) { w.Annotations[propagation.AnnotationTemplate] = "nginx" }}},
		"its binding":                         {edit: []func(*propagation.Work){binding}},
		"its binding's scope":                 {edit: []func(*propagation.Work){func(w *propagation.Work) { w.Annotations[propagation.AnnotationClusterBindingName] = "other" }}},
		"both":                                {edit: []func(*propagation.Work){template, binding}},
		"both, and the template is none":      {edit: []func(*propagation.Work){binding, func(w *propagation.Work) { delete(w.Annotations, propagation.AnnotationTemplate) }}},
		"both, and it has no binding's label": {edit: []func(*propagation.Work){template, binding, func(w *propagation.Work) { w.Labels = nil }}, formerLost: true},
		"both, and its manifest":              {edit: []func(*propagation.Work){template, binding, func(w *propagation.Work) { w.Spec = workv1alpha1.WorkSpec{} }}, lost: true},
		"both, in a copy of another name":     {edit: []func(*propagation.Work){template, binding, func(w *propagation.Work) { w.Key.Name = "copy" }}, lost: true},
	} {
		for _, of := range []propagation.TemplateKey{nginx, viewer} {
			for _, name := range propagation.WorkNames(propagation.BindingOf(of)) {
				t.Run(sentence+", "+name, func(t *testing.T) {
					key := propagation.BindingOf(of)
					lost := tc.lost || tc.formerLost && name == propagation.FormerWorkName(key)
					w := &propagation.Work{
						Key:         propagation.WorkKey{Cluster: "m1", Name: name},
						Labels:      map[string]string{propagation.LabelBinding: propagation.BindingLabel(key)},
						Annotations: map[string]string{propagation.AnnotationTemplate: encode(of)},
					}
					if of.Namespace == "" {
						w.Annotations[propagation.AnnotationClusterBindingName] = key.Name
					} else {
						w.Annotations[propagation.AnnotationBindingNamespace], w.Annotations[propagation.AnnotationBindingName] = key.Namespace, key.Name
					}
					manifest := encode(map[string]any{"apiVersion": of.APIVersion, "kind": of.Kind, "metadata": map[string]any{"namespace": of.Namespace, "name": of.Name}})
					w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}}}
					for _, edit := range tc.edit {
						edit(w)
					}
					got, err := w.Template()
					if is := w.IsOf(key) && w.Binding() == key && err == nil && got == of; is == lost {
						t.Errorf("it is of %s and %+v, %v; lost: %t", w.Binding(), got, err, lost)
					}
					if w.Confirmed() == lost {
						t.Errorf("it is confirmed: %t", lost)
					}
					if w.IsOf(propagation.BindingOf(other)) != (lost && of.Namespace != "") {
						t.Errorf("it is of another binding")
					}
				})
			}
		}
	}
}
