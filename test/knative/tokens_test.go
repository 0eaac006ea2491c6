// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	events "sluice.dev/apis/events/v1"
)

// With the overlay oidc: what the Broker delivers is done, and an event that
// anybody else sends is refused and counted, by a stage and where dead letters go.
func TestZ33Z35Tokens(t *testing.T) {
	w := newWorld(t)
	w.policy()
	w.template("second", "2")
	w.arrive(recovery, 2)
	w.subscribed()

	forged := w.scheduled("first")
	for _, function := range []string{"renderer", "deadletter"} {
		pod, address := w.pod(function)
		before := w.refused(address)
		for name, token := range map[string]string{
			"no token":                       "",
			"no signature":                   "e30.e30.e30",
			"an account of somebody else's":  w.token("default", "default", "sluice-functions"),
			"a token for somebody else":      w.token(system, "gate", "somebody-else"),
			"a token for the API server too": w.token(system, "gate", ""),
		} {
			t.Run(function+"/"+name, func(t *testing.T) {
				if got := post(t, address, token, forged); got != http.StatusUnauthorized {
					t.Errorf("the %s answers %d, want 401", function, got)
				}
			})
		}
		if got := w.refused(address) - before; got != 5 {
			t.Errorf("%s counts %d events that it refused, want 5", pod, got)
		}
	}
	if got := post(t, w.broker(), "", forged); got != http.StatusUnauthorized {
		t.Errorf("the Broker answers whoever has no token with %d, want 401", got)
	}
	if got := post(t, w.broker(), w.token("default", "default", "eventing.knative.dev/broker/"+system+"/sluice"), forged); got != http.StatusForbidden {
		t.Errorf("the Broker answers an account that no EventPolicy names with %d, want 403", got)
	}
}

// subscribed makes sure that the Broker's channel delivers to each Trigger once, and
// with a token.
func (w *world) subscribed() {
	w.Helper()
	all, err := w.hub.Resource(triggers).Namespace(system).List(w.Context(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	channel := w.must(w.hub.Resource(channels).Namespace(system).Get(w.Context(), "sluice-kne-trigger", metav1.GetOptions{}))
	subscribers, _, err := unstructured.NestedSlice(channel.Object, "spec", "subscribers")
	if err != nil || len(subscribers) != len(all.Items) {
		w.Errorf("the channel has %d subscribers for %d Triggers, %v", len(subscribers), len(all.Items), err)
	}
	for _, s := range subscribers {
		s := &unstructured.Unstructured{Object: s.(map[string]any)}
		if w.text(s, "subscriberAudience") == "" || w.text(s, "auth", "serviceAccountName") == "" {
			w.Errorf("no token is shown to %s", w.text(s, "subscriberUri"))
		}
	}
}

// With the overlay oidc: the Broker takes what a member's source tells, though the
// account that the source shows is not one of the member.
func TestTokenOfAMembersSource(t *testing.T) {
	w := newWorld(t)
	w.policy()
	member := members[0]
	told := w.hears(map[string]any{events.ExtCluster: member, "type": events.ResourceUpdated})
	changes := 0
	w.eventually(time.Minute, func() string {
		// A new subscription may be ready before all of the Broker knows of it.
		changes++
		change := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/change":"%d"}}}`, changes)
		if _, err := w.members[member].Resource(configMaps).Namespace(w.namespace).Patch(t.Context(), "first", types.MergePatchType, []byte(change), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		select {
		case subject := <-told:
			if strings.Contains(subject, w.namespace) && strings.HasSuffix(subject, "/first") {
				return ""
			}
		case <-time.After(2 * time.Second):
		}
		return fmt.Sprintf("of %d changes, %s's source told of none: the Broker does not take its events", changes, member)
	})
}

// hears subscribes to the Broker's events with the attributes, from now on, and
// tells the subject of each.
func (w *world) hears(attributes map[string]any) <-chan string {
	w.Helper()
	// Pods reach this machine where they reach the members.
	member, err := clientcmd.BuildConfigFromFlags("", kubeconfig(members[0]))
	if err != nil {
		w.Fatal(err)
	}
	api, err := url.Parse(member.Host)
	if err != nil {
		w.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(w.Context(), "tcp", net.JoinHostPort(api.Hostname(), "0"))
	if err != nil {
		w.Fatal(err)
	}
	told := make(chan string, 100)
	server := &httptest.Server{Listener: listener, Config: &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.WriteHeader(http.StatusAccepted)
		select {
		case told <- r.Header.Get("Ce-Subject"):
		default: // nobody listens any more
		}
	})}}
	server.Start()
	w.Cleanup(server.Close)
	trigger := object("eventing.knative.dev/v1", "Trigger", system, w.namespace, map[string]any{"spec": map[string]any{
		"broker": "sluice", "filter": map[string]any{"attributes": attributes}, "subscriber": map[string]any{"uri": server.URL},
	}})
	w.must(w.hub.Resource(triggers).Namespace(system).Create(w.Context(), trigger, metav1.CreateOptions{}))
	w.Cleanup(func() {
		if err := w.hub.Resource(triggers).Namespace(system).Delete(context.Background(), w.namespace, metav1.DeleteOptions{}); err != nil {
			w.Error(err)
		}
	})
	w.eventually(time.Minute, func() string {
		is := w.must(w.hub.Resource(triggers).Namespace(system).Get(w.Context(), w.namespace, metav1.GetOptions{}))
		conditions, _, err := unstructured.NestedSlice(is.Object, "status", "conditions")
		if err != nil {
			w.Fatal(err)
		}
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == "Ready" && c["status"] == "True" {
				return ""
			}
		}
		return "the Trigger is not ready"
	})
	return told
}

// token is one of an account; without an audience for the API server.
func (w *world) token(namespace, account, audience string) string {
	w.Helper()
	spec := map[string]any{"expirationSeconds": int64(600)}
	if audience != "" {
		spec["audiences"] = []any{audience}
	}
	request := object("authentication.k8s.io/v1", "TokenRequest", namespace, account, map[string]any{"spec": spec})
	made := w.must(w.hub.Resource(accounts).Namespace(namespace).Create(w.Context(), request, metav1.CreateOptions{}, "token"))
	return w.text(made, "status", "token")
}

// pod is one of a function's latest revision, and where it answers without Knative.
func (w *world) pod(function string) (name, address string) {
	w.Helper()
	s := w.must(w.hub.Resource(services).Namespace(system).Get(w.Context(), function, metav1.GetOptions{}))
	p := w.runningPod("serving.knative.dev/revision=" + w.text(s, "status", "latestReadyRevisionName"))
	return p.GetName(), "http://" + w.text(p, "status", "podIP") + ":8080/"
}

// refused is how many events a function says that it refused.
func (w *world) refused(address string) int {
	w.Helper()
	n, err := w.counted(address, "refused")
	if err != nil {
		w.Fatal(err)
	}
	return n
}

// post sends an event, and tells the answer.
func post(t *testing.T, address, token string, e cloudevents.Event) int {
	t.Helper()
	options := []cehttp.Option{cloudevents.WithTarget(address)}
	if token != "" {
		options = append(options, cloudevents.WithHeader("Authorization", "Bearer "+token))
	}
	client, err := cloudevents.NewClientHTTP(options...)
	if err != nil {
		t.Fatal(err)
	}
	e.SetID(fmt.Sprint("forged", time.Now().UnixNano()))
	result := client.Send(t.Context(), e)
	var answer *cehttp.Result
	if !cloudevents.ResultAs(result, &answer) {
		t.Fatalf("there is no answer: %v", result)
	}
	return answer.StatusCode
}
