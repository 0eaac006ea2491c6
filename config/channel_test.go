// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	messagingv1 "knative.dev/eventing/pkg/apis/messaging/v1"
)

// Knative writes a Broker's channel anew, and takes the annotation away, where
// delivery, labels or scope are not those that the Broker asks for.
func TestTheChannelIsAsItsBrokerHasIt(t *testing.T) {
	var (
		broker  eventingv1.Broker
		channel messagingv1.InMemoryChannel
	)
	for file, into := range map[string]any{"broker.yaml": &broker, "broker-channel.yaml": &channel} {
		if err := yaml.UnmarshalStrict(manifests(t)[file], into); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(broker.Spec.Delivery, channel.Spec.Delivery); d != "" {
		t.Errorf("delivery (-broker +channel)\n%s", d)
	}
	if channel.Name != broker.Name+"-kne-trigger" || channel.Namespace != broker.Namespace {
		t.Errorf("it is %s/%s", channel.Namespace, channel.Name)
	}
	labels := map[string]string{"eventing.knative.dev/broker": broker.Name, "eventing.knative.dev/brokerEverything": "true"}
	if d := cmp.Diff(labels, channel.Labels); d != "" {
		t.Errorf("labels (-want +got)\n%s", d)
	}
	annotations := map[string]string{"eventing.knative.dev/scope": "cluster", messagingv1.AsyncHandlerAnnotation: "true"}
	if d := cmp.Diff(annotations, channel.Annotations); d != "" {
		t.Errorf("annotations (-want +got)\n%s", d)
	}
}
