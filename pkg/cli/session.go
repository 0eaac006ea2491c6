// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/cli/screen"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// session is what all commands share: the flags of kubectl, and the clients made from
// them.
type session struct {
	flags   *genericclioptions.ConfigFlags
	streams genericiooptions.IOStreams
	screen  *screen.Screen
}

func (s *session) config() (*rest.Config, error) {
	c, err := s.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	c = rest.CopyConfig(c)
	c.QPS, c.WarningHandler = -1, rest.NoWarnings{}
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	return c, nil
}

// program is the user agent of requests.
const program = "kubectl-sluice"

func (s *session) hub() (*hub.Hub, error) {
	c, err := s.config()
	if err != nil {
		return nil, err
	}
	c.UserAgent = program
	return hub.ConnectAs(c, program)
}

func (s *session) kube() (kubernetes.Interface, error) {
	c, err := s.config()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(c)
}

func (s *session) dynamic() (dynamic.Interface, error) {
	c, err := s.config()
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(c)
}

func (s *session) metadata() (metadata.Interface, error) {
	c, err := s.config()
	if err != nil {
		return nil, err
	}
	return metadata.NewForConfig(c)
}

func (s *session) mapper() (meta.RESTMapper, error) { return s.flags.ToRESTMapper() }

// namespace returns that of -n, or of the kubeconfig's context.
func (s *session) namespace() (string, error) {
	ns, _, err := s.flags.ToRawKubeConfigLoader().Namespace()
	return ns, err
}

// mapping returns where the hub serves a kind.
func (s *session) mapping(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	m, err := s.mapper()
	if err != nil {
		return nil, err
	}
	return m.RESTMapping(gvk.GroupKind(), gvk.Version)
}

// created returns the metadata of the objects of a kind, by name. In a namespace there are
// none of a kind that has none.
func (s *session) created(ctx context.Context, gvk schema.GroupVersionKind, namespace, selector string) (map[types.NamespacedName]metav1.ObjectMeta, error) {
	mapping, err := s.mapping(gvk)
	if err != nil {
		return nil, err
	}
	if namespace != "" && mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return nil, nil
	}
	client, err := s.metadata()
	if err != nil {
		return nil, err
	}
	var list *metav1.PartialObjectMetadataList
	err = inTime(ctx, func(ctx context.Context) (err error) {
		list, err = client.Resource(mapping.Resource).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", mapping.Resource.Resource, err)
	}
	out := make(map[types.NamespacedName]metav1.ObjectMeta, len(list.Items))
	for _, o := range list.Items {
		out[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}] = o.ObjectMeta
	}
	return out, nil
}

// installed adds to the error of listing Sluice's own kinds what to do about it.
func installed(err error) error {
	if errors.Is(err, outcome.ErrNotServed) {
		return fmt.Errorf("%w: the hub does not serve Sluice's kinds, so nobody can tell what was propagated, and members keep what they have: install them with 'kubectl apply -f config/300-crds', or name another hub with --context", err)
	}
	return err
}

// world reads what the decisions about all templates depend on.
func world(ctx context.Context, h *hub.Hub) (explaining.World, error) {
	var (
		w   explaining.World
		err error
	)
	if w.Policies, err = h.Policies(ctx); err != nil {
		return w, installed(err)
	}
	if w.Clusters, err = h.Clusters(ctx); err != nil {
		return w, installed(err)
	}
	// Without permission to read the rules of kinds, only the built-in ones are used.
	if w.Kinds, err = h.Rules(ctx); err != nil && !apierrors.IsForbidden(err) {
		return w, fmt.Errorf("get the rules of kinds: %w", err)
	}
	w.Features, w.Unknown, err = h.FeaturesTold(ctx)
	return w, err
}

// subject reads a template and its binding. It returns outcome.ErrGone for a template
// that is gone.
func subject(ctx context.Context, h *hub.Hub, key propagation.TemplateKey) (explaining.Subject, error) {
	var s explaining.Subject
	b, err := h.Binding(ctx, propagation.BindingOf(key))
	switch {
	case err == nil:
		s.Binding = b
		key = b.Read(key) // the hub may serve several versions of the kind; the binding's counts
	case !errors.Is(err, outcome.ErrGone):
		return s, installed(err)
	}
	if s.Template, err = h.Template(ctx, key); err == nil {
		s.Template = s.Template.KnownTo(s.Binding)
	}
	return s, err
}

// errNotFound: the named object does not exist.
var errNotFound = errors.New("not found")

// notFound returns that error in kubectl's words.
func notFound(key propagation.TemplateKey, err error) error {
	if errors.Is(err, outcome.ErrGone) {
		if key.Namespace == "" {
			kind, _, _ := strings.Cut(refOf(key), "/")
			return fmt.Errorf("%s %w: 'kubectl get %s' lists them", refOf(key), errNotFound, kind)
		}
		return fmt.Errorf("%s %w in namespace %s: name another namespace with -n", refOf(key), errNotFound, key.Namespace)
	}
	return err
}
