// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cloudevents/sdk-go/v2/event"

	"sluice.dev/apis/keys"
)

// ErrMalformed is wrapped by every error of Decode and DecodeResource: the
// event can never succeed.
var ErrMalformed = errors.New("malformed event")

const (
	// maxMessage keeps an event below MaxSize whatever a member's message says.
	maxMessage = 1 << 10
	// small is the data of an event that is below MaxSize whatever its extensions
	// say: they repeat what stands in the data, some of it three times.
	small = 1 << 10
)

// New makes the event that stage emits because of cause. The id is derived from
// the cause, the stage and what the event tells: emitting it again yields the
// same id. Where names are as long as names may be, the message is the shorter.
func New(stage string, cause event.Event, eventType string, d Data) (event.Event, error) {
	d.Message = shorten(d.Message, maxMessage)
	e, err := encode(stage, cause, eventType, d)
	if err != nil || len(e.Data()) <= small {
		return e, err
	}
	raw, err := json.Marshal(e)
	if excess := len(raw) - MaxSize; err == nil && excess > 0 {
		d.Message = shorten(d.Message, encodedSize(d.Message)-excess)
		return encode(stage, cause, eventType, d)
	}
	return e, err
}

func encode(stage string, cause event.Event, eventType string, d Data) (event.Event, error) {
	e := event.New()
	e.SetType(eventType)
	e.SetSource(Source(stage))
	if err := e.SetData("application/json", d); err != nil {
		return event.Event{}, fmt.Errorf("encode %s: %w", eventType, err)
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{cause.ID(), stage, eventType, string(e.Data())}, "\x00")))
	e.SetID(hex.EncodeToString(sum[:12]))
	if !cause.Time().IsZero() {
		e.SetTime(cause.Time())
	}
	setExtensions(&e, d)
	if tp, ok := cause.Extensions()[ExtTraceParent].(string); ok && tp != "" {
		e.SetExtension(ExtTraceParent, tp)
	}
	if bulk, ok := cause.Extensions()[ExtBulk].(string); ok {
		e.SetExtension(ExtBulk, bulk)
	}
	return e, e.Validate()
}

// Bulk reports whether the event is of a fan-out, or follows from one: of the change of a
// policy that concerns thousands of templates, say. A queue hands it over after what is of
// a template's own change.
func Bulk(e event.Event) bool { return e.Extensions()[ExtBulk] == "true" }

// Single reports whether the event follows from what somebody did to one template, and may
// wait for. A queue runs less of what is in bulk meanwhile.
func Single(e event.Event) bool { return e.Extensions()[ExtBulk] == NotBulk }

// Batch collects what one stage emits because of one event. Its first error is
// that of Events.
type Batch struct {
	stage string
	cause event.Event
	told  []told
	out   []event.Event
	err   error
}

// ownSources begins the source of whatever Sluice itself tells.
const ownSources = "/sluice/"

// Source is the source of what a part of Sluice tells, by the part's name.
func Source(part string) string { return ownSources + part }

// Own tells whether Sluice itself tells of it, and no source outside.
func Own(e event.Event) bool { return strings.HasPrefix(e.Source(), ownSources) }

// From starts a batch.
func From(stage string, cause event.Event) *Batch { return &Batch{stage: stage, cause: cause} }

// Emit adds an event.
func (b *Batch) Emit(eventType string, d Data) {
	b.told = append(b.told, told{eventType: eventType, data: []Data{d}})
}

// EmitAwaited adds an event that is not in bulk, however many others the batch tells of:
// somebody waits for what comes of it.
func (b *Batch) EmitAwaited(eventType string, d Data) {
	b.told = append(b.told, told{eventType: eventType, data: []Data{d}, awaited: true})
}

// Empty reports whether the batch tells of nothing yet.
func (b *Batch) Empty() bool { return len(b.told) == 0 }

// EmitOnce adds an event, unless the batch tells just that already.
func (b *Batch) EmitOnce(eventType string, d Data) {
	same := told{eventType: eventType, data: []Data{d}}
	if !slices.ContainsFunc(b.told, func(t told) bool { return reflect.DeepEqual(t, same) }) {
		b.told = append(b.told, same)
	}
}

// Single says that the batch follows from what somebody did to one template. If it tells
// of many all the same, it is in bulk.
func (b *Batch) Single() {
	b.cause = b.cause.Clone()
	b.cause.SetExtension(ExtBulk, NotBulk)
}

// few is how many templates a batch tells of that is no fan-out.
const few = 20

