// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/apis/keys"
)

// raw is an event with that data, whatever it is.
func raw(eventType, data string) event.Event {
	e := event.New()
	e.SetID("1")
	e.SetSource("/test")
	e.SetType(eventType)
	e.DataEncoded = []byte(data)
	e.SetDataContentType("application/json")
	return e
}

func TestDecodeRefusesWhatIsMalformed(t *testing.T) {
	template := `"template":{"apiVersion":"v1","kind":"ConfigMap","name":"a"}`
	for name, e := range map[string]event.Event{
		"no data":                             raw(events.TemplateTouched, ``),
		"no JSON":                             raw(events.TemplateTouched, `{`),
		"no object":                           raw(events.TemplateTouched, `["template"]`),
		"a field of another form":             raw(events.TemplateTouched, `{"template":"a"}`),
		"null":                                raw(events.TemplateTouched, `null`),
		"without what it needs":               raw(events.TemplateTouched, `{}`),
		"what it needs is null":               raw(events.TemplateTouched, `{"template":null}`),
		"a template without kind":             raw(events.TemplateTouched, `{"template":{"apiVersion":"v1","name":"a"}}`),
		"a policy without a name":             raw(events.PolicyChanged, `{"policy":{"scope":"Cluster"}}`),
		"a Work without a cluster":            raw(events.WorkApplied, `{`+template+`,"binding":{"name":"b"},"work":{"name":"w"},"cluster":"m"}`),
		"a Work of an unknown form":           raw(events.WorkApplied, `{`+template+`,"binding":{"name":"b"},"work":{"name":"w","cluster":"m","form":"x"},"cluster":"m"}`),
		"a policy's Work without a binding":   raw(events.WorkApplied, `{`+template+`,"placement":"p","work":{"name":"w","cluster":"m"},"cluster":"m"}`),
		"one need of several":                 raw(events.BindingActivated, `{`+template+`}`),
		"oversized":                           raw(events.TemplateTouched, `{`+template+`,"message":"`+strings.Repeat("x", events.MaxSize)+`"}`),
		"foreign":                             raw("com.example.order.placed", `{}`),
		"of a source":                         raw(events.ResourceAdded, `{}`),
		"of a type of ours that there is not": raw("dev.sluice.nonsense", `{}`),
		"without a type":                      raw("", `{}`),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := events.Decode(e); !errors.Is(err, events.ErrMalformed) {
				t.Errorf("got the error %v, want %v", err, events.ErrMalformed)
			}
		})
	}
}

// Z33: names that are no names, and extensions that say otherwise than the data.
func TestZ33DecodeRefusesForgedNames(t *testing.T) {
	data := func(kind, namespace, name, cluster string) string {
		return `{"template":{"apiVersion":"v1","kind":"` + kind + `","namespace":"` + namespace + `","name":"` + name + `"},"cluster":"` + cluster + `"}`
	}
	with := func(e event.Event, extensions ...string) event.Event {
		for i := 0; i < len(extensions); i += 2 {
			e.SetExtension(extensions[i], extensions[i+1])
		}
		return e
	}
	for name, e := range map[string]event.Event{
		"a path as name":            raw(events.TemplateTouched, data("ConfigMap", "n", "../x", "")),
		"a path as namespace":       raw(events.TemplateTouched, data("ConfigMap", "n/configmaps", "x", "")),
		"dots as name":              raw(events.TemplateTouched, data("ConfigMap", "n", "..", "")),
		"an escape":                 raw(events.TemplateTouched, data("ConfigMap", "n", "a%2fb", "")),
		"a path as kind":            raw(events.TemplateTouched, data("Config/Map", "n", "x", "")),
		"a version that is a path":  raw(events.TemplateTouched, `{"template":{"apiVersion":"apps/v1/..","kind":"A","name":"a"}}`),
		"a cluster with a slash":    raw(events.ClusterChanged, `{"cluster":"member1/"}`),
		"another name for filters":  with(raw(events.TemplateTouched, data("ConfigMap", "n", "x", "")), events.ExtName, "y"),
		"another kind for filters":  with(raw(events.TemplateTouched, data("ConfigMap", "n", "x", "")), events.ExtKind, "Secret"),
		"a namespace for filters":   with(raw(events.TemplateTouched, data("ConfigMap", "", "x", "")), events.ExtNamespace, "n"),
		"another cluster's Work":    raw(events.WorkApplied, `{"template":{"apiVersion":"v1","kind":"A","name":"a"},"binding":{"name":"b"},"work":{"name":"w","cluster":"m"},"cluster":"other"}`),
		"another cluster's filters": with(raw(events.ClusterChanged, `{"cluster":"member1"}`), events.ExtCluster, "member2"),
	} {
		if _, err := events.Decode(e); !errors.Is(err, events.ErrMalformed) {
			t.Errorf("%s: %v, want %v", name, err, events.ErrMalformed)
		}
	}
	for name, e := range map[string]event.Event{
		"a Cluster with a slash": raw(events.ResourceDeleted, `{"apiVersion":"cluster.karmada.io/v1alpha1","kind":"Cluster","name":"member1/"}`),
		"a member with a slash":  with(raw(events.ResourceDeleted, `{"apiVersion":"v1","kind":"ConfigMap","name":"a"}`), events.ExtCluster, "member1/"),
		"extensions that differ": with(raw(events.ResourceDeleted, `{"apiVersion":"v1","kind":"ConfigMap","name":"a"}`), events.ExtName, "b"),
	} {
		if _, err := events.DecodeResource(e); !errors.Is(err, events.ErrMalformed) {
			t.Errorf("of a source, %s: %v, want %v", name, err, events.ErrMalformed)
		}
	}
}

