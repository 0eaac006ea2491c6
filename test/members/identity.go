// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// identity is what the members prove who they are with: one certificate, which is
// its own authority.
type identity struct {
	serving tls.Certificate
	ca      []byte // PEM
}

// newIdentity is one for members at that address.
func newIdentity(host net.IP) (*identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	like := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "members"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(30 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{host}, DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, like, like, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &identity{
		serving: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		ca:      pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
	}, nil
}

func (*identity) token() string { return rand.Text() }

// kubeconfig writes how a member is reached.
func (id *identity) kubeconfig(path, name, address, token string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: "https://" + address, CertificateAuthorityData: id.ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}, path)
}
