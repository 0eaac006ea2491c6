// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/pkg/core/applying"
)

// All ports of a Service that others have set become Sluice's, and nothing else.
func TestC76TakePorts(t *testing.T) {
	const (
		ours   = `{"manager":"sluice","operation":"Apply","fieldsV1":{"f:spec":{"f:selector":{},"f:ports":{"k:80":{}}}}}`
		status = `{"manager":"cloud","operation":"Update","subresource":"status","fieldsV1":{"f:spec":{"f:ports":{"k:1":{}}}}}`
		label  = `{"manager":"edit","operation":"Update","fieldsV1":{"f:metadata":{"f:labels":{}},"f:spec":{"f:type":{}}}}`
	)
	for sentence, tc := range map[string]struct{ managed, want string }{
		"somebody has set one": {
			managed: `[` + ours + `,{"manager":"edit","operation":"Update","fieldsV1":{"f:metadata":{"f:labels":{}},"f:spec":{"f:ports":{"k:81":{}}}}},` + status + `]`,
			want: `[{"manager":"sluice","operation":"Apply","fieldsV1":{"f:spec":{"f:selector":{},"f:ports":{"k:80":{},"k:81":{}}}}},` +
				`{"manager":"edit","operation":"Update","fieldsV1":{"f:metadata":{"f:labels":{}},"f:spec":{}}},` + status + `]`,
		},
		"two have, and all that Sluice had": {
			managed: `[{"manager":"sluice","operation":"Apply","fieldsV1":{"f:metadata":{}}},{"manager":"a","operation":"Apply","fieldsV1":{"f:spec":{"f:ports":{"k:81":{}}}}},{"manager":"b","operation":"Update","fieldsV1":{"f:spec":{"f:ports":{"k:82":{}}}}}]`,
			want:    `[{"manager":"sluice","operation":"Apply","fieldsV1":{"f:metadata":{},"f:spec":{"f:ports":{"k:81":{},"k:82":{}}}}},{"manager":"a","operation":"Apply","fieldsV1":{"f:spec":{}}},{"manager":"b","operation":"Update","fieldsV1":{"f:spec":{}}}]`,
		},
		"nobody has":              {managed: `[` + ours + `,` + label + `,` + status + `]`},
		"Sluice applied nothing":  {managed: `[{"manager":"edit","operation":"Update","fieldsV1":{"f:spec":{"f:ports":{"k:81":{}}}}}]`},
		"they were taken off":     {managed: `[]`},
		"and nobody can read one": {managed: `["edit",{"manager":1,"fieldsV1":"f:spec"}]`},
	} {
		t.Run(sentence, func(t *testing.T) {
			read := func(text string) (all []any) {
				if text != "" {
					if err := json.Unmarshal([]byte(text), &all); err != nil {
						t.Fatal(err)
					}
				}
				return all
			}
			service := map[string]any{"metadata": map[string]any{"managedFields": read(tc.managed)}}
			got, took := applying.TakePorts(service)
			if d := cmp.Diff(read(tc.want), got); d != "" || took != (tc.want != "") {
				t.Errorf("took %t; (-want +got)\n%s", took, d)
			}
			if d := cmp.Diff(map[string]any{"metadata": map[string]any{"managedFields": read(tc.managed)}}, service); d != "" {
				t.Errorf("what was read changed: %s", d)
			}
		})
	}
}
