// Package natsaccess makes and reads what it takes to connect to the NATS servers that keep the orders of many
// venues: the keys and accounts, the certificates, the configuration of the servers, and the credentials of each box
// and each relay.
//
// A kitchen's orders are read with nothing but its credentials file, from anywhere. So a file opens one venue and
// nothing else, both sides show a certificate, and a file that was lost is revoked at once, also for a connection
// that is open. Whoever may make credentials needs the operator's file, see [Operator].
package natsaccess

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Credentials are who somebody is at the servers, and how it knows that they are the right ones.
type Credentials struct {
	Name   string    // the venue's id, or the name of the relay
	User   string    // the public key of the NATS user
	Issued time.Time // to the second, by which credentials are revoked
	Ends   time.Time // of the certificate

	token string
	key   nkeys.KeyPair
	cert  tls.Certificate
	roots *x509.CertPool
}

// ReadCredentials reads a credentials file. Its errors contain nothing of it.
func ReadCredentials(path string) (*Credentials, error) {
	data, err := readSecret(path)
	if err != nil {
		return nil, err
	}
	c, err := parseCredentials(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; is it a file of ticketrail relay?", path, err)
	}
	return c, nil
}

func parseCredentials(data []byte) (c *Credentials, err error) {
	c = &Credentials{roots: x509.NewCertPool()}
	if c.token, err = jwt.ParseDecoratedJWT(data); err != nil {
		return nil, errors.New("there is no NATS user in it")
	}
	claims, err := jwt.DecodeUserClaims(c.token)
	if err != nil {
		return nil, errors.New("its NATS user cannot be read")
	}
	c.Name, c.User, c.Issued = claims.Name, claims.Subject, time.Unix(claims.IssuedAt, 0)
	if c.key, err = jwt.ParseDecoratedUserNKey(data); err != nil {
		return nil, errors.New("there is no key of a NATS user in it")
	}
	cert, _ := nextBlock(data, pemCert)
	key, _ := nextBlock(data, pemKey)
	trusted, _ := nextBlock(data, pemTrusted)
	c.cert, err = tls.X509KeyPair(pem.EncodeToMemory(&pem.Block{Type: pemCert, Bytes: cert}),
		pem.EncodeToMemory(&pem.Block{Type: pemKey, Bytes: key}))
	if err != nil {
		return nil, errors.New("its certificate and key are missing or do not belong together")
	}
	c.Ends = c.cert.Leaf.NotAfter
	authority, err := x509.ParseCertificate(trusted)
	if err != nil {
		return nil, errors.New("the certificate of the servers' authority is missing in it")
	}
	c.roots.AddCert(authority)
	return c, nil
}

// readSecret reads a small regular file.
func readSecret(path string) ([]byte, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular() || st.Size() > maxFile:
		return nil, fmt.Errorf("%s is no file of ticketrail relay", path)
	}
	return os.ReadFile(path)
}

// Options say where to connect and as whom.
type Options struct {
	URLs            []string // as tls://relay1.example.com:4222
	CredentialsFile string   // read again at each connect, so that a renewed one needs no restart
	Name            string   // for people who look at the servers
	Logger          *slog.Logger
}

// Connect returns a connection that is made in the background, and again whenever it ends, for ever: the servers may
// be away when a kitchen starts, and credentials that are refused now may be allowed again. The error is one of the
// credentials or of a URL. ctx is not kept.
func Connect(_ context.Context, o Options) (*nats.Conn, error) {
	// Wrong ones are reported now and not in the log later.
	if _, err := ReadCredentials(o.CredentialsFile); err != nil {
		return nil, err
	}
	read := func() (*Credentials, error) { return ReadCredentials(o.CredentialsFile) }
	return nats.Connect(strings.Join(o.URLs, ","), append(options(read), nats.Name(o.Name),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.CustomReconnectDelay(reconnectDelay),
		nats.IgnoreAuthErrorAbort(), logConnection(o.Logger))...)
}

// Try connects once, to find out whether that is possible.
func Try(o Options) (*nats.Conn, error) {
	return nats.Connect(strings.Join(o.URLs, ","), append(options(func() (*Credentials, error) {
		return ReadCredentials(o.CredentialsFile)
	}), nats.Name(o.Name), nats.NoReconnect())...)
}

// Refused reports whether an error of a connection says that the servers do not accept its credentials.
func Refused(err error) bool {
	for _, why := range []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked,
		nats.ErrAccountAuthExpired, nats.ErrMaxAccountConnectionsExceeded} { // the last: the venue was removed
		if errors.Is(err, why) {
			return true
		}
	}
	return false
}

// options are those of every connection.
func options(read func() (*Credentials, error)) []nats.Option {
	return []nats.Option{
		nats.UserJWT(func() (string, error) {
			c, err := read()
			if err != nil {
				return "", err
			}
			return c.token, nil
		}, func(nonce []byte) ([]byte, error) {
			c, err := read()
			if err != nil {
				return nil, err
			}
			return c.key.Sign(nonce)
		}),
		nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12}),
		nats.ClientTLSConfig(func() (tls.Certificate, error) {
			c, err := read()
			if err != nil {
				return tls.Certificate{}, err
			}
			return c.cert, nil
		}, func() (*x509.CertPool, error) {
			c, err := read()
			if err != nil {
				return nil, err
			}
			return c.roots, nil
		}),
		nats.Timeout(5 * time.Second),
		// What is published while the servers are away fails at once: an order that waited in memory could be lost
		// with it, and its sender has been answered by then.
		nats.ReconnectBufSize(-1),
		// A cut that nobody announces is noticed within 20 to 30 s; a router forgets a silent connection later.
		nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2),
	}
}

// reconnectDelay is asked when no server of the list was reached. A thousand boxes lose their server together: so the
// delay is random, and grows to half a minute.
func reconnectDelay(attempts int) time.Duration {
	most := min(30*time.Second, 500*time.Millisecond<<min(attempts, 10))
	return most/2 + rand.N(most/2)
}

// logConnection logs what happens to the connection, each state once: a server that is away for an evening must not
// fill the disk.
func logConnection(log *slog.Logger) nats.Option {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return func(o *nats.Options) error {
		last := "" // of the callbacks, which nats.go calls one after another
		down := func(c *nats.Conn, err error) {
			if err != nil && err.Error() != last {
				last = err.Error()
				log.Warn("no connection to the relay's servers; it is tried again for ever", "err", err)
			}
		}
		up := func(c *nats.Conn) {
			last = ""
			log.Info("connected to the relay's servers", "server", c.ConnectedServerName(),
				"url", c.ConnectedUrlRedacted())
		}
		o.ConnectedCB, o.ReconnectedCB = up, up
		o.DisconnectedErrCB, o.ReconnectErrCB = down, down
		o.AsyncErrorCB = func(_ *nats.Conn, s *nats.Subscription, err error) {
			log.Warn("the relay's servers report an error", "err", err)
		}
		return nil
	}
}
