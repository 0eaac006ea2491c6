// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/outcome"
)

func TestFleet(t *testing.T) {
	f := newFakeAPI(t)
	s := newSource(t, f)
	fleet := NewFleet(s)
	now := time.Now()
	fleet.now = func() time.Time { return now }
	get := func() *Client {
		t.Helper()
		c, err := fleet.Client(t.Context(), "member1")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := get()
	for range 3 {
		if get() != first {
			t.Fatal("the same cluster has another client")
		}
	}
	if n := s.reads.Load(); n != 1 {
		t.Errorf("the Secret was read %d times", n)
	}
	first.doubted.Store(true)
	if get() != first || first.doubted.Load() || s.reads.Load() != 2 {
		t.Error("a client in doubt is looked after once, and stays if all is as it was")
	}
	now = now.Add(recheck + 1)
	if get() != first || s.reads.Load() != 3 {
		t.Error("credentials are looked after now and then")
	}
	s.cluster.Generation++
	if get() != first || s.reads.Load() != 4 {
		t.Error("a change of the cluster that does not concern the way keeps the client")
	}
	s.secret["token"] = []byte("next")
	now = now.Add(recheck + 1)
	second := get()
	if second == first {
		t.Error("another token, the same client")
	}
	select {
	case <-first.Retired():
	default:
		t.Error("the client that was replaced is not retired")
	}
	s.cluster.UID = "c2"
	s.cluster.Spec.APIEndpoint += "/"
	if get() == second {
		t.Error("another cluster of that name has the same client")
	}
	gone := s.cluster
	third := get()
	s.cluster = nil
	if _, err := fleet.Client(t.Context(), "member1"); !errors.Is(err, outcome.ErrGone) {
		t.Errorf("a cluster that left: %v", err)
	}
	select {
	case <-third.Retired():
	default:
		t.Error("the client of a cluster that left is not retired")
	}
	s.cluster = gone
	if get() == third {
		t.Error("a retired client is given out")
	}
}

func TestCredentials(t *testing.T) {
	const kubeconfig = `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], clusters: [{name: k, cluster: {server: "https://k.example:6443"%s}}], users: [{name: u, user: {%s}}]}`
	for name, tc := range map[string]struct {
		spec   clusterv1alpha1.ClusterSpec
		secret map[string]string
		host   string
		err    string
	}{
		"a token, and a host without a scheme":            {clusterv1alpha1.ClusterSpec{APIEndpoint: "k.example:6443"}, map[string]string{"token": "t"}, "https://k.example:6443", ""},
		"a token, and a URL":                              {clusterv1alpha1.ClusterSpec{APIEndpoint: "https://k.example/p"}, map[string]string{"token": "t"}, "https://k.example/p", ""},
		"a token, and no endpoint":                        {clusterv1alpha1.ClusterSpec{}, map[string]string{"token": "t"}, "", "spec.apiEndpoint is empty"},
		"no credentials":                                  {clusterv1alpha1.ClusterSpec{APIEndpoint: "k.example"}, nil, "", "the Secret has neither the key token nor kubeconfig"},
		"a certificate that is none":                      {clusterv1alpha1.ClusterSpec{APIEndpoint: "k.example"}, map[string]string{"token": "t", "caBundle": "x"}, "", "certificates"},
		"certificates are not looked at where so asked":   {clusterv1alpha1.ClusterSpec{APIEndpoint: "k.example", InsecureSkipTLSVerification: true}, map[string]string{"token": "t", "caBundle": "x"}, "https://k.example", ""},
		"a whole kubeconfig is enough":                    {clusterv1alpha1.ClusterSpec{APIEndpoint: "elsewhere"}, map[string]string{"kubeconfig": fmt.Sprintf(kubeconfig, "", "token: t")}, "https://k.example:6443", ""},
		"a kubeconfig that is none":                       {clusterv1alpha1.ClusterSpec{}, map[string]string{"kubeconfig": "{"}, "", "key kubeconfig"},
		"a kubeconfig must not run a program":             {clusterv1alpha1.ClusterSpec{}, map[string]string{"kubeconfig": fmt.Sprintf(kubeconfig, "", "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never}")}, "", "user u: exec is not allowed"},
		"a kubeconfig must not read a token":              {clusterv1alpha1.ClusterSpec{}, map[string]string{"kubeconfig": fmt.Sprintf(kubeconfig, "", "tokenFile: /etc/passwd")}, "", "user u: tokenFile is not allowed"},
		"a kubeconfig must not read a key":                {clusterv1alpha1.ClusterSpec{}, map[string]string{"kubeconfig": fmt.Sprintf(kubeconfig, "", "client-key: /etc/passwd")}, "", "in files is not allowed"},
		"a kubeconfig must not read a certificate":        {clusterv1alpha1.ClusterSpec{}, map[string]string{"kubeconfig": fmt.Sprintf(kubeconfig, ", certificate-authority: /etc/passwd", "token: t")}, "", "cluster k: certificate-authority is not allowed"},
		"a kubeconfig must not ask a provider":            {clusterv1alpha1.ClusterSpec{}, map[string]string{"kubeconfig": fmt.Sprintf(kubeconfig, "", "auth-provider: {name: gcp}")}, "", "auth-provider is not allowed"},
		"a proxy that is none":                            {clusterv1alpha1.ClusterSpec{APIEndpoint: "k.example", ProxyURL: ":x"}, map[string]string{"token": "t"}, "", "spec.proxyURL"},
		"no limit of ours beside the member's own limits": {clusterv1alpha1.ClusterSpec{APIEndpoint: "k.example"}, map[string]string{"token": "t"}, "https://k.example", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := &clusterv1alpha1.Cluster{Spec: tc.spec}
			secret := map[string][]byte{}
			for k, v := range tc.secret {
				secret[k] = []byte(v)
			}
			_, err := newClient(c, secret, &source{})
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("error %v, want %q", err, tc.err)
			}
			if err == nil {
				if cfg, _ := configFor(c, secret); cfg.Host != tc.host || cfg.QPS >= 0 {
					t.Errorf("host %s, QPS %v", cfg.Host, cfg.QPS)
				}
			}
		})
	}
}

