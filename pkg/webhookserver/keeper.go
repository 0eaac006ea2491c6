// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"sluice.dev/pkg/core/propagation"
)

const (
	// period is how often it is looked whether everything is in place, and
	// pause how soon again where it could not be told.
	period = time.Minute
	pause  = 2 * time.Second
)

var (
	secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

	errNoCertificate = errors.New("there is no certificate yet")
)

// Keeper keeps a certificate that the hub's API servers trust.
type Keeper struct {
	client dynamic.Interface
	// name of both webhook configurations.
	name    string
	now     func() time.Time
	serving atomic.Pointer[tls.Certificate]
}

// NewKeeper makes a Keeper for the webhook configurations of the name. The
// Secret is called as they are, with "-webhook" behind. It makes no request.
func NewKeeper(client dynamic.Interface, name string, now func() time.Time) *Keeper {
	return &Keeper{client: client, name: name, now: now}
}

func (k *Keeper) secretName() string { return k.name + "-webhook" }

// Certificate is the one to serve with: GetCertificate of a tls.Config.
func (k *Keeper) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c := k.serving.Load(); c != nil {
		return c, nil
	}
	return nil, errNoCertificate
}

// Run keeps everything in place until ctx ends, and reports what it could not.
func (k *Keeper) Run(ctx context.Context, report func(error)) {
	for {
		next := period
		if err := k.Keep(ctx); err != nil && ctx.Err() == nil {
			report(err)
			next = pause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(next):
		}
	}
}

// Keep puts everything in place, once: the Secret, then what API servers trust,
// then what is served. Where another replica was faster, it takes what that
// one made.
func (k *Keeper) Keep(ctx context.Context) error {
	return retry.OnError(retry.DefaultBackoff, lost, func() error { return k.keep(ctx) })
}

func (k *Keeper) keep(ctx context.Context) error {
	found := make([]*unstructured.Unstructured, len(configurations))
	for i, r := range configurations {
		c, err := k.client.Resource(r).Get(ctx, k.name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("get the webhook configuration: %w", err)
		}
		found[i] = c
	}
	names, err := hosts(found)
	if err != nil {
		return err
	}
	pair, bundle, err := k.pair(ctx, names)
	if err != nil {
		return err
	}
	for i, c := range found {
		changed, err := trust(c, bundle)
		if err != nil {
			return err
		}
		if !changed {
			continue
		}
		options := metav1.UpdateOptions{FieldManager: propagation.FieldManager}
		if _, err := k.client.Resource(configurations[i]).Update(ctx, c, options); err != nil {
			return fmt.Errorf("update the webhook configuration: %w", err)
		}
	}
	certificate, err := pair.TLS()
	if err != nil {
		return err
	}
	k.serving.Store(certificate)
	return nil
}

// pair is that of the Secret, and what is to be trusted for it; a new one where
// there is none or it serves no longer.
func (k *Keeper) pair(ctx context.Context, names []string) (Pair, []byte, error) {
	client := k.client.Resource(secrets).Namespace(propagation.SystemNamespace)
	secret, err := client.Get(ctx, k.secretName(), metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return Pair{}, nil, fmt.Errorf("get the certificate: %w", err)
	}
	var stored Pair
	var bundle []byte
	if !missing {
		stored = Pair{Certificate: value(secret, "tls.crt"), Key: value(secret, "tls.key")}
		bundle = value(secret, "ca.crt")
		if stored.serves(names, k.now()) && bytes.HasPrefix(bundle, stored.Certificate) {
			return stored, bundle, nil
		}
	}
	made, err := NewPair(names, k.now())
	if err != nil {
		return Pair{}, nil, err
	}
	bundle = made.Certificate
	if _, err := stored.TLS(); err == nil { // other replicas serve it on for a while
		bundle = slices.Concat(made.Certificate, stored.Certificate)
	}
	next := manifest(k.secretName(), made, bundle)
	if missing {
		_, err = client.Create(ctx, next, metav1.CreateOptions{FieldManager: propagation.FieldManager})
	} else {
		next.SetResourceVersion(secret.GetResourceVersion())
		_, err = client.Update(ctx, next, metav1.UpdateOptions{FieldManager: propagation.FieldManager})
	}
	if err != nil {
		return Pair{}, nil, fmt.Errorf("store the certificate: %w", err)
	}
	return made, bundle, nil
}

// value is that of a key of a Secret; nil where it cannot be read.
func value(secret *unstructured.Unstructured, key string) []byte {
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", key)
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil
	}
	return raw
}

func manifest(name string, p Pair, bundle []byte) *unstructured.Unstructured {
	encode := base64.StdEncoding.EncodeToString
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
		"metadata": map[string]any{"name": name, "namespace": propagation.SystemNamespace},
		"data":     map[string]any{"tls.crt": encode(p.Certificate), "tls.key": encode(p.Key), "ca.crt": encode(bundle)},
	}}
}
