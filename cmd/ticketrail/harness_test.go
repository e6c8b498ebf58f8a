package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/testscript"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/app"
	"ticketrail/deploy/assert"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
	"ticketrail/receiver"
)

// The programs that the test binary can be. They are on PATH.
const (
	realProgram   = "ticketrail"
	unsynced      = "ticketrail-unsynced" // does not sync its commits
	fakeSystemctl = "systemctl"           // prints the file in $SYSTEMCTL_SAYS, on every machine
)

func TestMain(m *testing.M) {
	// A program built with -race sleeps for a second before it ends; these end all the time.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	// The parallel tests wait for other processes and for disks most of the time, whatever the number of processors.
	flag.Set("test.parallel", "4")
	testscript.Main(m, map[string]func(){
		realProgram: runProgram(nil),
		unsynced:    runProgram(func(o *app.Options) { o.NoSync = true }),
		fakeSystemctl: func() {
			text, err := os.ReadFile(filepath.Join(os.Getenv("SYSTEMCTL_SAYS"), os.Args[2]))
			if err != nil {
				os.Exit(1)
			}
			os.Stdout.WriteString(os.ExpandEnv(string(text)))
		},
	})
}

// runProgram is the real main, with other options of the daemon.
func runProgram(change func(*app.Options)) func() {
	return func() {
		if os.Getenv("LISTEN_FDS") != "" { // of daemonProcess.run, which does not know this number in time
			os.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()))
		}
		if change == nil {
			main() // it does not return
		}
		c := &cli{in: os.Stdin, out: os.Stdout, err: os.Stderr, changeOptions: change}
		os.Exit(c.run(signalContext(), os.Args[1:]))
	}
}

const venueID = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"

// testTimeout bounds every wait of these tests. Reaching it is a failure, on any machine.
const testTimeout = 90 * time.Second

// eventually calls ask until it returns nil or testTimeout is over, and returns its last error.
func eventually(ask func() error) error {
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(10 * time.Millisecond) { // between two questions
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

// runCommand runs a command in this process and returns its exit code and its output.
func runCommand(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = (&cli{in: strings.NewReader(""), out: &o, err: &e}).run(t.Context(), args)
	return code, o.String(), e.String()
}

// writeFiles writes files that only this user can read.
func writeFiles(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		must(t, os.WriteFile(name, []byte(text), 0o600))
	}
}

// edit replaces the first old in a file, which must have it.
func edit(t *testing.T, path, old, now string) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Contains(b, []byte(old)) {
		t.Fatalf("%s has no %q:\n%s", path, old, b)
	}
	writeFiles(t, map[string]string{path: strings.Replace(string(b), old, now, 1)})
}

// shortDir is a folder whose name is short: the path of a unix socket has at most 107 bytes.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tr")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// virtualPrinter is a printer with every capability, and its address. It listens until the test ends.
func virtualPrinter(t *testing.T) (*virtual.Printer, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := virtual.New(virtual.Options{Can: virtual.Everything})
	p.Delay(200 * time.Microsecond) // the fastest printer takes ten times as long: a test prints thousands of tickets
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { _ = p.Serve(ctx, l) })
	t.Cleanup(func() { cancel(); serving.Wait() })
	return p, "tcp://" + l.Addr().String()
}

// A daemonProcess is the real program as a process of its own, between a sender that follows the
// service contract and virtual printers in this process, which survive its restarts. This process keeps the webhook's
// listener while the daemon is down, as systemd does: so no other program gets its port, and no connection is refused.
type daemonProcess struct {
	t        *testing.T
	dir      string
	conf     string
	program  string   // name on PATH
	command  string   // of the program
	env      []string // added to the environment of this process, also for commands
	stdout   *os.File
	terminal *os.File // in which it runs; nil: none
	kept     *os.File // the listener that is kept; nil before the first start
	keptName string
	stations []string
	printers map[string]*virtual.Printer
	url      string // of the webhook; known after the first start
	client   *http.Client

	cmd    *exec.Cmd
	exited chan error
	log    *logTail
}

