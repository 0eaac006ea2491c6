// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
)

// eventSize makes the largest event of each type: every name as long as Kubernetes
// and Sluice let it be.
func (b *bench) eventSize(context.Context) error {
	largest, size := "", 0
	for name, entry := range events.Catalog {
		e, err := events.New(entry.Stage, event.Event{}, name, longest(entry.Needs))
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
		fmt.Sprintf("%s with names as long as they may be, as structured JSON", largest))
	return nil
}

// longest is the payload with the fields of a type, and what else there may be
// beside them.
func longest(needs []events.Field) events.Data {
	long := func(n int) string { return strings.Repeat("n", n) }
	version := strconv.FormatUint(math.MaxUint64, 10)
	template := propagation.TemplateKey{APIVersion: long(253) + "/v1alpha1", Kind: long(63), Namespace: long(63), Name: long(253)}
	policy := propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: long(63), Name: long(253)}
	binding := propagation.BindingOf(template)
	d := events.Data{Reason: long(40), Message: long(4096)}
	if slices.Contains(needs, events.FieldTemplate) {
		d.Template, d.TemplateVersion = &template, version
	}
	if slices.Contains(needs, events.FieldPrevious) {
		d.Previous = &policy
	}
	if slices.Contains(needs, events.FieldBinding) {
		d.Binding, d.BindingVersion = &binding, version
	}
	if slices.Contains(needs, events.FieldWork) {
		d.Work, d.WorkVersion, d.Cluster = &propagation.WorkKey{Cluster: long(48), Name: propagation.WorkName(binding)}, version, long(48)
		return d
	}
	d.Policy, d.PolicyVersion = &policy, version
	if d.Binding != nil {
		d.SchedulerName = long(63)
	}
	if d.Template == nil {
		d.Cluster, d.Continue = long(48), template.ID()+"\n"+policy.ID()
	}
	return d
}
