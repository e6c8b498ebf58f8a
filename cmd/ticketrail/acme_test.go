package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
)

func TestTheCertificateComesFromAnACMEServer(t *testing.T) {
	slow.Test(t, "go")
	t.Parallel()
	k, s, metrics := newDaemon(t, "", "grill"), newPebble(t), freeAddr(t)
	address := freeAddr(t)
	b, err := os.ReadFile(k.conf)
	must(t, err)
	useName := func(name string) {
		text := strings.NewReplacer(`receiver: { listen: "127.0.0.1:0"`, fmt.Sprintf(
			"receiver: { tls: { acme: { name: %s, directory: \"https://%s/dir\", ca_file: %q } }, listen: %q",
			name, s.address, filepath.Join(s.dir, "cert.pem"), address),
			`metrics: { listen: "" }`, fmt.Sprintf("metrics: { listen: %q }", metrics)).Replace(string(b))
		writeFiles(t, map[string]string{k.conf: text})
	}

	useName("kitchen.example.com")
	trust := &tls.Config{RootCAs: s.start(address), ServerName: "kitchen.example.com"}
	k.client.Transport = &http.Transport{TLSClientConfig: trust}
	var first *x509.Certificate
	for _, number := range []string{"A1", "A2"} { // also after a restart
		k.start()
		k.url = "https://" + address + "/webhooks/print"
		var c *tls.Conn
		must(t, eventually(func() (err error) {
			if c, err = tls.Dial("tcp", address, trust); err == nil {
				c.Close()
			}
			return err
		}))
		cert := c.ConnectionState().PeerCertificates[0]
		if first == nil {
			first = cert
		}
		assert.True(t, cert.Equal(first) && strings.Count(s.logs(), "Added order") == 1, number, s.logs())
		k.accept(newOrder(number, "grill"))
		k.wantSaid("status", "webhook: valid until "+cert.NotAfter.Format("2006-01-02"))
		ends := fmt.Sprintf("\nticketrail_receiver_certificate_not_after_timestamp_seconds %g\n",
			float64(cert.NotAfter.Unix()))
		all, err := s.get("GET", "http://"+metrics+"/metrics", "")
		assert.True(t, err == nil && strings.Contains(all, ends), "the metrics do not have", ends, err, all)
		k.stop()
	}
	runShell(t, `test -z "$(find %s -perm /077)"`, filepath.Join(k.dir, "acme"))

	// A new name gets its own certificate, or the reason why not.
	useName("lost.example.com")
	k.start()
	k.wantSaid("status", "for lost.example.com", "no viable challenge type",
		"port 443 of lost.example.com must lead to this box")
}

const pebbleVersion = "v2.10.1"

// A pebble is Let's Encrypt's ACME server for tests, with a name server for which every name is this machine.
type pebble struct {
	*program        // the ACME server
	control  string // address of its second server
	names    *program
	programs string // the folder of both
	client   *http.Client
}

// newPebble builds the programs and does not start them.
func newPebble(t *testing.T) *pebble {
	t.Helper()
	cache, err := os.UserCacheDir()
	must(t, err)
	s := &pebble{program: newProgram(t),
		control: freeAddr(t), names: newProgram(t),
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
	must(s.t, err)
	cert, key := filepath.Join(s.dir, "cert.pem"), filepath.Join(s.dir, "key.pem")
	s.write("pebble.json", fmt.Sprintf(`{"pebble": { "listenAddress": %q, "managementListenAddress": %q,
		"certificate": %q, "privateKey": %q, "httpPort": 1, "tlsPort": %s, "retryAfter": {"authz": 1, "order": 1} } }`,
		s.address, s.control, cert, key, port))
	manage := freeAddr(s.t)
	s.names.run(filepath.Join(s.programs, "pebble-challtestsrv"), "-dnsserver", s.names.address, "-management", manage,
		"-http01=", "-https01=", "-tlsalpn01=", "-doh=", "-defaultIPv6=")
	s.program.run("env", "PEBBLE_VA_NOSLEEP=1", filepath.Join(s.programs, "pebble"), "-config",
		filepath.Join(s.dir, "pebble.json"), "-dnsserver", s.names.address)
	must(s.t, eventually(func() error {
		_, err := s.get("POST", "http://"+manage+"/set-servfail", `{"host": "lost.example.com"}`)
		return err
	}))
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
