// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// world is a hub with both configurations, and a clock.
type world struct {
	*fake.FakeDynamicClient
	t   *testing.T
	now time.Time
}

const (
	service    = "webhook.sluice-system.svc"
	secretName = "sluice-webhook"
)

func configuration(kind string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": Name},
		"webhooks": []any{map[string]any{"name": "a.sluice.dev", "clientConfig": map[string]any{
			"service": map[string]any{"name": "webhook", "namespace": "sluice-system", "path": "/a"},
		}}},
	}}
}

func newWorld(t *testing.T, objects ...runtime.Object) *world {
	t.Helper()
	return &world{FakeDynamicClient: fake.NewSimpleDynamicClient(runtime.NewScheme(), objects...), t: t, now: time.Now()}
}

func installed(t *testing.T) *world {
	return newWorld(t, configuration("MutatingWebhookConfiguration"), configuration("ValidatingWebhookConfiguration"))
}

func (w *world) replica() *Keeper { return NewKeeper(w, Name, func() time.Time { return w.now }) }

func (w *world) keep(k *Keeper) {
	w.t.Helper()
	if err := k.Keep(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// writes are the verbs and resources of what was written, in order.
func (w *world) writes() (writes []string) {
	for _, a := range w.Actions() {
		if a.GetVerb() != "get" {
			writes = append(writes, a.GetVerb()+" "+a.GetResource().Resource)
		}
	}
	w.ClearActions()
	return writes
}

func (w *world) get(r schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	w.t.Helper()
	o, err := w.Resource(r).Namespace(namespace).Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// trusted is what API servers trust: the same for both configurations.
func (w *world) trusted() []byte {
	w.t.Helper()
	var bundles [][]byte
	for _, r := range configurations {
		err := eachClient(w.get(r, "", Name), func(c map[string]any) {
			encoded, _ := c["caBundle"].(string)
			raw, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil {
				w.t.Fatal(err)
			}
			bundles = append(bundles, raw)
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	if len(bundles) != 2 || !bytes.Equal(bundles[0], bundles[1]) {
		w.t.Fatalf("the configurations trust different things: %q", bundles)
	}
	return bundles[0]
}

// leaf is the certificate that a replica serves.
func (w *world) leaf(k *Keeper) []byte {
	w.t.Helper()
	c, err := k.Certificate(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := c.Leaf.VerifyHostname(service); err != nil {
		w.t.Error(err)
	}
	return c.Certificate[0]
}

func TestTheFirstReplicaMakesACertificateAndTheSecondTakesIt(t *testing.T) {
	w := installed(t)
	first, second := w.replica(), w.replica()
	if _, err := first.Certificate(nil); !errors.Is(err, errNoCertificate) {
		t.Errorf("before the first look: %v", err)
	}
	w.keep(first)
	want := []string{"create secrets", "update mutatingwebhookconfigurations", "update validatingwebhookconfigurations"}
	if diff := cmp.Diff(want, w.writes()); diff != "" {
		t.Error(diff)
	}
	if got := value(w.get(secrets, "sluice-system", secretName), "tls.crt"); !bytes.Equal(got, w.trusted()) {
		t.Error("what is trusted is not what is stored")
	}
	w.keep(second)
	w.keep(first)
	if got := w.writes(); len(got) > 0 {
		t.Errorf("nothing changed, and there was %v", got)
	}
	if !bytes.Equal(w.leaf(first), w.leaf(second)) {
		t.Error("the replicas serve different certificates")
	}
}

func TestACertificateIsMadeAnewInTime(t *testing.T) {
	w := installed(t)
	first, second := w.replica(), w.replica()
	w.keep(first)
	w.keep(second)
	old := w.trusted()
	w.writes()

	w.now = w.now.Add(life * 3 / 4)
	w.keep(first)
	want := []string{"update secrets", "update mutatingwebhookconfigurations", "update validatingwebhookconfigurations"}
	if diff := cmp.Diff(want, w.writes()); diff != "" {
		t.Error(diff)
	}
	if bytes.Equal(w.leaf(first), w.leaf(second)) {
		t.Error("the certificate is not another")
	}
	both := w.trusted()
	if !bytes.HasSuffix(both, old) || len(both) <= len(old) {
		t.Error("what the other replica still serves is not trusted any more")
	}
	w.keep(second)
	if !bytes.Equal(w.leaf(first), w.leaf(second)) {
		t.Error("the other replica does not follow")
	}
	w.now = w.now.Add(life * 3 / 4)
	w.keep(second)
	if got := w.trusted(); bytes.HasSuffix(got, old) || len(got) > len(both)+8 {
		t.Error("what nobody serves any more is trusted for ever")
	}
}

func TestWhatSomebodyBrokeIsMended(t *testing.T) {
	for name, tc := range map[string]struct {
		breaks func(w *world)
		want   []string
	}{
		"somebody dropped the bundle": {
			breaks: func(w *world) { w.put(configurations[0], configuration("MutatingWebhookConfiguration")) },
			want:   []string{"update mutatingwebhookconfigurations"},
		},
		"somebody emptied the Secret": {
			breaks: func(w *world) { w.put(secrets, manifest(secretName, Pair{}, nil)) },
			want:   []string{"update secrets", "update mutatingwebhookconfigurations", "update validatingwebhookconfigurations"},
		},
		"somebody deleted the Secret": {
			breaks: func(w *world) {
				if err := w.Resource(secrets).Namespace("sluice-system").Delete(w.t.Context(), secretName, metav1.DeleteOptions{}); err != nil {
					w.t.Fatal(err)
				}
			},
			want: []string{"create secrets", "update mutatingwebhookconfigurations", "update validatingwebhookconfigurations"},
		},
		"the webhook is called by another name": {
			breaks: func(w *world) {
				c := w.get(configurations[1], "", Name)
				if err := eachClient(c, func(c map[string]any) {
					delete(c, "service")
					c["url"] = "https://webhook.example.org:8443/a"
				}); err != nil {
					w.t.Fatal(err)
				}
				w.put(configurations[1], c)
			},
			want: []string{"update secrets", "update mutatingwebhookconfigurations", "update validatingwebhookconfigurations"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := installed(t)
			k := w.replica()
			w.keep(k)
			tc.breaks(w)
			w.writes()
			w.keep(k)
			if diff := cmp.Diff(tc.want, w.writes()); diff != "" {
				t.Error(diff)
			}
			w.trusted()
			w.leaf(k)
			w.keep(k)
			if got := w.writes(); len(got) > 0 {
				t.Errorf("it is mended, and there was %v", got)
			}
		})
	}
}

func (w *world) put(r schema.GroupVersionResource, o *unstructured.Unstructured) {
	w.t.Helper()
	if _, err := w.Resource(r).Namespace(o.GetNamespace()).Update(w.t.Context(), o, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func TestTwoReplicasAtOnceEndWithOneCertificate(t *testing.T) {
	w := installed(t)
	slow, others := w.replica(), newPair(t, []string{service}, w.now)
	raced := false
	w.PrependReactor("create", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if raced {
			t.Error("made again")
			return false, nil, nil
		}
		raced = true
		err := w.Tracker().Create(secrets, manifest(secretName, others, others.Certificate), "sluice-system")
		return true, nil, errors.Join(err, apierrors.NewAlreadyExists(secrets.GroupResource(), secretName))
	})
	w.keep(slow)
	if !bytes.Equal(w.trusted(), others.Certificate) {
		t.Error("what the faster one made is not trusted")
	}
	if c, err := others.TLS(); err != nil || !bytes.Equal(w.leaf(slow), c.Certificate[0]) {
		t.Errorf("the replicas serve different certificates: %v", err)
	}
}

func TestWithoutConfigurationsThereIsNoCertificate(t *testing.T) {
	w := newWorld(t, configuration("MutatingWebhookConfiguration"))
	k := w.replica()
	var reported []error
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	k.Run(ctx, func(err error) { reported = append(reported, err); cancel() })
	if len(reported) != 1 || !apierrors.IsNotFound(reported[0]) {
		t.Errorf("reported %v, want that a configuration is not found", reported)
	}
	if _, err := k.Certificate(nil); !errors.Is(err, errNoCertificate) {
		t.Errorf("there is a certificate that nobody trusts: %v", err)
	}
	if got := w.writes(); len(got) > 0 {
		t.Errorf("wrote %v", got)
	}
}

func TestRegisterReplacesWhatWasThere(t *testing.T) {
	manifests := []*unstructured.Unstructured{configuration("MutatingWebhookConfiguration"), configuration("ValidatingWebhookConfiguration")}
	for name, w := range map[string]*world{"nothing": newWorld(t), "an installed webhook": installed(t)} {
		t.Run(name, func(t *testing.T) {
			if address, err := Registered(t.Context(), w, Name); err != nil || address != "" {
				t.Errorf("registered at %q, %v, want nothing", address, err)
			}
			for _, address := range []string{"127.0.0.1:1", "127.0.0.1:2"} {
				if err := Register(t.Context(), w, manifests, address); err != nil {
					t.Fatal(err)
				}
				if got, err := Registered(t.Context(), w, Name); err != nil || got != address {
					t.Errorf("registered at %q, %v, want %q", got, err, address)
				}
			}
			for _, r := range configurations {
				clients, _, _ := unstructured.NestedSlice(w.get(r, "", Name).Object, "webhooks")
				client := clients[0].(map[string]any)["clientConfig"].(map[string]any)
				if client["url"] != "https://127.0.0.1:2/a" || client["service"] != nil {
					t.Errorf("%s calls %v", r.Resource, client)
				}
			}
			w.keep(w.replica())
			w.trusted()
			w.writes()
			if err := Register(t.Context(), w, manifests, "127.0.0.1:2"); err != nil {
				t.Fatal(err)
			}
			w.keep(w.replica())
			if got := w.writes(); len(got) > 0 {
				t.Errorf("a restart at the same address changes nothing, and wrote %v", got)
			}
		})
	}
	if manifests[0].GetResourceVersion() != "" {
		t.Error("the manifests are changed in place")
	}
	broken := &unstructured.Unstructured{Object: map[string]any{"kind": "MutatingWebhookConfiguration", "webhooks": "none"}}
	if err := Register(t.Context(), newWorld(t), []*unstructured.Unstructured{broken}, "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "MutatingWebhookConfiguration") {
		t.Errorf("a configuration that is none: %v", err)
	}
}

func TestHostsAreThoseThatAPIServersCall(t *testing.T) {
	byURL := configuration("ValidatingWebhookConfiguration")
	if err := eachClient(byURL, func(c map[string]any) {
		delete(c, "service")
		c["url"] = "https://127.0.0.1:8443/validate"
	}); err != nil {
		t.Fatal(err)
	}
	got, err := hosts([]*unstructured.Unstructured{byURL, configuration("MutatingWebhookConfiguration"), configuration("ValidatingWebhookConfiguration")})
	if want := []string{"127.0.0.1", service}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}
