// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	sourcesv1 "knative.dev/eventing/pkg/apis/sources/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// templatesName is the ApiServerSource of the templates.
const templatesName = "templates"

// hubSource is the ContainerSource of the hub's own objects.
const hubSource = "hub"

// labelCluster, on what a member has on the hub, is the member's name.
const labelCluster = "sluice.dev/cluster"

// labelSource says what a ContainerSource tells of.
const labelSource = "sluice.dev/source"

var (
	apiServerSources = sourcesv1.SchemeGroupVersion.WithResource("apiserversources")
	// ContainerSources is where the members' sources are served.
	ContainerSources = sourcesv1.SchemeGroupVersion.WithResource("containersources")
)

// Resources finds the name under which a kind is served; outcome.ErrNotServed where
// it is not.
type Resources interface {
	Resource(gvk schema.GroupVersionKind) (schema.GroupVersionResource, error)
}

// Hub is what the sources tell of.
type Hub interface {
	Resources
	Clusters(ctx context.Context) ([]*clusterv1alpha1.Cluster, error)
	// Identity tells the hub from others, whose objects a member may have, too; empty:
	// nobody knows.
	Identity(ctx context.Context) (string, error)
}

// Sources are the sources of a Knative cluster.
type Sources struct {
	client  dynamic.Interface
	reviews authorization.SubjectAccessReviewInterface
	hub     Hub
	retired atomic.Bool // the Triggers that each member once had are gone
}

// InCluster is the sources of the cluster that this process is in.
func InCluster(h Hub) (*Sources, error) {
	cfg, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster's own API: %w", err)
	}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster's own API: %w", err)
	}
	kube, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster's own API: %w", err)
	}
	return New(client, kube.AuthorizationV1().SubjectAccessReviews(), h), nil
}

// New makes them of their parts.
func New(client dynamic.Interface, reviews authorization.SubjectAccessReviewInterface, h Hub) *Sources {
	return &Sources{client: client, reviews: reviews, hub: h}
}

// Follow makes the sources watch the kinds: the source of templates those that its
// account may watch, the sources of members all, in each member. With keep, kinds that
// they watch already stay. It returns the label selector of the namespaces of templates
// (empty: all namespaces, also where there is no source of templates), and whether a
// source has to restart, which reports nothing meanwhile. It also deletes the Triggers
// that earlier versions made for each member.
func (s *Sources) Follow(ctx context.Context, kinds []schema.GroupVersionKind, keep bool) (selector string, changed bool, err error) {
	served, err := s.served(kinds)
	if err != nil {
		return "", false, err
	}
	selector, templates, err := s.templates(ctx, served, keep)
	if err != nil {
		return "", false, err
	}
	containers, err := s.containers(ctx, served, keep)
	if err := s.retire(ctx); err != nil { // which delivers some events twice, and hinders nothing
		slog.WarnContext(ctx, "Triggers of an earlier version stay, and are tried again with the next sweep", "error", err)
	}
	return selector, templates || containers, err
}

