package ticketlog

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/slow"
	"ticketrail/queue/ticket"
)

func TestOnlyAServerThatClosesItsSideHasTakenTheTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, got := serve(nil)
		p, begun, err := open(t, Options{To: "syslog+tcp://h", Dial: dial}).print(t.Context(), delivery(7))
		if p != ticket.Taken || !begun || err != nil {
			t.Errorf("read to its end: %v %v %v", p, begun, err)
		}
		wantMessage(t, <-got, 7)
	})
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		l := open(t, Options{To: "syslog+tcp://h", Dial: func(context.Context, string, string) (net.Conn, error) {
			return halfConn{near, discard{}}, nil
		}})
		start := time.Now()
		p, begun, err := l.print(t.Context(), delivery(1))
		if p != ticket.Sent || !begun || err != nil || time.Since(start) != closeTimeout {
			t.Errorf("kept open: %v %v %v after %v", p, begun, err, time.Since(start))
		}
	})

	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		if c, err := server.Accept(); err == nil {
			_, _ = c.Read(make([]byte, 1)) // so that the client is connected
			_ = c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	}()
	d := delivery(1)
	d.Ticket.Raw = strings.Repeat("x", 8<<20) // more than the buffers of both sides
	p, begun, err := open(t, Options{To: "syslog+tcp://" + server.Addr().String()}).print(t.Context(), d)
	if p != "" || !begun || err == nil || ticket.IsUntouched(err) {
		t.Errorf("closed unread: %v %v %v", p, begun, err)
	}
}

func TestAServerWithAnotherCertificateGetsNothing(t *testing.T) {
	known, cert, _ := certificate(t)
	synctest.Test(t, func(t *testing.T) {
		dial, got := serve(known)
		l := open(t, Options{To: "syslog+tls://127.0.0.1", Dial: dial})
		if _, begun, err := l.print(t.Context(), delivery(1)); err == nil || begun {
			t.Errorf("an unknown certificate: begun %v, %v", begun, err)
		}
		if l.Check(t.Context()) == nil {
			t.Error("the check finds nothing")
		}
		if a, b := <-got, <-got; a+b != "" {
			t.Errorf("the server has %q", a+b)
		}

		l = open(t, Options{To: "syslog+tls://127.0.0.1", CAFile: cert, Dial: dial})
		if p, _, err := l.print(t.Context(), delivery(1)); p != ticket.Taken || err != nil {
			t.Errorf("a known certificate: %v %v", p, err)
		}
		wantMessage(t, <-got, 1)

		if err := os.WriteFile(cert, []byte("none"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, begun, err := l.print(t.Context(), delivery(1)); !ticket.IsNotReady(err) || begun {
			t.Errorf("a file without certificates: begun %v, %v", begun, err)
		}
	})
}

func TestRsyslogTakesTicketsOverTCPAndTLS(t *testing.T) {
	slow.Test(t, "/usr/sbin/rsyslogd")
	for _, scheme := range []string{"syslog+tcp", "syslog+tls"} {
		t.Run(scheme, func(t *testing.T) {
			o, extra := Options{}, `module(load="imtcp")`
			if scheme == "syslog+tls" {
				_, cert, key := certificate(t)
				o.CAFile = cert
				// Debian's rsyslog-gnutls.
				extra = fmt.Sprintf(`global(defaultNetstreamDriver="gtls" defaultNetstreamDriverCAFile=%[1]q
	defaultNetstreamDriverCertFile=%[1]q defaultNetstreamDriverKeyFile=%[2]q)
module(load="imtcp" streamDriver.name="gtls" streamDriver.mode="1" streamDriver.authMode="anon")`, cert, key)
			}
			address, file, end := rsyslog(t, extra)
			o.To = scheme + "://" + address
			l := open(t, o)
			if err := l.Check(t.Context()); err != nil {
				t.Error(err)
			}
			big := delivery(2)
			for range 500 {
				big.Ticket.Lines = append(big.Ticket.Lines, big.Ticket.Lines[0])
			}
			for _, d := range []ticket.Delivery{delivery(1), big} {
				if p, begun, err := l.print(t.Context(), d); p != ticket.Taken || !begun || err != nil {
					t.Fatal(d.Job, p, begun, err)
				}
			}
			got := received(t, file, 2)
			if len(got[1].Lines) != 501 || got[0].Lines[0].Name != "Crème brûlée\ufffd[2J" {
				t.Errorf("%d lines, %+v", len(got[1].Lines), got[0])
			}

			end()
			if _, begun, err := l.print(t.Context(), delivery(3)); err == nil || begun ||
				!strings.Contains(err.Error(), "syslog server "+address) {
				t.Errorf("a server that is off: begun %v, %v", begun, err)
			}
		})
	}
}

// serve returns what connects to a server in memory, which reads each connection to its end and closes it. What it has
// read comes out of got. Without conf it speaks no TLS.
func serve(conf *tls.Config) (dial func(context.Context, string, string) (net.Conn, error), got chan string) {
	got = make(chan string, 10)
	read := func(r io.Reader, c io.Closer) {
		b, _ := io.ReadAll(r)
		c.Close()
		got <- string(b)
	}
	return func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		if conf != nil {
			server := tls.Server(far, conf)
			go read(server, server)
			return near, nil
		}
		r, w := io.Pipe()
		go read(r, far)
		return halfConn{near, w}, nil
	}, got
}

// halfConn is a client's connection in memory whose sending side can be closed.
type halfConn struct {
	net.Conn
	out io.WriteCloser
}

func (c halfConn) Write(b []byte) (int, error) { return c.out.Write(b) }
func (c halfConn) CloseWrite() error           { return c.out.Close() }

// discard is the sending side of a connection to a server that ignores that it was closed.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }

var messageParts = regexp.MustCompile(`^(\d+) (<134>1 \S+ \S+ ticketrail (\d+) ticket - (\{.*\}))$`)

// wantMessage checks the frame of a message, its head, and that it is the line of the job.
func wantMessage(t *testing.T, got string, job uint64) {
	t.Helper()
	m := messageParts.FindStringSubmatch(got)
	if m == nil {
		t.Fatalf("message %.300q", got)
	}
	var l Line
	err := json.Unmarshal([]byte(m[4]), &l)
	if m[1] != strconv.Itoa(len(m[2])) || m[3] != fmt.Sprint(job) || err != nil || l.Job != job {
		t.Errorf("%.300q is not the message of job %d: %v", got, job, err)
	}
}

// certificate returns a server's configuration with a certificate for 127.0.0.1, which only those who have the file
// cert trust, and writes the files.
func certificate(t *testing.T) (conf *tls.Config, cert, key string) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	server.TLS.SessionTicketsDisabled = true // a connection in memory has no buffer for them
	secret, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: server.Certificate().Raw}, key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return server.TLS, cert, key
}

