// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/yaml"

	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	eventingv1alpha1 "knative.dev/eventing/pkg/apis/eventing/v1alpha1"
	eventingv1beta3 "knative.dev/eventing/pkg/apis/eventing/v1beta3"
	messagingv1 "knative.dev/eventing/pkg/apis/messaging/v1"
	sourcesv1 "knative.dev/eventing/pkg/apis/sources/v1"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/pipeline/deadletter"
)

// stages are those that may subscribe.
var stages = []string{"applier", "dependencies", "detector", "gate", "placer", "preemptor", "renderer", "reporter", "rollout", "scheduler", "sweeper"}

// unheard are the events that no stage needs: they are for people and for other
// teams' Triggers.
var unheard = []string{
	events.BindingDeferred, events.TemplateReported,
}

// sourceTypes are the types of events that come from outside.
var sourceTypes = []string{events.ResourceAdded, events.ResourceUpdated, events.ResourceDeleted, events.Ping}

// extensions are what a filter may look at, besides the type.
var extensions = []string{
	events.ExtAPIVersion, events.ExtKind, events.ExtName, events.ExtNamespace, events.ExtCluster,
	events.ExtPolicy, events.ExtSchedulerName, events.ExtApplier, events.ExtReason,
}

func manifests(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	files, err := fs.Glob(Eventing, "600-eventing/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if out[path.Base(file)], err = Eventing.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func triggers(t *testing.T) map[string]eventingv1.Trigger {
	t.Helper()
	out := map[string]eventingv1.Trigger{}
	for file, raw := range manifests(t) {
		if strings.HasPrefix(file, "trigger-") {
			var tr eventingv1.Trigger
			if err := yaml.UnmarshalStrict(raw, &tr); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			out[file] = tr
		}
	}
	return out
}

// ofEventing makes an object of each of Eventing's kinds that are used.
var ofEventing = map[string]func() apis.Validatable{
	"Broker":          func() apis.Validatable { return &eventingv1.Broker{} },
	"InMemoryChannel": func() apis.Validatable { return &messagingv1.InMemoryChannel{} },
	"Trigger":         func() apis.Validatable { return &eventingv1.Trigger{} },
	"PingSource":      func() apis.Validatable { return &sourcesv1.PingSource{} },
	"ApiServerSource": func() apis.Validatable { return &sourcesv1.ApiServerSource{} },
	"SinkBinding":     func() apis.Validatable { return &sourcesv1.SinkBinding{} },
	"ContainerSource": func() apis.Validatable { return &sourcesv1.ContainerSource{} },
	"EventType":       func() apis.Validatable { return &eventingv1beta3.EventType{} },
	"EventPolicy":     func() apis.Validatable { return &eventingv1alpha1.EventPolicy{} },
}

// validate checks an object of Eventing's by its own rules, and that it has no
// field that its type does not know. Others are left alone.
func validate(t *testing.T, d document) {
	t.Helper()
	make, ok := ofEventing[d.Kind]
	if !ok {
		return
	}
	o := make()
	d.into(t, o)
	if b, ok := o.(*eventingv1.Broker); ok && b.Annotations[eventingv1.BrokerClassAnnotationKey] == "" { // the cluster's default, set by its webhook
		b.Annotations = map[string]string{eventingv1.BrokerClassAnnotationKey: "MTChannelBasedBroker"}
	}
	if err := o.Validate(t.Context()); err != nil {
		t.Errorf("%s: %v", d.id(), err)
	}
}

func TestEveryManifestPassesItsOwnValidation(t *testing.T) {
	for _, d := range documents(t) {
		if !strings.HasPrefix(d.file, "600-eventing") {
			continue
		}
		t.Run(d.id(), func(t *testing.T) {
			if ofEventing[d.Kind] == nil {
				t.Fatalf("kind %q is none of %v", d.Kind, slices.Collect(maps.Keys(ofEventing)))
			}
			validate(t, d)
			if d.Metadata.Namespace != "sluice-system" {
				t.Errorf("namespace is %q, want sluice-system", d.Metadata.Namespace)
			}
		})
	}
}

func TestTriggersNameTypesAndStagesThatExist(t *testing.T) {
	types := append(slices.Collect(maps.Keys(events.Catalog)), sourceTypes...)
	heard := map[string]bool{}
	for file, tr := range triggers(t) {
		t.Run(file, func(t *testing.T) {
			if want := "trigger-" + tr.Name + ".yaml"; file != want {
				t.Errorf("holds the Trigger %q, want it in %s", tr.Name, want)
			}
			if err := tr.Validate(t.Context()); err != nil {
				t.Error(err)
			}
			if tr.Spec.Broker != "sluice" {
				t.Errorf("broker is %q, want sluice", tr.Spec.Broker)
			}
			if at := "http://broker-filter/triggers/" + tr.Namespace + "/" + tr.Name + "/uid"; !deadletter.Ours(at) {
				t.Errorf("what fails at %s is not sent again", at)
			}
			if s := tr.Spec.Subscriber.Ref; s == nil || s.Kind != "Service" || !slices.Contains(stages, s.Name) {
				t.Errorf("subscriber %+v is none of the stages %v", s, stages)
			}
			for _, c := range comparisons(tr.Spec.Filters) {
				if err := c.check(types, heard); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, typ := range types {
		if heard[typ] == slices.Contains(unheard, typ) {
			t.Errorf("%s: a Trigger takes it: %v, and it is among the unheard: %v", typ, heard[typ], !heard[typ])
		}
	}
}

func TestEachTypeOfEventIsFoundInTheCluster(t *testing.T) {
	want, got := map[string]string{}, map[string]string{}
	for typ, entry := range events.Catalog {
		want[typ] = entry.Tells
	}
	for _, d := range documents(t) {
		if d.Kind != "EventType" {
			continue
		}
		var e eventingv1beta3.EventType
		d.into(t, &e)
		for _, a := range e.Spec.Attributes {
			if a.Name == "type" {
				got[a.Value] = e.Spec.Description
			}
		}
		if r := e.Spec.Reference; r == nil || r.Kind != "Broker" || r.Name != "sluice" {
			t.Errorf("%s is on %+v, want the Broker", e.Name, r)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("600-eventing/eventtypes.yaml is not what the Catalog says: go generate ./apis/events/v1/gen (-catalog +file)\n%s", d)
	}
}

// comparison is one leaf of a filter.
type comparison struct{ dialect, attribute, value string }

func comparisons(filters []eventingv1.SubscriptionsAPIFilter) (out []comparison) {
	add := func(dialect string, m map[string]string) {
		for k, v := range m {
			out = append(out, comparison{dialect, k, v})
		}
	}
	for _, f := range filters {
		add("exact", f.Exact)
		add("prefix", f.Prefix)
		add("suffix", f.Suffix)
		if m := regexp.MustCompile(`^(?:NOT )?EXISTS (\w+)$`).FindStringSubmatch(f.CESQL); m != nil {
			add("exists", map[string]string{m[1]: ""})
		} else if f.CESQL != "" {
			add("cesql", map[string]string{f.CESQL: ""})
		}
		out = append(out, comparisons(f.All)...)
		out = append(out, comparisons(f.Any)...)
		if f.Not != nil {
			out = append(out, comparisons([]eventingv1.SubscriptionsAPIFilter{*f.Not})...)
		}
	}
	return out
}

func (c comparison) check(types []string, heard map[string]bool) error {
	if c.attribute != "type" {
		if !slices.Contains(extensions, c.attribute) {
			return fmt.Errorf("%s: %q is no extension of apis/events/v1", c.dialect, c.attribute)
		}
		return nil
	}
	known := false
	for _, typ := range types {
		if typ == c.value || c.dialect == "prefix" && strings.HasPrefix(typ, c.value) {
			known, heard[typ] = true, true
		}
	}
	if !known {
		return fmt.Errorf("%s: %q is no type of apis/events/v1", c.dialect, c.value)
	}
	return nil
}

// TestTopologyIsConstant: what there is for a member is who may read its credentials,
// and 32 of them share a source. Triggers, through whose filters each event goes, are as many with a
// thousand members as with none.
func TestTopologyIsConstant(t *testing.T) {
	templates, err := fs.Glob(Eventing, "600-eventing/*.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"600-eventing/source-members.yaml.tmpl"}, templates); d != "" {
		t.Errorf("made for members (-want +got)\n%s", d)
	}
	const most = 13
	all := triggers(t)
	if len(all) > most {
		t.Errorf("there are %d Triggers, want %d at most: each is asked about each event", len(all), most)
	}
	for file, tr := range all {
		for _, c := range comparisons(tr.Spec.Filters) {
			if c.attribute == events.ExtCluster && c.value != "" {
				t.Errorf("%s: is for the member %s alone", file, c.value)
			}
		}
	}
}

func TestMemberAccessIsMadeForOneMember(t *testing.T) {
	for name, tc := range map[string]struct {
		cluster string
		fails   bool
	}{
		"one member's Secret and no other":        {cluster: "member1"},
		"a name that YAML takes for a number":     {cluster: "12345"},
		"a name that would break out of the file": {cluster: "m1\n  x: y", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			role, binding, err := MemberAccess(tc.cluster)
			if tc.fails {
				if err == nil {
					t.Errorf("made %+v", role)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{tc.cluster}, Verbs: []string{"get"}}}
			if d := cmp.Diff(want, role.Rules); d != "" {
				t.Errorf("rules (-want +got)\n%s", d)
			}
			var accounts []string
			for _, s := range binding.Subjects {
				accounts = append(accounts, s.Name)
			}
			if d := cmp.Diff(credentials, accounts); d != "" || binding.RoleRef.Name != role.Name || role.Name != "member-"+tc.cluster {
				t.Errorf("%s binds %s to (-want +got)\n%s", binding.Name, binding.RoleRef.Name, d)
			}
		})
	}
}

func TestMembersSource(t *testing.T) {
	for sentence, tc := range map[string]struct {
		image string
		ok    bool
	}{
		"an image is named":             {"example.com/adapter@sha256:1", true},
		"an image that would break out": {"a\n  x: y", false},
		"no image":                      {"", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			s, err := MembersSource(2, tc.image, `{"mode":"Reference"}`)
			if (err == nil) != tc.ok {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			if err := s.Validate(t.Context()); err != nil {
				t.Error(err)
			}
			// Z40: the pod can ask for no Secret, and has those keys alone that are mounted.
			pod := s.Spec.Template.Spec
			if a := pod.AutomountServiceAccountToken; a == nil || *a || pod.ServiceAccountName != "" {
				t.Errorf("the pod has the account %q, mounted: %v", pod.ServiceAccountName, a)
			}
			c := pod.Containers[0]
			if c.Image != tc.image || s.Name != "members-2" {
				t.Errorf("made %s of %s", s.Name, c.Image)
			}
			if last := c.Env[len(c.Env)-1]; last.Name != "K_SOURCE_CONFIG" || last.Value != `{"mode":"Reference"}` {
				t.Errorf("watches %+v", last)
			}
		})
	}
}
