package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ticketrail/cmd/internal/app"
	"ticketrail/cmd/internal/doctor"
	"ticketrail/queue/ticket"
)

// modeServe makes this program the daemon: what start-up time and memory are measured of has
// to be a process of its own.
const modeServe = "serve-for-bench"

// beDaemon is what the serve command does, but for signals, a watchdog and inherited sockets.
func beDaemon(ctx context.Context, conf string) int {
	err := func() error {
		exe, err := os.Executable()
		if err != nil {
			return err
		}
		tell, err := notifier()
		if err != nil {
			return err
		}
		a, err := app.New(ctx, app.Options{ConfigPath: conf, CheckStore: doctor.CheckInChild(exe), Notify: tell, Log: os.Stderr})
		if err != nil {
			return err
		}
		fmt.Println(a.WebhookAddr(), a.MetricsAddr(), a.DisplayAddr())
		return a.Run(ctx)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "daemon:", err)
		return 1
	}
	return 0
}

// beChecker is what the hidden command `db check` does: [doctor.CheckInChild] runs it.
func beChecker(path string) int {
	err := doctor.CheckStore(path)
	if err == nil {
		return 0
	}
	if errors.Is(err, doctor.ErrDamaged) {
		fmt.Println(doctor.Damaged)
	} else {
		fmt.Printf("%s%v\n", doctor.Unchecked, err)
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func notifier() (func(string), error) {
	conn, err := net.Dial("unixgram", os.Getenv("NOTIFY_SOCKET"))
	if err != nil {
		return nil, err
	}
	return func(state string) { _, _ = io.WriteString(conn, state) }, nil
}

// A daemon is a running one.
type daemon struct {
	cmd              *exec.Cmd
	pid              int
	webhook, metrics string
	display          string        // where pages are, if there is a screen
	ready            time.Duration // from starting the process until it said so
	logPath          string
}

// daemonOptions say how to start one.
type daemonOptions struct {
	store   string
	printer *wire    // of both stations; nil: there is none
	under   []string // a program that runs it, with its arguments
	within  time.Duration
	config  func(socket string) []byte // nil: two stations at one printer
}

// daemon starts the daemon on a store and waits until it is ready.
func (b *bench) daemon(ctx context.Context, o daemonOptions) (_ *daemon, err error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	sockets, err := os.MkdirTemp("", "trb") // a short name: sockets have at most 107 bytes
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(sockets)
	conf := b.path("ticketrail.yaml")
	if o.config == nil {
		o.config = func(socket string) []byte { return daemonConfig(o, socket) }
	}
	if err := os.WriteFile(conf, o.config(filepath.Join(sockets, "admin")), 0o600); err != nil {
		return nil, err
	}
	hear, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(sockets, "notify"), Net: "unixgram"})
	if err != nil {
		return nil, err
	}
	defer hear.Close()

	d := &daemon{logPath: b.path("daemon.log")}
	log, err := os.Create(d.logPath)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	argv := append(append([]string{}, o.under...), exe, modeServe, conf)
	d.cmd = exec.Command(argv[0], argv[1:]...)
	d.cmd.Stderr = log
	d.cmd.Env = append(plainEnvironment(), "NOTIFY_SOCKET="+hear.LocalAddr().String())
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	d.pid = d.cmd.Process.Pid
	defer func() {
		if err != nil {
			_ = d.cmd.Process.Kill()
			err = errors.Join(err, d.cmd.Wait(), d.lastWords())
		}
	}()
	if err := awaitReady(ctx, hear, began.Add(o.within)); err != nil {
		return nil, err
	}
	d.ready = time.Since(began)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("read the daemon's addresses: %w", err)
	}
	_, err = fmt.Sscan(line, &d.webhook, &d.metrics, &d.display)
	return d, err
}

// plainEnvironment is ours without what would make the daemon a different one.
func plainEnvironment() []string {
	var env []string
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		if strings.HasPrefix(name, "GO") || strings.HasPrefix(name, "TICKETRAIL_") || name == "JOURNAL_STREAM" || name == "LISTEN_FDS" {
			continue
		}
		env = append(env, e)
	}
	return env
}

