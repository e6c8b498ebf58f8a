package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"ticketrail/cmd/internal/natsaccess"
	"ticketrail/receiver/relay/natstest"
)

// TestNewCertificatesCredentialsAndServersNeedNoOutage follows what the commands say that has to be done.
func TestNewCertificatesCredentialsAndServersNeedNoOutage(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	v := c.venueUnderLoad(venueID, "Harbour Grill", "a", 4)
	answered := func(n int64) { v.senders.waitForAcks(v.senders.acks.Load() + n) }
	leaked := filepath.Join(c.dir, "leaked.creds")
	text, err := os.ReadFile(filepath.Join(c.dir, "relay/relay.creds"))
	if err == nil {
		err = os.WriteFile(leaked, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	restartNodes := func() {
		for i := range c.status {
			c.endNode(i)
			answered(10)
			c.startNode(i)
			c.ready()
			if !c.hasItsCertificate(i) {
				t.Errorf("node %d has another certificate than its folder", i)
			}
		}
	}

	c.run("relay", "renew", c.dir)
	c.advertiseWire()
	if c.hasItsCertificate(0) {
		t.Error("the certificate is the one of before")
	}
	restartNodes()
	for _, r := range c.relays {
		r.stop()
		answered(10)
		r.start()
		answered(10)
	}
	if err := c.refuses(leaked, c.servers[0]); err == nil {
		t.Error("the credentials of before end too early")
	}
	c.run("relay", "revoke", c.dir)
	answered(20)
	for _, address := range c.servers {
		if err := c.refuses(leaked, address); err != nil {
			t.Error(err)
		}
	}

	// Two servers more.
	var files []natstest.File
	for i := range 2 {
		port, err := natstest.FreePort(2000, 4000)
		if err != nil {
			t.Fatal(err)
		}
		last := c.servers[len(c.servers)-1]
		c.servers = append(c.servers, fmt.Sprintf("127.0.0.1:%d", port))
		c.status = append(c.status, fmt.Sprintf("127.0.0.1:%d", port+4000))
		edit(t, filepath.Join(c.dir, "relay/relay.yaml"), fmt.Sprintf("    - \"tls://%s\"\n", last),
			fmt.Sprintf("    - \"tls://%s\"\n    - \"tls://%s\"\n", last, c.servers[3+i]))
		files = append(files, natstest.File{Path: filepath.Join(c.node(3+i), "nats-server.conf"),
			Client: c.servers[3+i], Status: c.status[3+i]})
	}
	c.run("relay", "renew", c.dir)
	c.advertiseWire()
	c.status = c.status[:3] // those that this test can stop
	natstest.FilesForTest(t, files)
	restartNodes()
	if err := eventually(func() error { return c.hasServers(5) }); err != nil {
		t.Error(err)
	}
	for _, address := range c.servers {
		if err := c.refuses(leaked, address); err != nil {
			t.Error("after the next renewal: ", err)
		}
	}
	answered(20)
	c.check(v)
}

// hasItsCertificate says that a node uses the certificate in its folder. The port for the other nodes begins with TLS.
func (c *cloud) hasItsCertificate(i int) bool {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.node(i), "node.crt"))
	if err != nil {
		c.t.Fatal(err)
	}
	mine, _ := pem.Decode(text)
	host, port, _ := net.SplitHostPort(c.servers[i])
	n, _ := strconv.Atoi(port)
	conn, err := tls.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(n+2000)), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close()
	return bytes.Equal(conn.ConnectionState().PeerCertificates[0].Raw, mine.Bytes)
}

// refuses is an error if a node accepts credentials.
func (c *cloud) refuses(creds, address string) error {
	nc, err := natsaccess.Try(natsaccess.Options{URLs: []string{"tls://" + address}, CredentialsFile: creds})
	if err == nil {
		nc.Close()
		return fmt.Errorf("%s accepts credentials that were revoked", address)
	}
	if !natsaccess.Refused(err) {
		return fmt.Errorf("%s: %w", address, err)
	}
	return nil
}

// hasServers is an error if the cluster has another number of servers.
func (c *cloud) hasServers(want int) error {
	client := http.Client{Timeout: 5 * time.Second}
	resp, err := client.Get("http://" + c.status[0] + "/jsz")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var said struct {
		Meta struct {
			Size int `json:"cluster_size"`
		} `json:"meta_cluster"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil || said.Meta.Size != want {
		return fmt.Errorf("the cluster has %d servers, want %d: %w", said.Meta.Size, want, err)
	}
	return nil
}
