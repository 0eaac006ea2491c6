// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"knative.dev/eventing/pkg/eventfilter"
	"knative.dev/eventing/pkg/eventfilter/subscriptionsapi"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/apis/keys"
)

// aboutMember is the sample of a type, about the Work in a member.
func aboutMember(eventType, cluster string) events.Data {
	d := sample(eventType)
	d.Work = &keys.WorkKey{Cluster: cluster, Name: d.Work.Name}
	d.Cluster, d.WorkVersion = cluster, "10"+cluster
	return d
}

func emitted(t *testing.T, emit func(b *events.Batch)) []event.Event {
	t.Helper()
	b := events.From("renderer", cause())
	emit(b)
	out, err := b.Events()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWorksShareEvents keeps the events of a template's Works few.
func TestWorksShareEvents(t *testing.T) {
	works := func(n int, name func(int) string, change func(i int, d *events.Data)) func(b *events.Batch) {
		return func(b *events.Batch) {
			for i := range n {
				d := aboutMember(events.WorkRendered, name(i))
				change(i, &d)
				b.EmitWork(events.WorkRendered, d)
			}
		}
	}
	short := func(i int) string { return fmt.Sprintf("member%d", i) }
	asLong := func(i int) string { return fmt.Sprintf("m%02d", i) + strings.Repeat("x", 60) }
	same := func(int, *events.Data) {}
	for sentence, tc := range map[string]struct {
		emit  func(b *events.Batch)
		sizes []int
	}{
		"one Work is an event by itself":              {works(1, short, same), []int{1}},
		"Works of one template share an event":        {works(3, short, same), []int{3}},
		"of 32 members at most":                       {works(70, short, same), []int{32, 32, 6}},
		"and no larger than events may be":            {works(32, asLong, func(_ int, d *events.Data) { d.Work.Name = strings.Repeat("n", 253) }), []int{8, 8, 8, 8}},
		"a reason of its own has an event of its own": {works(3, short, func(i int, d *events.Data) { d.Reason = []string{"A", "B", "A"}[i] }), []int{2, 1}},
		"as has another Work of the same member":      {works(2, func(int) string { return "member1" }, same), []int{1, 1}},
		"and a Work of another name":                  {works(2, short, func(i int, d *events.Data) { d.Work.Name = short(i) }), []int{1, 1}},
		"messages are told together":                  {works(2, short, func(i int, d *events.Data) { d.Message = short(i) + " is down" }), []int{2}},
		"and cut where they are long":                 {works(32, short, func(_ int, d *events.Data) { d.Message = strings.Repeat("<", 1000) }), []int{32}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var sizes []int
			seen := map[string]bool{}
			for _, e := range emitted(t, tc.emit) {
				raw, err := json.Marshal(e)
				if err != nil || len(raw) > events.MaxSize {
					t.Errorf("an event has %d bytes, %v", len(raw), err)
				}
				d, err := events.Decode(e)
				if err != nil {
					t.Fatal(err)
				}
				each := d.Each()
				sizes = append(sizes, len(each))
				for _, one := range each {
					seen[one.Work.Cluster+"/"+one.Work.Name+one.Reason] = true
					if one.Works != nil || one.Cluster != one.Work.Cluster || one.WorkVersion != "10"+one.Cluster {
						t.Errorf("about one Work: %+v", one)
					}
				}
			}
			total := 0
			for _, n := range sizes {
				total += n
			}
			if diff := cmp.Diff(tc.sizes, sizes); diff != "" {
				t.Errorf("members an event (-want +got):\n%s", diff)
			}
			if len(seen) != total && sentence != "as has another Work of the same member" {
				t.Errorf("told of %d Works, want %d", len(seen), total)
			}
		})
	}
}

// TestATeamFindsItsMember in events about several, by the extension clusters.
func TestATeamFindsItsMember(t *testing.T) {
	emit := func(clusters ...string) event.Event {
		out := emitted(t, func(b *events.Batch) {
			for _, c := range clusters {
				b.EmitWork(events.WorkApplied, aboutMember(events.WorkApplied, c))
			}
		})
		if len(out) != 1 {
			t.Fatalf("%d events", len(out))
		}
		return out[0]
	}
	for sentence, tc := range map[string]struct {
		e    event.Event
		want bool
	}{
		"alone":                  {emit("member1"), true},
		"among others":           {emit("member0", "member1", "member2"), true},
		"first":                  {emit("member1", "member2"), true},
		"not where it is absent": {emit("member0", "member2"), false},
		"not by half its name":   {emit("member10", "xmember1"), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			f, err := subscriptionsapi.NewCESQLFilter("clusters LIKE '%,member1,%'")
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Filter(t.Context(), tc.e) != eventfilter.FailFilter; got != tc.want {
				t.Errorf("the filter passes it: %v, want %v", got, tc.want)
			}
		})
	}
	if e := emit("member1", "member2"); e.Extensions()[events.ExtCluster] != nil {
		t.Error("an event about two members has the extension cluster")
	}
	if e := emit("member1"); e.Extensions()[events.ExtCluster] != "member1" {
		t.Error("an event about one member lacks the extension cluster")
	}
}

