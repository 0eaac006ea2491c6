// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
)

// eventSize makes the largest event that there can be: every field of its
// payload is there, and as long as Kubernetes and Sluice let it be.
func (b *bench) eventSize(context.Context) error {
	long := func(n int) string { return strings.Repeat("n", n) }
	template := propagation.TemplateKey{APIVersion: long(253) + "/v1alpha1", Kind: long(63), Namespace: long(63), Name: long(253)}
	policy := propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: long(63), Name: long(253)}
	binding := propagation.BindingOf(template)
	largest, size := "", 0
	for name := range events.Catalog {
		e, err := events.New("dependencies", event.Event{}, name, events.Data{
			Template: &template, TemplateVersion: long(20), Policy: &policy, Previous: &policy, PolicyVersion: long(20),
			Binding: &binding, BindingVersion: long(20), Work: &propagation.WorkKey{Cluster: long(48), Name: propagation.WorkName(binding)}, WorkVersion: long(20),
			SchedulerName: long(63), Cluster: long(48), Continue: binding.ID(), Reason: long(40), Message: long(4096),
		})
		if err != nil {
			return err
		}
		raw, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if len(raw) > size {
			largest, size = name, len(raw)
		}
	}
	b.table.row("event size: ≤ 4 KiB", verdict(size <= events.MaxSize, "at most %d bytes", size),
		fmt.Sprintf("%s with each field that any event has, as long as it may be, as structured JSON", largest))
	return nil
}
