// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"encoding/json"
	"fmt"
	"strings"

	"sluice.dev/pkg/core/propagation"
)

// A record is what is kept for one template: who holds it, or, where nobody
// does, the labels with which it waits. A record without a version is that
// of a template that is gone, and is not kept.
type record struct {
	claim      propagation.Claim
	apiVersion string
	labels     map[string]string
}

// encode is the record as settle takes it. The first line is the policy's id,
// which scripts know.
func (r record) encode() string {
	if r.apiVersion == "" {
		return ""
	}
	policy, labels := "", ""
	if r.claim.Held() {
		policy = r.claim.Policy.ID()
	} else if len(r.labels) > 0 {
		encoded, _ := json.Marshal(r.labels) // a map of strings: cannot fail
		labels = string(encoded)
	}
	return strings.Join([]string{policy, r.claim.ID, r.apiVersion, labels}, "\n")
}

// parseRecord reads what settle kept: a revision stands in front.
func parseRecord(s string) (record, error) {
	lines := strings.Split(s, "\n")
	if len(lines) != 5 {
		return record{}, fmt.Errorf("record %q: want 5 lines", s)
	}
	lines = lines[1:]
	r := record{apiVersion: lines[2]}
	if lines[0] != "" {
		policy, err := propagation.ParsePolicyID(lines[0])
		if err != nil {
			return record{}, err
		}
		r.claim = propagation.Claim{Policy: policy, ID: lines[1]}
	}
	if lines[3] != "" {
		if err := json.Unmarshal([]byte(lines[3]), &r.labels); err != nil {
			return record{}, fmt.Errorf("labels of record: %w", err)
		}
	}
	return r, nil
}

// parseTemplate is the key of the template that has the id and the record.
func parseTemplate(id string, r record) (propagation.TemplateKey, error) {
	p := strings.SplitN(id, "/", 4)
	if len(p) != 4 {
		return propagation.TemplateKey{}, fmt.Errorf("template id %q: want group/kind/namespace/name", id)
	}
	return propagation.TemplateKey{APIVersion: r.apiVersion, Kind: p[1], Namespace: p[2], Name: p[3]}, nil
}