// newDaemon has a printer with every capability for each station. It is not started. Its database is store, or in a
// folder of its own if that is empty.
func newDaemon(t *testing.T, store string, stations ...string) *daemonProcess {
	t.Helper()
	dir := shortDir(t)
	k := &daemonProcess{
		t: t, dir: dir, program: realProgram, command: "serve", stations: stations,
		printers: map[string]*virtual.Printer{}, conf: filepath.Join(dir, "ticketrail.yaml"),
		client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	if store == "" {
		store = filepath.Join(dir, "t.db")
	}

	text := fmt.Sprintf("receiver: { listen: \"127.0.0.1:0\" }\nadmin: { socket: %q }\nmetrics: { listen: \"\" }\n"+
		"display: { listen: \"\" }\nstorage: { path: %q }\nlog: { level: warn }\nfallback: %s\n"+
		"venues: [ { id: %s, name: Harbour Grill, timezone: Australia/Melbourne } ]\nprinters:\n",
		k.socket(), store, stations[0], venueID)
	routes := "routes:\n"
	for _, s := range stations {
		p, address := virtualPrinter(t)
		k.printers[s] = p
		text += fmt.Sprintf("  - { name: %s, address: %q }\n", s, address)
		routes += fmt.Sprintf("  - { when: 'item.station == %q', to: [%s] }\n", s, s)
	}
	writeFiles(t, map[string]string{k.conf: text + routes})

	t.Cleanup(func() {
		k.kill()
		if k.kept != nil {
			k.kept.Close()
		}
		if t.Failed() && k.log != nil {
			t.Logf("last lines of the daemon:\n%s", k.log)
		}
	})
	return k
}

func (k *daemonProcess) socket() string { return filepath.Join(k.dir, "s") }

// control is the daemon's control API, which answers in less time than a process that asks it.
func (k *daemonProcess) control() *admin.Client { return admin.NewClient(k.socket()) }

// start runs the daemon and returns when it says READY=1, the way systemd learns it.
func (k *daemonProcess) start() {
	k.t.Helper()
	notify := filepath.Join(k.dir, "n")
	os.Remove(notify)
	said, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"})
	must(k.t, err)
	defer said.Close()
	k.run(notify)
	exited := k.exited
	go func() {
		err := <-exited
		exited <- err
		said.Close() // it says nothing any more
	}()

	_ = said.SetReadDeadline(time.Now().Add(testTimeout))
	for {
		text, listener, err := readNotification(said)
		if err != nil {
			k.t.Fatalf("the daemon is not ready: %v\n%s", err, k.log)
		}
		if listener != nil {
			k.keep(listener, text)
		}
		if strings.Contains(text, "READY=1") {
			return
		}
	}
}

// run starts the process. Its messages to systemd go to notify, if that is not empty.
func (k *daemonProcess) run(notify string) {
	k.t.Helper()
	path, err := exec.LookPath(k.program)
	must(k.t, err)
	cmd, exited := exec.Command(path, k.command, "--config", k.conf), make(chan error, 1)
	k.cmd, k.exited, k.log = cmd, exited, &logTail{}
	cmd.Env = append(append(os.Environ(), k.env...), "NOTIFY_SOCKET="+notify)
	if k.kept != nil {
		cmd.Env = append(cmd.Env, "LISTEN_FDS=1", "LISTEN_FDNAMES="+k.keptName)
		cmd.ExtraFiles = []*os.File{k.kept}
	}
	cmd.Stderr = k.log
	if k.stdout != nil {
		cmd.Stdout = k.stdout
	}
	if k.terminal != nil {
		cmd.Stdin, cmd.SysProcAttr = k.terminal, &syscall.SysProcAttr{Setsid: true, Setctty: true}
	}
	must(k.t, cmd.Start())
	go func() { exited <- cmd.Wait() }()
}

// keep keeps the webhook's listener until the test ends. text came with it.
func (k *daemonProcess) keep(listener *os.File, text string) {
	k.t.Helper()
	l, err := net.FileListener(listener)
	must(k.t, err)
	k.url = "http://" + l.Addr().String() + "/webhooks/print"
	l.Close()
	if k.kept != nil {
		k.kept.Close()
	}
	k.kept = listener
	_, k.keptName, _ = strings.Cut(text, "FDNAME=")
}

// readNotification reads a message for systemd, and the listener that comes with it.
func readNotification(from *net.UnixConn) (text string, listener *os.File, err error) {
	buf, rights := make([]byte, 4096), make([]byte, 256)
	n, rn, _, _, err := from.ReadMsgUnix(buf, rights)
	if err != nil { // n is -1 then
		return "", nil, err
	}
	if text = string(buf[:n]); !strings.HasPrefix(text, "FDSTORE=1\n") {
		return text, nil, nil
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:rn])
	if err != nil || len(messages) != 1 {
		return text, nil, fmt.Errorf("%d control messages: %w", len(messages), err)
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return text, nil, fmt.Errorf("%d files: %w", len(fds), err)
	}
	return text, os.NewFile(uintptr(fds[0]), "listener"), nil
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
	err := <-k.exited
	assert.True(k.t, err == nil, "the daemon ended with", err, k.log)
	k.cmd = nil
}