// isFanOut tells whether the batch is of more than a few templates, or a page of a long
// list of them.
func (b *Batch) isFanOut() bool {
	templates := map[keys.TemplateKey]bool{}
	for _, t := range b.told {
		for _, d := range t.data {
			if d.Template != nil {
				templates[*d.Template] = true
			}
			if d.Continue != "" {
				return true
			}
		}
	}
	return len(templates) > few
}

// Events are the events of the batch, in the order in which they were added.
func (b *Batch) Events() ([]event.Event, error) {
	bulk := b.cause
	if b.isFanOut() {
		bulk = b.cause.Clone()
		bulk.SetExtension(ExtBulk, "true")
	}
	for _, t := range b.told {
		if t.awaited {
			b.add(b.cause, t)
		} else {
			b.add(bulk, t)
		}
	}
	b.told = nil
	if b.err != nil {
		return nil, b.err
	}
	return b.out, nil
}

// setExtensions makes what filters need from the payload. An extension that
// would be empty is left out.
func setExtensions(e *event.Event, d Data) {
	set := func(name, value string) {
		if value != "" {
			e.SetExtension(name, value)
		}
	}
	if t := d.Template; t != nil {
		set(ExtAPIVersion, t.APIVersion)
		set(ExtKind, t.Kind)
		set(ExtName, t.Name)
		set(ExtNamespace, t.Namespace)
		e.SetSubject(t.Kind + "/" + strings.TrimPrefix(t.Namespace+"/"+t.Name, "/"))
	}
	if d.Policy != nil {
		set(ExtPolicy, strings.TrimPrefix(d.Policy.Namespace+"/"+d.Policy.Name, "/"))
	}
	set(ExtPlacement, d.Placement)
	set(ExtSchedulerName, d.SchedulerName)
	set(ExtApplier, d.Applier)
	set(ExtCluster, d.Cluster)
	set(ExtClusters, clustersOf(d))
	set(ExtReason, d.Reason)
	set(ExtPartitionKey, partitionKey(d))
}

// maxKey is the length from which on a hash stands for what a partition is about.
const maxKey = 128

// partitionKey is what an event must stay in order with: its template's
// binding, which every template has one of; else what it is about.
func partitionKey(d Data) string {
	switch {
	case d.Placement != "":
		return partition("placement/", d.Placement)
	case d.Binding != nil:
		return partition("binding/", d.Binding.ID())
	case d.Template != nil:
		return PartitionKey(*d.Template)
	case d.Policy != nil:
		return partition("policy/", d.Policy.ID())
	case d.Cluster != "":
		return partition("cluster/", d.Cluster)
	}
	return ""
}

// PartitionKey is the partition key of events about a template: all that concerns
// one template stays in order.
func PartitionKey(t keys.TemplateKey) string {
	return partition("binding/", keys.BindingOf(t).ID())
}

func partition(of, id string) string {
	if len(id) > maxKey {
		sum := sha256.Sum256([]byte(id))
		id = hex.EncodeToString(sum[:])
	}
	return of + id
}

// Decode reads the payload of one of Sluice's events.
func Decode(e event.Event) (Data, error) {
	var d Data
	if !strings.HasPrefix(e.Type(), "dev.sluice.") {
		return d, fmt.Errorf("%w: type %q is none of Sluice's", ErrMalformed, e.Type())
	}
	if n := len(e.Data()); n > MaxSize {
		return d, fmt.Errorf("%w: data has %d bytes, at most %d are allowed", ErrMalformed, n, MaxSize)
	}
	if err := json.Unmarshal(e.Data(), &d); err != nil {
		return d, fmt.Errorf("%w: data of %s: %w", ErrMalformed, e.Type(), err)
	}
	entry, known := Catalog[e.Type()]
	if !known {
		return d, fmt.Errorf("%w: type %q is not in the catalog", ErrMalformed, e.Type())
	}
	if d.Works != nil && !slices.Contains(entry.Needs, FieldWork) {
		return d, fmt.Errorf("%w: data of %s have works", ErrMalformed, e.Type())
	}
	for _, need := range entry.Needs {
		if !has(d, need) && !(need == FieldBinding && ofPlacement(d)) {
			return d, fmt.Errorf("%w: data of %s lacks %s", ErrMalformed, e.Type(), need)
		}
	}
	if err := d.names(); err != nil {
		return d, err
	}
	return d, agrees(e, d)
}

// DecodeFor is Decode for a stage, which anybody may send an event of any type: what
// the stage needs is there.
func DecodeFor(e event.Event, needs ...Field) (Data, error) {
	d, err := Decode(e)
	if err == nil {
		err = d.Has(needs...)
	}
	return d, err
}

