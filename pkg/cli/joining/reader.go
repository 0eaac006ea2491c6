// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package joining

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// labelHub, on a token in a member, is the identity of the hub that uses it.
const labelHub = "sluice.dev/hub"

// filledWithin is how long a member may take to fill in a token. Its controller manager
// does that at once, and join waits for it.
const filledWithin = 10 * time.Second

// Reader is a token of an account of the member that only reads.
type Reader struct {
	// Kubeconfig with the token.
	Kubeconfig []byte
	// Token is the name of the Secret that the token is in, and ends with.
	Token string
	// undo removes what was made in the member, in reverse order.
	undo []func(context.Context) error
}

// Undo removes from the member what MakeReader made.
func (r *Reader) Undo(ctx context.Context) error {
	var errs []error
	for _, undo := range slices.Backward(r.undo) {
		if err := undo(ctx); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// MakeReader makes a token of the account that only reads, for the hub of that
// identity. If the member has no such account, it makes one that reads all kinds. It
// leaves nothing behind if it fails.
func (c *Credentials) MakeReader(ctx context.Context, hub string) (r *Reader, err error) {
	defer func() { err = c.ofMember(err) }()
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	r = &Reader{}
	if err := r.make(ctx, client, c.Kubeconfig, hub); err != nil {
		return nil, errors.Join(err, r.Undo(context.WithoutCancel(ctx)))
	}
	return r, nil
}

func (r *Reader) make(ctx context.Context, client kubernetes.Interface, kubeconfig []byte, hub string) error {
	if err := r.account(ctx, client); err != nil {
		return err
	}
	token, err := r.token(ctx, client, hub)
	if err != nil {
		return err
	}
	r.Kubeconfig, err = withToken(kubeconfig, token)
	return err
}

// account makes the account if there is none. What takes the most rights is made first:
// who lacks them makes nothing.
func (r *Reader) account(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().ServiceAccounts(readerName).Get(ctx, readerName, metav1.GetOptions{})
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("look for ServiceAccount %s/%s: %w", readerName, readerName, err)
	}
	account, role, binding := grantTo(readerName, readerName, []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: reads}})
	if err := create(ctx, r, client.RbacV1().ClusterRoles(), role); err != nil {
		return err
	}
	if err := create(ctx, r, client.RbacV1().ClusterRoleBindings(), binding); err != nil {
		return err
	}
	if err := create(ctx, r, client.CoreV1().Namespaces(), namespaceOf(readerName)); err != nil {
		return err
	}
	return create(ctx, r, client.CoreV1().ServiceAccounts(readerName), account)
}

// token makes a token, and waits until the member has filled it in.
func (r *Reader) token(ctx context.Context, client kubernetes.Interface, hub string) (string, error) {
	secrets := client.CoreV1().Secrets(readerName)
	made, err := secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: readerName + "-",
			Labels:       map[string]string{labelHub: hub},
			Annotations:  map[string]string{corev1.ServiceAccountNameKey: readerName},
		},
		Type: corev1.SecretTypeServiceAccountToken,
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("make a token of ServiceAccount %s/%s: %w", readerName, readerName, err)
	}
	r.Token = made.Name
	r.undo = append(r.undo, func(ctx context.Context) error { return secrets.Delete(ctx, made.Name, only(made)) })
	token := ""
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, filledWithin, true, func(ctx context.Context) (bool, error) {
		s, err := secrets.Get(ctx, made.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		token = string(s.Data[corev1.ServiceAccountTokenKey])
		return token != "", nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return "", fmt.Errorf("Secret %s/%s got no token within %s: does its controller manager run?", readerName, made.Name, filledWithin)
	}
	if err != nil {
		return "", fmt.Errorf("wait for the token in Secret %s/%s: %w", readerName, made.Name, err)
	}
	return token, nil
}

// creator is the client of a kind.
type creator[T metav1.Object] interface {
	Create(ctx context.Context, o T, opts metav1.CreateOptions) (T, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// create makes an object, unless there is one of that name.
func create[T metav1.Object](ctx context.Context, r *Reader, client creator[T], o T) error {
	made, err := client.Create(ctx, o, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make the account %s that only reads: %w", readerName, err)
	}
	r.undo = append(r.undo, func(ctx context.Context) error { return client.Delete(ctx, made.GetName(), only(made)) })
	return nil
}

// only restricts a deletion to that very object.
func only(o metav1.Object) metav1.DeleteOptions {
	uid := o.GetUID()
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
}

// withToken is the kubeconfig with a token in place of what its user has.
func withToken(kubeconfig []byte, token string) ([]byte, error) {
	kc, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the credentials: %w", err)
	}
	context := kc.Contexts[kc.CurrentContext]
	context.AuthInfo = readerName
	kc.AuthInfos = map[string]*clientcmdapi.AuthInfo{readerName: {Token: token}}
	raw, err := clientcmd.Write(*kc)
	if err != nil {
		return nil, fmt.Errorf("write the credentials that only read: %w", err)
	}
	return raw, nil
}

// RevokeReaders ends the tokens that MakeReader made for the hub, but the one of that
// name; an empty one: all.
func (c *Credentials) RevokeReaders(ctx context.Context, hub, but string) (err error) {
	defer func() { err = c.ofMember(err) }()
	client, err := c.client()
	if err != nil {
		return err
	}
	secrets := client.CoreV1().Secrets(readerName)
	all, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: labelHub + "=" + hub})
	if err != nil {
		return fmt.Errorf("list the tokens in namespace %s: %w", readerName, err)
	}
	var errs []error
	for i := range all.Items {
		s := &all.Items[i]
		if s.Name == but || s.Type != corev1.SecretTypeServiceAccountToken {
			continue
		}
		if err := secrets.Delete(ctx, s.Name, only(s)); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("revoke the token in Secret %s/%s: %w", readerName, s.Name, err))
		}
	}
	return errors.Join(errs...)
}