func TestMalformedWorks(t *testing.T) {
	const of = `"template":{"apiVersion":"v1","kind":"A","name":"a"},"binding":{"name":"b"}`
	for sentence, data := range map[string]string{
		"none":                    `{` + of + `,"works":{"name":"w","versions":{}}}`,
		"without a name":          `{` + of + `,"works":{"versions":{"m":"1"}}}`,
		"of a cluster unnamed":    `{` + of + `,"works":{"name":"w","versions":{"":"1"}}}`,
		"of a path":               `{` + of + `,"works":{"name":"w","versions":{"m/x":"1"}}}`,
		"of two clusters in one":  `{` + of + `,"works":{"name":"w","versions":{"m,member1":"1"}}}`,
		"of two, as one Work":     `{` + of + `,"cluster":"m,member1","work":{"cluster":"m,member1","name":"w"}}`,
		"of an unknown form":      `{` + of + `,"works":{"name":"w","form":"x","versions":{"m":"1"}}}`,
		"beside a Work":           `{` + of + `,"work":{"cluster":"m","name":"w"},"works":{"name":"w","versions":{"m":"1"}}}`,
		"beside a cluster":        `{` + of + `,"cluster":"m","works":{"name":"w","versions":{"m":"1"}}}`,
		"of neither":              `{"template":{"apiVersion":"v1","kind":"A","name":"a"},"works":{"name":"w","versions":{"m":"1"}}}`,
		"of a placement's policy": `{"template":{"apiVersion":"v1","kind":"A","name":"a"},"placement":"p","works":{"name":"w","versions":{"m":"1"}}}`,
	} {
		t.Run(sentence, func(t *testing.T) {
			if d, err := events.Decode(raw(events.WorkApplied, data)); err == nil {
				t.Errorf("decoded %+v", d)
			}
		})
	}
	many := &events.Works{Name: "w", Versions: map[string]string{}}
	for i := range events.MaxClusters + 1 {
		many.Versions[fmt.Sprint(i)] = "1"
	}
	list, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := events.Decode(raw(events.WorkApplied, `{`+of+`,"works":`+string(list)+`}`)); err == nil {
		t.Error("more than may be were decoded")
	}
	if _, err := events.Decode(raw(events.ClusterChanged, `{"works":{"name":"w","versions":{"m":"1"}}}`)); err == nil {
		t.Error("Works that the type has not were decoded")
	}
	e := raw(events.WorkApplied, `{`+of+`,"works":{"name":"w","versions":{"m":"1","n":"2"}}}`)
	e.SetExtension(events.ExtClusters, ",m,")
	if _, err := events.Decode(e); err == nil {
		t.Error("filters saw other members than the data name")
	}
}

// What follows from what somebody did to one template says so, and is in bulk all the same
// where it is told of many.
func TestWhatFollowsFromOneTemplatesChangeSaysSo(t *testing.T) {
	for n, want := range map[int]string{1: events.NotBulk, 20: events.NotBulk, 21: "true"} {
		b := events.From("detector", event.New())
		b.Single()
		for i := range n {
			b.Emit(events.TemplateTouched, events.Data{Template: &keys.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprint(i)}})
		}
		out, err := b.Events()
		if err != nil {
			t.Fatal(err)
		}
		next, err := events.New("gate", out[0], events.TemplateTouched, events.Data{Template: &keys.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "0"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []event.Event{out[0], next} {
			if got := e.Extensions()[events.ExtBulk]; got != want {
				t.Errorf("%d templates, %s: bulk is %v, want %s", n, e.Type(), got, want)
			}
		}
	}
}

// TestWhatIsToldOfManyIsInBulk: and what follows from that.
func TestWhatIsToldOfManyIsInBulk(t *testing.T) {
	policy := keys.PolicyKey{Scope: keys.Namespaced, Namespace: "shop", Name: "all"}
	template := func(i int) *keys.TemplateKey {
		return &keys.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("settings-%d", i)}
	}
	told := func(cause event.Event, n int, more ...events.Data) event.Event {
		t.Helper()
		b := events.From("detector", cause)
		for i := range n {
			b.Emit(events.TemplateTouched, events.Data{Template: template(i)})
		}
		for _, d := range more {
			b.Emit(events.PolicyChanged, d)
		}
		out, err := b.Events()
		if err != nil || len(out) != n+len(more) {
			t.Fatal(out, err)
		}
		return out[0]
	}
	change := told(event.New(), 0, events.Data{Policy: &policy})
	page := told(change, 1, events.Data{Policy: &policy, Continue: "behind a"})
	for what, tc := range map[string]struct {
		e    event.Event
		want bool
	}{
		"a change":                          {change, false},
		"what it tells a few templates":     {told(change, 20), false},
		"what it tells many":                {told(change, 21), true},
		"what it tells a page of them":      {page, true},
		"what comes of that":                {told(page, 1), true},
		"what a template's own change does": {told(event.New(), 1), false},
		"the Works of one template in many members": {func() event.Event {
			b := events.From("renderer", event.New())
			for i := range 30 {
				d := aboutMember(events.WorkRendered, fmt.Sprintf("m%d", i))
				d.Reason = d.Cluster
				b.Emit(events.WorkRendered, d)
			}
			out, err := b.Events()
			if err != nil {
				t.Fatal(err)
			}
			return out[0]
		}(), false},
	} {
		if events.Bulk(tc.e) != tc.want {
			t.Errorf("%s: in bulk %v, want %v", what, !tc.want, tc.want)
		}
	}
}
