package natsaccess

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// servers runs nats-server with the files of WriteNodes, on ports of loopback.
func servers(t *testing.T, o *Operator, many int) (nodes []Node, urls []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "tool", "-n", "nats-server").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir, base := t.TempDir(), 10_000+rand.IntN(10_000)
	for i := range many {
		folder := filepath.Join(dir, fmt.Sprintf("node%d", i+1))
		nodes = append(nodes, Node{Host: "127.0.0.1", Port: base + i, Etc: folder, Data: folder})
		urls = append(urls, nodes[i].URL())
	}
	folders, err := o.WriteNodes(dir, nodes)
	if err != nil {
		t.Fatal(err)
	}
	for i, folder := range folders {
		p := exec.Command(strings.TrimSpace(string(out)), "-c", filepath.Join(folder, "nats-server.conf"))
		log := &strings.Builder{}
		p.Stderr = log
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = p.Process.Kill()
			_ = p.Wait()
			if t.Failed() {
				t.Logf("node %d:\n%s", i, log)
			}
		})
	}
	for _, n := range nodes {
		for range 600 {
			r, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/healthz", n.MonitorPort()))
			if err == nil {
				r.Body.Close()
			}
			if err == nil && r.StatusCode == 200 {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nodes, urls
}
