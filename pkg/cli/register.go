// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/config"
	"sluice.dev/pkg/cli/joining"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/source/knative"
)

const (
	// labelCluster on what a join creates on the hub is the cluster's name.
	labelCluster = "sluice.dev/cluster"
	// keyKubeconfig is the key of the credentials in their Secret.
	keyKubeconfig = "kubeconfig"
)

var clusterResource = clusterv1alpha1.SchemeGroupVersion.WithResource(clusterv1alpha1.ResourceClusters)

// registration creates the objects of a cluster on the hub, with the Cluster last: as
// long as that does not exist, Sluice ignores the others.
type registration struct {
	*joinOptions
	kube kubernetes.Interface
	// place is the Knative cluster that Sluice runs on; nil: one process runs all
	// stages.
	place  *eventing
	member *joining.Credentials
	id     joining.Identity
	// reader is what the member's source reads with, for the hub of that identity; nil:
	// it reads with the member's credentials.
	reader *joining.Reader
	hubID  string
	// former is the Secret with the credentials as an earlier join left it; nil: there
	// was none.
	former *corev1.Secret
	// undo removes what was created, in reverse order.
	undo []func(context.Context) error
}

func (o *joinOptions) register(ctx context.Context, place *eventing, member *joining.Credentials, id joining.Identity) error {
	kube, err := o.kube()
	if err != nil {
		return err
	}
	r := &registration{joinOptions: o, kube: kube, place: place, member: member, id: id}
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return r.namespace(ctx, propagation.SystemNamespace, nil) },
		r.read,
		r.secret,
		func(ctx context.Context) error {
			return r.namespace(ctx, propagation.WorkNamespace(o.name), map[string]string{labelCluster: o.name})
		},
		r.free,
		r.eventing,
		r.cluster,
	} {
		if err := step(ctx); err != nil {
			return errors.Join(err, r.rollBack())
		}
	}
	r.revoke(ctx)
	return nil
}

// rollBackWithin is the time for cleaning up; the command's own time may be over.
const rollBackWithin = 15 * time.Second

func (r *registration) rollBack() error {
	ctx, cancel := context.WithTimeout(context.Background(), rollBackWithin)
	defer cancel()
	var errs []error
	for _, undo := range slices.Backward(r.undo) {
		if err := undo(ctx); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("roll back: %w", err))
		}
	}
	return errors.Join(errs...)
}

// namespace creates a namespace, if it does not exist. If one is still being deleted
// after an unjoin, it waits.
func (r *registration) namespace(ctx context.Context, name string, labels map[string]string) error {
	namespaces := r.kube.CoreV1().Namespaces()
	p := r.screen.Progress()
	defer p.Clear()
	err := poll(ctx, r.timeout, func(ctx context.Context) (bool, error) {
		ns, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
		if err == nil {
			r.undo = append(r.undo, func(ctx context.Context) error { return namespaces.Delete(ctx, name, only(ns.ObjectMeta)) })
			return true, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return false, fmt.Errorf("make namespace %s: %w", name, err)
		}
		ns, err = namespaces.Get(ctx, name, metav1.GetOptions{})
		if err == nil && ns.DeletionTimestamp == nil {
			return true, nil
		}
		p.Say("waiting until the former namespace %s is gone", name)
		return false, ignoreNotFound(err)
	})
	if errors.Is(err, errTimeout) {
		return fmt.Errorf("namespace %s is still being deleted after %s: 'kubectl get namespace %s -o yaml' says why", name, r.timeout, name)
	}
	return err
}

// secret stores the credentials. It takes over a Secret that an interrupted join left
// behind, and no other one.
func (r *registration) secret(ctx context.Context) error {
	secrets := credentialsAt(r.place, r.kube)
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: r.name, Labels: map[string]string{labelCluster: r.name}},
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{keyKubeconfig: r.member.Kubeconfig},
	}
	if r.reader != nil {
		s.Data[knative.KeyReader] = r.reader.Kubeconfig
	}
	made, err := secrets.Create(ctx, s, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		old, getErr := secrets.Get(ctx, r.name, metav1.GetOptions{})
		if getErr != nil {
			return fmt.Errorf("get Secret %s/%s: %w", propagation.SystemNamespace, r.name, getErr)
		}
		if old.Labels[labelCluster] != r.name {
			return fmt.Errorf("secret %s/%s exists and is not a cluster's: choose another name, or delete it", propagation.SystemNamespace, r.name)
		}
		r.former = old
		s.ResourceVersion = old.ResourceVersion
		made, err = secrets.Update(ctx, s, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("keep the credentials in Secret %s/%s: %w", propagation.SystemNamespace, r.name, err)
	}
	r.undo = append(r.undo, func(ctx context.Context) error { return secrets.Delete(ctx, r.name, only(made.ObjectMeta)) })
	return nil
}

