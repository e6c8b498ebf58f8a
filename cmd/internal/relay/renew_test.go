package relay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/natsaccess"
)

func TestRenewWritesCredentialsThatCanBeToldFromThoseOfBefore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "relay")
	if _, err := threeServers().Write(dir); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, credsFile)
	before, err := natsaccess.ReadCredentials(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, nodes, err := Renew(dir); err != nil || len(nodes) != 3 {
		t.Fatal(nodes, err)
	}
	after, err := natsaccess.ReadCredentials(file)
	if err != nil || after.User == before.User || after.Issued.Sub(before.Issued) < time.Second {
		t.Errorf("the new ones are %+v, %v", after, err)
	}
}

func TestRenewRefusesServersInOtherPlaces(t *testing.T) {
	for change, want := range map[string]string{
		"n2 n3":          "names 2 servers, and 3 have a folder",
		"n1 n2 n3 n4":    "names 4 servers",
		"n2 n1 n3":       "n1.example.com is no longer number 1 of nats.urls",
		"n1 n3 n2 n4 n5": "n2.example.com is no longer number 2 of nats.urls",
		"n1 new n3":      "", "n1 n2 n3 n4 n5": "",
	} {
		dir := filepath.Join(t.TempDir(), "relay")
		if _, err := threeServers().Write(dir); err != nil {
			t.Fatal(err)
		}
		var s Setup
		for name := range strings.FieldsSeq(change) {
			s.Nodes = append(s.Nodes, natsaccess.Node{Host: name + ".example.com", Port: 4222})
		}
		if err := os.WriteFile(filepath.Join(dir, confFile), []byte(s.text()), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := Renew(dir)
		if (want == "") != (err == nil) || want != "" && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", change, err)
		}
	}
}

func TestRenewRefusesTheOperatorOfAnotherRelay(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "relay"), filepath.Join(t.TempDir(), "other")
	for _, d := range []string{dir, other} {
		if _, err := threeServers().Write(d); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(other, OperatorFile), filepath.Join(dir, OperatorFile)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Renew(dir); err == nil || !strings.Contains(err.Error(), "it is of another relay init") {
		t.Error(err)
	}
}

func threeServers() Setup {
	return Setup{Nodes: []natsaccess.Node{{Host: "n1.example.com", Port: 4222}, {Host: "n2.example.com", Port: 4222},
		{Host: "n3.example.com", Port: 4222}}}
}
