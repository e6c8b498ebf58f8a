package push

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"ticketrail/printer/webhook"
)

// credentials are the contents of the files at one attempt.
type credentials struct {
	token string
	keys  webhook.Keys
	tls   *tls.Config // trusts the authorities of ca_file, or the system's
}

// readCredentials reads the files named in o. An error names the key of the configuration and the
// file, never its content.
func readCredentials(o Options) (k credentials, err error) {
	if k.token, err = readFile("token_file", o.TokenFile); err != nil {
		return k, err
	}
	k.token = strings.TrimSpace(k.token)

	if o.TokenFile != "" && (k.token == "" ||
		strings.ContainsFunc(k.token, func(r rune) bool { return r <= ' ' || r > '~' })) {
		return k, fmt.Errorf("token_file %s: want one token on one line, without spaces", o.TokenFile)
	}

	secrets, err := readFile("secret_file", o.SecretFile)
	if err != nil {
		return k, err
	}

	if o.SecretFile != "" {
		if k.keys, err = webhook.ReadKeys(secrets); err != nil {
			return k, fmt.Errorf("secret_file %s: %w", o.SecretFile, err)
		}
	}

	authorities, err := readFile("ca_file", o.CAFile)
	if err != nil {
		return k, err
	}

	k.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities != "" {
		k.tls.RootCAs = x509.NewCertPool()
		if !k.tls.RootCAs.AppendCertsFromPEM([]byte(authorities)) {
			return k, errors.New("ca_file: contains no PEM certificate")
		}
	}
	return k, nil
}

// maxFileBytes bounds a file that is named in the configuration, in case it is the wrong file.
const maxFileBytes = 1 << 20

// readFile reads a small file; "" if none is named. key is the key of the configuration that names it, for
// the error.
func readFile(key, name string) (string, error) {
	if name == "" {
		return "", nil
	}

	// The size first: reading a device or a huge file could take all memory.
	info, err := os.Stat(name)
	if err == nil && info.Size() > maxFileBytes {
		err = fmt.Errorf("%s: %d bytes, more than %d: is it the right file?", name, info.Size(), maxFileBytes)
	}

	var b []byte
	if err == nil {
		b, err = os.ReadFile(name)
	}

	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	return string(b), nil
}

// transport makes one for a single ticket: on a connection that is used again and turns out to be closed, the ticket
// might be sent twice.
func (s *Display) transport(trusted *tls.Config) *http.Transport {
	return &http.Transport{
		DialContext: s.o.Dial, TLSClientConfig: trusted, TLSHandshakeTimeout: s.o.Timeout,
		// DisableCompression: an answer is a few bytes, and a small one that unpacks to gigabytes cannot be sent.
		MaxResponseHeaderBytes: webhook.MaxAnswer, DisableCompression: true,
	}
}

// Check reports whether the files can be read and the display can be reached and trusted. It sends
// no ticket. It finds the mistakes that are made when a display is set up.
func (s *Display) Check(ctx context.Context) error {
	read, err := readCredentials(s.o)
	if err != nil {
		return s.errorf("%w", err)
	}

	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()

	port := cmp.Or(s.url.Port(), s.url.Scheme)
	conn, err := s.o.Dial(ctx, "tcp", net.JoinHostPort(s.url.Hostname(), port))
	if err != nil {
		return s.errorf("connect: %w", err)
	}
	defer conn.Close()

	if s.url.Scheme == "https" {
		read.tls.ServerName = s.url.Hostname()
		if err := tls.Client(conn, read.tls).HandshakeContext(ctx); err != nil {
			return s.errorf("TLS: %w", err)
		}
	}
	return nil
}

// Run waits until ctx ends: nothing is kept between tickets.
func (s *Display) Run(ctx context.Context) { <-ctx.Done() }