func TestAProxyIsUsed(t *testing.T) {
	c := &clusterv1alpha1.Cluster{Spec: clusterv1alpha1.ClusterSpec{APIEndpoint: "k.example", ProxyURL: "http://proxy.example:3128"}}
	cfg, err := configFor(c, map[string][]byte{"token": []byte("t")})
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := cfg.Proxy(&http.Request{URL: &url.URL{Scheme: "https", Host: "k.example"}})
	if err != nil || proxy.Host != "proxy.example:3128" {
		t.Errorf("proxy %v, %v", proxy, err)
	}
}

func TestAMissingSecretIsAReasonForPeople(t *testing.T) {
	s := newSource(t, newFakeAPI(t))
	s.secret = nil
	_, err := NewFleet(s).Client(t.Context(), "member1")
	if !errors.As(err, new(*Unreachable)) || err.Error() != "member1 cannot be reached: secret sluice-system/member1 does not exist: 'kubectl sluice join member1 --cluster-kubeconfig FILE' makes it again" || errors.Is(err, outcome.ErrGone) {
		t.Errorf("error %v", err)
	}
}

// Whoever mixes up two Secrets does not have the one cluster's applications run in the
// other.
func TestCredentialsOfAnotherCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		id, shows string
		status    int
		want      string
	}{
		"it is the one":                           {"a", "a", 0, ""},
		"it is another":                           {"a", "b", 0, "its credentials lead to another cluster: the uid of namespace kube-system there is b, and spec.id is a"},
		"it has no such namespace":                {"a", "", http.StatusNotFound, "its credentials lead to another cluster"},
		"it does not show it":                     {"a", "", http.StatusForbidden, ""},
		"nobody said which it is":                 {"", "b", 0, ""},
		"it does not answer, and nobody can tell": {"a", "", http.StatusServiceUnavailable, "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			asked := 0
			f.answer = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/namespaces/kube-system") {
					return false
				}
				asked++
				if tc.status != 0 {
					fail(w, tc.status, "", target{resource: "namespaces", name: "kube-system"}, "no")
					return true
				}
				reply(w, http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "kube-system", "uid": tc.shows}})
				return true
			}
			s := newSource(t, f)
			s.cluster.Spec.ID = tc.id
			fleet := NewFleet(s)
			for range 3 {
				_, err := fleet.Client(t.Context(), "member1")
				if tc.want == "" && err != nil || tc.want != "" && (err == nil || !errors.As(err, new(*Unreachable)) || !strings.Contains(err.Error(), tc.want)) {
					t.Fatalf("error %v, want %q", err, tc.want)
				}
			}
			if tc.want == "" && asked > 1 {
				t.Errorf("it was asked %d times who it is", asked)
			}
			s.cluster.Spec.ID = tc.shows
			s.cluster.Generation++
			if _, err := fleet.Client(t.Context(), "member1"); tc.status == 0 && err != nil {
				t.Errorf("after spec.id was corrected: %v", err)
			}
		})
	}
}
