package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/app"
	"ticketrail/config"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

// TestMain puts the program, and its variants for tests, on PATH.
func TestMain(m *testing.M) {
	// A program built with -race sleeps for a second before it ends; these end all the time.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	testscript.Main(m, map[string]func(){"ticketrail": main, unsynced: runUnsynced})
}

// TestTheCommandLineDoesWhatItSays runs testdata/script, where each file is a scenario. Beside
// testscript's own commands there are
//
//	exit CODE COMMAND...       run a command that must end with CODE
//	serve                      run the daemon of ./ticketrail.yaml, on printers without paper
//	stop                       end it gracefully
//	post FILE STATUS           send FILE as a print request; what is refused for its content is listed then
//	await JOB STATE            until a ticket is in a state
//	printer NAME off|on        pull a printer's plug, or put it back
//	printer NAME talks         before serve: it is one that answers
//	printer NAME CONDITION     from now on it is, as paper_out; ready ends that
//	until NAME STATE           until the daemon has seen that of a printer, or of its station
//	service ARG...             run possim serve, a process, in the place of the one before, if any;
//	                           its address is the environment's service.base_url
//	tablet                     a browser elsewhere asks to be paired; its code is in CODE
//	tablet SCREEN STATUS       it opens a screen and gets that status
//	known EMPLOYEES            until the daemon knows so many names and the time zone
func TestTheCommandLineDoesWhatItSays(t *testing.T) {
	possim := buildProgram(t, "possim")
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			r, err := newScriptDaemon()
			if err != nil {
				return err
			}
			e.Defer(r.close)
			e.Values[scriptDaemonKey{}] = r
			e.Vars = append(e.Vars, "TZ=UTC", "SOCKET="+r.socket, "ESC=\x1b")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exit": exitWith,
			"serve": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Check(daemonOf(ts).start(ts.MkAbs("ticketrail.yaml")))
			},
			"stop": func(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(daemonOf(ts).stop()) },
			"post": func(ts *testscript.TestScript, _ bool, a []string) {
				ts.Check(daemonOf(ts).post(ts.ReadFile(a[0]), a[1]))
			},
			"await": func(ts *testscript.TestScript, _ bool, a []string) {
				ts.Check(daemonOf(ts).waitForJob(a[0], a[1]))
			},
			"printer": func(ts *testscript.TestScript, _ bool, a []string) {
				ts.Check(daemonOf(ts).setPrinter(a[0], a[1]))
			},
			"service": func(ts *testscript.TestScript, _ bool, a []string) {
				ts.Check(daemonOf(ts).startService(ts, possim, a))
			},
			"known":  func(ts *testscript.TestScript, _ bool, a []string) { ts.Check(daemonOf(ts).waitForNames(a[0])) },
			"tablet": func(ts *testscript.TestScript, _ bool, a []string) { ts.Check(daemonOf(ts).useTablet(ts, a)) },
			"until": func(ts *testscript.TestScript, _ bool, a []string) {
				ts.Check(daemonOf(ts).waitForPrinter(a[0], a[1]))
			},
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

func exitWith(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		got = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s ends with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

type scriptDaemonKey struct{} // its key in a script's values

// A scriptDaemon is a daemon in this process, for one script.
type scriptDaemon struct {
	socket, dir string
	printers    map[string]*virtual.Printer
	webhook     string
	cancel      context.CancelFunc
	ended       chan int
	log         *logTail
	metrics     string  // address
	tablet      *tablet // that was last asked to be paired
	service     *service
	served      string // the address that the configuration has now
}

func newScriptDaemon() (*scriptDaemon, error) {
	dir, err := os.MkdirTemp("", "tr") // short: a unix socket's path has 107 bytes
	if err != nil {
		return nil, err
	}
	return &scriptDaemon{dir: dir, socket: filepath.Join(dir, "s"), printers: map[string]*virtual.Printer{},
		log: &logTail{}}, nil
}

func daemonOf(ts *testscript.TestScript) *scriptDaemon {
	return ts.Value(scriptDaemonKey{}).(*scriptDaemon)
}

func (r *scriptDaemon) close() {
	if r.cancel != nil {
		_ = r.stop()
	}
	r.service.end()
	os.RemoveAll(r.dir)
}

func (r *scriptDaemon) printer(name string) *virtual.Printer {
	if r.printers[name] == nil {
		r.printers[name] = virtual.New(virtual.Options{Name: name})
	}
	return r.printers[name]
}

// start runs the daemon and returns when it is ready. SOCKET in the configuration becomes the path
// of its socket.
func (r *scriptDaemon) start(conf string) error {
	text, err := os.ReadFile(conf)
	if err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte("SOCKET"), []byte(r.socket))
	if r.service != nil { // this process has not the script's environment
		for _, was := range []string{"SERVICE", r.served} {
			if was != "" {
				text = bytes.ReplaceAll(text, []byte(was), []byte(r.service.url))
			}
		}
		r.served = r.service.url
	}
	if err := os.WriteFile(conf, text, 0o600); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	r.webhook = "http://" + l.Addr().String() + "/webhooks/print"
	m, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	r.metrics = m.Addr().String()
	// A printer is made here, before the daemon's goroutines ask for it.
	for _, name := range []string{"grill", "bar"} {
		r.printer(name)
	}
	ready := make(chan struct{}, 1)
	c := &cli{out: r.log, err: r.log, changeOptions: func(o *app.Options) {
		o.Webhook, o.Metrics, o.CheckStore = l, m, nil
		o.Dialer = func(p config.Printer) (transport.Dialer, error) { return r.printers[p.Name], nil }
		o.Notify = func(state string) {
			if strings.HasPrefix(state, "READY=1") {
				select {
				case ready <- struct{}{}:
				default:
				}
			}
		}
	}}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.ended = cancel, make(chan int, 1)
	go func() { r.ended <- c.run(ctx, []string{"serve", "--config", conf}) }()
	select {
	case <-ready:
		return nil
	case code := <-r.ended:
		r.cancel = nil
		return fmt.Errorf("serve ends with %d before it is ready\n%s", code, r.log)
	}
}