// wantNoLoss fails if the daemon said at its start that the file has lost something. That the relay is away says
// nothing about the file.
func (k *daemonProcess) wantNoLoss() {
	k.t.Helper()
	for line := range strings.Lines(k.log.String()) {
		assert.True(k.t, !strings.Contains(line, "level=ERROR") || strings.Contains(line, "relay"), "after a start",
			line)
	}
}

// wantSaid waits until status or doctor, as a person calls it, says all of it.
func (k *daemonProcess) wantSaid(command string, want ...string) {
	k.t.Helper()
	must(k.t, eventually(func() error {
		cmd := exec.Command(realProgram, command, "--config", k.conf)
		cmd.Env = append(os.Environ(), k.env...)
		out, _ := cmd.CombinedOutput() // 1: something is wrong
		said := strings.Join(strings.Fields(string(out)), " ")
		for _, w := range want {
			if !strings.Contains(said, w) {
				return fmt.Errorf("%s does not say %q:\n%s", command, w, out)
			}
		}
		return nil
	}))
}

// An order of these tests has one item for each of its stations and a number that can
// be found again on the paper.
type order struct {
	id, number string
	stations   []string
}

func newOrder(number string, stations ...string) order {
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

// webhookRequest is a print request as the service sends it.
func webhookRequest(url string, body []byte) (*http.Request, error) {
	req, err := http.NewRequest("POST", url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "X-Svc-Venueid": {venueID},
		"X-Svc-Device-Id": {"T1"}}
	return req, nil
}

// post sends the order once.
func (k *daemonProcess) post(o order, retry int) answer {
	return postBody(k.client, k.url, o.body(retry))
}

func postBody(client *http.Client, url string, body []byte) answer {
	req, err := webhookRequest(url, body)
	if err != nil {
		return answer{err: err}
	}
	resp, err := client.Do(req)
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
	}
}

// accept sends orders that must be answered 200.
func (k *daemonProcess) accept(orders ...order) {
	k.t.Helper()
	for _, o := range orders {
		if got := k.deliver(o); got.status != http.StatusOK {
			k.t.Fatalf("order %s got %+v", o.number, got)
		}
	}
}

// A senderGroup is senders at work: each sends one order after the other, and the next only
// when the one before was answered or given up after three retries, as the contract says.
type senderGroup struct {
	k         *daemonProcess
	stop      atomic.Bool
	acks      atomic.Int64
	newAck    chan struct{} // receives after every 200
	wg        sync.WaitGroup
	mu        sync.Mutex
	acked     []order
	lost      []order
	refused   int       // connections
	perSender [][]order // the answered orders of each sender, in order
}

// startSenders starts n senders. tag separates the order numbers of two groups.
func startSenders(k *daemonProcess, tag string, n int) *senderGroup {
	c := &senderGroup{k: k, newAck: make(chan struct{}, 1), perSender: make([][]order, n)}
	for i := range n {
		c.wg.Go(func() { c.send(tag, i) })
	}
	return c
}

func (c *senderGroup) send(tag string, sender int) {
	for n := 0; !c.stop.Load(); n++ {
		time.Sleep(10 * time.Millisecond) // people do not type faster, and a kitchen does not print faster
		stations := c.k.stations[:1+(sender+n)%len(c.k.stations)]
		o := newOrder(fmt.Sprintf("K-%s%d-%d-%04x", tag, sender, n, n), stations...)
		var got answer
		refused := 0
		for try := 0; try <= 3 && got.status != http.StatusOK && !(try > 0 && c.stop.Load()); try++ {
			time.Sleep(time.Duration(try*try) * 2 * time.Millisecond) // the service's backoff, shortened
			if got = c.k.post(o, try); errors.Is(got.err, syscall.ECONNREFUSED) {
				refused++
			}
		}

		c.mu.Lock()
		c.refused += refused
		if got.status != http.StatusOK {
			c.lost = append(c.lost, o)
			c.mu.Unlock()
			continue
		}
		c.acked = append(c.acked, o)
		c.perSender[sender] = append(c.perSender[sender], o)
		c.mu.Unlock()
		c.acks.Add(1)
		select {
		case c.newAck <- struct{}{}:
		default:
		}
	}
}

// waitForMore waits for n more acks.
func (c *senderGroup) waitForMore(n int64) {
	c.k.t.Helper()
	want := c.acks.Load() + n
	timeout := time.After(testTimeout) // without an answer: how many come in a time depends on the machine
	for c.acks.Load() < want {
		select {
		case <-c.newAck:
			timeout = time.After(testTimeout)
		case <-timeout:
			c.k.t.Fatalf("only %d of %d orders were answered\n%s", c.acks.Load(), want, c.k.log)
		}
	}
}

// stopAndWait stops the senders and waits for them.
func (c *senderGroup) stopAndWait() {
	c.stop.Store(true)
	c.wg.Wait()
}

