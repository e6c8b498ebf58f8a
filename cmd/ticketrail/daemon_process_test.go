package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"ticketrail/cmd/internal/admin"
	"ticketrail/printer/virtual"
	"ticketrail/receiver"
	"ticketrail/receiver/relay/natstest"
)

const venueID = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"

// testTimeout bounds every wait of these tests. Reaching it is a failure, on any machine.
const testTimeout = 90 * time.Second

// eventually calls ask until it returns nil or testTimeout is over, and returns its last error.
func eventually(ask func() error) error {
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(20 * time.Millisecond) { // between two questions
		if err := ask(); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// untilNone calls ask until nothing is left. testTimeout bounds the time in which it does not get less: how much a busy
// machine does in all is not bounded.
func untilNone(ask func() (left int, err error)) error {
	for least := math.MaxInt; least > 0; {
		if err := eventually(func() error {
			left, err := ask()
			if err == nil && left >= least {
				err = fmt.Errorf("%d are left", left)
			}
			if err == nil {
				least = left
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// A daemonProcess is the real program as a process of its own, between a sender that follows the
// service contract and virtual printers in this process, which survive its restarts.
type daemonProcess struct {
	t        *testing.T
	dir      string
	program  string // name on PATH: "ticketrail", or a variant that TestMain knows
	command  string // of the program
	before   []string
	keeps    bool     // what the daemon wants kept through restarts is kept, as systemd does
	kept     *os.File // the listener that is kept; nil before
	keptName string
	stations []string
	printers map[string]*virtual.Printer
	addrs    map[string]string // of the printers
	conf     string
	url      string
	client   *http.Client

	cmd    *exec.Cmd
	exited chan error
	log    *logTail
}

// newDaemon has a printer with every capability for each station. It is not started.
func newDaemon(t *testing.T, store string, stations ...string) *daemonProcess {
	t.Helper()
	return newDaemonWith(t, store, "", func(string) virtual.Options {
		return virtual.Options{Can: virtual.Everything}
	}, stations...)
}

// newDaemonWith has the printers that like returns, and adds keys to the configuration of each.
func newDaemonWith(t *testing.T, store, keys string, like func(station string) virtual.Options,
	stations ...string) *daemonProcess {
	t.Helper()
	dir, err := os.MkdirTemp("", "tr") // short: a unix socket's path has 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	k := &daemonProcess{
		t: t, dir: dir, program: "ticketrail", command: "serve", stations: stations,
		printers: map[string]*virtual.Printer{}, addrs: map[string]string{},
		conf:   filepath.Join(dir, "ticketrail.yaml"),
		client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	t.Cleanup(func() {
		k.kill()
		cancel()
		wg.Wait()
		if !t.Failed() {
			os.RemoveAll(dir)
		} else if k.log != nil {
			t.Logf("last lines of the daemon:\n%s", k.log)
		}
	})
	if store == "" {
		store = filepath.Join(dir, "t.db")
	}
	addr := freeAddr(t)
	k.url = "http://" + addr + "/webhooks/print"
	var y strings.Builder
	fmt.Fprintf(&y, "receiver: { listen: %q }\nadmin: { socket: %q }\nmetrics: { listen: \"\" }\n"+
		"display: { listen: \"\" }\nstorage: { path: %q }\nlog: { level: warn }\nfallback: %s\n",
		addr, filepath.Join(dir, "s"), store, stations[0])
	fmt.Fprintf(&y, "venues: [ { id: %s, name: Harbour Grill, timezone: Australia/Melbourne } ]\nprinters:\n", venueID)
	var routes strings.Builder
	for _, s := range stations {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		o := like(s)
		o.Name = s
		p := virtual.New(o)
		k.printers[s], k.addrs[s] = p, l.Addr().String()
		wg.Go(func() { p.Serve(ctx, l) })
		fmt.Fprintf(&y, "  - { name: %s, address: \"tcp://%s\"%s }\n", s, l.Addr(), keys)
		fmt.Fprintf(&routes, "  - { when: 'item.station == %q', to: [%s] }\n", s, s)
	}
	y.WriteString("routes:\n" + routes.String())
	if err := os.WriteFile(k.conf, []byte(y.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// freeAddr is an address at which nothing listens, also while the daemon is down.
func freeAddr(t *testing.T) string {
	t.Helper()
	port, err := natstest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// start runs the daemon and returns when it says READY=1, the way systemd learns it.
func (k *daemonProcess) start() {
	k.t.Helper()
	notify := filepath.Join(k.dir, "n")
	os.Remove(notify)
	said, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"})
	if err != nil {
		k.t.Fatal(err)
	}
	defer said.Close()
	path, err := exec.LookPath(k.program)
	if err != nil {
		k.t.Fatal(err)
	}
	args := append(slices.Clone(k.before), path, k.command, "--config", k.conf)
	k.cmd = exec.Command(args[0], args[1:]...)
	k.cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+notify)
	if k.kept != nil {
		// The shell knows its own number, which the program's will be.
		k.cmd = exec.Command("sh", append([]string{"-c", `LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"`, "sh"}, args...)...)
		k.cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+notify, "LISTEN_FDNAMES="+k.keptName)
		k.cmd.ExtraFiles = []*os.File{k.kept}
	}
	k.log = &logTail{}
	k.cmd.Stderr = k.log
	if err := k.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	cmd, exited := k.cmd, make(chan error, 1)
	k.exited = exited
	ready := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		exited <- err
		ready <- fmt.Errorf("the daemon ended before it was ready: %v", err)
	}()
	go func() {
		buf, rights := make([]byte, 4096), make([]byte, 256)
		said.SetReadDeadline(time.Now().Add(testTimeout))
		for {
			n, rn, _, _, err := said.ReadMsgUnix(buf, rights)
			if err == nil && bytes.HasPrefix(buf[:n], []byte("FDSTORE=1\n")) {
				var l *os.File
				switch l, err = received(rights[:rn]); {
				case err != nil:
				case k.keeps:
					_, k.keptName, _ = strings.Cut(string(buf[:n]), "FDNAME=")
					k.kept = l
				default:
					err = l.Close() // or the port would stay open
				}
			}
			if err != nil || bytes.Contains(buf[:n], []byte("READY=1")) {
				ready <- err
				return
			}
		}
	}()
	if err := <-ready; err != nil {
		k.t.Fatalf("%v\n%s", err, k.log)
	}
}

// received is the file that came with a message.
func received(rights []byte) (*os.File, error) {
	messages, err := syscall.ParseSocketControlMessage(rights)
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("%d control messages: %w", len(messages), err)
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("%d files: %w", len(fds), err)
	}
	return os.NewFile(uintptr(fds[0]), "listener"), nil
}

// wantNoLoss fails if the daemon said at its start that the file has lost something. That the relay is away says
// nothing about the file.
func (k *daemonProcess) wantNoLoss() {
	k.t.Helper()
	for line := range strings.Lines(k.log.String()) {
		if strings.Contains(line, "level=ERROR") && !strings.Contains(line, "relay") {
			k.t.Errorf("after a start: %s", line)
		}
	}
}

// kill is kill -9, and waits until the process is gone.
func (k *daemonProcess) kill() {
	if k.cmd == nil {
		return
	}
	k.cmd.Process.Kill()
	<-k.exited
	k.cmd = nil
}

// stop is systemctl stop.
func (k *daemonProcess) stop() {
	k.t.Helper()
	k.cmd.Process.Signal(os.Interrupt)
	if err := <-k.exited; err != nil {
		k.t.Errorf("the daemon ended with %v\n%s", err, k.log)
	}
	k.cmd = nil
}

// An order of these tests has one item for each of its stations and a number that can
// be found again on the paper.
type order struct {
	id, number string
	stations   []string
}

func (k *daemonProcess) newOrder(number string, stations ...string) order {
	return order{uuid.NewString(), number, stations}
}

func (o order) body(retry int) []byte {
	var items []map[string]any
	for _, s := range o.stations {
		items = append(items, map[string]any{"name": "Burger", "quantity": 1, "station": s,
			"childItems": []any{map[string]any{"name": "no onion", "childItems": []any{}}}})
	}
	b, err := json.Marshal(map[string]any{
		"records": []any{map[string]any{"id": o.id, "orderNumber": o.number, "retryCount": retry, "items": items}},
		"status":  "SUCCESS", "count": 1, "serverRequestTimestamp": time.Now().UTC().Format(time.RFC3339Nano),
	})
	if err != nil {
		panic(err)
	}
	return b
}

type answer struct {
	status    int
	duplicate bool
	code      string
	err       error
}

// post sends the order once.
func (k *daemonProcess) post(o order, retry int) answer {
	req, err := http.NewRequest("POST", k.url, bytes.NewReader(o.body(retry)))
	if err != nil {
		return answer{err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("x-svc-venueid", venueID)
	req.Header.Set("x-svc-device-id", "BW-E-Tablet-01")
	resp, err := k.client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	var said struct {
		Duplicate bool
		Error     struct{ Code string }
	}
	b, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(b, &said)
	}
	return answer{resp.StatusCode, said.Duplicate, said.Error.Code, err}
}

// deliver sends an order, and sends it again if the disk was too slow, as the service does: on a busy machine a commit
// can take longer than the daemon lets its caller wait.
func (k *daemonProcess) deliver(o order) (got answer) {
	for try, end := 0, time.Now().Add(testTimeout); ; try++ {
		got = k.post(o, try)
		timedOut, is := errors.AsType[net.Error](got.err)
		if got.code != string(receiver.TooSlow) && !(is && timedOut.Timeout()) || time.Now().After(end) {
			return got
		}
		time.Sleep(20 * time.Millisecond) // the service's backoff, shortened
	}
}

// jobs asks the running daemon, as the command line does, but without a process for each question: a test that waits
// asks many times.
func (k *daemonProcess) jobs(of admin.Filter) []admin.Job {
	k.t.Helper()
	jobs, err := admin.NewClient(filepath.Join(k.dir, "s")).Jobs(k.t.Context(), of)
	if err != nil {
		k.t.Fatalf("list the jobs: %v", err)
	}
	return jobs
}

// A logTail keeps the end of a log.
type logTail struct {
	whole bool // keep all of it
	mu    sync.Mutex
	b     []byte
}

func (t *logTail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if n := len(t.b) - 16<<10; n > 0 && !t.whole {
		t.b = t.b[n:]
	}
	return len(p), nil
}

func (t *logTail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}
