// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// With the overlay oidc: what the Broker delivers is done, and an event that
// anybody else sends is refused and counted.
func TestTokens(t *testing.T) {
	w := newWorld(t)
	w.policy()
	w.template("second", "2")
	w.arrive(recovery, 2)

	pod, address := w.pod("renderer")
	before := w.refused(address)
	forged := w.scheduled("first")
	for name, token := range map[string]string{
		"no token":                       "",
		"no signature":                   "e30.e30.e30",
		"an account of somebody else's":  w.token("default", "default", "sluice-functions"),
		"a token for somebody else":      w.token(system, "gate", "somebody-else"),
		"a token for the API server too": w.token(system, "gate", ""),
	} {
		t.Run(name, func(t *testing.T) {
			if got := post(t, address, token, forged); got != http.StatusUnauthorized {
				t.Errorf("the renderer answers %d, want 401", got)
			}
		})
	}
	if got := w.refused(address) - before; got != 5 {
		t.Errorf("%s counts %d events that it refused, want 5", pod, got)
	}
	if got := post(t, w.broker(), "", forged); got != http.StatusUnauthorized {
		t.Errorf("the Broker answers whoever has no token with %d, want 401", got)
	}
	if got := post(t, w.broker(), w.token("default", "default", "eventing.knative.dev/broker/"+system+"/sluice"), forged); got != http.StatusForbidden {
		t.Errorf("the Broker answers an account that no EventPolicy names with %d, want 403", got)
	}
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

// pod is one of a function as it is now, and where it listens.
func (w *world) pod(function string) (name, address string) {
	w.Helper()
	w.eventually(time.Minute, func() string {
		s := w.must(w.hub.Resource(services).Namespace(system).Get(w.Context(), function, metav1.GetOptions{}))
		revision := w.text(s, "status", "latestReadyRevisionName")
		list, err := w.hub.Resource(pods).Namespace(system).List(w.Context(), metav1.ListOptions{LabelSelector: "serving.knative.dev/revision=" + revision})
		if err != nil {
			return err.Error()
		}
		for _, p := range list.Items {
			if ip := w.text(&p, "status", "podIP"); ip != "" && p.GetDeletionTimestamp() == nil {
				name, address = p.GetName(), "http://"+ip+":8080/"
				return ""
			}
		}
		return "there is no pod of " + function
	})
	return name, address
}

var refusals = regexp.MustCompile(`(?m)^sluice_events_total\{[^}]*outcome="refused"[^}]*\} (\d+)`)

// refused is how many events a function says that it refused.
func (w *world) refused(address string) int {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodGet, address+"metrics", nil)
	if err != nil {
		w.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.Fatalf("metrics: %s, %v", resp.Status, err)
	}
	total := 0
	for _, m := range refusals.FindAllSubmatch(raw, -1) {
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			w.Fatal(err)
		}
		total += n
	}
	return total
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
