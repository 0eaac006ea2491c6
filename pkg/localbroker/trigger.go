// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package localbroker

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"time"

	"github.com/rickb777/date/period"
	duckv1 "knative.dev/eventing/pkg/apis/duck/v1"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	"knative.dev/eventing/pkg/eventfilter"
	"sigs.k8s.io/yaml"
)

// ParallelismAnnotation of a Trigger is how many of its events are handled at
// once, those of one partition key never.
const ParallelismAnnotation = "sluice.dev/parallelism"

const (
	defaultParallelism = 8
	// maxDelay bounds the exponential backoff.
	maxDelay = 10 * time.Minute
)

// spec is a Trigger, ready for use. It is never changed in place.
type spec struct {
	filter      eventfilter.Filter
	cluster     string // that the filter demands; empty where it demands none
	subscriber  string // name of the stage
	parallelism int
	retries     int
	policy      duckv1.BackoffPolicyType
	backoff     time.Duration
}

// specOf reads a Trigger. As on Knative, delivery as a whole holds where the
// Trigger has none of its own.
func specOf(t eventingv1.Trigger, delivery *duckv1.DeliverySpec) (s spec, err error) {
	if t.Spec.Subscriber.Ref == nil {
		return s, errors.New("subscriber is no reference to a stage")
	}
	s.subscriber = t.Spec.Subscriber.Ref.Name
	if s.filter, err = FilterOf(t.Spec); err != nil {
		return s, err
	}
	s.cluster = clusterOf(t.Spec)
	s.parallelism = defaultParallelism
	if v := t.Annotations[ParallelismAnnotation]; v != "" {
		if s.parallelism, err = strconv.Atoi(v); err != nil || s.parallelism < 1 {
			return s, fmt.Errorf("annotation %s: want a number of at least 1, got %q", ParallelismAnnotation, v)
		}
	}
	if t.Spec.Delivery != nil {
		delivery = t.Spec.Delivery
	}
	return s, s.deliver(delivery)
}

func (s *spec) deliver(d *duckv1.DeliverySpec) error {
	if d == nil || d.Retry == nil {
		return nil
	}
	s.retries = int(*d.Retry)
	if d.BackoffPolicy == nil || d.BackoffDelay == nil {
		return nil
	}
	s.policy = *d.BackoffPolicy
	p, err := period.Parse(*d.BackoffDelay)
	if err != nil {
		return fmt.Errorf("backoffDelay: %w", err)
	}
	s.backoff, _ = p.Duration()
	return nil
}

// delay before the next attempt when so many have failed: what the stage asked
// for, or the backoff, counted as Knative's dispatcher does.
func (s *spec) delay(failed int, asked time.Duration) time.Duration {
	switch {
	case asked > 0:
		return asked
	case s.policy == duckv1.BackoffPolicyLinear:
		return min(s.backoff*time.Duration(failed-1), maxDelay)
	}
	d := s.backoff
	for ; failed > 1 && d < maxDelay; failed-- {
		d *= 2
	}
	return min(d, maxDelay)
}

// Load makes a broker with the Triggers found in the YAML files of fsys, one
// object a file. The delivery of a Broker among them holds where o has none;
// objects of other kinds are passed over.
func Load(fsys fs.FS, o Options) (*Broker, error) {
	var triggers []eventingv1.Trigger
	err := fs.WalkDir(fsys, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(file) != ".yaml" {
			return err
		}
		raw, err := fs.ReadFile(fsys, file)
		if err != nil {
			return err
		}
		if err := read(raw, &o, &triggers); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load triggers: %w", err)
	}
	b := New(o)
	for _, t := range triggers {
		if err := b.AddTrigger(t); err != nil {
			return nil, fmt.Errorf("load triggers: %w", err)
		}
	}
	return b, nil
}

func read(raw []byte, o *Options, triggers *[]eventingv1.Trigger) error {
	var kind struct{ Kind string }
	if err := yaml.Unmarshal(raw, &kind); err != nil {
		return err
	}
	switch kind.Kind {
	case "Trigger":
		var t eventingv1.Trigger
		if err := yaml.UnmarshalStrict(raw, &t); err != nil {
			return err
		}
		*triggers = append(*triggers, t)
	case "Broker":
		var br eventingv1.Broker
		if err := yaml.UnmarshalStrict(raw, &br); err != nil {
			return err
		}
		if o.Delivery == nil {
			o.Delivery = br.Spec.Delivery
		}
	}
	return nil
}
