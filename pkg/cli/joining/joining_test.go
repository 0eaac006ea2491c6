// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package joining_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/cli/joining"
	"sluice.dev/pkg/core/propagation"
)

// kubeconfig has the contexts "one", the current one, and "two".
func kubeconfig() *clientcmdapi.Config {
	kc := clientcmdapi.NewConfig()
	kc.CurrentContext = "one"
	for _, name := range []string{"one", "two"} {
		kc.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
		kc.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + name + ":6443"}
		kc.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: "token-" + name}
	}
	return kc
}

func write(t *testing.T, dir string, kc *clientcmdapi.Config) string {
	t.Helper()
	file := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*kc, file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLoad(t *testing.T) {
	for name, tc := range map[string]struct {
		edit    func(kc *clientcmdapi.Config)
		context string
		want    clientcmdapi.AuthInfo
		server  string
	}{
		"the current context":    {server: "https://one:6443", want: clientcmdapi.AuthInfo{Token: "token-one"}},
		"another context":        {context: "two", server: "https://two:6443", want: clientcmdapi.AuthInfo{Token: "token-two"}},
		"a token file beside it": {edit: func(kc *clientcmdapi.Config) { *kc.AuthInfos["one"] = clientcmdapi.AuthInfo{TokenFile: "token"} }, server: "https://one:6443", want: clientcmdapi.AuthInfo{Token: "filed"}},
		"a user with a password": {edit: func(kc *clientcmdapi.Config) {
			*kc.AuthInfos["one"] = clientcmdapi.AuthInfo{Username: "a", Password: "b"}
		}, server: "https://one:6443", want: clientcmdapi.AuthInfo{Username: "a", Password: "b"}},
		"a certificate beside it": {edit: certificate("client.crt"), server: "https://one:6443", want: clientcmdapi.AuthInfo{ClientCertificateData: []byte(pair.cert), ClientKeyData: []byte(pair.key)}},
		"a certificate in the file": {edit: func(kc *clientcmdapi.Config) {
			*kc.AuthInfos["one"] = clientcmdapi.AuthInfo{ClientCertificateData: []byte(pair.cert), ClientKeyData: []byte(pair.key)}
		}, server: "https://one:6443", want: clientcmdapi.AuthInfo{ClientCertificateData: []byte(pair.cert), ClientKeyData: []byte(pair.key)}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range map[string]string{"token": "filed\n", "client.crt": pair.cert, "client.key": pair.key} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			kc := kubeconfig()
			if tc.edit != nil {
				tc.edit(kc)
			}
			got, err := joining.Load(write(t, dir, kc), tc.context)
			if err != nil {
				t.Fatal(err)
			}
			if got.Endpoint != tc.server {
				t.Errorf("the endpoint is %s", got.Endpoint)
			}
			kept, err := clientcmd.Load(got.Kubeconfig)
			if err != nil {
				t.Fatal(err)
			}
			if len(kept.Contexts) != 1 || len(kept.AuthInfos) != 1 {
				t.Errorf("more than one context is kept: %v", kept.Contexts)
			}
			if diff := cmp.Diff(&tc.want, kept.AuthInfos[kept.Contexts[kept.CurrentContext].AuthInfo], cmpopts.EquateEmpty(), cmpopts.IgnoreFields(clientcmdapi.AuthInfo{}, "LocationOfOrigin")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func certificate(file string) func(kc *clientcmdapi.Config) {
	return func(kc *clientcmdapi.Config) {
		*kc.AuthInfos["one"] = clientcmdapi.AuthInfo{ClientCertificate: file, ClientKey: "client.key"}
	}
}

func TestLoadRefuses(t *testing.T) {
	user := func(a clientcmdapi.AuthInfo) func(*clientcmdapi.Config) {
		return func(kc *clientcmdapi.Config) { *kc.AuthInfos["one"] = a }
	}
	for name, tc := range map[string]struct {
		edit    func(kc *clientcmdapi.Config)
		context string
		want    string
	}{
		"a context that is not there": {context: "three", want: `has no context "three": it has one, two`},
		"no current context":          {edit: func(kc *clientcmdapi.Config) { kc.CurrentContext = "" }, want: "choose one with --cluster-context: one, two"},
		"no context at all":           {edit: func(kc *clientcmdapi.Config) { kc.Contexts = nil }, want: "is it a kubeconfig?"},
		"a context without a cluster": {edit: func(kc *clientcmdapi.Config) { delete(kc.Clusters, "one") }, want: "names no cluster with a server"},
		"a context without a user":    {edit: func(kc *clientcmdapi.Config) { delete(kc.AuthInfos, "one") }, want: "names no user"},
		"a user without credentials":  {edit: user(clientcmdapi.AuthInfo{}), want: "neither a client certificate with its key nor a token"},
		"a certificate without a key": {edit: user(clientcmdapi.AuthInfo{ClientCertificateData: []byte(pair.cert)}), want: "neither a client certificate with its key nor a token"},
		"a file that is not there":    {edit: certificate("absent.crt"), want: "absent.crt"},
		"a token that is not there":   {edit: user(clientcmdapi.AuthInfo{TokenFile: "absent"}), want: "read the token"},
		"a program of this machine": {
			edit: user(clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{Command: "cloud-login", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}}),
			want: `gets its credentials from the program "cloud-login", which the hub does not have: make a ServiceAccount`,
		},
		"a provider of this machine": {edit: user(clientcmdapi.AuthInfo{AuthProvider: &clientcmdapi.AuthProviderConfig{Name: "oidc"}}), want: `from the provider "oidc"`},
	} {
		t.Run(name, func(t *testing.T) {
			kc := kubeconfig()
			if tc.edit != nil {
				tc.edit(kc)
			}
			_, err := joining.Load(write(t, t.TempDir(), kc), tc.context)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	if _, err := joining.Load(filepath.Join(t.TempDir(), "absent"), ""); err == nil {
		t.Error("a file that is not there is no error")
	}
}

func TestObjectsOf(t *testing.T) {
	work := func(name string, manifests ...any) *propagation.Work {
		w := &propagation.Work{Key: propagation.WorkKey{Cluster: "m", Name: name}}
		for _, m := range manifests {
			raw, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}})
		}
		return w
	}
	object := func(apiVersion, kind, namespace, name string) map[string]any {
		return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name}}
	}
	got := joining.ObjectsOf([]*propagation.Work{
		work("w1", object("v1", "Namespace", "", "shop"), "no object", map[string]any{"kind": "Nameless", "apiVersion": "v1"}),
		work("w2", object("apps/v1", "Deployment", "shop", "nginx")),
	})
	want := []joining.Object{
		{TemplateKey: propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"}, Work: "w2", Owners: []string{"w2"}},
		{TemplateKey: propagation.TemplateKey{APIVersion: "v1", Kind: "Namespace", Name: "shop"}, Work: "w1", Owners: []string{"w1"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
