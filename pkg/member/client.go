// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/source/discovery"
)

// Ref names an object in a member by the key of its template.
type Ref = propagation.TemplateKey

// Client is a client for one member.
type Client struct {
	name    string
	http    *http.Client
	objects dynamic.Interface
	plain   rest.Interface
	kinds   *discovery.Cache
	// alike asks the hub for other versions in which objects of the kind have the same
	// fields.
	alike func(ctx context.Context, gvk schema.GroupVersionKind) ([]string, error)

	// doubted reports that a request failed in a way that may be due to outdated
	// credentials.
	doubted atomic.Bool
	// retired is closed when another client replaces this one.
	retired chan struct{}
	once    sync.Once

	mu     sync.Mutex
	stores map[schema.GroupVersionKind]*store
}

func newClient(cluster *clusterv1alpha1.Cluster, secret map[string][]byte, hub Source) (*Client, error) {
	cfg, err := configFor(cluster, secret)
	if err != nil {
		return nil, err
	}
	h, err := httpClient(cfg, cluster.Spec.ProxyHeader)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfigAndClient(cfg, h)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	// Only the API server's errors are decoded with a scheme.
	errorsOnly := runtime.NewScheme()
	metav1.AddToGroupVersion(errorsOnly, schema.GroupVersion{Version: "v1"})
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(errorsOnly).WithoutConversion()
	plain, err := rest.UnversionedRESTClientForConfigAndClient(cfg, h)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	c := &Client{name: cluster.Name, http: h, objects: objects, plain: plain, alike: hub.Alike, retired: make(chan struct{}), stores: map[schema.GroupVersionKind]*store{}}
	c.kinds = discovery.New(c.ask, 0, time.Now) // what is not served any more, an apply is told
	return c, nil
}

// retire ends the client's watches; requests under way end as they would.
func (c *Client) retire() {
	c.once.Do(func() {
		close(c.retired)
		utilnet.CloseIdleConnectionsFor(c.http.Transport)
	})
}

// Retired is closed when another client replaces this one.
func (c *Client) Retired() <-chan struct{} { return c.retired }

// Ready asks whether the member is ready to serve. A member that is too old for that
// question, or forbids it, is asked for its version instead.
func (c *Client) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	_, err := c.plain.Get().AbsPath("/readyz").DoRaw(ctx)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		_, err = c.version(ctx)
	}
	return c.classify(ctx, err, schema.GroupVersionKind{}, "")
}

// Version returns the version of the member's API server, such as v1.36.3.
func (c *Client) Version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	v, err := c.version(ctx)
	return v, c.classify(ctx, err, schema.GroupVersionKind{}, "")
}

func (c *Client) version(ctx context.Context) (string, error) {
	raw, err := c.plain.Get().AbsPath("/version").SetHeader("Accept", "application/json").DoRaw(ctx)
	if err != nil {
		return "", err
	}
	var v struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return "", fmt.Errorf("decode the version: %w", err)
	}
	return v.GitVersion, nil
}

// resource returns where objects of the kind are served, in the object's namespace, and
// in which version.
func (c *Client) resource(ctx context.Context, ref Ref) (dynamic.ResourceInterface, schema.GroupVersion, error) {
	r, err := c.scoped(ctx, ref)
	if err != nil {
		return nil, schema.GroupVersion{}, err
	}
	at := c.objects.Resource(r.GVR())
	if !r.Namespaced {
		return at, r.GroupVersion(), nil
	}
	return at.Namespace(ref.Namespace), r.GroupVersion(), nil
}

// scoped returns how the member serves the object's kind; *Misplaced: with namespaces,
// where the object has none, or the other way round.
func (c *Client) scoped(ctx context.Context, ref Ref) (discovery.Resource, error) {
	gvk := ref.GroupVersionKind()
	r, err := c.served(ctx, gvk)
	if err == nil && r.Namespaced != (ref.Namespace != "") { // it may have been defined anew
		if r, err = c.kinds.FindAnew(r.GroupVersion().WithKind(ref.Kind)); errors.Is(err, outcome.ErrNotServed) {
			err = &NotServed{c.name, gvk}
		}
	}
	if err == nil && r.Namespaced != (ref.Namespace != "") {
		err = &Misplaced{Refused{c.name, fmt.Sprintf("it serves %s %s, and not as the hub does: %s", ref.Kind, scopes[r.Namespaced], ref)}}
	}
	return r, err
}

var scopes = map[bool]string{true: "in namespaces", false: "without namespaces"}

// observe returns the object that the member returned, in the version that was asked
// for, whichever version it served.
func observe(apiVersion string, obj map[string]any, whole bool) *Observed {
	obj["apiVersion"] = apiVersion
	return applying.Observe(obj, whole)
}

// Observe returns the object as the member has it: from a watch, if the object is
// marked as Sluice's and its kind is watched; otherwise it is read. It returns
// outcome.ErrGone if there is none.
func (c *Client) Observe(ctx context.Context, ref Ref) (*Observed, error) {
	return c.look(ctx, ref, Looking{})
}

