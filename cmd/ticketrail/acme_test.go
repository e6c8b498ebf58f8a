package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ticketrail/deploy/slow"
)

func TestTheCertificateComesFromAnACMEServer(t *testing.T) {
	slow.Test(t, "go")
	k, s, metrics := newDaemon(t, "", "grill"), newPebble(t), freeAddr(t)
	b, err := os.ReadFile(k.conf)
	if err != nil {
		t.Fatal(err)
	}
	useName := func(name string) {
		text := strings.NewReplacer("receiver: {", fmt.Sprintf(
			"receiver: { tls: { acme: { name: %s, directory: \"https://%s/dir\", ca_file: %q } },",
			name, s.address, filepath.Join(s.dir, "cert.pem")),
			`metrics: { listen: "" }`, fmt.Sprintf("metrics: { listen: %q }", metrics)).Replace(string(b))
		writeFiles(t, map[string]string{k.conf: text})
	}

	// Without the ACME server everything else works.
	useName("kitchen.example.com")
	k.start()
	k.wantSaid("status", "FAIL certificate", "there is none yet for kitchen.example.com",
		"https://"+s.address+"/dir", "connection refused",
		"port 443 of kitchen.example.com must lead to this box")
	if err := eventually(func() error { // the status has it a moment earlier
		if n := strings.Count(k.log.String(), "no certificate from the ACME server"); n != 1 {
			return fmt.Errorf("logged %d times, want once:\n%s", n, k.log)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	k.stop()

	address := strings.TrimSuffix(strings.TrimPrefix(k.url, "http://"), "/webhooks/print")
	root := s.start(address)
	k.start()
	k.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: root},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		}}
	k.url = "https://kitchen.example.com/webhooks/print"
	post := func(number string) {
		t.Helper()
		o := newOrder(number, "grill")
		err := eventually(func() error {
			if a := k.post(o, 0); a.status != http.StatusOK {
				return fmt.Errorf("order %s is answered %+v", number, a)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// handshake returns the certificate that a client gets who asks for a name, which may be empty.
	handshake := func(name string) (*x509.Certificate, error) {
		c, err := tls.Dial("tcp", address, &tls.Config{RootCAs: root, ServerName: name, InsecureSkipVerify: name == ""})
		if err != nil {
			return nil, err
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0], nil
	}
	// The metrics have its end before the first client comes.
	var ends int64
	err = eventually(func() error {
		all, err := s.get("GET", "http://"+metrics+"/metrics", "")
		if err != nil || !strings.Contains(all, "\nticketrail_receiver_tls_last_load_successful 1\n") {
			return fmt.Errorf("no certificate in the metrics: %v\n%s", err, all)
		}
		_, value, _ := strings.Cut(all, "\nticketrail_receiver_certificate_not_after_timestamp_seconds ")
		value, _, _ = strings.Cut(value, "\n")
		end, err := strconv.ParseFloat(value, 64)
		ends = int64(end)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	post("A1")
	s.wantOrders(1, "the start")
	first, err := handshake("kitchen.example.com")
	if err != nil || first.NotAfter.Unix() != ends {
		t.Fatalf("the certificate ends at %v, in the metrics at %d: %v", first, ends, err)
	}
	k.wantSaid("status", "webhook: valid until "+first.NotAfter.Format("2006-01-02"))
	err = filepath.WalkDir(filepath.Join(k.dir, "acme"), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err == nil && st.Mode().Perm()&0o077 != 0 {
			err = fmt.Errorf("%s has mode %v", name, st.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}

	if _, err := handshake("other.example.com"); err == nil {
		t.Error("a client that asks for another name accepts the certificate")
	}
	if _, err := handshake(""); err != nil {
		t.Error(err)
	}
	if c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true,
		NextProtos: []string{"acme-tls/1"}}); err == nil {
		c.Close()
		t.Error("the proof for the ACME server is still shown")
	}
	k.stop()
	k.start()
	post("A2")
	if second, err := handshake("kitchen.example.com"); err != nil || !second.Equal(first) {
		t.Errorf("after a restart there is another certificate: %v", err)
	}
	s.wantOrders(1, "other names and a restart")

	// A new name gets its own certificate, or the reason why not.
	useName("lost.example.com")
	k.stop()
	k.start()
	k.wantSaid("status", "there is none yet for lost.example.com", "no viable challenge type")
}

const pebbleVersion = "v2.10.1"

// A pebble is Let's Encrypt's ACME server for tests, with a name server for which every name is this machine.
type pebble struct {
	*frontProxy        // the ACME server
	control     string // address of its second server
	names       *frontProxy
	programs    string // the folder of both
	client      *http.Client
}

// newPebble builds the programs and does not start them.
func newPebble(t *testing.T) *pebble {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	s := &pebble{frontProxy: &frontProxy{t: t, dir: t.TempDir(), address: freeAddr(t)},
		control: freeAddr(t), names: &frontProxy{t: t, dir: t.TempDir(), address: freeAddr(t)},
		programs: filepath.Join(cache, "ticketrail", "pebble-"+pebbleVersion)}
	if _, err := os.Stat(filepath.Join(s.programs, "pebble")); err != nil {
		const module = "github.com/letsencrypt/pebble/v2/cmd/"
		c := exec.Command("go", "install", module+"pebble-challtestsrv@"+pebbleVersion, module+"pebble@"+pebbleVersion)
		c.Env = append(os.Environ(), "GOBIN="+s.programs)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("build pebble: %v\n%s", err, out)
		}
	}
	s.certificate()
	s.client = &http.Client{Timeout: testTimeout,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	return s
}

// start starts both, and returns the authority of the certificates. box is where the ACME server connects instead of
// port 443.
func (s *pebble) start(box string) *x509.CertPool {
	s.t.Helper()
	_, port, err := net.SplitHostPort(box)
	if err != nil {
		s.t.Fatal(err)
	}
	cert, key := filepath.Join(s.dir, "cert.pem"), filepath.Join(s.dir, "key.pem")
	s.write("pebble.json", fmt.Sprintf(`{"pebble": { "listenAddress": %q, "managementListenAddress": %q,
		"certificate": %q, "privateKey": %q, "httpPort": 1, "tlsPort": %s, "retryAfter": {"authz": 1, "order": 1} } }`,
		s.address, s.control, cert, key, port))
	s.t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	manage := freeAddr(s.t)
	s.names.run(filepath.Join(s.programs, "pebble-challtestsrv"), "-dnsserver", s.names.address, "-management", manage,
		"-http01=", "-https01=", "-tlsalpn01=", "-doh=", "-defaultIPv6=")
	s.frontProxy.run(filepath.Join(s.programs, "pebble"), "-config", filepath.Join(s.dir, "pebble.json"),
		"-dnsserver", s.names.address)
	err = eventually(func() error {
		_, err := s.get("POST", "http://"+manage+"/set-servfail", `{"host": "lost.example.com"}`)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	var root string
	err = eventually(func() (err error) {
		root, err = s.get("GET", "https://"+s.control+"/roots/0", "")
		return err
	})
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM([]byte(root)) {
		s.t.Fatal(err, root)
	}
	return pool
}

func (s *pebble) get(method, url, body string) (string, error) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return string(b), err
}

// wantOrders checks how many certificates were ordered so far.
func (s *pebble) wantOrders(want int, after string) {
	s.t.Helper()
	if got := strings.Count(s.logs(), "Added order"); got != want {
		s.t.Errorf("after %s the ACME server has seen %d orders, want %d", after, got, want)
	}
}
