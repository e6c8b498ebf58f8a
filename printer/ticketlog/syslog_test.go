package ticketlog

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

// certificate writes one for 127.0.0.1 that only those who know it trust.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// rsyslog starts Debian's rsyslogd, which writes the parts of each message into a file.
func rsyslog(t *testing.T, dir, address, extra string) (file string, end func()) {
	t.Helper()
	daemon := program(t, "rsyslogd")
	_, port, _ := net.SplitHostPort(address)
	file = filepath.Join(dir, "messages")
	conf := filepath.Join(dir, "rsyslog.conf")
	var out bytes.Buffer
	err := os.WriteFile(conf, fmt.Appendf(nil, `global(maxMessageSize="256k" workDirectory=%[1]q)
%[2]s
input(type="imtcp" port=%[3]q address="127.0.0.1")
template(name="parts" type="string" string="%%pri%% %%protocol-version%% %%app-name%% %%procid%% %%msgid%% %%msg%%\n")
action(type="omfile" file=%[4]q template="parts")
`, dir, extra, port, file), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(daemon, "-n", "-C", "-f", conf, "-i", filepath.Join(dir, "pid"))
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() { _ = c.Process.Kill(); _ = c.Wait() }
	t.Cleanup(end)
	for deadline := time.Now().Add(2 * time.Minute); ; {
		if one, err := net.Dial("tcp", address); err == nil {
			one.Close()
			return file, end
		}
		if time.Now().After(deadline) {
			end()
			t.Fatalf("rsyslogd does not listen:\n%s", out.String())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// needTLS skips a test if rsyslogd lacks its module for TLS, Debian's rsyslog-gnutls.
func needTLS(t *testing.T) {
	t.Helper()
	if found, _ := filepath.Glob("/usr/lib/*/rsyslog/lmnsd_gtls.so"); found != nil {
		return
	}
	if os.Getenv("TICKETRAIL_TEST_ALL") != "" {
		t.Fatal("rsyslogd has no module gtls")
	}
	t.Skip("rsyslogd has no module gtls")
}

// freeAddress is an address at which nothing listens. It is below the ports that the kernel gives to outgoing
// connections: one of them would take it before rsyslogd does.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+mathrand.IntN(22_000)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}
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

func TestRsyslogTakesTicketsOverTCPAndTLS(t *testing.T) {
	for _, scheme := range []string{"syslog+tcp", "syslog+tls"} {
		t.Run(scheme, func(t *testing.T) {
			dir, address := t.TempDir(), freeAddress(t)
			o, extra := Options{To: scheme + "://" + address}, `module(load="imtcp")`
			if scheme == "syslog+tls" {
				needTLS(t)
				cert, key := certificate(t, dir)
				o.CAFile = cert
				extra = fmt.Sprintf(`global(defaultNetstreamDriver="gtls" defaultNetstreamDriverCAFile=%[1]q
	defaultNetstreamDriverCertFile=%[1]q defaultNetstreamDriverKeyFile=%[2]q)
module(load="imtcp" streamDriver.name="gtls" streamDriver.mode="1" streamDriver.authMode="anon")`, cert, key)
			}
			file, end := rsyslog(t, dir, address, extra)
			l := open(t, o)
			if err := l.Check(t.Context()); err != nil {
				t.Error(err)
			}
			big := delivery(20)
			for range 500 {
				big.Ticket.Lines = append(big.Ticket.Lines, big.Ticket.Lines[0])
			}
			for job := range uint64(20) {
				d := delivery(job + 1)
				if d.Job == 20 {
					d = big
				}
				if p, begun, err := l.print(t.Context(), d); p != ticket.Taken || !begun || err != nil {
					t.Fatal(job, p, begun, err)
				}
			}
			got := received(t, file, 20)
			if len(got) != 20 || len(got[19].Lines) != 501 || got[3].Lines[0].Name != "Crème brûlée\ufffd[2J" {
				t.Errorf("%d messages, %d lines", len(got), len(got[len(got)-1].Lines))
			}
			end()
			if _, begun, err := l.print(t.Context(), delivery(21)); err == nil || begun ||
				!strings.Contains(err.Error(), "syslog server "+address) {
				t.Errorf("a server that is off: begun %v, %v", begun, err)
			}
		})
	}
}

// A server of a few lines, which does what rsyslog does not.
func TestOnlyAServerThatClosesItsSideHasTakenTheTicket(t *testing.T) {
	for name, c := range map[string]struct {
		serve func(net.Conn)
		want  ticket.Proof
		fails bool
	}{
		"reads and closes": {func(c net.Conn) { _, _ = new(bytes.Buffer).ReadFrom(c); c.Close() }, ticket.Taken, false},
		"keeps it open":    {func(c net.Conn) { _, _ = new(bytes.Buffer).ReadFrom(c) }, ticket.Sent, false},
		"closes unread": {func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1)) // so that the client is connected
			_ = c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			server, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			kept := make(chan net.Conn, 1)
			go func() {
				if one, err := server.Accept(); err == nil {
					kept <- one
					c.serve(one)
				}
			}()
			d := delivery(1)
			d.Ticket.Raw = strings.Repeat("x", 8<<20) // more than the buffers of both sides
			l := open(t, Options{To: "syslog+tcp://" + server.Addr().String()})
			p, begun, err := l.print(t.Context(), d)
			if p != c.want || !begun || (err != nil) != c.fails || ticket.IsUntouched(err) {
				t.Errorf("%v %v %v", p, begun, err)
			}
			(<-kept).Close()
		})
	}
}

func TestAServerWithAnotherCertificateGetsNothing(t *testing.T) {
	needTLS(t)
	dir := t.TempDir()
	address := freeAddress(t)
	cert, key := certificate(t, dir)
	file, _ := rsyslog(t, dir, address, fmt.Sprintf(`global(defaultNetstreamDriver="gtls"
	defaultNetstreamDriverCAFile=%[1]q defaultNetstreamDriverCertFile=%[1]q defaultNetstreamDriverKeyFile=%[2]q)
module(load="imtcp" streamDriver.name="gtls" streamDriver.mode="1" streamDriver.authMode="anon")`, cert, key))
	l := open(t, Options{To: "syslog+tls://" + address})
	if _, begun, err := l.print(t.Context(), delivery(1)); err == nil || begun || l.Check(context.Background()) == nil {
		t.Errorf("begun %v, %v", begun, err)
	}
	if b, err := os.ReadFile(file); err == nil {
		t.Errorf("the server has %q", b)
	}
}
