package relay

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ticketrail/cmd/internal/natsaccess"
)

// A Setup is what `relay init` has to know.
type Setup struct {
	Nodes []natsaccess.Node // an odd number, so that more than half of them can be there without the rest
	URL   string            // of the webhook, as the service reaches it; "" if it is not known yet
}

// The files of a setup, below its folder.
const (
	OperatorFile = "operator.secret"
	RelayFolder  = "relay"

	confFile  = RelayFolder + "/relay.yaml"
	credsFile = RelayFolder + "/relay.creds"
)

// The folders of a node's files and data on the node, as the unit in deploy/relay has them.
const (
	nodeFolder = "/etc/nats"
	nodeData   = "/var/lib/nats"
)

// Write writes everything into dir, which must not exist, and returns the folders of the nodes. It leaves all or
// nothing: a half of it would have keys that fit no other.
func (s Setup) Write(dir string) (nodes []string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".relay-init-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp) // after the rename there is none
	o, err := natsaccess.NewOperator()
	if err != nil {
		return nil, err
	}
	if err := s.place(dir); err != nil {
		return nil, err
	}
	folders, err := o.WriteNodes(temp, s.Nodes)
	if err != nil {
		return nil, err
	}
	for _, f := range folders {
		nodes = append(nodes, filepath.Join(dir, filepath.Base(f)))
	}
	operator, err := o.Encode()
	if err != nil {
		return nil, err
	}
	creds, err := o.Relay("relay")
	if err != nil {
		return nil, err
	}
	secret, err := newSecret()
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(temp, RelayFolder), 0o700); err != nil {
		return nil, err
	}
	for name, data := range map[string][]byte{
		OperatorFile: operator, credsFile: creds,
		RelayFolder + "/relay.secret": []byte(secret + "\n"), confFile: []byte(s.text()),
	} {
		if err := natsaccess.WriteSecret(filepath.Join(temp, name), data, false); err != nil {
			return nil, err
		}
	}
	if err := os.Rename(temp, dir); err != nil {
		return nil, err
	}
	return nodes, nil
}

// place says where the nodes have their files.
func (s Setup) place(dir string) error {
	dir, err := filepath.Abs(dir)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Etc, n.Data = nodeFolder, nodeData; n.Local() { // a trial runs where it was written
			n.Etc = filepath.Join(dir, fmt.Sprintf("node%d", i+1))
			n.Data = filepath.Join(n.Etc, "data")
		}
	}
	return err
}

// urls are the addresses of the nodes, as a relay has them.
func (s Setup) urls() (out []string) {
	for _, n := range s.Nodes {
		out = append(out, n.URL())
	}
	return out
}

// newSecret is a secret segment of a path, see config.Receiver.SecretFile.
func newSecret() (string, error) {
	random := make([]byte, 24)
	if _, err := rand.Read(random); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(random), nil
}

// text is the relay's configuration.
func (s Setup) text() string {
	var b strings.Builder
	b.WriteString(`# The configuration of a ticketrail relay, written by "ticketrail relay init". Every relay has the
# same.

receiver:
  # A load balancer or a proxy with HTTPS is before it. Without one, see receiver.tls in the manual.
  listen: 127.0.0.1:8443
  # The end of the address that the service posts to.
  secret_file: relay.secret
`)
	if s.URL != "" {
		fmt.Fprintf(&b, "  external_url: %q\n", s.URL)
	}
	b.WriteString("\nnats:\n  urls:\n")
	for _, url := range s.urls() {
		fmt.Fprintf(&b, "    - %q\n", url)
	}
	fmt.Fprintf(&b, "  creds_file: relay.creds\n  replicas: %d\n", min(len(s.Nodes), 3))
	if s.Nodes[0].Local() {
		b.WriteString("  max_bytes: 256MiB # for a trial\n")
	}
	return b.String()
}