// read reads the object from the API server.
func (c *Client) read(ctx context.Context, ref Ref, opt metav1.GetOptions, whole bool) (*Observed, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	at, _, err := c.resource(ctx, ref)
	if misplaced := (*Misplaced)(nil); errors.As(err, &misplaced) {
		return nil, fmt.Errorf("%w: %w", err, outcome.ErrGone) // no such object can be there
	}
	if err != nil {
		return nil, err
	}
	obj, err := at.Get(ctx, ref.Name, opt)
	if err != nil {
		return nil, c.classify(ctx, err, ref.GroupVersionKind(), ref.Namespace)
	}
	return observe(ref.APIVersion, obj.Object, whole), nil
}

// errNoRemoval says that a deletion without permission was requested. That is a mistake
// in the program, so it must not be tried again.
var errNoRemoval = outcome.Terminal(errors.New("nothing permits to delete the object"))

// Delete asks the member to delete the object of the Removal, with its dependents in
// the background. If it is another one now, or in another version than the Removal
// permits, that is a conflict. gone reports whether it no longer exists: a finalizer or its grace
// period may delay that.
func (c *Client) Delete(ctx context.Context, ref Ref, r applying.Removal) (gone bool, err error) {
	if !r.Permits() {
		return false, fmt.Errorf("delete %s in %s: %w", ref, c.name, errNoRemoval)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	path, err := c.path(ctx, ref)
	if misplaced := (*Misplaced)(nil); errors.As(err, &misplaced) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	uid, background := r.UID(), metav1.DeletePropagationBackground
	only := metav1.Preconditions{UID: &uid}
	if version := r.Version(); version != "" {
		only.ResourceVersion = &version
	}
	body, err := json.Marshal(metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		PropagationPolicy: &background,
		Preconditions:     &only,
	})
	if err != nil {
		return false, fmt.Errorf("encode: %w", err)
	}
	done := c.deleting(ref, uid)
	answer, err := c.plain.Delete().AbsPath(path...).SetHeader("Content-Type", runtime.ContentTypeJSON).SetHeader("Accept", runtime.ContentTypeJSON).Body(body).DoRaw(ctx)
	gone = err == nil && went(answer)
	done(gone)
	if err = c.classify(ctx, err, ref.GroupVersionKind(), ref.Namespace); errors.Is(err, outcome.ErrGone) {
		return true, nil
	}
	return gone, err
}

// went reports from the answer to a deletion whether the object is gone. The answer is
// a Status, or the object in its last state, which shows what delays its deletion.
func went(answer []byte) bool {
	var kept struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := json.Unmarshal(answer, &kept); err != nil {
		return false
	}
	grace := kept.Metadata.DeletionGracePeriodSeconds
	return len(kept.Metadata.Finalizers) == 0 && (grace == nil || *grace == 0)
}

// path returns the path at which the object is served.
func (c *Client) path(ctx context.Context, ref Ref) ([]string, error) {
	r, err := c.scoped(ctx, ref)
	return r.Path(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}), err
}

// autoscaled reports whether a HorizontalPodAutoscaler in the member sets the number of
// replicas of the object.
func (c *Client) autoscaled(ctx context.Context, ref Ref) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	autoscaler := Ref{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler", Namespace: ref.Namespace}
	at, _, err := c.resource(ctx, autoscaler)
	var notServed *NotServed
	switch {
	case errors.As(err, &notServed):
		return false, nil
	case err != nil:
		return false, err
	}
	list, err := at.List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, c.classify(ctx, err, autoscaler.GroupVersionKind(), ref.Namespace)
	}
	for i := range list.Items {
		target, _, err := unstructured.NestedStringMap(list.Items[i].Object, "spec", "scaleTargetRef")
		if err != nil {
			return false, fmt.Errorf("read %s %s of %s: %w", autoscaler.Kind, list.Items[i].GetName(), c.name, err)
		}
		kind := schema.FromAPIVersionAndKind(target["apiVersion"], target["kind"]).GroupKind()
		if kind == ref.GroupVersionKind().GroupKind() && target["name"] == ref.Name {
			return true, nil
		}
	}
	return false, nil
}

// EnsureNamespace creates the namespace with LabelCreated and these labels if it does
// not exist.
func (c *Client) EnsureNamespace(ctx context.Context, name string, labels map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ref := Ref{APIVersion: "v1", Kind: "Namespace", Name: name}
	ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	ns.SetName(name)
	all := map[string]string{LabelCreated: "true"}
	maps.Copy(all, labels)
	ns.SetLabels(all)
	at := c.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	_, err := at.Create(ctx, ns, metav1.CreateOptions{FieldManager: propagation.FieldManager})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return c.classify(ctx, err, ref.GroupVersionKind(), "")
}
