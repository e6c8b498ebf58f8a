package main

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
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"ticketrail/receiver/sim"
)

// caFlag gives the flag one name in all commands that send.
func caFlag(c *cobra.Command, ca *string) {
	c.Flags().StringVar(ca, "ca", "", "a file with the certificate (PEM) of the authority that the webhook's is from")
}

// listenTLS makes an authority that lives as long as the program, writes its certificate to a file,
// and serves l with a certificate of it for l's address and localhost.
func listenTLS(l net.Listener, file string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, err
	}
	now := time.Now()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "possim"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0), KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.ParseIP(host), net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		NotBefore:   authority.NotBefore, NotAfter: authority.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca, err := x509.CreateCertificate(rand.Reader, authority, authority, caKey.Public(), caKey)
	if err != nil {
		return nil, err
	}
	cert, err := x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), caKey)
	if err != nil {
		return nil, err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca})
	if err := os.WriteFile(file, block, 0o644); err != nil {
		return nil, err
	}
	return tls.NewListener(l, &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}},
		NextProtos:   []string{"http/1.1"},
	}), nil
}

// transportFor is [sim.Transport] for a webhook whose certificate a private authority may have
// issued.
func transportFor(concurrency int, ca string) (*http.Transport, error) {
	t := sim.Transport(concurrency)
	if ca == "" {
		return t, nil
	}

	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("--ca: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, usageError{fmt.Errorf("--ca: %s has no certificate in PEM form", ca)}
	}
	t.TLSClientConfig = &tls.Config{RootCAs: roots}
	return t, nil
}
