// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"strings"
	"time"
)

// Files in the pki folder.
const (
	caCert            = "ca.crt"
	serverCert        = "server.crt"
	serverKey         = "server.key"
	serviceAccountKey = "service-account.key"
	tokensFile        = "tokens.csv"
)

// users are the holders of tokens: who uses the kubeconfig, and the user's
// name in the API. All are system:masters. (A token costs the server less
// than a client certificate, whose chain is verified on each request.)
var users = map[string]string{
	"admin":   "admin", // the kubeconfig for users
	labUser:   "lab",   // this program
	kcm:       "system:kube-controller-manager",
	scheduler: "system:kube-scheduler",
	kwok:      "kwok",
}

const labUser = "lab"

// userKubeconfig is the kubeconfig of one of users.
func (c *Cluster) userKubeconfig(user string) string {
	if user == "admin" {
		return c.Kubeconfig
	}
	return c.path("config", user+".kubeconfig")
}

func (c *Cluster) tokenFile(user string) string { return c.path("pki", user+".token") }

func (c *Cluster) writeIdentities() error {
	ca, err := c.writeCertificates()
	if err != nil {
		return err
	}
	var tokens strings.Builder
	for user, name := range users {
		token := rand.Text()
		fmt.Fprintf(&tokens, "%s,%s,%s,system:masters\n", token, name, name)
		if err := os.WriteFile(c.tokenFile(user), []byte(token), 0o600); err != nil {
			return err
		}
		if err := os.WriteFile(c.userKubeconfig(user), c.kubeconfig(ca, token), 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(c.path("pki", tokensFile), []byte(tokens.String()), 0o600)
}

// kubeconfig is self-contained: it may be put into a Secret.
func (c *Cluster) kubeconfig(ca []byte, token string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: %[1]s
clusters:
- name: %[1]s
  cluster:
    server: %[2]s
    certificate-authority-data: %[3]s
users:
- name: %[1]s
  user:
    token: %[4]s
contexts:
- name: %[1]s
  context:
    cluster: %[1]s
    user: %[1]s
`, c.Name, c.Server(), base64.StdEncoding.EncodeToString(ca), token)
}

// writeCertificates makes an authority, a server certificate signed by it,
// and the key that signs the tokens of service accounts. The authority's own
// key is thrown away. It returns the authority's certificate as PEM.
func (c *Cluster) writeCertificates() ([]byte, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	saKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca := certificate(1, c.Name+"-ca")
	ca.IsCA, ca.KeyUsage = true, x509.KeyUsageCertSign
	server := certificate(2, "kube-apiserver")
	server.KeyUsage = x509.KeyUsageDigitalSignature
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)}
	server.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}

	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return nil, err
	}
	serverDER, err := x509.CreateCertificate(rand.Reader, server, ca, key.Public(), caKey)
	if err != nil {
		return nil, err
	}
	caPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER})
	for name, b := range map[string][]byte{
		caCert:     caPEM,
		serverCert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: serverDER}),
	} {
		if err := os.WriteFile(c.path("pki", name), b, 0o644); err != nil {
			return nil, err
		}
	}
	for name, k := range map[string]*ecdsa.PrivateKey{serverKey: key, serviceAccountKey: saKey} {
		if err := writeKey(c.path("pki", name), k); err != nil {
			return nil, err
		}
	}
	return caPEM, nil
}

func certificate(serial int64, name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber:          big.NewInt(serial),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.AddDate(1, 0, 0),
		BasicConstraintsValid: true,
	}
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}
