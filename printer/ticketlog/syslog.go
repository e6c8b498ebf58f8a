package ticketlog

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/leodido/go-syslog/v4/rfc5424"

	"ticketrail/queue/ticket"
)

// priority of all messages: local0.info. Servers sort by it.
const priority = 16*8 + 6

// closeTimeout is how long the server may take to read a message and to close its side.
const closeTimeout = time.Second

// A syslog server gets messages of RFC 5424 over TCP (RFC 6587, with octet counting) or TLS (RFC 5425). The protocol
// has no acknowledgement, and what is written to a connection that the server has closed meanwhile is lost without an
// error. So each ticket has its own connection, whose sending side is closed behind the message: a server that then
// closes its side too has read it to the end.
type syslog struct {
	o       Options
	address string
	tls     bool
	host    string // of this box
}

func newSyslog(o Options, u *url.URL) *syslog {
	s := &syslog{o: o, tls: u.Scheme == "syslog+tls"}
	port := "601" // RFC 6587
	if s.tls {
		port = "6514" // RFC 5425
	}
	s.address = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))
	s.host, _ = os.Hostname() // without one, the message has none
	return s
}

func (s *syslog) errorf(format string, args ...any) error {
	return fmt.Errorf("syslog server %s: "+format, append([]any{s.address}, args...)...)
}

// A conn can close its sending side: *net.TCPConn and *tls.Conn.
type conn interface {
	net.Conn
	CloseWrite() error
}

func (s *syslog) connect(ctx context.Context) (conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	c, err := s.o.Dial(ctx, "tcp", s.address)
	if err != nil {
		return nil, s.errorf("%w", err)
	}
	if !s.tls {
		plain, ok := c.(conn)
		if !ok {
			c.Close()
			return nil, s.errorf("the connection cannot be closed for sending")
		}
		return plain, nil
	}
	host, _, _ := net.SplitHostPort(s.address)
	conf := &tls.Config{ServerName: host}
	if s.o.CAFile != "" {
		pem, err := os.ReadFile(s.o.CAFile)
		conf.RootCAs = x509.NewCertPool()
		if err == nil && !conf.RootCAs.AppendCertsFromPEM(pem) {
			err = fmt.Errorf("%s contains no PEM certificate", s.o.CAFile)
		}
		if err != nil {
			c.Close()
			return nil, ticket.NotReady(s.errorf("ca_file: %w", err))
		}
	}
	secure := tls.Client(c, conf)
	if err := secure.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, s.errorf("%w", err)
	}
	return secure, nil
}

func (s *syslog) check(ctx context.Context) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	return c.Close()
}

// message frames a line: its length in bytes, a space, the message.
func (s *syslog) message(d ticket.Delivery, line []byte) ([]byte, error) {
	m := &rfc5424.SyslogMessage{}
	m.SetVersion(1).SetPriority(priority).SetTimestamp(time.Now().UTC().Format(rfc5424.RFC3339MICRO)).
		SetHostname(s.host).SetAppname("ticketrail").SetProcID(strconv.FormatUint(d.Job, 10)).SetMsgID("ticket").
		SetMessage(string(line[:len(line)-1]))
	text, err := m.String()
	if err != nil {
		return nil, err
	}
	return []byte(strconv.Itoa(len(text)) + " " + text), nil
}

// write sends one message. A crash after begin: the server may have it, and gets it again with possible_duplicate.
func (s *syslog) write(
	ctx context.Context, d ticket.Delivery, line []byte, begin func(context.Context) error,
) (ticket.Proof, error) {
	message, err := s.message(d, line)
	if err != nil {
		return "", ticket.Permanent(s.errorf("compose message: %w", err))
	}
	c, err := s.connect(ctx)
	if err != nil {
		return "", err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if err := begin(ctx); err != nil {
		return "", err
	}
	_ = c.SetDeadline(time.Now().Add(s.o.Timeout))
	if _, err := c.Write(message); err != nil {
		return "", s.errorf("%w", err)
	}
	if err := c.CloseWrite(); err != nil {
		return "", s.errorf("%w", err)
	}
	_ = c.SetReadDeadline(time.Now().Add(closeTimeout))
	// What it sends has no meaning.
	switch _, err := io.Copy(io.Discard, io.LimitReader(c, 64<<10)); {
	case err == nil:
		return ticket.Taken, nil
	case errors.Is(err, os.ErrDeadlineExceeded): // it keeps the connection open: all that is known
		return ticket.Sent, nil
	default:
		return "", s.errorf("%w", err)
	}
}
