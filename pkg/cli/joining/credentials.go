// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package joining

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Credentials are what a hub needs to write to a member.
type Credentials struct {
	// Endpoint of the member's API server.
	Endpoint string
	// Insecure: the member's certificate is not checked.
	Insecure bool
	// ProxyURL of a proxy to the member; empty: none.
	ProxyURL string
	// Kubeconfig refers to no file and no program.
	Kubeconfig []byte
	// source says for people where the credentials come from.
	source string
	config *rest.Config
}

// Load reads the credentials from a kubeconfig file; an empty context means the file's
// current one.
func Load(file, context string) (*Credentials, error) {
	kc, err := clientcmd.LoadFromFile(file)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", file, err)
	}
	kc.CurrentContext = cmp.Or(context, kc.CurrentContext)
	if err := minify(kc, file); err != nil {
		return nil, err
	}
	if err := inline(kc, file); err != nil {
		return nil, err
	}
	raw, err := clientcmd.Write(*kc)
	if err != nil {
		return nil, fmt.Errorf("write the credentials of %s: %w", file, err)
	}
	return Parse(raw, file)
}

// Parse reads credentials that Load wrote; source says for people where they come from.
func Parse(raw []byte, source string) (*Credentials, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(raw)
	if err != nil {
		return nil, fmt.Errorf("use the credentials of %s: %w", source, err)
	}
	config.Timeout, config.QPS, config.WarningHandler = answerWithin, -1, rest.NoWarnings{}
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	kc, err := clientcmd.Load(raw)
	if err != nil {
		return nil, fmt.Errorf("read the credentials of %s: %w", source, err)
	}
	c := &Credentials{Endpoint: config.Host, Kubeconfig: raw, source: source, config: config}
	if cluster := clusterOf(kc); cluster != nil {
		c.Insecure, c.ProxyURL = cluster.InsecureSkipTLSVerify, cluster.ProxyURL
	}
	return c, nil
}

func clusterOf(kc *clientcmdapi.Config) *clientcmdapi.Cluster {
	if context := kc.Contexts[kc.CurrentContext]; context != nil {
		return kc.Clusters[context.Cluster]
	}
	return nil
}

// minify removes everything but the current context, and checks that this is complete.
func minify(kc *clientcmdapi.Config, file string) error {
	name := kc.CurrentContext
	context := kc.Contexts[name]
	all := strings.Join(slices.Sorted(maps.Keys(kc.Contexts)), ", ")
	switch {
	case len(kc.Contexts) == 0:
		return fmt.Errorf("kubeconfig %s has no context: is it a kubeconfig?", file)
	case name == "":
		return fmt.Errorf("kubeconfig %s has no current context: choose one with --cluster-context: %s", file, all)
	case context == nil:
		return fmt.Errorf("kubeconfig %s has no context %q: it has %s", file, name, all)
	case kc.Clusters[context.Cluster] == nil || kc.Clusters[context.Cluster].Server == "":
		return fmt.Errorf("context %q of %s names no cluster with a server", name, file)
	case kc.AuthInfos[context.AuthInfo] == nil:
		return fmt.Errorf("context %q of %s names no user: without credentials the hub cannot write to the member", name, file)
	}
	if err := clientcmdapi.MinifyConfig(kc); err != nil {
		return fmt.Errorf("reduce kubeconfig %s to its context %q: %w", file, name, err)
	}
	return nil
}

// inline puts certificates and tokens into the config, and refuses credentials that
// only work on this machine.
func inline(kc *clientcmdapi.Config, file string) error {
	name := kc.Contexts[kc.CurrentContext].AuthInfo
	user := kc.AuthInfos[name]
	const instead = "make a ServiceAccount in the member with what 'join --print-role' prints, and use its token"
	switch {
	case user.Exec != nil:
		return fmt.Errorf("user %q of %s gets its credentials from the program %q, which the hub does not have: %s", name, file, user.Exec.Command, instead)
	case user.AuthProvider != nil:
		return fmt.Errorf("user %q of %s gets its credentials from the provider %q, which the hub does not have: %s", name, file, user.AuthProvider.Name, instead)
	}
	if user.TokenFile != "" {
		token, err := os.ReadFile(clientcmdapi.ResolvePath(user.TokenFile, filepath.Dir(user.LocationOfOrigin)))
		if err != nil {
			return fmt.Errorf("read the token of user %q of %s: %w", name, file, err)
		}
		user.Token, user.TokenFile = strings.TrimSpace(string(token)), ""
	}
	if err := clientcmdapi.FlattenConfig(kc); err != nil {
		return fmt.Errorf("read the certificates of %s: %w", file, err)
	}
	certificate := len(user.ClientCertificateData) > 0 && len(user.ClientKeyData) > 0
	if !certificate && user.Token == "" && user.Username == "" {
		return fmt.Errorf("user %q of %s has neither a client certificate with its key nor a token: %s", name, file, instead)
	}
	return nil
}
