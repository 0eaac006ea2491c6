// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	sourcesv1 "knative.dev/eventing/pkg/apis/sources/v1"

	"sluice.dev/config"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/source/knative"
)

// brokerName is the Broker of the pipeline.
const brokerName = "sluice"

var (
	brokers      = eventingv1.SchemeGroupVersion.WithResource("brokers")
	triggers     = eventingv1.SchemeGroupVersion.WithResource("triggers")
	roles        = rbacv1.SchemeGroupVersion.WithResource("roles")
	roleBindings = rbacv1.SchemeGroupVersion.WithResource("rolebindings")
)

// eventing has clients for the Knative cluster that the pipeline runs on.
type eventing struct {
	client dynamic.Interface
	kube   kubernetes.Interface
}

// knativeFlag names the cluster that Sluice runs on.
const knativeFlag = "knative-kubeconfig"

// elsewhere has the flags of commands that write to the cluster that Sluice runs on.
type elsewhere struct{ file string }

func (e *elsewhere) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&e.file, knativeFlag, "", "kubeconfig of the Knative cluster that Sluice runs on (default: it is the hub)")
	_ = cmd.MarkFlagFilename(knativeFlag)
}

// runsOn returns the pipeline in the cluster of the kubeconfig file, or on the hub if
// there is none.
func (e *elsewhere) runsOn(ctx context.Context, s *session) (*eventing, error) {
	if e.file == "" {
		return s.eventing(ctx)
	}
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.CacheDir = &e.file, s.flags.CacheDir
	other := *s
	other.flags = flags
	found, err := other.eventing(ctx)
	if err == nil && found == nil {
		err = fmt.Errorf("%s leads to no cluster that Sluice runs on: there is no Broker %s/%s", e.file, propagation.SystemNamespace, brokerName)
	}
	return found, err
}

// eventing returns the pipeline on the hub; nil if the hub has no Knative, or Sluice
// does not run there. Then one process runs all stages.
func (s *session) eventing(ctx context.Context) (*eventing, error) {
	client, err := s.dynamic()
	if err != nil {
		return nil, err
	}
	_, err = client.Resource(brokers).Namespace(propagation.SystemNamespace).Get(ctx, brokerName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) { // the kind, or the Broker
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for the Broker %s: %w", brokerName, err)
	}
	e := &eventing{client: client}
	e.kube, err = s.kube()
	return e, err
}

// memberObject is a kind of object that exists for each member on Knative. Its name is
// the prefix and the member's name.
type memberObject struct {
	resource schema.GroupVersionResource
	kind     schema.GroupVersionKind
	prefix   string
}

// The objects of a member on Knative, in the order in which they are created. Trigger
// and source are only deleted: earlier versions created one for each member.
var (
	memberRole        = memberObject{roles, rbacv1.SchemeGroupVersion.WithKind("Role"), "member-"}
	memberRoleBinding = memberObject{roleBindings, rbacv1.SchemeGroupVersion.WithKind("RoleBinding"), "member-"}
	memberTrigger     = memberObject{triggers, eventingv1.SchemeGroupVersion.WithKind("Trigger"), "applier-"}
	memberSource      = memberObject{knative.ContainerSources, sourcesv1.SchemeGroupVersion.WithKind("ContainerSource"), "member-"}

	memberObjects = []memberObject{memberRole, memberRoleBinding, memberTrigger, memberSource}
)

// admit gives access to the member's credentials to the functions that need it.
func (e *eventing) admit(ctx context.Context, cluster string) error {
	role, binding, err := config.MemberAccess(cluster)
	if err != nil {
		return err
	}
	if err := e.apply(ctx, memberRole, cluster, &role); err != nil {
		return err
	}
	return e.apply(ctx, memberRoleBinding, cluster, &binding)
}

// join calls admit, and returns undo, which removes what was created. The sweeper makes
// a source watch the member.
func (e *eventing) join(ctx context.Context, cluster string) (undo func(context.Context) error, err error) {
	return func(ctx context.Context) error { return e.unjoin(ctx, cluster) }, e.admit(ctx, cluster)
}

// apply creates an object, or takes over one that an interrupted join left behind.
func (e *eventing) apply(ctx context.Context, o memberObject, cluster string, object any) error {
	name := o.prefix + cluster
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", o.kind.Kind, name, err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(o.kind)
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(u.Object, "spec", "template", "metadata", "creationTimestamp")
	_, err = e.client.Resource(o.resource).Namespace(propagation.SystemNamespace).Apply(ctx, name, u, metav1.ApplyOptions{FieldManager: program, Force: true})
	if err != nil {
		return fmt.Errorf("make %s %s: %w", o.kind.Kind, name, err)
	}
	return nil
}

// unjoin deletes the member's objects. Missing ones are ignored.
func (e *eventing) unjoin(ctx context.Context, cluster string) error {
	var errs []error
	for _, o := range slices.Backward(memberObjects) {
		name := o.prefix + cluster
		err := e.client.Resource(o.resource).Namespace(propagation.SystemNamespace).Delete(ctx, name, metav1.DeleteOptions{})
		if err := ignoreNotFound(err); err != nil {
			errs = append(errs, fmt.Errorf("delete %s %s: %w", o.kind.Kind, name, err))
		}
	}
	return errors.Join(errs...)
}