func (r *scriptDaemon) stop() error {
	r.cancel()
	r.cancel = nil
	if code := <-r.ended; code != exitOK {
		return fmt.Errorf("serve ends with %d\n%s", code, r.log)
	}
	return nil
}

func (r *scriptDaemon) post(body, want string) error {
	listed, err := r.rejects()
	if err != nil {
		return err
	}
	got := ""
	if err := eventually(func() error { // a disk that is slow is answered 503, and the service tries again
		if got, err = r.postOnce(body); got == strconv.Itoa(http.StatusServiceUnavailable) {
			return fmt.Errorf("the answer is %s\n%s", got, r.log)
		}
		return err
	}); err != nil {
		return err
	}
	switch {
	case got != want:
		return fmt.Errorf("the answer is %s, want %s\n%s", got, want, r.log)
	case got != strconv.Itoa(http.StatusBadRequest):
		return nil
	}
	return eventually(func() error { // it is kept after the answer, and listed before it is on the disk
		now, err := r.rejects()
		if now <= listed {
			return fmt.Errorf("the refused request is not listed: %w\n%s", err, r.log)
		}
		all, err := admin.NewClient(r.socket).Rejects(context.Background())
		for _, one := range all {
			if _, missing := admin.NewClient(r.socket).Reject(context.Background(), one.ID); missing != nil {
				err = missing
			}
		}
		return err
	})
}

// postOnce returns the status of the answer.
func (r *scriptDaemon) postOnce(body string) (status string, err error) {
	req, err := http.NewRequest("POST", r.webhook, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "x-svc-venueid": venueID,
		"x-svc-device-id": "T1"} {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	return strconv.Itoa(resp.StatusCode), resp.Body.Close()
}

// rejects is how many refused requests the daemon has.
func (r *scriptDaemon) rejects() (int, error) {
	all, err := admin.NewClient(r.socket).Rejects(context.Background())
	return len(all), err
}

func (r *scriptDaemon) waitForJob(job, state string) error {
	id, err := parseID(job)
	if err != nil {
		return err
	}
	return eventually(func() error {
		x, err := admin.NewClient(r.socket).Job(context.Background(), id)
		if err != nil || string(x.Job.State) != state {
			return fmt.Errorf("job %s is %s, not %s: %v\n%s", job, x.Job.State, state, err, r.log)
		}
		if state == string(ticket.Pending) || state == string(ticket.Printing) {
			return nil
		}
		// Its end can be read before the sync has returned; until then its station counts it.
		all, err := admin.NewClient(r.socket).Stations(context.Background())
		for _, s := range all.Stations {
			if s.Name == x.Job.Station && s.Printing > 0 {
				return fmt.Errorf("job %s is still counted: %+v\n%s", job, s, r.log)
			}
		}
		return err
	})
}

// setPrinter changes the state of a printer.
func (r *scriptDaemon) setPrinter(name, what string) error {
	switch what {
	case "talks":
		r.printers[name] = virtual.New(virtual.Options{Name: name, Kanji: true, Can: virtual.Everything})
		return nil
	case "on", "off":
		return r.printer(name).Refuse(what == "off")
	case "ready":
		p := r.printer(name)
		p.Set(p.Conditions(), false)
		p.Repair()
		return nil
	case "stalls": // in the middle of a ticket; the status queries before it are a few bytes
		r.printer(name).StallAfter(100)
		return nil
	}
	c, err := virtual.ParseCondition(what)
	if err == nil {
		r.printer(name).Set(c, true)
	}
	return err
}

func (r *scriptDaemon) waitForPrinter(name, state string) error {
	return eventually(func() error {
		all, err := admin.NewClient(r.socket).Stations(context.Background())
		for _, p := range all.Stations {
			if p.Name == name && (string(p.State) == state || p.Device != nil && p.Device.State == state) {
				return nil
			}
		}
		return fmt.Errorf("%s is not %s: %+v, %v\n%s", name, state, all.Stations, err, r.log)
	})
}
