package natsaccess

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"time"
)

// An authority signs certificates. There are two, because a server accepts every certificate of the authority
// that it is given: with one for all, a box could pass for a node and join the cluster, where it reads everything.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Certificates are valid from a day ago, because the clock of a box may be a little slow, and for long: one that
// ends on a Friday evening costs orders, and whose access ends is told by the account (see Operator.Close).
const (
	notBefore     = -24 * time.Hour
	authorityLife = 30 * 365 * 24 * time.Hour
	certLife      = 20 * 365 * 24 * time.Hour
)

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		Subject:  pkix.Name{CommonName: name},
		NotAfter: time.Now().Add(authorityLife), KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	cert, err := sign(t, t, key, key)
	if err != nil {
		return nil, err
	}
	return &authority{cert, key}, nil
}

// node is the certificate of a server at host, a name or an address; it is a client too, of the other nodes.
func (a *authority) node(host string) (certPEM, keyPEM []byte, err error) {
	t := &x509.Certificate{Subject: pkix.Name{CommonName: host},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	if ip := net.ParseIP(host); ip != nil {
		t.IPAddresses = []net.IP{ip}
	} else {
		t.DNSNames = []string{host}
	}
	return a.issue(t)
}

// client is the certificate of a box or of a relay. Who it is, its NATS user says; the name is for people.
func (a *authority) client(name string) (certPEM, keyPEM []byte, err error) {
	return a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

func (a *authority) issue(t *x509.Certificate) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	t.NotAfter, t.KeyUsage = time.Now().Add(certLife), x509.KeyUsageDigitalSignature
	cert, err := sign(t, a.cert, key, a.key)
	if err != nil {
		return nil, nil, err
	}
	keyPEM, err = encodeKey(key)
	return encodeCert(cert), keyPEM, err
}

func sign(t, parent *x509.Certificate, key, by *ecdsa.PrivateKey) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	t.SerialNumber, t.NotBefore = serial, time.Now().Add(notBefore)
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key.Public(), by)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

const (
	pemCert    = "CERTIFICATE"
	pemKey     = "PRIVATE KEY"
	pemTrusted = "TRUSTED CERTIFICATE" // of the authority of the servers, in a credentials file
)

func encodeCert(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: pemCert, Bytes: c.Raw})
}

func encodeKey(k *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k)
	return pem.EncodeToMemory(&pem.Block{Type: pemKey, Bytes: der}), err
}

// decodeAuthority reads a certificate and its key, in this order, and returns what follows them.
func decodeAuthority(data []byte) (a *authority, rest []byte, err error) {
	cert, rest := nextBlock(data, pemCert)
	key, rest := nextBlock(rest, pemKey)
	if cert == nil || key == nil {
		return nil, nil, errors.New("an authority's certificate or key is missing")
	}
	a = &authority{}
	if a.cert, err = x509.ParseCertificate(cert); err != nil {
		return nil, nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	a.key, _ = parsed.(*ecdsa.PrivateKey)
	if a.key == nil || !a.key.PublicKey.Equal(a.cert.PublicKey) {
		return nil, nil, errors.New("an authority's certificate and key do not belong together")
	}
	return a, rest, nil
}

// nextBlock returns the next PEM block of a type, nil if there is none, and what follows it.
func nextBlock(data []byte, kind string) (der, rest []byte) {
	for {
		var b *pem.Block
		if b, data = pem.Decode(data); b == nil || b.Type == kind {
			if b != nil {
				der = b.Bytes
			}
			return der, data
		}
	}
}
