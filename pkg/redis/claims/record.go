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
// does, the labels with which it waits; and when its content was first seen. A record without a version is that
// of a template that is gone, and is not kept.
type record struct {
	claim      propagation.Claim
	apiVersion string
	labels     map[string]string
	seen       propagation.Sighting
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
	seen := fmt.Sprintf("%s %d %d", r.seen.Content, r.seen.Version, r.seen.Written)
	return strings.Join([]string{policy, r.claim.ID, r.apiVersion, labels, seen}, "\n")
}

// parseRecord reads what settle kept: a revision stands in front.
func parseRecord(s string) (r record, err error) {
	lines := strings.Split(s, "\n")
	if len(lines) != 6 {
		return record{}, fmt.Errorf("record %q: want 6 lines", s)
	}
	lines = lines[1:]
	r.apiVersion = lines[2]
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
	if r.seen, err = parseSighting(lines[4]); err != nil {
		return record{}, fmt.Errorf("record %q: %w", s, err)
	}
	return r, nil
}

// parseSighting reads a content, which may be empty, and two numbers.
func parseSighting(line string) (s propagation.Sighting, err error) {
	var rest string
	s.Content, rest, _ = strings.Cut(line, " ")
	_, err = fmt.Sscanf(rest, "%d %d", &s.Version, &s.Written)
	return s, err
}

// parseTemplate is the key of the template that has the id and the record.
func parseTemplate(id string, r record) (propagation.TemplateKey, error) {
	p := strings.SplitN(id, "/", 4)
	if len(p) != 4 {
		return propagation.TemplateKey{}, fmt.Errorf("template id %q: want group/kind/namespace/name", id)
	}
	return propagation.TemplateKey{APIVersion: r.apiVersion, Kind: p[1], Namespace: p[2], Name: p[3]}, nil
}
