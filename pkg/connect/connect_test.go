// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/redis/go-redis/v9"
	"k8s.io/client-go/rest"

	"sluice.dev/pkg/hub"
)

// cluster is an API server with a Cluster and its credentials, whose token says
// where it comes from.
func cluster(t *testing.T, name string) *hub.Hub {
	t.Helper()
	answers := map[string]string{
		"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"secrets","kind":"Secret","namespaced":true,"verbs":["get"]}]}`,
		"/api/v1/namespaces/sluice-system/secrets/m1":        `{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"sluice-system","name":"m1","uid":"1","resourceVersion":"1"},"data":{"from":%q}}`,
		"/apis/cluster.karmada.io/v1alpha1/clusters/" + name: `{"apiVersion":"cluster.karmada.io/v1alpha1","kind":"Cluster","metadata":{"name":%q,"uid":"1","resourceVersion":"1"}}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[r.URL.Path]
		switch {
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		case r.URL.Path == "/api/v1":
			_, _ = fmt.Fprint(w, answer)
		default:
			_, _ = fmt.Fprintf(w, answer, name)
		}
	}))
	t.Cleanup(server.Close)
	h, err := hub.Connect(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestClustersAreOnTheHubAndCredentialsWhereTheFunctionIs(t *testing.T) {
	a := apart{cluster(t, "hub1"), cluster(t, "own1")}
	if c, err := a.Cluster(t.Context(), "hub1"); err != nil || c.Name != "hub1" {
		t.Errorf("cluster %+v, %v", c, err)
	}
	// "own1" is base64 for some three bytes, and "hub1" for others.
	own, err := a.Secret(t.Context(), "sluice-system", "m1")
	if err != nil {
		t.Fatal(err)
	}
	others, err := a.Hub.Secret(t.Context(), "sluice-system", "m1")
	if err != nil || string(own["from"]) == string(others["from"]) {
		t.Errorf("credentials %q are those of the hub, %q, %v", own["from"], others["from"], err)
	}
}

func TestMembersOutsideOfAClusterAreTheHubs(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for name, kubeconfig := range map[string]string{
		"the hub is named":     "/some/file",
		"the hub is not named": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", kubeconfig)
			if fleet, err := Members(cluster(t, "hub1")); err != nil || fleet == nil {
				t.Errorf("%v, %v", fleet, err)
			}
		})
	}
}

func TestZ36ThePasswordGoesWithTheAddress(t *testing.T) {
	for name, tc := range map[string]struct{ address, password, want string }{
		"beside host:port":             {"redis:6379", "secret", "secret"},
		"there is none":                {"redis:6379", "", ""},
		"a URL has its own":            {"rediss://sluice:own@redis.example.com:6379", "secret", "own"},
		"a URL without one needs none": {"redis://redis.example.com:6379", "secret", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("REDIS_ADDRESS", tc.address)
			t.Setenv("REDIS_PASSWORD", tc.password)
			c, err := Redis()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if got := c.(*redis.Client).Options().Password; got != tc.want {
				t.Errorf("it says %q, want %q", got, tc.want)
			}
		})
	}
}
