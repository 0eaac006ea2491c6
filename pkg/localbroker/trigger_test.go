// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	duckv1 "knative.dev/eventing/pkg/apis/duck/v1"
)

func TestDelaysAreThoseOfKnative(t *testing.T) {
	spec := func(policy duckv1.BackoffPolicyType, delay string) *duckv1.DeliverySpec {
		d := delivery(5)
		d.BackoffPolicy, d.BackoffDelay = &policy, &delay
		return d
	}
	ms := func(all ...int) (out []time.Duration) {
		for _, n := range all {
			out = append(out, time.Duration(n)*time.Millisecond)
		}
		return out
	}
	bare := delivery(5)
	bare.BackoffDelay = nil
	tests := map[string]struct {
		delivery *duckv1.DeliverySpec
		asked    time.Duration
		want     []time.Duration // after the first, second, third … failure
	}{
		"exponential doubles":            {spec(duckv1.BackoffPolicyExponential, "PT0.2S"), 0, ms(200, 400, 800, 1600, 3200)},
		"linear grows, the first is now": {spec(duckv1.BackoffPolicyLinear, "PT2S"), 0, ms(0, 2000, 4000)},
		"no backoff is no delay":         {bare, 0, ms(0, 0, 0)},
		"what the stage asks for counts": {spec(duckv1.BackoffPolicyLinear, "PT2S"), time.Second, ms(1000, 1000)},
		"there is an end to doubling":    {spec(duckv1.BackoffPolicyExponential, "PT5M"), 0, ms(300_000, 600_000, 600_000)},
		"Knative knows no hundredths":    {spec(duckv1.BackoffPolicyLinear, "PT0.05S"), 0, ms(0, 0)},
		"no overflow":                    {spec(duckv1.BackoffPolicyLinear, "PT1H"), 0, ms(0, 600_000)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := specOf(trigger("gate", "x"), tc.delivery)
			if err != nil {
				t.Fatal(err)
			}
			var got []time.Duration
			for i := range tc.want {
				got = append(got, s.delay(i+1, tc.asked))
			}
			diff(t, "delays", tc.want, got)
			diff(t, "retries", 5, s.retries)
		})
	}
}

func TestDeliveryOfTheTriggerGoesBeforeThatOfTheBroker(t *testing.T) {
	tr := trigger("gate", "x")
	for name, tc := range map[string]struct {
		own  *duckv1.DeliverySpec
		want int
	}{
		"the broker's": {nil, 7},
		"its own":      {delivery(2), 2},
		"its own, as a whole, even where it says nothing": {&duckv1.DeliverySpec{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			tr.Spec.Delivery = tc.own
			s, err := specOf(tr, delivery(7))
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "retries", tc.want, s.retries)
			diff(t, "parallelism", defaultParallelism, s.parallelism)
		})
	}
}

func TestLoadReadsTriggersAndDelivery(t *testing.T) {
	const (
		broker  = "kind: Broker\nspec: {delivery: {retry: 4}}"
		gate    = "kind: Trigger\nmetadata: {name: gate}\nspec: {broker: sluice, subscriber: {ref: {apiVersion: v1, kind: Service, name: gate, namespace: x}}}"
		unknown = "kind: Trigger\nmetadata: {name: gate}\nspec: {brokr: sluice}"
	)
	tests := map[string]struct {
		files       map[string]string
		want        []string
		wantRetries int
		wantErr     string
	}{
		"broker and triggers, wherever they are": {map[string]string{"b.yaml": broker, "team/gate.yaml": gate}, []string{"gate"}, 4, ""},
		"the broker may come last":               {map[string]string{"z.yaml": broker, "a.yaml": gate}, []string{"gate"}, 4, ""},
		"other kinds and files are passed over":  {map[string]string{"p.yaml": "kind: PingSource", "x.yaml.tmpl": unknown, "README.md": "{"}, nil, 0, ""},
		"a field that no Trigger has":            {map[string]string{"t.yaml": unknown}, nil, 0, `t.yaml: error unmarshaling JSON: while decoding JSON: json: unknown field "brokr"`},
		"a file that is no YAML":                 {map[string]string{"t.yaml": "{"}, nil, 0, "t.yaml: "},
		"a Trigger that is invalid":              {map[string]string{"t.yaml": strings.ReplaceAll(gate, "broker: sluice,", "")}, nil, 0, "missing field(s): spec.broker"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for file, text := range tc.files {
				fsys[file] = &fstest.MapFile{Data: []byte(text)}
			}
			b, err := Load(fsys, Options{})
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("got %v, want %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, q := range b.queues {
				got = append(got, q.name)
				diff(t, "retries", tc.wantRetries, q.spec.Load().retries)
			}
			diff(t, "triggers", tc.want, got)
		})
	}
}
