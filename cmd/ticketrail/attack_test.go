package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
)

func TestNoBodyTakesMoreMemoryThanTheUnitAllows(t *testing.T) {
	slow.Test(t, "go")
	t.Parallel()
	patient := &http.Client{Timeout: testTimeout}
	const size = 8 << 20
	pad := strings.Repeat("x", 700)
	some := func(n int, begin, one, end string) []byte { return []byte(begin + strings.Repeat(one, n) + end) }
	fill := func(begin, one, end string) []byte {
		return some((size-len(begin)-len(end))/len(one), begin, one, end)
	}
	for name, body := range map[string][]byte{
		"objects": fill(`{"records":[{"id":"a","items":[{}`, `,{}`, `]}]}`),
		"keys":    fill(`{"records":[{"id":"f","items":[],"x":{"":0`, `,"":0`, `}}]}`),
		"escapes": fill(`{"records":[{"id":"i","items":[{"name":"`, `\u0001`, `"}]}]}`),
		// As many as are read.
		"allowed items":   some(9999, `{"records":[{"id":"l","items":[{}`, `,{"name":"Pie","note":"`+pad+`"}`, `]}]}`),
		"allowed records": some(9999, `{"records":[{"id":"m","items":[]}`, `,{"items":[],"note":"`+pad+`"}`, `]}`),
		"allowed numbers": some(480_000, `{"records":[{"id":"o","items":[],"x":[0`, `,0`, `]}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			k := newDaemon(t, "", "grill")
			k.asInstalled()
			edit(t, k.conf, "receiver: { ", "receiver: { max_body: 8MiB, ")
			k.start()
			got := postBody(patient, k.url, body)
			var wg sync.WaitGroup
			for range 12 { // eight are let in
				wg.Go(func() { postBody(patient, k.url, body) })
			}
			wg.Wait()
			peak := k.peakMemory()
			t.Logf("%+v; %d MiB", got, peak>>20)
			assert.True(t, peak <= unitMemory, "it used", peak>>20, unitMemory>>20)
			k.accept(newOrder("9", "grill"))
		})
	}
}

func TestOrdersMonitoringAndCommandsAreAnsweredWhateverOthersHoldOpen(t *testing.T) {
	slow.Test(t, "go")
	t.Parallel()
	k, metrics := newDaemon(t, "", "grill"), freeAddr(t)
	k.client.Timeout = testTimeout // this is about being turned away or dropped, not about being quick
	k.asInstalled()
	edit(t, k.conf, `metrics: { listen: "" }`, fmt.Sprintf("metrics: { listen: %q }", metrics))
	k.start()
	k.accept(newOrder("before", "grill"))

	const halfHead = "POST /webhooks/print HTTP/1.1\r\nHost: box\r\n"
	box := strings.TrimPrefix(strings.TrimSuffix(k.url, "/webhooks/print"), "http://")
	nowhere := func(int) net.Addr { return nil }
	crowd(t, 1500, "tcp", box, halfHead+"Content-Type: application/json\r\nx-svc-venueid: "+venueID+
		"\r\nx-svc-device-id: x\r\nContent-Length: 99\r\n\r\n{", func(int) net.Addr { return loopback(0) })
	crowd(t, 1500, "tcp", box, halfHead, func(i int) net.Addr { return loopback(i % 400) })
	crowd(t, 40, "tcp", metrics, "GET /metrics HTTP/1.1\r\n", nowhere)
	crowd(t, 100, "unix", filepath.Join(k.dir, "s"), "POST /v1/move HTTP/1.1\r\nHost: x\r\nTicketrail-Api: "+
		admin.API+"\r\nContent-Length: 99\r\n\r\n{", nowhere)
	for i := range 6 {
		// First on a connection that was kept, then on a new one each, which waits for seconds until it has a place.
		k.client.Transport.(*http.Transport).DisableKeepAlives = i >= 3
		k.accept(newOrder(fmt.Sprint("order ", i), "grill"))
		resp, err := k.client.Get("http://" + metrics + "/metrics")
		must(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		assert.True(t, resp.StatusCode == 200 && err == nil, resp.Status, err)
		_, err = k.control().Stations(t.Context())
		must(t, err)
	}
}

func TestListingsOfAllJobsTakeLittleMemory(t *testing.T) {
	slow.Test(t, "go")
	t.Parallel()
	const size = 20_000
	k := newDaemon(t, "", "grill")
	k.asInstalled()
	k.env = append(k.env, "GOGC=20") // so that the peak is near the memory in use, also on a busy machine
	edit(t, k.conf, "receiver: { ", "receiver: { max_body: 8MiB, respond_within: 4800ms, ")
	edit(t, k.conf, "storage: { ", fmt.Sprintf("storage: { max_backlog: %d, ", size))
	k.start()
	must(t, k.control().Hold(t.Context(), "grill", "a test"))
	for i := range size / 1000 {
		body := fmt.Appendf(nil, `{"records":[{"id":"%d","items":[]}%s]}`, i,
			strings.Repeat(`,{"id":"record","orderNumber":"142","table":"B10","items":[{"name":"Pie"}]}`, 999))
		must(t, eventually(func() error { // the commit of so many can take longer than the daemon waits
			if got := postBody(http.DefaultClient, k.url, body); got.status != http.StatusOK {
				return fmt.Errorf("%+v", got)
			}
			return nil
		}))
	}

	before := k.peakMemory()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			c, err := net.Dial("unix", filepath.Join(k.dir, "s"))
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			fmt.Fprintf(c, "GET /v1/jobs HTTP/1.1\r\nHost: x\r\nTicketrail-Api: %s\r\n\r\n", admin.API)
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Error(err)
				return
			}
			jobs, last := 0, ""
			answer := bufio.NewScanner(resp.Body)
			for answer.Scan() { // each job is on a line of its own
				if last = answer.Text(); strings.Contains(last, `{"id":`) {
					jobs++
				}
			}
			if err = answer.Err(); err == nil && last != "]" {
				err = io.ErrUnexpectedEOF
			}
			assert.True(t, err == nil && jobs == size, jobs, err)
		})
	}
	wg.Wait()

	after := k.peakMemory()
	t.Logf("before: %d MiB, after: %d MiB", before>>20, after>>20)
	assert.True(t, after <= unitMemory && after-before <= 20<<20, "the listings took", (after-before)>>20, after>>20)
}

// unitMemory is MemoryMax of the unit.
const unitMemory = 512 << 20

// asInstalled makes the daemon the program as it is installed, with the memory limit of the unit: one with the race
// detector needs many times the memory.
func (k *daemonProcess) asInstalled() {
	k.t.Helper()
	must(k.t, buildOnce())
	k.program, k.env = installed, []string{"GOMEMLIMIT=400MiB"}
}

// installed is on PATH beside the programs that the test binary can be, which are removed at the end.
const installed = "ticketrail-installed"

var buildOnce = sync.OnceValue(func() error {
	beside, err := exec.LookPath(realProgram)
	if err != nil {
		return err
	}
	out, err := exec.Command("go", "build", "-o", filepath.Join(filepath.Dir(beside), installed), ".").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
})

// peakMemory is the most memory that the daemon has used, in bytes.
func (k *daemonProcess) peakMemory() int {
	k.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", k.cmd.Process.Pid))
	if err != nil {
		k.t.Fatalf("the daemon is gone: %v", err)
	}
	m := regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(status)
	n, err := strconv.Atoi(string(m[1]))
	must(k.t, err)
	return n << 10
}

// crowd opens connections that never send a request. One that is closed is opened again.
func crowd(t *testing.T, size int, network, addr, says string, from func(i int) net.Addr) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var all, first sync.WaitGroup
	for i := range size {
		first.Add(1)
		all.Go(func() {
			arrived := sync.OnceFunc(first.Done)
			defer arrived()
			for ctx.Err() == nil {
				d := net.Dialer{LocalAddr: from(i), Timeout: 5 * time.Second}
				c, err := d.DialContext(ctx, network, addr)
				if err == nil {
					_, _ = io.WriteString(c, says)
					end := context.AfterFunc(ctx, func() { c.Close() })
					arrived()
					_, _ = io.Copy(io.Discard, c)
					end()
					c.Close()
				}
				select { // thousands that come again at once would only show how fast this machine is
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
			}
		})
	}
	first.Wait()
	t.Cleanup(func() { cancel(); all.Wait() })
}

func loopback(i int) net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+i/250), byte(1+i%250))}
}
