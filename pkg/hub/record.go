// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	events "k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/conditions"
)

// recordTimeout ends the attempt to write an event.
const recordTimeout = 10 * time.Second

// retryRecord is waited before an event that could not be written is tried
// again; those behind it wait, too.
const retryRecord = 200 * time.Millisecond

// recordTries is how often the creation of an event with a name of its own is tried, and
// recordOnce how many of these events may wait.
const (
	recordTries = 5
	recordOnce  = 1000
)

// About names the object that a Kubernetes event is about.
type About struct {
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
	UID        types.UID
}

// Record writes a Kubernetes event, later: it never waits, and what cannot be
// written is dropped. Events that are alike are counted in one.
func (h *Hub) Record(_ context.Context, about About, eventType, reason, message string) {
	h.recorder.start.Do(h.recorder.run)
	h.recorder.queue(about).Event(&corev1.ObjectReference{
		APIVersion: about.APIVersion, Kind: about.Kind, Namespace: about.Namespace, Name: about.Name, UID: about.UID,
	}, eventType, reason, conditions.Message(message))
}

// RecordOnce is Record for what is recorded once on an occasion, however often, and by
// however many processes, it is noticed: the event's name ends in the occasion, so that
// the API server refuses a second one for as long as it keeps the first, and lists them
// in order.
func (h *Hub) RecordOnce(_ context.Context, about About, occasion, eventType, reason, message string) {
	h.recorder.start.Do(h.recorder.run)
	now := metav1.Now()
	hash := sha256.Sum256([]byte(about.UID))
	e := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: cmp.Or(about.Namespace, metav1.NamespaceDefault), Name: fmt.Sprintf("%s.%x.%s", about.Name, hash[:4], occasion)},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: about.APIVersion, Kind: about.Kind, Namespace: about.Namespace, Name: about.Name, UID: about.UID,
		},
		Source: corev1.EventSource{Component: h.recorder.componentOf(about)}, Type: eventType, Reason: reason, Message: conditions.Message(message),
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
	select {
	case h.recorder.once <- e:
	default: // what cannot be written is dropped
	}
}

// Mention is Record of something that went well, and that can be read elsewhere: at most
// mentionBurst at once and mentionRate a second of them are written by a process, and
// the others are left out, so that they cost nothing where much is done.
func (h *Hub) Mention(ctx context.Context, about About, reason, message string) {
	h.recorder.start.Do(h.recorder.run)
	if h.recorder.mentions.TryAccept() {
		h.Record(ctx, about, Normal, reason, message)
	}
}

const (
	mentionBurst = 20
	mentionRate  = 5
)

// recorderQueues is how many events are written at once. Those about one object
// share a queue, so that what is alike is counted.
const recorderQueues = 8

// recorder writes events in the background, from the first one on.
type recorder struct {
	component string
	sink      sink
	start     sync.Once
	// queues hold a recorder for each component that events come from.
	queues   [recorderQueues]map[string]events.EventRecorder
	mentions flowcontrol.RateLimiter
	// once holds the events with names of their own that wait to be written.
	once chan *corev1.Event
}

func (r *recorder) run() {
	// What is dropped is not worth a log line of every library on the way.
	r.mentions = flowcontrol.NewTokenBucketRateLimiter(mentionRate, mentionBurst)
	silent := klog.NewContext(context.Background(), klog.Logger{})
	for i := range r.queues {
		b := events.NewBroadcaster(events.WithContext(silent), events.WithSleepDuration(retryRecord))
		b.StartRecordingToSink(r.sink)
		r.queues[i] = map[string]events.EventRecorder{}
		for _, component := range []string{r.component, placementv1.EventComponent} {
			r.queues[i][component] = b.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: component}).WithLogger(klog.Logger{})
		}
	}
	r.once = make(chan *corev1.Event, recordOnce)
	go func() {
		for e := range r.once {
			r.write(e)
		}
	}()
}

// write creates the event, unless it exists.
func (r *recorder) write(e *corev1.Event) {
	for range recordTries {
		if _, err := r.sink.Create(e); err == nil || apierrors.IsAlreadyExists(err) {
			return
		}
		<-time.After(retryRecord)
	}
}

// componentOf is the component that events about the object come from; for placements,
// that is the one that people look for.
func (r *recorder) componentOf(about About) string {
	if about.Kind == placementKind.Kind {
		return placementv1.EventComponent
	}
	return r.component
}

func (r *recorder) queue(about About) events.EventRecorder {
	h := fnv.New32a()
	_, _ = io.WriteString(h, about.Kind+"/"+about.Namespace+"/"+about.Name)
	return r.queues[h.Sum32()%recorderQueues][r.componentOf(about)]
}

// sink is an events.EventSink.
type sink struct{ client rest.Interface }

var eventKind = resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Event"), Plural: "events", Namespaced: true}

func (s sink) Create(e *corev1.Event) (*corev1.Event, error) {
	return s.send(s.client.Post().AbsPath(eventKind.Path(types.NamespacedName{Namespace: e.Namespace})...), runtime.ContentTypeJSON, e)
}

func (s sink) Update(e *corev1.Event) (*corev1.Event, error) {
	return s.send(s.client.Put().AbsPath(eventKind.Path(types.NamespacedName{Namespace: e.Namespace, Name: e.Name})...), runtime.ContentTypeJSON, e)
}

func (s sink) Patch(e *corev1.Event, patch []byte) (*corev1.Event, error) {
	req := s.client.Verb(http.MethodPatch).AbsPath(eventKind.Path(types.NamespacedName{Namespace: e.Namespace, Name: e.Name})...)
	return s.send(req, string(types.StrategicMergePatchType), json.RawMessage(patch))
}

func (s sink) send(req *rest.Request, contentType string, body any) (*corev1.Event, error) {
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	defer cancel()
	raw, err := send(ctx, req, contentType, body)
	if err != nil {
		return nil, err
	}
	e := &corev1.Event{}
	return e, json.Unmarshal(raw, e)
}
