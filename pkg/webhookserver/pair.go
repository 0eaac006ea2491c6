// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

const (
	// life of a certificate.
	life = 365 * 24 * time.Hour
	// skew is how far the clock of an API server may be behind.
	skew = time.Hour
)

// Pair is a certificate that signs itself, and its key, both as PEM. Whoever
// trusts the certificate trusts nothing else with it.
type Pair struct {
	Certificate []byte
	Key         []byte
}

// NewPair makes a pair for the hosts, which are names or addresses.
func NewPair(hosts []string, now time.Time) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return Pair{}, fmt.Errorf("make a serial number: %w", err)
	}
	t := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{Organization: []string{"sluice"}, CommonName: "sluice webhook"},
		NotBefore:    now.Add(-skew), NotAfter: now.Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, host)
		}
	}
	cert, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return Pair{}, fmt.Errorf("sign the certificate: %w", err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, fmt.Errorf("encode the key: %w", err)
	}
	return Pair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}),
	}, nil
}

// TLS is the pair as a server uses it.
func (p Pair) TLS() (*tls.Certificate, error) {
	c, err := tls.X509KeyPair(p.Certificate, p.Key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	return &c, nil
}

// serves tells whether the pair is good for the hosts, and for a while.
func (p Pair) serves(hosts []string, now time.Time) bool {
	c, err := p.TLS()
	if err != nil || now.Before(c.Leaf.NotBefore) || c.Leaf.NotAfter.Sub(now) < life/3 {
		return false
	}
	for _, host := range hosts {
		if c.Leaf.VerifyHostname(host) != nil {
			return false
		}
	}
	return true
}
