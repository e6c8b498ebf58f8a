package natsaccess

import (
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/nats-io/jwt/v2"
)

// A Node is one NATS server.
type Node struct {
	Host string // name or address, by which boxes, relays and the other nodes reach it
	Port int    // for boxes and relays
	// Etc is the folder of its files on the node, and Data that of what it stores. They are absolute, because
	// nats-server resolves other names from where it is started.
	Etc, Data string
}

// ParseNode reads HOST:PORT, without which the port is 4222.
func ParseNode(text string) (n Node, err error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = strings.Trim(text, "[]"), "4222"
	}
	n.Host = strings.ToLower(host)
	n.Port, err = strconv.Atoi(port)
	// The ports of the cluster and of monitoring are above it.
	if err != nil || n.Port < 1 || n.Port > 65535-monitorOffset {
		return Node{}, fmt.Errorf("%q has no port between 1 and %d", text, 65535-monitorOffset)
	}
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789.-"
	if n.Host == "" || net.ParseIP(n.Host) == nil && strings.Trim(n.Host, letters) != "" {
		return Node{}, fmt.Errorf("%q is not a host and a port; for example relay1.example.com:4222", text)
	}
	return n, nil
}

const (
	clusterOffset = 2000 // 6222, as usual for NATS
	monitorOffset = 4000 // 8222
)

// URL is where boxes and relays connect.
func (n Node) URL() string { return "tls://" + n.address(0) }

// ClusterPort is for the other nodes, MonitorPort for this machine alone.
func (n Node) ClusterPort() int { return n.Port + clusterOffset }
func (n Node) MonitorPort() int { return n.Port + monitorOffset }

// Local says that the node is on this machine.
func (n Node) Local() bool {
	ip := net.ParseIP(n.Host)
	return n.Host == "localhost" || ip != nil && ip.IsLoopback()
}

func (n Node) address(offset int) string {
	return net.JoinHostPort(n.Host, strconv.Itoa(n.Port+offset))
}

// listen is an address on which the node listens: a node for a trial is not for others.
func (n Node) listen(offset int) string {
	host := "0.0.0.0"
	if n.Local() {
		host = strings.Replace(n.Host, "localhost", "127.0.0.1", 1)
	}
	return net.JoinHostPort(host, strconv.Itoa(n.Port+offset))
}

// MaxPayload is the largest message: a refused request with a body of 8 MiB, as JSON.
const MaxPayload = 12 << 20

var configuration = template.Must(template.New("").Parse(`
# A NATS server of a ticketrail relay, written by "ticketrail relay init".

server_name: {{.Name}}
listen: "{{.Listen}}"
client_advertise: "{{.Advertise}}"
max_payload: {{.MaxPayload}}
# A box that was cut off is noticed within a minute.
ping_interval: "20s"
ping_max: 2

# /healthz, /jsz and /connz, for this machine alone.
http: "{{.Monitor}}"

tls {
  cert_file: "{{.Etc}}/node.crt"
  key_file: "{{.Etc}}/node.key"
  # Boxes and relays show a certificate too.
  ca_file: "{{.Etc}}/clients-ca.crt"
  verify: true
  timeout: 5
}
{{if .Routes}}
cluster {
  name: ticketrail
  listen: "{{.ClusterListen}}"
  advertise: "{{.ClusterAdvertise}}"
  tls {
    cert_file: "{{.Etc}}/node.crt"
    key_file: "{{.Etc}}/node.key"
    # Not that of the clients: a box must not pass for a node.
    ca_file: "{{.Etc}}/nodes-ca.crt"
    verify: true
    timeout: 5
  }
  routes: [{{range .Routes}}
    "tls://{{.}}"{{end}}
  ]
}
{{end}}
jetstream {
  store_dir: "{{.Data}}/jetstream"
  # Each write is on the disk before it is acknowledged. Without it a power failure loses acknowledged orders.
  sync_interval: always
}

# Who may connect. Accounts of venues come and go in the folder, by "ticketrail relay venues".
operator: {{.Operator}}
system_account: {{.SystemID}}
resolver {
  type: full
  dir: "{{.Data}}/accounts"
  allow_delete: false
  interval: "1m"
}
resolver_preload {
  {{.SystemID}}: {{.System}}
  {{.RelaysID}}: {{.Relays}}
}
`))

// ReadRelaysSince sets RelaysSince as it is in a node's configuration: who writes that anew must not allow again what
// was revoked.
func (o *Operator) ReadRelaysSince(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	id, err := o.publicKey(relays)
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(text), id+": ")
	token, _, _ := strings.Cut(rest, "\n")
	c, err := jwt.DecodeAccountClaims(token)
	if err != nil {
		return fmt.Errorf("%s has no account of this operator: it is of another relay init", file)
	}
	if at, ok := c.Revocations[jwt.All]; ok {
		o.RelaysSince = time.Unix(at, 0).Add(time.Second)
	}
	return nil
}

// HostOf is the host of the node whose files are in folder.
func HostOf(folder string) (string, error) {
	file := filepath.Join(folder, "node.crt")
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	der, _ := nextBlock(data, pemCert)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return cert.Subject.CommonName, nil
}

// WriteNodes writes the files of each node into a folder in dir, which is created: node1, node2, ... Files that are
// there are replaced. It returns the folders. The servers of one call form a cluster.
func (o *Operator) WriteNodes(dir string, nodes []Node) (folders []string, err error) {
	var operator, systemJWT, relaysJWT, systemID, relaysID string
	for _, one := range []struct {
		to   *string
		make func() (string, error)
	}{
		{&operator, o.operatorJWT}, {&systemJWT, o.systemJWT}, {&relaysJWT, o.RelaysAccount},
		{&systemID, func() (string, error) { return o.publicKey(system) }},
		{&relaysID, func() (string, error) { return o.publicKey(relays) }},
	} {
		if *one.to, err = one.make(); err != nil {
			return nil, fmt.Errorf("sign the accounts: %w", err)
		}
	}
	for i, n := range nodes {
		name := fmt.Sprintf("node%d", i+1)
		var routes []string
		for j, other := range nodes {
			if j != i {
				routes = append(routes, other.address(clusterOffset))
			}
		}
		var conf strings.Builder
		err := configuration.Execute(&conf, map[string]any{
			"Name": fmt.Sprintf("n%d", i+1), "Listen": n.listen(0), "Advertise": n.address(0), "MaxPayload": MaxPayload,
			"Monitor": net.JoinHostPort("127.0.0.1", strconv.Itoa(n.MonitorPort())),
			"Etc":     n.Etc, "Data": n.Data, "Routes": routes,
			"ClusterListen": n.listen(clusterOffset), "ClusterAdvertise": n.address(clusterOffset),
			"Operator": operator, "System": systemJWT, "Relays": relaysJWT,
			"SystemID": systemID, "RelaysID": relaysID,
		})
		if err != nil {
			return nil, err
		}
		cert, key, err := o.nodes.node(n.Host)
		if err != nil {
			return nil, fmt.Errorf("make the certificate of %s: %w", n.Host, err)
		}
		folder := filepath.Join(dir, name)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
		for file, data := range map[string][]byte{
			"nats-server.conf": []byte(conf.String()), "node.crt": cert, "node.key": key,
			"nodes-ca.crt": encodeCert(o.nodes.cert), "clients-ca.crt": encodeCert(o.clients.cert),
		} {
			if err := WriteSecret(filepath.Join(folder, file), data, true); err != nil {
				return nil, err
			}
		}
		folders = append(folders, folder)
	}
	return folders, nil
}
