// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestRequests(t *testing.T) {
	for name, tc := range map[string]struct {
		template string
		want     map[string]string // nil: it cannot be told
	}{
		"the containers add up": {
			template: `{containers: [{resources: {requests: {cpu: 100m, memory: 64Mi}}}, {resources: {requests: {cpu: 200m}}}]}`,
			want:     map[string]string{"cpu": "300m", "memory": "64Mi"},
		},
		"one that runs before them counts where it requests more than all of them": {
			template: `{initContainers: [{resources: {requests: {cpu: "1"}}}], containers: [{resources: {requests: {cpu: 300m, memory: 1Gi}}}]}`,
			want:     map[string]string{"cpu": "1", "memory": "1Gi"},
		},
		"one that stays beside them counts with them, and with those that run after it": {
			template: `{initContainers: [{restartPolicy: Always, resources: {requests: {cpu: 100m}}}, {resources: {requests: {cpu: 500m}}}], containers: [{resources: {requests: {cpu: 200m}}}]}`,
			want:     map[string]string{"cpu": "600m"},
		},
		"the overhead comes on top": {
			template: `{overhead: {memory: 16Mi}, containers: [{resources: {requests: {memory: 48Mi}}}]}`,
			want:     map[string]string{"memory": "64Mi"},
		},
		"a limit without a request is one": {
			template: `{containers: [{resources: {requests: {cpu: 100m}, limits: {cpu: "1", memory: 1Gi}}}]}`,
			want:     map[string]string{"cpu": "100m", "memory": "1Gi"},
		},
		"what the pod says as a whole counts instead": {
			template: `{resources: {requests: {cpu: "2"}}, containers: [{resources: {requests: {cpu: 100m, memory: 1Gi}}}]}`,
			want:     map[string]string{"cpu": "2", "memory": "1Gi"},
		},
		"nothing is requested":     {template: `{containers: [{name: app}]}`, want: map[string]string{}},
		"a quantity that is none":  {template: `{containers: [{resources: {requests: {cpu: many}}}]}`},
		"there is no pod template": {template: `null`},
	} {
		t.Run(name, func(t *testing.T) {
			var obj map[string]any
			if err := yaml.Unmarshal([]byte(`spec: {template: {spec: `+tc.template+`}}`), &obj); err != nil {
				t.Fatal(err)
			}
			list, known := Requests(obj)
			var got map[string]string
			if known {
				got = map[string]string{}
				for name, q := range list {
					got[string(name)] = q.String()
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