// check stops the senders, waits for the paper and compares it with the answers.
func (c *senderGroup) check() {
	c.k.t.Helper()
	c.stopAndWait()
	c.k.waitUntilPrinted()
	c.k.checkPaper(c.acked, c.lost, c.perSender)
	for _, chain := range c.perSender {
		assert.True(c.k.t, len(chain) != 0, "a sender got nothing through: the test proved less than it says")
	}
	c.k.t.Logf("%d orders answered, %d never answered", len(c.acked), len(c.lost))
}

// reprintHeld reprints held tickets, as a person would, and returns the open ones. A ticket that two kills interrupted
// is held.
func (k *daemonProcess) reprintHeld() (open []admin.Job, err error) {
	ctx := k.t.Context()
	open, err = k.control().Jobs(ctx,
		admin.Filter{States: []ticket.State{ticket.Pending, ticket.Printing, ticket.Held}})

	for _, j := range open {
		if j.State == ticket.Held && err == nil {
			_, err = k.control().Reprint(ctx, j.ID, admin.ReprintOptions{})
		}
	}
	return open, err
}

// waitUntilPrinted waits until nothing is pending or held and no ticket is without its end. A ticket ends with the cut,
// which the daemon sends after the answer that ended the job.
func (k *daemonProcess) waitUntilPrinted() {
	k.t.Helper()
	var open []admin.Job
	if err := untilNone(func() (_ int, err error) {
		open, err = k.reprintHeld()
		return len(open), err
	}); err != nil {
		k.t.Fatalf("open jobs: %v, %+v", err, open)
	}

	must(k.t, eventually(func() error {
		for _, s := range k.stations {
			if text := k.printers[s].Unfinished(); text != "" {
				return fmt.Errorf("%s has a ticket without its cut: %q", s, text)
			}
		}
		return nil
	}))
}

// printed are a printer's tickets of an order.
type printed struct {
	whole    int // came out to the cut
	unmarked int // pieces, whole or torn, that nothing marks as a copy
	first    int // position of the first piece
}

var orderNumber = regexp.MustCompile(`K-[0-9a-z]+-[0-9]+-[0-9a-f]{4}`)

// printedBy reads everything that came out of a station's printer, by order number.
func (k *daemonProcess) printedBy(station string) map[string]printed {
	k.t.Helper()
	p := k.printers[station]
	bad := p.Problems()
	assert.True(k.t, len(bad) == 0, station, bad)
	out := map[string]printed{}
	for i, tk := range p.Tickets() {
		number := orderNumber.FindString(tk.Text)
		if number == "" {
			continue // torn before the number
		}
		seen, known := out[number]
		if !known {
			seen.first = i
		}
		if tk.End == virtual.Cut {
			seen.whole++
		}
		if !strings.Contains(tk.Text, "POSSIBLE DUPLICATE") && !strings.Contains(tk.Text, "REPRINT") {
			seen.unmarked++
		}
		out[number] = seen
	}
	return out
}

// checkPaper checks promises 1, 2 and 4 on the paper of every station.
func (k *daemonProcess) checkPaper(acked, unanswered []order, chains [][]order) {
	k.t.Helper()
	for _, s := range k.stations {
		paper := k.printedBy(s)
		for i, o := range slices.Concat(acked, unanswered) {
			if !slices.Contains(o.stations, s) {
				continue
			}
			got := paper[o.number]
			assert.True(k.t, i >= len(acked) || got.whole != 0, o.number, "was answered 200 and did not come out of", s)
			assert.True(k.t, got.unmarked <= 1, o.number, "came out of", s, "unmarked", got.unmarked)
		}
		for _, chain := range chains { // each order was answered before the next was sent
			last, lastNumber := -1, ""
			for _, o := range chain {
				got, ok := paper[o.number]
				if !ok || !slices.Contains(o.stations, s) {
					continue
				}
				assert.True(k.t, got.first >= last, s, o.number, "came out before, but was accepted after", lastNumber)
				last, lastNumber = got.first, o.number
			}
		}
		k.t.Logf("%s: %d orders on %d pieces of paper", s, len(paper), len(k.printers[s].Tickets()))
	}
}

// wantEachOnce fails if anything came out twice, torn or marked.
func (k *daemonProcess) wantEachOnce() {
	k.t.Helper()
	for _, s := range k.stations {
		paper := k.printedBy(s)
		for _, number := range slices.Sorted(maps.Keys(paper)) {
			got := paper[number]
			assert.True(k.t, got.whole == 1 && got.unmarked == 1, "not once and unmarked", s, number, got)
		}
	}
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

// must ends the test with an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
