package natsaccess

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnOperatorReadFromItsFileSignsForTheSameAccounts(t *testing.T) {
	o, err := NewOperator()
	if err != nil {
		t.Fatal(err)
	}
	data, err := o.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "operator.secret")
	if err := WriteSecret(file, data, false); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, %v", st.Mode(), err)
	}
	if err := WriteSecret(file, nil, false); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("it may be replaced: %v", err)
	}
	again, err := ReadOperator(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, account := range []string{system, relays, mine} {
		a, err := o.publicKey(account)
		b, err2 := again.publicKey(account)
		if err != nil || err2 != nil || a != b {
			t.Errorf("%s is %s and then %s, %v, %v", account, a, b, err, err2)
		}
	}
	if a, b := o.nodes.cert, again.nodes.cert; !a.Equal(b) || again.clients.cert.Equal(b) {
		t.Error("the authorities are other ones")
	}
}

func TestADamagedFileIsRefusedWithoutAWordOfIt(t *testing.T) {
	o, err := NewOperator()
	if err != nil {
		t.Fatal(err)
	}
	operator, err := o.Encode()
	if err != nil {
		t.Fatal(err)
	}
	box, _, err := o.Box(mine)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x")
	for name, read := range map[string]func() error{
		string(operator): func() error { _, err := ReadOperator(file); return err },
		string(box):      func() error { _, err := ReadCredentials(file); return err },
	} {
		for cut := range 20 {
			part := name[:len(name)*cut/20]
			if err := WriteSecret(file, []byte(part), true); err != nil {
				t.Fatal(err)
			}
			err := read()
			if err == nil {
				t.Fatalf("%d of %d bytes are accepted", len(part), len(name))
			}
			for line := range strings.Lines(name) {
				if line = strings.TrimSpace(line); len(line) > 20 && !strings.Contains(line, " ") &&
					strings.Contains(err.Error(), line[:20]) {
					t.Fatalf("it is quoted: %v", err)
				}
			}
		}
	}
}

func TestANodeIsAHostAndAPort(t *testing.T) {
	for in, want := range map[string]string{
		"relay1.example.com:4222": "tls://relay1.example.com:4222", "Relay1:4000": "tls://relay1:4000",
		"192.0.2.7": "tls://192.0.2.7:4222", "[2001:db8::1]:4222": "tls://[2001:db8::1]:4222",
		"relay1:x": "", "relay1:0": "", "relay1:65000": "", ":4222": "", "": "",
		"a b:1": "", `a"b`: "", "tls://a:1": "",
	} {
		n, err := ParseNode(in)
		if got := n.URL(); err == nil && got != want || err != nil && want != "" {
			t.Errorf("%q is %s, %v", in, got, err)
		}
	}
}

func TestAnOperatorThatAllUsersCanReadIsRefused(t *testing.T) {
	o, err := NewOperator()
	if err != nil {
		t.Fatal(err)
	}
	data, err := o.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "operator.secret")
	if err := WriteSecret(file, data, false); err != nil {
		t.Fatal(err)
	}
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o640: true, 0o644: false} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadOperator(file); (err == nil) != ok || !ok && !strings.Contains(err.Error(), "chmod o= ") {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
}
