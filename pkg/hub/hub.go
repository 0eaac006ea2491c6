// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/kinds/rules"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/interned"
	"sluice.dev/pkg/source/discovery"
)

// Hub is a connection to the control plane's API, and what this process knows
// of the kinds that it watches. It is safe for concurrent use.
type Hub struct {
	client    api
	clock     *clock
	catalog   *discovery.Cache
	alikes    alikes
	policies  scoped[*propagation.Policy]
	overrides scoped[propagation.Override]
	bindings  scoped[*propagation.Binding]
	works     map[propagation.Form]*kind[*propagation.Work]
	clusters  *kind[*clusterv1alpha1.Cluster]
	revisions *kind[*frozen]
	// history is what policies said. It is never watched.
	history *kind[*propagation.PolicyRevision]
	placing placing
	// interpreters are the rules of kinds.
	interpreters *kind[*rules.Interpreter]
	// secretRevisions are the frozen contents of Secrets, contents what the Secrets of
	// Works hold.
	secretRevisions *kind[*frozen]
	contents        *kind[*propagation.KeptContents]
	recorder        *recorder
	inside          inside

	// identity of the hub, once it is known.
	identity atomic.Pointer[string]

	mu sync.Mutex
	// own are the kinds above by name, as far as they can be watched.
	own map[schema.GroupVersionKind]watched
	// templates are the kinds that anybody has asked for.
	templates map[schema.GroupVersionKind]*kind[*propagation.Template]
}

// watched is any kind[T].
type watched interface {
	start(ctx context.Context, f func(Change)) error
	stop()
}

// api is the way to the hub, and the name under which writes are made.
type api struct {
	rest.Interface
	manager string
}

// foundFor is how long a kind that was found is assumed to be served, unless a request
// shows otherwise.
const foundFor = 30 * time.Second

// discover asks what is served at a path.
func (c api) discover(ctx context.Context, path []string, into any) error {
	raw, err := do(ctx, c.Get().AbsPath(path...))
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return fmt.Errorf("discover %s: %w", strings.Join(path, "/"), err)
	}
	return nil
}

// Connect makes a Hub, without any request. There is no client-side rate limit: the API
// server limits the rate by its answers.
func Connect(cfg *rest.Config) (*Hub, error) { return ConnectAs(cfg, propagation.FieldManager) }

// ConnectAs is Connect for a program that writes on behalf of a person: its writes are
// made with manager as the field manager. Writes with Sluice's own field manager are
// not announced to stages.
func ConnectAs(cfg *rest.Config, manager string) (*Hub, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	cfg.WarningHandler = rest.NoWarnings{}
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	if cfg.UserAgent == "" {
		cfg.UserAgent = "sluice/" + filepath.Base(os.Args[0])
	}
	// This package encodes and decodes objects itself; the client's scheme is for errors
	// (Status) only.
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	clock := &clock{now: time.Now}
	cfg.Wrap(clock.listen)
	at, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to the hub: %w", err)
	}
	client := api{at, manager}
	h := &Hub{
		client:          client,
		clock:           clock,
		catalog:         discovery.New(client.discover, foundFor, time.Now),
		policies:        both(client, policyKinds, decodePolicy),
		overrides:       both(client, overrideKinds, decodeOverride),
		bindings:        both(client, bindingKinds, decodeBinding),
		works:           map[propagation.Form]*kind[*propagation.Work]{},
		clusters:        &kind[*clusterv1alpha1.Cluster]{resource: clusterKind, client: client, decode: decodeCluster},
		revisions:       &kind[*frozen]{resource: revisionKind, client: client, selector: propagation.LabelBinding, decode: decodeRevision},
		history:         &kind[*propagation.PolicyRevision]{resource: revisionKind, client: client, selector: propagation.LabelPolicyUID, decode: decodePolicyRevision},
		secretRevisions: &kind[*frozen]{resource: secretKind, client: client, selector: propagation.LabelBinding, decode: decodeSecretRevision},
		contents:        &kind[*propagation.KeptContents]{resource: secretKind, client: client, decode: decodeContents},
		placing:         newPlacing(client),
		interpreters:    &kind[*rules.Interpreter]{resource: interpreterKind, client: client, decode: decodeInterpreter},
		recorder:        &recorder{component: cfg.UserAgent, sink: sink{client}},
		templates:       map[schema.GroupVersionKind]*kind[*propagation.Template]{},
	}
	h.own = map[schema.GroupVersionKind]watched{clusterKind.GroupVersionKind: h.clusters, revisionKind.GroupVersionKind: h.revisions, interpreterKind.GroupVersionKind: h.interpreters}
	for form, r := range workKinds {
		h.works[form] = &kind[*propagation.Work]{resource: r, client: client, decode: func(raw []byte) (record[*propagation.Work], error) { return decodeWork(form, raw) }}
		h.own[r.GroupVersionKind] = h.works[form]
	}
	maps.Copy(h.own, h.placing.watched())
	for _, s := range propagation.Scopes {
		h.own[policyKinds[s].GroupVersionKind] = h.policies[s]
		h.own[overrideKinds[s].GroupVersionKind] = h.overrides[s]
		h.own[bindingKinds[s].GroupVersionKind] = h.bindings[s]
	}
	return h, nil
}

