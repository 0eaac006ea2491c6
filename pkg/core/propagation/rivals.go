// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
)

// MaxRivals is how many rivals a Work records at most.
const MaxRivals = 20

// Rival is another Work of the same member that wants an object which this Work has.
type Rival struct {
	// Name and Form of the other Work.
	Name   string      `json:"name"`
	Form   Form        `json:"form,omitempty"`
	Object TemplateKey `json:"object"`
	// By says for people whose Work it is.
	By string `json:"by"`
}

// Work returns the key of the other Work, in the member of w.
func (r Rival) Work(w *Work) WorkKey {
	return WorkKey{Cluster: w.Key.Cluster, Name: r.Name, Form: r.Form}
}

// Rivals returns the rivals that the Work records. An annotation that cannot be decoded
// counts as none, and so does one that Sluice cannot have written, because the names
// become paths of requests.
func (w *Work) Rivals() []Rival {
	var all []Rival
	if said := w.Annotations[AnnotationRivals]; said == "" || json.Unmarshal([]byte(said), &all) != nil {
		return nil
	}
	if len(all) > MaxRivals || slices.ContainsFunc(all, Rival.forged) {
		return nil
	}
	return all
}

// forged reports whether no Work can have the name and form.
func (r Rival) forged() bool {
	return len(validation.IsDNS1123Subdomain(r.Name)) > 0 || !slices.Contains(Forms, r.Form)
}

// WithRivals returns a copy of the Work that records these rivals.
func (w *Work) WithRivals(all []Rival) *Work {
	next := *w
	next.Annotations = maps.Clone(w.Annotations)
	delete(next.Annotations, AnnotationRivals)
	if raw, err := json.Marshal(all); len(all) > 0 && err == nil {
		if next.Annotations == nil {
			next.Annotations = map[string]string{}
		}
		next.Annotations[AnnotationRivals] = string(raw)
	}
	return &next
}
