// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// The template's node ports are written, but over those that a member chose itself.
func TestLeaveNodePorts(t *testing.T) {
	const (
		asked = `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80, nodePort: 30080}, {port: 53, protocol: UDP, nodePort: 30053}]}}`
		own   = `managedFields: [{manager: sluice, operation: Apply, fieldsV1: {f:spec: {f:ports: {'k:{"port":80,"protocol":"TCP"}': {f:port: {}}}}}}]`
		ours  = `managedFields: [{manager: sluice, operation: Apply, fieldsV1: {f:spec: {f:ports: {'k:{"port":80,"protocol":"TCP"}': {f:port: {}, f:nodePort: {}}}}}}]`
		ports = `spec: {ports: [{port: 80, protocol: TCP, nodePort: 31111}, {port: 53, protocol: UDP}]}`
	)
	for sentence, tc := range map[string]struct{ live, want string }{
		"the member has none yet":       {"", asked},
		"the member chose one itself":   {`{apiVersion: v1, kind: Service, metadata: {` + own + `}, ` + ports + `}`, `{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}, {port: 53, protocol: UDP, nodePort: 30053}]}}`},
		"the member has what we wrote":  {`{apiVersion: v1, kind: Service, metadata: {` + ours + `}, ` + ports + `}`, asked},
		"the member's had no node port": {`{apiVersion: v1, kind: Service, metadata: {` + own + `}, spec: {ports: [{port: 80, protocol: TCP}]}}`, asked},
		"the member's says nothing":     {`{apiVersion: v1, kind: Service, metadata: {}, spec: {ports: 7}}`, asked},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := parsed(t, asked)
			var live *Observed
			if tc.live != "" {
				live = Observe(parsed(t, tc.live), false)
			}
			LeaveNodePorts(obj, live)
			if d := cmp.Diff(parsed(t, tc.want), obj); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := yaml.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}