func awaitReady(ctx context.Context, hear *net.UnixConn, limit time.Time) error {
	if err := hear.SetReadDeadline(limit); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = hear.SetReadDeadline(time.Unix(1, 0)) })()
	buf := make([]byte, 4096)
	for {
		n, err := hear.Read(buf)
		if err != nil {
			return errors.Join(fmt.Errorf("wait for READY=1: %w", err), context.Cause(ctx))
		}
		if strings.HasPrefix(string(buf[:n]), "READY=1") {
			return nil
		}
	}
}

// stop ends the daemon as the init system would.
func (d *daemon) stop() error {
	err := d.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(time.Minute, func() { _ = d.cmd.Process.Kill() })
	defer late.Stop()
	if err := errors.Join(err, d.cmd.Wait()); err != nil {
		return errors.Join(fmt.Errorf("stop the daemon: %w", err), d.lastWords())
	}
	return nil
}

func (d *daemon) lastWords() error {
	b, err := os.ReadFile(d.logPath)
	if err != nil {
		return err
	}
	return fmt.Errorf("its log ends: %s", b[max(0, len(b)-600):])
}

// anonymous is the memory that only the process itself can give back, in bytes: the pages of
// the database are the kernel's.
func (d *daemon) anonymous() (float64, error) {
	text := firstOf(fmt.Sprintf("/proc/%d/status", d.pid), "RssAnon")
	kib, err := strconv.ParseFloat(strings.TrimSuffix(text, " kB"), 64)
	if err != nil {
		return 0, &notMeasured{fmt.Sprintf("RssAnon of process %d: %s", d.pid, text)}
	}
	return kib * 1024, nil
}

// scrape asks the daemon's own metrics: the commits so far, the jobs that are not finished.
func (d *daemon) scrape() (c commits, waiting int, err error) {
	resp, err := http.Get("http://" + d.metrics + "/metrics")
	if err != nil {
		return c, 0, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		at := strings.LastIndexByte(lines.Text(), ' ')
		if at < 0 {
			continue
		}
		name := lines.Text()[:at]
		v, err := strconv.ParseFloat(lines.Text()[at+1:], 64)
		if err != nil {
			continue
		}
		switch name {
		case metricCommits + "_sum":
			c.seconds = v
		case metricCommits + "_count":
			c.n = v
		case metricChanges + "_sum":
			c.changes = v
		}
		if labels, ok := strings.CutPrefix(name, "ticketrail_queue_jobs{"); ok {
			for _, s := range ticket.States() {
				if s.Open() && strings.Contains(labels, fmt.Sprintf("state=%q", s)) {
					waiting += int(v)
				}
			}
		}
	}
	return c, waiting, lines.Err()
}

// daemonConfig is two stations at one printer. It is not asked how it is while it is idle:
// questions would be the first bytes on its wire.
func daemonConfig(o daemonOptions, socket string) []byte {
	addr, confirm := nowhere, "none"
	if o.printer != nil {
		addr = o.printer.addr
		if o.printer.answers {
			confirm = "auto"
		}
	}
	return fmt.Appendf(nil, `receiver: { listen: "127.0.0.1:0" }
metrics: { listen: "127.0.0.1:0" }
admin: { socket: %q }
storage: { path: %q, max_backlog: 10000000 }
venues:
  - { id: %s, name: Harbour Grill, timezone: Australia/Melbourne }
printers:
  - { name: grill, address: "tcp://%[4]s", columns: 42, confirm: %[5]s, poll_every: 0s, expire_after: 720h }
  - { name: bar, address: "tcp://%[4]s", columns: 42, confirm: %[5]s, poll_every: 0s, expire_after: 720h }
routes:
  - { when: 'item.courseName == "Drinks"', to: [bar] }
  - { when: 'item.courseName in ["Appetizers", "Entrees", "Desserts"]', to: [grill] }
fallback: grill
`, socket, o.store, venueID, addr, confirm)
}