// replace stores new credentials of a joined member, if they differ, once the member
// has accepted them. It also does so if the Secret is gone, for example along with its
// namespace. On Knative, the member's source gets a new token each time.
func (o *joinOptions) replace(ctx context.Context, place *eventing, c *clusterv1alpha1.Cluster, member *joining.Credentials) error {
	kube, err := o.kube()
	if err != nil {
		return err
	}
	s, err := credentialsAt(place, kube).Get(ctx, o.name, metav1.GetOptions{})
	same := err == nil && bytes.Equal(s.Data[keyKubeconfig], member.Kubeconfig)
	switch ref := c.Spec.SecretRef; {
	case apierrors.IsNotFound(err) && (ref == nil || ref.Namespace != propagation.SystemNamespace || ref.Name != o.name):
		return nil // they are stored elsewhere
	case err == nil && (same && place == nil || s.Labels[labelCluster] != o.name):
		return nil
	case ignoreNotFound(err) != nil:
		return fmt.Errorf("get Secret %s/%s: %w", propagation.SystemNamespace, o.name, err)
	}
	id, err := member.Check(ctx)
	if err != nil {
		return err
	}
	if c.Spec.ID != "" && c.Spec.ID != id.ID {
		return fmt.Errorf("%s leads to another cluster than the one that joined as %s, perhaps one made anew at its address: '%s unjoin %s' first", o.file, o.name, name, o.name)
	}
	r := &registration{joinOptions: o, kube: kube, place: place, member: member, id: id}
	if err := r.namespace(ctx, propagation.SystemNamespace, nil); err != nil {
		return err
	}
	if err := r.read(ctx); err != nil {
		return err
	}
	if err := r.secret(ctx); err != nil {
		if r.reader != nil {
			err = errors.Join(err, r.reader.Undo(context.WithoutCancel(ctx)))
		}
		return err
	}
	if err := r.mark(ctx); err != nil {
		return err
	}
	r.revoke(ctx)
	if !same {
		o.screen.Printf("its credentials are those of %s now\n", o.file)
	}
	if r.reader != nil {
		o.screen.Println("its source reads with a new token, which cannot write")
	}
	return nil
}

// credentialsAt returns the client for the Secrets with the credentials: in the cluster
// where the functions run, which read them, or on the hub if one process runs all
// stages.
func credentialsAt(place *eventing, hub kubernetes.Interface) clientcorev1.SecretInterface {
	if place != nil {
		hub = place.kube
	}
	return hub.CoreV1().Secrets(propagation.SystemNamespace)
}

// free waits until nothing of an earlier cluster of that name is left: its Works that
// are being deleted would remove their objects from the new member.
func (r *registration) free(ctx context.Context) error {
	h, err := r.hub()
	if err != nil {
		return err
	}
	p := r.screen.Progress()
	defer p.Clear()
	err = poll(ctx, r.timeout, func(ctx context.Context) (bool, error) {
		works, err := h.WorksOn(ctx, r.name)
		if err != nil {
			return false, err
		}
		if len(works) == 0 {
			return true, nil
		}
		p.Say("waiting until the former %s is left: %s", r.name, noun(len(works), "Work", "Works"))
		return false, nil
	})
	if errors.Is(err, errTimeout) {
		return fmt.Errorf("there are still Works of a former %s after %s: '%s unjoin %s' first", r.name, r.timeout, name, r.name)
	}
	return err
}

// eventing creates the member's roles where Sluice runs on Knative.
func (r *registration) eventing(ctx context.Context) error {
	if r.place == nil {
		return nil
	}
	if err := r.contents(ctx); err != nil {
		return err
	}
	undo, err := r.place.join(ctx, r.name)
	if undo != nil {
		r.undo = append(r.undo, undo)
	}
	return err
}

// contents gives access to the stored content of the member's Secrets to the functions
// that need it. The roles are deleted with their namespace.
func (o *joinOptions) contents(ctx context.Context) error {
	write, read, err := config.ContentsAccess(o.name)
	if err != nil {
		return err
	}
	client, err := o.dynamic()
	if err != nil {
		return err
	}
	for _, b := range []*rbacv1.RoleBinding{&write, &read} {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(b)
		if err != nil {
			return fmt.Errorf("encode RoleBinding %s: %w", b.Name, err)
		}
		u := &unstructured.Unstructured{Object: content}
		unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
		_, err = client.Resource(roleBindings).Namespace(b.Namespace).Apply(ctx, b.Name, u, metav1.ApplyOptions{FieldManager: program, Force: true})
		if err != nil {
			return fmt.Errorf("make RoleBinding %s/%s: %w", b.Namespace, b.Name, err)
		}
	}
	return nil
}

func (r *registration) cluster(ctx context.Context) error {
	c := &clusterv1alpha1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1alpha1.SchemeGroupVersion.String(), Kind: clusterv1alpha1.KindCluster},
		ObjectMeta: metav1.ObjectMeta{Name: r.name},
		Spec: clusterv1alpha1.ClusterSpec{
			ID: r.id.ID, SyncMode: clusterv1alpha1.Push, APIEndpoint: r.member.Endpoint,
			SecretRef:                   &clusterv1alpha1.LocalSecretReference{Namespace: propagation.SystemNamespace, Name: r.name},
			InsecureSkipTLSVerification: r.member.Insecure,
			ProxyURL:                    r.member.ProxyURL,
		},
	}
	if r.reader != nil {
		c.Annotations = map[string]string{knative.AnnotationReader: "true"}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c)
	if err != nil {
		return fmt.Errorf("encode Cluster %s: %w", r.name, err)
	}
	client, err := r.dynamic()
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(u.Object, "status")
	if _, err := client.Resource(clusterResource).Create(ctx, u, metav1.CreateOptions{FieldManager: program}); err != nil {
		return fmt.Errorf("make Cluster %s: %w", r.name, err)
	}
	return nil
}

// only restricts a deletion to that very object.
func only(m metav1.ObjectMeta) metav1.DeleteOptions {
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &m.UID}}
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