// following returns what has to be watched, in the present order as far as possible: a
// source is not restarted because of the order alone.
func following[T comparable](has, want []T, keep bool) []T {
	out := slices.DeleteFunc(slices.Clone(has), func(t T) bool { return !keep && !slices.Contains(want, t) })
	for _, t := range want {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// kind is one that the hub serves.
type kind struct {
	schema.GroupVersionKind
	resource schema.GroupVersionResource
}

func (s *Sources) served(kinds []schema.GroupVersionKind) ([]kind, error) {
	var served []kind
	for _, gvk := range kinds {
		r, err := s.hub.Resource(gvk)
		if errors.Is(err, outcome.ErrNotServed) {
			continue
		}
		if err != nil {
			return nil, err
		}
		served = append(served, kind{gvk, r})
	}
	slices.SortFunc(served, func(a, b kind) int {
		return cmp.Or(strings.Compare(a.resource.Group, b.resource.Group), strings.Compare(a.resource.Resource, b.resource.Resource))
	})
	return served, nil
}

func (s *Sources) templates(ctx context.Context, kinds []kind, keep bool) (selector string, changed bool, err error) {
	sources := s.client.Resource(apiServerSources).Namespace(propagation.SystemNamespace)
	u, err := sources.Get(ctx, templatesName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("get ApiServerSource %s: %w", templatesName, err)
	}
	var source sourcesv1.ApiServerSource
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &source); err != nil {
		return "", false, fmt.Errorf("decode ApiServerSource %s: %w", templatesName, err)
	}
	labels, err := metav1.LabelSelectorAsSelector(source.Spec.NamespaceSelector)
	if err != nil {
		return "", false, fmt.Errorf("namespaceSelector of ApiServerSource %s: %w", templatesName, err)
	}
	allowed, err := s.allowed(ctx, &source, kinds)
	if err != nil {
		return "", false, err
	}
	has := bare(source.Spec.Resources)
	still, err := s.still(has)
	if err != nil {
		return "", false, err
	}
	want := following(still, allowed, keep && permitted(&source))
	// A source needs a kind; one for which there is nothing stays as it is.
	if len(want) > 0 && !slices.Equal(want, has) {
		patch := map[string]any{"spec": map[string]any{"resources": want}}
		return labels.String(), true, s.patch(ctx, apiServerSources, u, patch)
	}
	return labels.String(), false, nil
}

// apiKind is an entry of an ApiServerSource.
type apiKind struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

func bare(selectors []sourcesv1.APIVersionKindSelector) (kinds []apiKind) {
	for _, s := range selectors {
		kinds = append(kinds, apiKind{s.APIVersion, s.Kind})
	}
	return kinds
}

// still are those that the hub serves: the adapter does not start while the whole group of
// a kind is missing.
func (s *Sources) still(has []apiKind) (still []apiKind, err error) {
	for _, k := range has {
		_, err := s.hub.Resource(schema.FromAPIVersionAndKind(k.APIVersion, k.Kind))
		if errors.Is(err, outcome.ErrNotServed) {
			continue
		}
		if err != nil {
			return nil, err
		}
		still = append(still, k)
	}
	return still, nil
}

// permitted tells whether the source may watch all that it is asked to.
func permitted(source *sourcesv1.ApiServerSource) bool {
	return source.Status.GetCondition(sourcesv1.ApiServerConditionSufficientPermissions).IsTrue()
}

// allowed are the kinds that the account of the source may watch wherever it
// looks.
func (s *Sources) allowed(ctx context.Context, source *sourcesv1.ApiServerSource, kinds []kind) (allowed []apiKind, err error) {
	has := bare(source.Spec.Resources)
	for _, k := range kinds {
		entry := apiKind{k.GroupVersion().String(), k.Kind}
		may := slices.Contains(has, entry) && permitted(source)
		if !may {
			if may, err = s.may(ctx, source, k.resource); err != nil {
				return nil, err
			}
		}
		if may {
			allowed = append(allowed, entry)
		}
	}
	return allowed, nil
}

func (s *Sources) may(ctx context.Context, source *sourcesv1.ApiServerSource, r schema.GroupVersionResource) (bool, error) {
	everywhere, err := s.review(ctx, source, r, "")
	if everywhere || err != nil {
		return everywhere, err
	}
	for _, namespace := range source.Status.Namespaces {
		if ok, err := s.review(ctx, source, r, namespace); !ok || err != nil {
			return false, err
		}
	}
	return len(source.Status.Namespaces) > 0, nil
}

func (s *Sources) review(ctx context.Context, source *sourcesv1.ApiServerSource, r schema.GroupVersionResource, namespace string) (bool, error) {
	review, err := s.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: reviewOf(source.Namespace, source.Spec.ServiceAccountName, &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: "watch", Group: r.Group, Version: r.Version, Resource: r.Resource,
		}),
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask what %s may watch: %w", source.Spec.ServiceAccountName, err)
	}
	return review.Status.Allowed, nil
}