func both[T any](client api, kinds map[propagation.Scope]resource, decode func(propagation.Scope, []byte) (record[T], error)) scoped[T] {
	s := scoped[T]{}
	for scope, r := range kinds {
		s[scope] = &kind[T]{resource: r, client: client, decode: func(raw []byte) (record[T], error) { return decode(scope, raw) }}
	}
	return s
}

// all lists both scopes, cluster scope last.
func (s scoped[T]) all(ctx context.Context) ([]T, error) {
	var all []T
	for _, scope := range propagation.Scopes {
		some, err := s[scope].list(ctx, "")
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// Watch keeps what this process knows of a kind up to date, until ctx ends or Unwatch,
// and calls f for what others change: one call after the other, never while anything is
// locked. It returns when the initial list has been read, whose objects f gets as
// Added; or, if that failed, with the error, and then nothing is watched.
//
// The watch of a kind starts once: a second call waits for the first one's
// initial list, and its f is not called.
func (h *Hub) Watch(ctx context.Context, gvk schema.GroupVersionKind, f func(Change)) error {
	k, err := h.watchable(gvk)
	if err != nil {
		return fmt.Errorf("watch %s: %w", gvk.Kind, err)
	}
	if err := k.start(ctx, f); err != nil {
		return fmt.Errorf("watch %s: %w", gvk.Kind, err)
	}
	return nil
}

// Version returns the hub's newest resourceVersion, read live. It decreases only if the
// hub is restored from a backup. It does not wait for a hub that is starting: what the
// caller knew before would be compared with what came much later.
func (h *Hub) Version(ctx context.Context) (uint64, error) {
	now, err := h.clusters.objects(query{}).Version(ctx)
	if err != nil {
		return 0, h.clusters.explain(err, "list "+h.clusters.Kind)
	}
	return propagation.Version(now), nil
}

// Unwatch ends the watch of a kind. Reads of it are live again.
func (h *Hub) Unwatch(gvk schema.GroupVersionKind) {
	if k, err := h.watchable(gvk); err == nil {
		k.stop()
	}
}

func (h *Hub) watchable(gvk schema.GroupVersionKind) (watched, error) {
	if k := h.own[gvk]; k != nil {
		return k, nil
	}
	return h.templateKind(gvk)
}

// Namespaced tells whether objects of the kind live in namespaces.
// outcome.ErrNotServed: the kind is not.
func (h *Hub) Namespaced(gvk schema.GroupVersionKind) (bool, error) {
	r, err := h.catalog.Find(gvk)
	return r.Namespaced, err
}

// object is the wire form of every kind of our own, of either scope.
type object[Spec, Status any] struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              Spec   `json:"spec,omitzero"`
	Status            Status `json:"status,omitzero"`
}

func decodeObject[Spec, Status any](raw []byte) (*object[Spec, Status], error) {
	o := &object[Spec, Status]{}
	if err := utiljson.Unmarshal(raw, o); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return o, nil
}

func recordOf[T any](m *metav1.ObjectMeta, value T) record[T] {
	interned.Map(m.Labels)
	interned.Map(m.Annotations)
	return record[T]{
		name: types.NamespacedName{Namespace: m.Namespace, Name: m.Name}, uid: m.UID,
		version: propagation.Version(m.ResourceVersion), value: value,
		final: m.DeletionTimestamp != nil && len(m.Finalizers) == 0 && (m.DeletionGracePeriodSeconds == nil || *m.DeletionGracePeriodSeconds == 0),
	}
}

// lastUserWrite is when somebody else last wrote anything but the status and the labels
// and annotations that are the system's own, such as those that kubectl sluice sets.
func lastUserWrite(m *metav1.ObjectMeta) time.Time {
	last := time.Time{}
	for _, f := range m.ManagedFields {
		if f.Manager != propagation.FieldManager && f.Subresource == "" && f.Time != nil && f.Time.After(last) && !onlyMarks(f.FieldsV1) {
			last = f.Time.Time
		}
	}
	if last.IsZero() {
		return m.CreationTimestamp.Time
	}
	return last
}

// onlyMarks reports whether the fields are labels and annotations of the system, and
// nothing else.
func onlyMarks(fields *metav1.FieldsV1) bool {
	var owned map[string]map[string]map[string]any
	if fields == nil || utiljson.Unmarshal(fields.Raw, &owned) != nil {
		return false
	}
	for in, parts := range owned {
		if in != "f:metadata" {
			return false
		}
		for part, keys := range parts {
			if part != "f:labels" && part != "f:annotations" {
				return false
			}
			for key := range keys {
				if name, isKey := strings.CutPrefix(key, "f:"); isKey && !propagation.IsSystemKey(name) {
					return false
				}
			}
		}
	}
	return true
}