// rsyslog starts Debian's rsyslogd, which writes the parts of each message into a file.
func rsyslog(t *testing.T, extra string) (address, file string, end func()) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "messages")
	conf, port := filepath.Join(dir, "rsyslog.conf"), filepath.Join(dir, "port")
	err := os.WriteFile(conf, fmt.Appendf(nil, `global(maxMessageSize="256k" workDirectory=%[1]q)
%[2]s
input(type="imtcp" port="0" listenPortFileName=%[3]q address="127.0.0.1")
template(name="parts" type="string" string="%%pri%% %%protocol-version%% %%app-name%% %%procid%% %%msgid%% %%msg%%\n")
action(type="omfile" file=%[4]q template="parts")
`, dir, extra, port, file), 0o600)
	if err != nil {
		t.Fatal(err)
	}

	var out bytes.Buffer
	c := exec.Command("/usr/sbin/rsyslogd", "-n", "-C", "-f", conf, "-i", filepath.Join(dir, "pid"))
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() { _ = c.Process.Kill(); _ = c.Wait() }
	t.Cleanup(end)
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if b, err := os.ReadFile(port); err == nil && len(b) > 0 {
			return net.JoinHostPort("127.0.0.1", strings.TrimSpace(string(b))), file, end
		}
	}
	end()
	t.Fatalf("rsyslogd does not listen:\n%s", out.String())
	return "", "", nil
}

// received waits until the server has written n messages.
func received(t *testing.T, file string, n int) (all []Line) {
	t.Helper()
	var b []byte
	for deadline := time.Now().Add(2 * time.Minute); bytes.Count(b, []byte("\n")) < n; {
		b, _ = os.ReadFile(file)
		if time.Now().After(deadline) {
			t.Fatalf("%d messages of %d:\n%.2000s", bytes.Count(b, []byte("\n")), n, b)
		}
		time.Sleep(10 * time.Millisecond)
	}
	for text := range strings.Lines(string(b)) {
		parts := strings.SplitN(text, " ", 6)
		var l Line
		if err := json.Unmarshal([]byte(parts[5]), &l); err != nil {
			t.Fatalf("%v: %.300q", err, text)
		}
		if got, want := strings.Join(parts[:5], " "), fmt.Sprint("134 1 ticketrail ", l.Job, " ticket"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		all = append(all, l)
	}
	return all
}