// containers updates the ContainerSources: those of members watch objects that Sluice
// applied, that of the templates all objects. Sources of members get the image of the
// source of the hub, which is installed with config/.
func (s *Sources) containers(ctx context.Context, kinds []kind, keep bool) (changed bool, err error) {
	resources := make([]schema.GroupVersionResource, len(kinds))
	for i, k := range kinds {
		resources[i] = k.resource
	}
	list, err := s.client.Resource(ContainerSources).Namespace(propagation.SystemNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, fmt.Errorf("list ContainerSources: %w", err)
	}
	image := ""
	for i := range list.Items {
		if list.Items[i].GetName() == hubSource {
			if image, err = imageOf(&list.Items[i]); err != nil {
				return false, err
			}
		}
	}
	hub, err := s.hub.Identity(ctx)
	if err != nil {
		return false, fmt.Errorf("say which hub it is: %w", err)
	}
	content, err := watching(resources, applied, hub).encode()
	if err != nil {
		return false, err
	}
	if err := s.members(ctx, list.Items, image, content); err != nil || len(kinds) == 0 { // a source needs a kind
		return false, err
	}
	for i := range list.Items {
		u := &list.Items[i]
		patched := false
		switch labels := u.GetLabels(); {
		case labels[labelCluster] != "", labels[labelSource] == membersSource:
			patched, err = s.container(ctx, u, resources, keep, applied, hub, image)
		case labels[labelSource] == templatesName:
			patched, err = s.container(ctx, u, resources, keep, unfrozen, "", "")
		}
		if changed = changed || patched; err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// imageOf is the image of a ContainerSource; empty where it has none.
func imageOf(u *unstructured.Unstructured) (string, error) {
	containers, err := containersOf(u)
	if err != nil || len(containers) == 0 {
		return "", err
	}
	container, _ := containers[0].(map[string]any)
	image, _ := container["image"].(string)
	return image, nil
}

func containersOf(u *unstructured.Unstructured) ([]any, error) {
	containers, _, err := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	if err != nil {
		return nil, fmt.Errorf("decode ContainerSource %s: %w", u.GetName(), err)
	}
	return containers, nil
}

// container has the adapter of a ContainerSource watch what it shall, but for what the hub
// writes, and be of the image, if they are given.
func (s *Sources) container(ctx context.Context, u *unstructured.Unstructured, want []schema.GroupVersionResource, keep bool, selector, hub, image string) (changed bool, err error) {
	containers, err := containersOf(u)
	if err != nil {
		return false, err
	}
	for _, c := range containers {
		if container, _ := c.(map[string]any); image != "" && container["image"] != image {
			container["image"], changed = image, true
		}
		is, err := configured(c)
		if err != nil {
			return false, fmt.Errorf("ContainerSource %s: %w", u.GetName(), err)
		}
		shall := watching(following(is.resources(), want, keep), selector, hub)
		if v := variable(c); v != nil && !reflect.DeepEqual(is, shall) {
			if v["value"], err = shall.encode(); err != nil {
				return false, err
			}
			changed = true
		}
	}
	if !changed {
		return false, nil
	}
	return true, s.patch(ctx, ContainerSources, u, map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containers}}}})
}

// patch writes if the object still is as it was read. After a lost race the next
// tick tries again.
func (s *Sources) patch(ctx context.Context, r schema.GroupVersionResource, u *unstructured.Unstructured, patch map[string]any) error {
	patch["metadata"] = map[string]any{"resourceVersion": u.GetResourceVersion()}
	raw, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = s.client.Resource(r).Namespace(u.GetNamespace()).Patch(ctx, u.GetName(), types.MergePatchType, raw, metav1.PatchOptions{FieldManager: propagation.FieldManager})
	if err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("patch %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return nil
}
