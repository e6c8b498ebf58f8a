package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ticketrail/deploy/slow"
)

// TestCheckReadsTheFilesAsTheUserOfTheService: root can read every file, and the daemon's user cannot. It would start a
// crash loop with a file that was called right.
func TestCheckReadsTheFilesAsTheUserOfTheService(t *testing.T) {
	slow.Test(t, "root")
	this, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(this)
	if err != nil {
		t.Fatal(err)
	}
	dir := shortDir(t) // the folders of t.TempDir are closed to other users
	put := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	exe := put("ticketrail", string(program), 0o755)
	secret := put("secret", "mE3p0wHvYk2sRz8QaT5uNfLd1cXgJb7i\n", 0o600)
	conf := put("ticketrail.yaml", `
receiver: { secret_file: secret }
venues: [ { id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11, name: Harbour Grill, timezone: UTC } ]
printers: [ { name: grill, address: "tcp://127.0.0.1:9" } ]
fallback: grill
`, 0o644)
	relayConf := put("relay.yaml", `nats: { urls: [ "nats://10.0.0.21:4222" ], password_file: secret }`, 0o600)
	t.Setenv("SYSTEMCTL_SAYS", dir)
	for unit, of := range map[string]string{"ticketrail": conf, "ticketrail-relay": relayConf} {
		text := fmt.Sprintf("LoadState=loaded\nUser=nobody\nExecStart={ argv[]=x --config %s ; }\n", of)
		put(unit+".service", text, 0o644)
	}
	const cannot = "user nobody cannot use the configuration ("
	check := func() (string, error) {
		out, err := exec.Command(exe, "check", "--config", conf).CombinedOutput()
		return string(out), err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(exe, "relay", "check", "--config", relayConf).CombinedOutput()
	if err == nil || !strings.Contains(string(out), cannot+relayConf+": cannot be read") {
		t.Errorf("a relay's file that the user cannot read: %v\n%s", err, out)
	}
	said, err := check()
	if want := cannot + "line 2: receiver.secret_file: "; err == nil || !strings.Contains(said, want) ||
		!strings.Contains(said, "permission denied") {
		t.Errorf("a secret that the user cannot read: %v\n%s\nwant %s", err, said, want)
	}
	if err := os.Chmod(secret, 0o644); err != nil {
		t.Fatal(err)
	}
	if said, err = check(); err != nil {
		t.Errorf("all files can be read: %v\n%s", err, said)
	}
	if err := os.Chmod(conf, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err = check(); err == nil || !strings.Contains(said, cannot+conf+": cannot be read") {
		t.Errorf("a configuration that the user cannot read: %v\n%s", err, said)
	}
}