// Has makes sure that what is needed is there, and that a binding is the template's,
// so that neither is taken for the other's.
func (d Data) Has(needs ...Field) error {
	for _, need := range needs {
		if !has(d, need) {
			return fmt.Errorf("%w: data lack %s, which is needed here", ErrMalformed, need)
		}
	}
	if d.Template != nil && d.Binding != nil && d.Placement == "" && *d.Binding != keys.BindingOf(*d.Template) {
		return fmt.Errorf("%w: the binding of %s is not %s", ErrMalformed, d.Template, d.Binding)
	}
	return nil
}

// Object is what a source's event is about.
type Object struct {
	keys.TemplateKey
	// Version is the resourceVersion seen; empty where the source tells none.
	Version string
	// Cluster is the member that the object is in; empty for the hub.
	Cluster string
}

// DecodeResource reads an event of ApiServerSource, of the hub or of a member:
// the object's key stands in the extensions and, in Reference mode, in the
// data.
func DecodeResource(e event.Event) (Object, error) {
	var ref struct {
		APIVersion      string `json:"apiVersion"`
		Kind            string `json:"kind"`
		Namespace       string `json:"namespace"`
		Name            string `json:"name"`
		ResourceVersion string `json:"resourceVersion"`
	}
	if len(e.Data()) > 0 {
		if err := json.Unmarshal(e.Data(), &ref); err != nil {
			return Object{}, fmt.Errorf("%w: data of %s: %w", ErrMalformed, e.Type(), err)
		}
	}
	var differs error
	ext := func(name, other string) string {
		s, ok := e.Extensions()[name].(string)
		if !ok || s == "" {
			return other
		}
		if other != "" && s != other {
			differs = fmt.Errorf("%w: extension %s is %q, the data say %q", ErrMalformed, name, s, other)
		}
		return s
	}
	o := Object{
		TemplateKey: keys.TemplateKey{
			APIVersion: ext(ExtAPIVersion, ref.APIVersion), Kind: ext(ExtKind, ref.Kind),
			Namespace: ext(ExtNamespace, ref.Namespace), Name: ext(ExtName, ref.Name),
		},
		Version: ref.ResourceVersion,
		Cluster: ext(ExtCluster, ""),
	}
	if o.APIVersion == "" || o.Kind == "" || o.Name == "" {
		return Object{}, fmt.Errorf("%w: %s names no object: want apiversion, kind and name", ErrMalformed, e.Type())
	}
	if err := cmp.Or(differs, templateNames(o.TemplateKey), segments(o.Cluster)); err != nil {
		return Object{}, err
	}
	return o, nil
}

// NewResource makes the event that ApiServerSource makes in Reference mode, for
// sources in process. The id is derived from the object's version.
func NewResource(source, eventType string, o Object) (event.Event, error) {
	e := event.New()
	e.SetType(eventType)
	e.SetSource(source)
	e.SetSubject(o.Kind + "/" + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"))
	ref := map[string]string{"apiVersion": o.APIVersion, "kind": o.Kind, "namespace": o.Namespace, "name": o.Name, "resourceVersion": o.Version}
	if err := e.SetData("application/json", ref); err != nil {
		return event.Event{}, fmt.Errorf("encode %s: %w", eventType, err)
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{source, eventType, o.Cluster, o.ID(), o.Version}, "\x00")))
	e.SetID(hex.EncodeToString(sum[:12]))
	for name, value := range map[string]string{
		ExtAPIVersion: o.APIVersion, ExtKind: o.Kind, ExtNamespace: o.Namespace, ExtName: o.Name, ExtCluster: o.Cluster,
		ExtPartitionKey: PartitionKey(o.TemplateKey),
	} {
		if value != "" {
			e.SetExtension(name, value)
		}
	}
	return e, e.Validate()
}

// ellipsis ends a message that was cut.
const ellipsis = "…"

// shorten cuts a message so that it takes at most so many bytes of JSON, at a
// character's border; of a message for which there is no room nothing is left.
func shorten(s string, limit int) string {
	s = strings.ToValidUTF8(s, "�")
	if encodedSize(s) <= limit {
		return s
	}
	size := len(ellipsis)
	if size > limit {
		return ""
	}
	for i, r := range s {
		if size += encodedRune(r); size > limit {
			return s[:i] + ellipsis
		}
	}
	return s
}

// encodedSize is how many bytes a message takes at most in a JSON string.
func encodedSize(s string) int {
	size := 0
	for _, r := range s {
		size += encodedRune(r)
	}
	return size
}

func encodedRune(r rune) int {
	switch {
	case r < ' ', r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029':
		return len(`\u0000`)
	case r == '"', r == '\\':
		return 2
	}
	return utf8.RuneLen(r)
}
