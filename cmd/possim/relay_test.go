package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ticketrail/receiver/relay/natstest"
)

// A relay and the boxes of two venues that fetch from it, which print to one printer. The relay and both boxes are
// killed together.
func TestARelayWithItsBoxesMeetsTheContract(t *testing.T) {
	t.Parallel()
	exe := filepath.Join(t.TempDir(), "ticketrail")
	if out, err := exec.Command("go", "build", "-o", exe, "ticketrail/cmd/ticketrail").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(exe, append([]string{"relay"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	i := integrate(t, func(dir, host string) (string, string) {
		port, err := natstest.FreePort(4000) // and its monitoring
		if err != nil {
			t.Fatal(err)
		}
		node, cloud := fmt.Sprintf("127.0.0.1:%d", port), filepath.Join(dir, "cloud")
		run("init", cloud, "--node", node)
		natstest.FilesForTest(t, []natstest.File{{Path: filepath.Join(cloud, "node1", "nats-server.conf"), Client: node,
			Status: fmt.Sprintf("127.0.0.1:%d", port+4000)}})
		conf := filepath.Join(cloud, "relay", "relay.yaml")
		write(conf, fmt.Sprintf(`receiver: { listen: "%s:8443", insecure: true }
nats: { urls: ["tls://%s"], creds_file: relay.creds, replicas: 1, max_bytes: 64MiB }
metrics: { listen: "" }
log: { level: error }
`, host, node))
		// The one before was killed, and needs a moment to let go of its port.
		script := fmt.Sprintf("while [ -f %[1]s ] && [ -e /proc/$(cat %[1]s)/exe ]; do sleep 0.05; done\n"+
			"echo $$ >%[1]s\n", filepath.Join(dir, "relay.pid"))
		for n, venue := range []string{sampleVenue, secondVenue} {
			box := filepath.Join(dir, fmt.Sprint("box", n))
			run("venues", "add", venue, "--name", fmt.Sprint("Venue ", n), "--config", conf, "--out", box+".creds",
				"--operator", filepath.Join(cloud, "operator.secret"))
			write(box+".yaml", fmt.Sprintf(`receiver: { listen: "" }
source: { nats: ["tls://%s"], creds_file: %q }
admin: { socket: %q }
metrics: { listen: "" }
storage: { path: %q }
log: { level: error }
venues: [ { id: %s, name: Venue } ]
printers: [ { name: grill, address: "tcp://%s:9100" } ]
fallback: grill
`, node, box+".creds", box+".s", box+".db", venue, host))
			script += fmt.Sprintf("[ -f %[1]s.pid ] && kill -9 $(cat %[1]s.pid)\n%s serve --config %[1]s.yaml &\n"+
				"echo $! >%[1]s.pid\n", box, exe)
			t.Cleanup(func() {
				if out, err := exec.Command("sh", "-c", "kill -9 $(cat "+box+".pid)").CombinedOutput(); err != nil {
					t.Errorf("a box is left running: %v: %s", err, out)
				}
			})
		}
		write(filepath.Join(dir, "all.sh"), script+fmt.Sprintf("exec %s relay --config %s\n", exe, conf))
		return "sh " + filepath.Join(dir, "all.sh"), "http://" + host + ":8443/webhooks/print"
	})
	// A box that was killed gets what it had in hand again after ten seconds.
	code, out, errs := i.judge(t, i.seeing(testTime, 500*time.Millisecond)...)
	if code != exitOK || !strings.Contains(out, " 0 failed, 0 unseen") {
		t.Errorf("ends with %d, says\n%s%s", code, out, errs)
	}
}
