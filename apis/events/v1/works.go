// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"

	"sluice.dev/apis/keys"
)

// MaxClusters is how many members one event tells of at most.
const MaxClusters = 32

// Works are the Works of one name in several members, one in each.
type Works struct {
	Name string    `json:"name"`
	Form keys.Form `json:"form,omitempty"`
	// Versions are the resourceVersions that were seen, by the member's name.
	Versions map[string]string `json:"versions"`
}

// clusters are the members, sorted.
func (w *Works) clusters() []string { return slices.Sorted(maps.Keys(w.Versions)) }

// key is that of the Work in one of the members.
func (w *Works) key(cluster string) keys.WorkKey {
	return keys.WorkKey{Cluster: cluster, Name: w.Name, Form: w.Form}
}

// check says what the Works lack.
func (w *Works) check() error {
	_, nameless := w.Versions[""]
	switch {
	case w.Name == "" || len(w.Versions) == 0 || !slices.Contains(keys.Forms, w.Form):
		return fmt.Errorf("%w: works need a name, a form and versions", ErrMalformed)
	case len(w.Versions) > MaxClusters:
		return fmt.Errorf("%w: works of %d clusters, at most %d are allowed", ErrMalformed, len(w.Versions), MaxClusters)
	case nameless:
		return fmt.Errorf("%w: works of a cluster without a name", ErrMalformed)
	}
	return nil
}

// Each is what the event says of each of its Works, as an event about that one alone
// says it.
func (d Data) Each() []Data {
	if d.Works == nil {
		return []Data{d}
	}
	var all []Data
	for _, cluster := range d.Works.clusters() {
		one := d
		key := d.Works.key(cluster)
		one.Works, one.Work, one.WorkVersion, one.Cluster = nil, &key, d.Works.Versions[cluster], cluster
		all = append(all, one)
	}
	return all
}

// clustersOf is the extension clusters: the members whose Works the event is about,
// each between two commas.
func clustersOf(d Data) string {
	switch {
	case d.Works != nil:
		return "," + strings.Join(d.Works.clusters(), ",") + ","
	case d.Work != nil:
		return "," + d.Work.Cluster + ","
	}
	return ""
}

// oneByOne checks that no name of a member reads like those of several in the
// extension clusters.
func oneByOne(clusters ...string) error {
	for _, cluster := range clusters {
		if strings.Contains(cluster, ",") {
			return fmt.Errorf("%w: cluster %q has a comma", ErrMalformed, cluster)
		}
	}
	return nil
}

// told is what a batch shall tell: once, or, of Works, once for those that differ in
// nothing but their member.
type told struct {
	eventType string
	data      []Data
	awaited   bool // it is not in bulk
}

// joins tells whether the Work of d, of another member, goes with those of t.
func (t *told) joins(eventType string, d Data) bool {
	if t.eventType != eventType || t.data[0].Work == nil {
		return false
	}
	for _, other := range t.data {
		if other.Work.Cluster == d.Work.Cluster {
			return false
		}
	}
	return reflect.DeepEqual(apart(t.data[0]), apart(d))
}

// apart is what the Works of one event have in common.
func apart(d Data) Data {
	d.Work = &keys.WorkKey{Name: d.Work.Name, Form: d.Work.Form}
	d.WorkVersion, d.Cluster, d.Message = "", "", ""
	return d
}

// EmitWork adds an event about a Work; Works that differ in nothing but their member
// and message share events, each of as many as fit.
func (b *Batch) EmitWork(eventType string, d Data) {
	for i := range b.told {
		if b.told[i].joins(eventType, d) {
			b.told[i].data = append(b.told[i].data, d)
			return
		}
	}
	b.Emit(eventType, d)
}

// add makes the events of what was told.
func (b *Batch) add(cause event.Event, t told) {
	slices.SortFunc(t.data, func(x, y Data) int { return strings.Compare(x.Cluster, y.Cluster) })
	for chunk := range slices.Chunk(t.data, MaxClusters) {
		b.fit(cause, t.eventType, chunk)
	}
}

// fit makes one event of the Works, or two halves where that would be too large.
func (b *Batch) fit(cause event.Event, eventType string, works []Data) {
	e, err := New(b.stage, cause, eventType, together(works))
	if err == nil && len(works) > 1 && tooLarge(e) {
		half := len(works) / 2
		b.fit(cause, eventType, works[:half])
		b.fit(cause, eventType, works[half:])
		return
	}
	b.err = errors.Join(b.err, err)
	b.out = append(b.out, e)
}

// together is the payload about the Works.
func together(works []Data) Data {
	d := works[0]
	if len(works) == 1 {
		return d
	}
	w := &Works{Name: d.Work.Name, Form: d.Work.Form, Versions: map[string]string{}}
	var messages []string
	for _, one := range works {
		w.Versions[one.Work.Cluster] = one.WorkVersion
		if one.Message != "" && !slices.Contains(messages, one.Message) {
			messages = append(messages, one.Message)
		}
	}
	d.Works, d.Work, d.WorkVersion, d.Cluster, d.Message = w, nil, "", "", strings.Join(messages, "; ")
	return d
}

// tooLarge tells whether the event is beyond MaxSize.
func tooLarge(e event.Event) bool {
	if len(e.Data()) <= small {
		return false
	}
	raw, err := json.Marshal(e)
	return err == nil && len(raw) > MaxSize
}
