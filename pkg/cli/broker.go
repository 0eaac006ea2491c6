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

// eventing is the pipeline's part of a Knative cluster.
type eventing struct {
	client dynamic.Interface
	kube   kubernetes.Interface
}

// knativeFlag names the cluster that Sluice runs on.
const knativeFlag = "knative-kubeconfig"

// elsewhere are the flags of commands that write where Sluice runs.
type elsewhere struct{ file string }

func (e *elsewhere) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&e.file, knativeFlag, "", "kubeconfig of the Knative cluster that Sluice runs on (default: it is the hub)")
	_ = cmd.MarkFlagFilename(knativeFlag)
}

// runsOn is the part of the pipeline where the file leads to, or the hub if there
// is none.
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

// eventing is nil where the cluster has no Knative, or Sluice does not run on it:
// one process looks after the members then.
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

// memberObject is one that a member has on Knative, called by prefix and member.
type memberObject struct {
	resource schema.GroupVersionResource
	kind     schema.GroupVersionKind
	prefix   string
}

// What a member has on Knative, in the order in which it is made, but for the Trigger
// and the source, which those had that joined when each had one.
var (
	memberRole        = memberObject{roles, rbacv1.SchemeGroupVersion.WithKind("Role"), "member-"}
	memberRoleBinding = memberObject{roleBindings, rbacv1.SchemeGroupVersion.WithKind("RoleBinding"), "member-"}
	memberTrigger     = memberObject{triggers, eventingv1.SchemeGroupVersion.WithKind("Trigger"), "applier-"}
	memberSource      = memberObject{knative.ContainerSources, sourcesv1.SchemeGroupVersion.WithKind("ContainerSource"), "member-"}

	memberObjects = []memberObject{memberRole, memberRoleBinding, memberTrigger, memberSource}
)

// admit lets those functions read the member's credentials that need them.
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

// join admits the member; undo takes back what was made. The sweeper has a source tell
// of it.
func (e *eventing) join(ctx context.Context, cluster string) (undo func(context.Context) error, err error) {
	return func(ctx context.Context) error { return e.unjoin(ctx, cluster) }, e.admit(ctx, cluster)
}

// apply makes an object, or takes over what a join left that was killed.
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

// unjoin deletes what join made. That they are gone is fine.
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
