// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"fmt"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/api/validation/path"

	"sluice.dev/apis/keys"
)

// What an event names becomes part of requests, and anybody may have sent it. So each
// name is one segment of a path, and what filters saw is what the data say.

// segments says which of the names is none that an object can have.
func segments(names ...string) error {
	for _, name := range names {
		if bad := path.IsValidPathSegmentName(name); len(bad) > 0 {
			return fmt.Errorf("%w: name %q %s", ErrMalformed, name, strings.Join(bad, ", "))
		}
	}
	return nil
}

func templateNames(k keys.TemplateKey) error {
	group, version, grouped := strings.Cut(k.APIVersion, "/")
	if grouped && (group == "" || version == "") {
		return fmt.Errorf("%w: apiVersion %q", ErrMalformed, k.APIVersion)
	}
	return segments(group, version, k.Kind, k.Namespace, k.Name)
}

// names checks all that the data name.
func (d Data) names() error {
	if d.Template != nil {
		if err := templateNames(*d.Template); err != nil {
			return err
		}
	}
	all := []string{d.Cluster, d.Placement}
	for _, p := range []*keys.PolicyKey{d.Policy, d.Previous} {
		if p != nil {
			all = append(all, p.Namespace, p.Name)
		}
	}
	if d.Binding != nil {
		all = append(all, d.Binding.Namespace, d.Binding.Name)
	}
	if d.Works != nil {
		if d.Work != nil || d.Cluster != "" {
			return fmt.Errorf("%w: works, and a work or cluster beside them", ErrMalformed)
		}
		if err := d.Works.check(); err != nil {
			return err
		}
		clusters := d.Works.clusters()
		if err := oneByOne(clusters...); err != nil {
			return err
		}
		all = append(append(all, d.Works.Name), clusters...)
	}
	if d.Work != nil {
		all = append(all, d.Work.Cluster, d.Work.Name)
		if d.Cluster != "" && d.Cluster != d.Work.Cluster {
			return fmt.Errorf("%w: cluster %q, and a Work of %q", ErrMalformed, d.Cluster, d.Work.Cluster)
		}
		if err := oneByOne(d.Work.Cluster); err != nil {
			return err
		}
	}
	return segments(all...)
}

// agrees checks that extensions, which filters see, say what the data say.
func agrees(e event.Event, d Data) error {
	says := map[string]string{ExtCluster: d.Cluster, ExtClusters: clustersOf(d), ExtSchedulerName: d.SchedulerName, ExtApplier: d.Applier}
	if d.Template != nil {
		says[ExtAPIVersion], says[ExtKind] = d.Template.APIVersion, d.Template.Kind
		says[ExtNamespace], says[ExtName] = d.Template.Namespace, d.Template.Name
	}
	if d.Policy != nil {
		says[ExtPolicy] = strings.TrimPrefix(d.Policy.Namespace+"/"+d.Policy.Name, "/")
	}
	for name, value := range says {
		if given, _ := e.Extensions()[name].(string); given != "" && given != value {
			return fmt.Errorf("%w: extension %s is %q, the data say %q", ErrMalformed, name, given, value)
		}
	}
	return nil
}
