package push

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"ticketrail/printer/webhook"
)

// credentials are the contents of the files at one attempt.
type credentials struct {
	token string
	keys  webhook.Keys
	ca    string
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

	k.ca, err = readFile("ca_file", o.CAFile)
	return k, err
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

// transport returns the transport that trusts the authorities in ca. The connection is reused as long as the file
// holds the same ones.
func (s *Display) transport(ca string) (*http.Transport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http != nil && s.ca == ca {
		return s.http, nil
	}

	conf, err := tlsConfig(ca)
	if err != nil {
		return nil, err
	}

	if s.http != nil {
		s.http.CloseIdleConnections()
	}

	s.ca = ca
	s.http = &http.Transport{
		DialContext: s.connect, TLSClientConfig: conf, TLSHandshakeTimeout: s.o.Timeout,
		// DisableCompression: an answer is a few bytes, and a small one that unpacks to gigabytes cannot be sent.
		MaxIdleConnsPerHost: 1, IdleConnTimeout: 30 * time.Second,
		MaxResponseHeaderBytes: webhook.MaxAnswer, DisableCompression: true,
	}
	return s.http, nil
}

// connect has a time-out of its own, because the transport goes on connecting after the request that wanted the
// connection has ended.
func (s *Display) connect(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	return s.o.Dial(ctx, network, address)
}

// tlsConfig trusts the authorities in ca, or the system's if it is empty.
func tlsConfig(ca string) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM([]byte(ca)) {
			return nil, errors.New("ca_file: contains no PEM certificate")
		}
	}
	return conf, nil
}

// Check reports whether the files can be read and the display can be reached and trusted. It sends
// no ticket. It finds the mistakes that are made when a display is set up.
func (s *Display) Check(ctx context.Context) error {
	read, err := readCredentials(s.o)
	if err != nil {
		return s.errorf("%w", err)
	}

	conf, err := tlsConfig(read.ca)
	if err != nil {
		return s.errorf("%w", err)
	}

	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()

	port := s.url.Port()
	if port == "" {
		port = s.url.Scheme
	}

	conn, err := s.o.Dial(ctx, "tcp", net.JoinHostPort(s.url.Hostname(), port))
	if err != nil {
		return s.errorf("connect: %w", err)
	}
	defer conn.Close()

	if s.url.Scheme == "https" {
		conf.ServerName = s.url.Hostname()
		if err := tls.Client(conn, conf).HandshakeContext(ctx); err != nil {
			return s.errorf("TLS: %w", err)
		}
	}
	return nil
}

// Run waits until ctx ends, and closes the connection that is kept for the next ticket.
func (s *Display) Run(ctx context.Context) {
	<-ctx.Done()
	s.Close()
}

// Close closes the connection that is kept for the next ticket. A Print that runs is not
// interrupted.
func (s *Display) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http != nil {
		s.http.CloseIdleConnections()
	}
}