func TestDecodeAcceptsThePlacementOfAWork(t *testing.T) {
	e := raw(events.WorkApplied, `{"template":{"apiVersion":"v1","kind":"ConfigMap","name":"a"},"placement":"p","work":{"name":"w","cluster":"m","form":"placement"},"cluster":"m"}`)
	d, err := events.Decode(e)
	if err != nil {
		t.Fatal(err)
	}
	if want := "fleet-member-m"; d.Work.Namespace() != want {
		t.Errorf("the Work is in %s, want %s", d.Work.Namespace(), want)
	}
}

func TestDecodeAcceptsWhatComesLater(t *testing.T) {
	e := raw(events.ClusterChanged, `{"cluster":"member1","weather":{"sunny":true}}`)
	e.SetExtension("mood", "good")
	if _, err := events.Decode(e); err != nil {
		t.Errorf("a field and an extension that are not known yet: %v", err)
	}
}

func TestDecodeResource(t *testing.T) {
	knative, err := os.ReadFile("testdata/apiserversource.json")
	if err != nil {
		t.Fatal(err)
	}
	var update, cluster event.Event
	if err := json.Unmarshal(knative, &update); err != nil {
		t.Fatal(err)
	}
	cluster = update.Clone() // of an object that has no namespace
	cluster.SetExtension(events.ExtNamespace, "")
	cluster.SetExtension(events.ExtKind, "ClusterRole")
	cluster.SetExtension(events.ExtAPIVersion, "rbac.authorization.k8s.io/v1")
	cluster.DataEncoded = []byte(`{"kind":"ClusterRole","name":"nginx","apiVersion":"rbac.authorization.k8s.io/v1"}`)
	member := update.Clone()
	member.SetExtension(events.ExtCluster, "member1")
	bare := update.Clone()
	for _, name := range []string{events.ExtAPIVersion, events.ExtKind, events.ExtName, events.ExtNamespace} {
		bare.SetExtension(name, nil)
	}
	headless := update.Clone()
	headless.DataEncoded = nil
	nginx := keys.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"}
	role := keys.TemplateKey{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "nginx"}

	for name, tc := range map[string]struct {
		event event.Event
		want  events.Object
		err   error
	}{
		"of ApiServerSource":     {event: update, want: events.Object{TemplateKey: nginx}},
		"without a namespace":    {event: cluster, want: events.Object{TemplateKey: role}},
		"of a member":            {event: member, want: events.Object{TemplateKey: nginx, Cluster: "member1"}},
		"data alone":             {event: bare, want: events.Object{TemplateKey: nginx}},
		"extensions alone":       {event: headless, want: events.Object{TemplateKey: nginx}},
		"no JSON":                {event: raw(events.ResourceAdded, `{`), err: events.ErrMalformed},
		"no object's name":       {event: raw(events.ResourceAdded, `{"kind":"Pod","apiVersion":"v1"}`), err: events.ErrMalformed},
		"nothing":                {event: raw(events.ResourceAdded, ``), err: events.ErrMalformed},
		"an object as its data":  {event: raw(events.ResourceAdded, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`), err: events.ErrMalformed},
		"a list as its data":     {event: raw(events.ResourceAdded, `[]`), err: events.ErrMalformed},
		"a field of other forms": {event: raw(events.ResourceAdded, `{"name":7}`), err: events.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := events.DecodeResource(tc.event)
			if !errors.Is(err, tc.err) {
				t.Fatalf("got the error %v, want %v", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewResourceIsReadAgain(t *testing.T) {
	for _, want := range []events.Object{
		{TemplateKey: keys.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "a"}, Version: "7"},
		{TemplateKey: keys.TemplateKey{APIVersion: "v1", Kind: "Namespace", Name: "shop"}, Version: "8"},
		{TemplateKey: keys.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "a"}, Version: "9", Cluster: "member1"},
	} {
		first, err := events.NewResource("/test", events.ResourceUpdated, want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := events.DecodeResource(first)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		want.Version += "0"
		if later, err := events.NewResource("/test", events.ResourceUpdated, want); err != nil || later.ID() == first.ID() {
			t.Errorf("two versions of %s have one id (%v)", want.TemplateKey, err)
		}
	}
}

// longest is the sample of a type with the longest names that an API server
// lets in, and a message beyond all bounds.
func longest(eventType, message string) events.Data {
	name, namespace, kind := strings.Repeat("n", 253), strings.Repeat("s", 63), "K"+strings.Repeat("k", 62)
	group, version := strings.Repeat("g", 253)+"/"+strings.Repeat("v", 63), strconv.FormatUint(math.MaxUint64, 10)
	policy := &keys.PolicyKey{Scope: keys.Namespaced, Namespace: namespace, Name: name}
	d := sample(eventType)
	if d.Template != nil {
		d.Template = &keys.TemplateKey{APIVersion: group, Kind: kind, Namespace: namespace, Name: name}
		d.TemplateVersion = version
	}
	if d.Policy != nil {
		d.Policy, d.PolicyVersion = policy, version
	}
	if d.Previous != nil {
		d.Previous = policy
	}
	if d.Binding != nil {
		d.Binding, d.BindingVersion = &keys.BindingKey{Namespace: namespace, Name: name}, version
	}
	if d.Work != nil {
		d.Work, d.WorkVersion = &keys.WorkKey{Cluster: strings.Repeat("c", 48), Name: strings.Repeat("w", 63)}, version
	}
	if d.Cluster != "" {
		d.Cluster = strings.Repeat("c", 48)
	}
	switch eventType {
	case events.BindingActivated, events.BindingDeferred: // what the gate knows, it tells
		d.Policy, d.PolicyVersion, d.SchedulerName = policy, version, name
	case events.PolicyChanged, events.OverridesChanged:
		d.Continue = "waiting:" + policy.ID() + "\n" + keys.TemplateKey{APIVersion: group, Kind: kind, Namespace: namespace, Name: name}.ID()
	}
	d.Reason, d.Message = strings.Repeat("R", 40), message
	return d
}

func TestEventsAreSmall(t *testing.T) {
	for name, message := range map[string]string{
		"words":              strings.Repeat("word ", 100_000),
		"quoted names":       strings.Repeat(`spec.x: Invalid value: "v": `, 10_000),
		"wide letters":       strings.Repeat("木", 100_000),
		"angle brackets":     strings.Repeat("<", 100_000),
		"control characters": strings.Repeat("\x01", 100_000),
	} {
		for _, eventType := range types() {
			t.Run(name+"/"+eventType, func(t *testing.T) {
				d := longest(eventType, message)
				e, err := events.New(events.Catalog[eventType].Stage, cause(), eventType, d)
				if err != nil {
					t.Fatal(err)
				}
				raw, err := json.Marshal(e)
				if err != nil {
					t.Fatal(err)
				}
				if n := len(raw); n > events.MaxSize {
					t.Errorf("has %d bytes, at most %d are allowed", n, events.MaxSize)
				}
				got, err := events.Decode(e)
				if err != nil {
					t.Fatal(err)
				}
				if got.Message == "" || !utf8.ValidString(got.Message) || !strings.HasPrefix(message, strings.TrimSuffix(got.Message, "…")) {
					t.Errorf("the message was cut badly: %q", got.Message)
				}
				got.Message = d.Message
				if diff := cmp.Diff(d, got); diff != "" {
					t.Errorf("decoded (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// FuzzDecode: whatever comes, the answer is a payload or ErrMalformed, and what
// was decoded can be told again.
func FuzzDecode(f *testing.F) {
	for _, eventType := range types() {
		f.Add(eventType, string(made(f, eventType).Data()), "name", "nginx")
	}
	f.Add(events.ResourceAdded, `{"apiVersion":"v1","kind":"Pod","name":"a"}`, "cluster", "member1")
	f.Add(events.ResourceDeleted, `{"name":{"a":[null]}}`, "kind", "\x00")
	f.Add("dev.sluice.", `{"template":{}}`, "", "\xff")
	f.Add("", `"`, "apiversion", "a/b/c/d")
	f.Fuzz(func(t *testing.T, eventType, data, extension, value string) {
		e := raw(eventType, data)
		e.SetExtension(extension, value)
		if _, err := events.DecodeResource(e); err != nil && !errors.Is(err, events.ErrMalformed) {
			t.Errorf("DecodeResource: %v is not %v", err, events.ErrMalformed)
		}
		d, err := events.Decode(e)
		if err != nil {
			if !errors.Is(err, events.ErrMalformed) {
				t.Errorf("Decode: %v is not %v", err, events.ErrMalformed)
			}
			return
		}
		again, err := events.New("fuzz", e, eventType, d)
		if err != nil {
			return // names that no extension may hold
		}
		if _, err := events.Decode(again); err != nil && len(again.Data()) <= events.MaxSize {
			t.Errorf("what was decoded cannot be decoded again: %v", err)
		}
	})
}
