// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
)

// kubeconfigKey is the key of the Secret for a whole kubeconfig. If it is set, it has
// everything that is needed to reach the member.
const kubeconfigKey = "kubeconfig"

const (
	dialTimeout    = 3 * time.Second
	requestTimeout = 10 * time.Second
	readyTimeout   = 3 * time.Second
	listTimeout    = time.Minute
)

// configFor returns the configuration for reaching the member. Its requests are not
// rate limited: callers limit their concurrency.
func configFor(c *clusterv1alpha1.Cluster, secret map[string][]byte) (*rest.Config, error) {
	cfg, err := credentials(c, secret)
	if err != nil {
		return nil, err
	}
	cfg.UserAgent, cfg.QPS = "sluice", -1
	cfg.WarningHandlerWithContext = rest.NoWarnings{}
	if c.Spec.InsecureSkipTLSVerification {
		cfg.Insecure, cfg.CAData = true, nil
	}
	if c.Spec.ProxyURL != "" {
		proxy, err := url.Parse(c.Spec.ProxyURL)
		if err != nil {
			return nil, fmt.Errorf("spec.proxyURL: %w", err)
		}
		cfg.Proxy = http.ProxyURL(proxy)
	}
	return cfg, nil
}

func credentials(c *clusterv1alpha1.Cluster, secret map[string][]byte) (*rest.Config, error) {
	if raw := secret[kubeconfigKey]; len(raw) > 0 {
		return fromKubeconfig(raw)
	}
	token := secret[clusterv1alpha1.SecretTokenKey]
	switch {
	case len(token) == 0:
		return nil, fmt.Errorf("the Secret has neither the key %s nor %s", clusterv1alpha1.SecretTokenKey, kubeconfigKey)
	case c.Spec.APIEndpoint == "":
		return nil, errors.New("spec.apiEndpoint is empty")
	}
	// Without a scheme, client-go might choose http and send the token in clear text.
	endpoint := c.Spec.APIEndpoint
	if !strings.Contains(endpoint, "://") {
		endpoint = "https://" + endpoint
	}
	return &rest.Config{
		Host:            endpoint,
		BearerToken:     string(token),
		TLSClientConfig: rest.TLSClientConfig{CAData: secret[clusterv1alpha1.SecretCADataKey]},
	}, nil
}

// Kubeconfig returns the configuration for the cluster of a kubeconfig, and an HTTP
// client with the limits that apply to members.
func Kubeconfig(raw []byte) (*rest.Config, *http.Client, error) {
	cfg, err := fromKubeconfig(raw)
	if err != nil {
		return nil, nil, err
	}
	cfg.UserAgent, cfg.QPS, cfg.WarningHandlerWithContext = "sluice", -1, rest.NoWarnings{}
	client, err := httpClient(cfg, nil)
	return cfg, client, err
}

// fromKubeconfig reads the current context. Whoever may write the Secret controls the
// kubeconfig, so it must not make this process run a program or read its files.
func fromKubeconfig(raw []byte) (*rest.Config, error) {
	file, err := clientcmd.Load(raw)
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", kubeconfigKey, err)
	}
	for name, user := range file.AuthInfos {
		if why := unsafeUser(user); why != "" {
			return nil, fmt.Errorf("key %s: user %s: %s is not allowed", kubeconfigKey, name, why)
		}
	}
	for name, cluster := range file.Clusters {
		if cluster.CertificateAuthority != "" {
			return nil, fmt.Errorf("key %s: cluster %s: certificate-authority is not allowed, use certificate-authority-data", kubeconfigKey, name)
		}
	}
	cfg, err := clientcmd.NewNonInteractiveClientConfig(*file, file.CurrentContext, nil, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", kubeconfigKey, err)
	}
	return cfg, nil
}

func unsafeUser(u *clientcmdapi.AuthInfo) string {
	switch {
	case u.Exec != nil:
		return "exec"
	case u.AuthProvider != nil:
		return "auth-provider"
	case u.TokenFile != "":
		return "tokenFile"
	case u.ClientCertificate != "" || u.ClientKey != "":
		return "client-certificate and client-key in files"
	}
	return ""
}

// httpClient returns a client with connections of its own, so that they can be closed
// with the client that they belong to. It has no timeout, because watches last.
func httpClient(cfg *rest.Config, proxyHeader map[string]string) (*http.Client, error) {
	tlsConfig, err := rest.TLSConfigFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	proxy := cfg.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	header := http.Header{}
	for k, values := range proxyHeader {
		for v := range strings.SplitSeq(values, ",") {
			header.Add(k, strings.TrimSpace(v))
		}
	}
	base := utilnet.SetTransportDefaults(&http.Transport{
		Proxy:               proxy,
		ProxyConnectHeader:  header,
		DialContext:         (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:     tlsConfig,
		TLSHandshakeTimeout: dialTimeout,
		MaxIdleConnsPerHost: 25,
		IdleConnTimeout:     90 * time.Second,

		MaxResponseHeaderBytes: maxHeader,
	})
	wrapped, err := rest.HTTPWrappersForConfig(cfg, base)
	if err != nil {
		return nil, fmt.Errorf("authentication: %w", err)
	}
	return &http.Client{
		Transport: newGuard(wrapped),
		// guard turns a redirect into an error: following it could send the credentials
		// elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}
