package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/app"
	"ticketrail/config"
	"ticketrail/deploy/slow"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/sim"
)

// TestTheCommandLineDoesWhatItSays runs testdata/script, where each file is a scenario. Beside
// testscript's own commands there are
//
//	exit CODE COMMAND...       run a command that must end with CODE
//	serve                      run the daemon of ./ticketrail.yaml, on printers without paper
//	stop                       end it gracefully
//	post FILE STATUS           send FILE as a print request; a body that is refused for its content is listed then
//	await JOB STATE            until a ticket is in a state
//	printer NAME off|on        pull a printer's plug, or put it back
//	printer NAME CONDITION     from now on it is, as paper_out; ready ends that, stalls is in the middle of a ticket
//	until NAME STATE           until the daemon has seen that state of a printer, or of its station
//	service FLAG...            run the service's API, with flags of possim serve, in the place of the one before,
//	                           if any; its address is the environment's service.base_url
//	tablet                     a browser elsewhere asks to be paired; its code is in CODE
//	tablet SCREEN STATUS       it opens a screen and gets that status
//	known EMPLOYEES            until the daemon knows so many names and the time zone
//	private FOLDER             no other user can read any file in it
//	looked ORDERS              until the daemon has looked at the fields of so many orders
func TestTheCommandLineDoesWhatItSays(t *testing.T) {
	t.Parallel()
	runScripts(t, "script")
}

// TestTheCommandLineWaitsAsLongAsItSays runs the scenarios in which the program waits: for a service that is slow, and
// for the file that another process has open.
func TestTheCommandLineWaitsAsLongAsItSays(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	runScripts(t, "slow")
}

func runScripts(t *testing.T, folder string) {
	type command = func(d *scriptDaemon, ts *testscript.TestScript, args []string) error
	commands := map[string]func(*testscript.TestScript, bool, []string){}
	for name, run := range map[string]command{
		"exit": exitWith,
		"serve": func(d *scriptDaemon, ts *testscript.TestScript, _ []string) error {
			return d.start(ts.MkAbs("ticketrail.yaml"))
		},
		"stop": func(d *scriptDaemon, _ *testscript.TestScript, _ []string) error { return d.stop() },
		"post": func(d *scriptDaemon, ts *testscript.TestScript, args []string) error {
			return d.post(ts.ReadFile(args[0]), args[1])
		},
		"await": (*scriptDaemon).waitForJob, "printer": (*scriptDaemon).setPrinter,
		"until": (*scriptDaemon).waitForPrinter, "known": (*scriptDaemon).waitForNames,
		"service": (*scriptDaemon).startService, "tablet": (*scriptDaemon).useTablet,
		"private": func(_ *scriptDaemon, ts *testscript.TestScript, args []string) error {
			return filepath.WalkDir(ts.MkAbs(args[0]), func(path string, e fs.DirEntry, err error) error {
				if info, errInfo := e.Info(); err == nil && errInfo == nil && info.Mode().Perm()&0o077 != 0 {
					err = fmt.Errorf("%s has the mode %v", path, info.Mode())
				}
				return err
			})
		},
		"looked": func(d *scriptDaemon, _ *testscript.TestScript, args []string) error {
			return eventually(func() error {
				all, err := d.control().Fields(context.Background())
				if err == nil && strconv.Itoa(all.Venues[0].Requests) != args[0] {
					err = fmt.Errorf("the fields of %d orders were looked at", all.Venues[0].Requests)
				}
				return err
			})
		},
	} {
		commands[name] = func(ts *testscript.TestScript, _ bool, args []string) {
			ts.Check(run(ts.Value(scriptDaemonKey{}).(*scriptDaemon), ts, args))
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", folder),
		Setup: func(e *testscript.Env) error {
			d, err := newScriptDaemon()
			if err != nil {
				return err
			}
			e.Defer(d.close)
			e.Values[scriptDaemonKey{}] = d
			e.Vars = append(e.Vars, "TZ=UTC", "SOCKET="+d.socket, "ESC=\x1b",
				"SYSTEMCTL_SAYS="+filepath.Join(e.WorkDir, "units"))
			return nil
		},
		Cmds:                commands,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

func exitWith(_ *scriptDaemon, ts *testscript.TestScript, args []string) error {
	want, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		got, err = e.ExitCode(), nil
	}
	if err == nil && got != want {
		err = fmt.Errorf("%s ends with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
	return err
}

// scriptDaemonKey is the key of a script's daemon in its values.
type scriptDaemonKey struct{}

// A scriptDaemon is a daemon in this process, with printers that answer everything. It syncs nothing.
type scriptDaemon struct {
	socket, dir string
	printers    map[string]*virtual.Printer
	webhook     string
	cancel      context.CancelFunc
	ended       chan int
	log         *logTail
	metrics     string // address
	service     *httptest.Server
	served      string // the service's address that the configuration has now
	browser     *http.Client
	display     string // address, for the browser
}

func newScriptDaemon() (*scriptDaemon, error) {
	dir, err := os.MkdirTemp("", "tr") // short: a unix socket's path has 107 bytes
	if err != nil {
		return nil, err
	}
	d := &scriptDaemon{dir: dir, socket: filepath.Join(dir, "s"), printers: map[string]*virtual.Printer{},
		log: &logTail{}}
	for _, name := range []string{"grill", "bar"} {
		d.printers[name] = virtual.New(virtual.Options{Name: name, Kanji: true, Can: virtual.Everything})
	}
	return d, nil
}

func (d *scriptDaemon) close() {
	if d.cancel != nil {
		_ = d.stop()
	}
	if d.service != nil {
		d.service.CloseClientConnections()
		d.service.Close()
	}
	os.RemoveAll(d.dir)
}

// start runs the daemon and returns when it is ready. SOCKET in the configuration becomes the path
// of its socket, SERVICE the service's address.
func (d *scriptDaemon) start(conf string) error {
	text, err := os.ReadFile(conf)
	if err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte("SOCKET"), []byte(d.socket))
	if d.service != nil { // this process has not the script's environment
		text = bytes.ReplaceAll(text, []byte("SERVICE"), []byte(d.service.URL))
		if d.served != "" {
			text = bytes.ReplaceAll(text, []byte(d.served), []byte(d.service.URL))
		}
		d.served = d.service.URL
	}
	if err := os.WriteFile(conf, text, 0o600); err != nil {
		return err
	}
	webhook, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	metrics, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}

	d.webhook, d.metrics = "http://"+webhook.Addr().String()+"/webhooks/print", metrics.Addr().String()
	ready := make(chan struct{}, 100)
	c := &cli{out: d.log, err: d.log, changeOptions: func(o *app.Options) {
		o.Webhook, o.Metrics, o.CheckStore, o.NoSync = webhook, metrics, nil, true
		o.Dialer = func(p config.Printer) (transport.Dialer, error) { return d.printers[p.Name], nil }
		o.Notify = func(state string) {
			if strings.HasPrefix(state, "READY=1") {
				ready <- struct{}{}
			}
		}
	}}
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel, d.ended = cancel, make(chan int, 1)
	go func() { d.ended <- c.run(ctx, []string{"serve", "--config", conf}) }()
	select {
	case <-ready:
		return nil
	case code := <-d.ended:
		d.cancel = nil
		return fmt.Errorf("serve ends with %d before it is ready\n%s", code, d.log)
	}
}

func (d *scriptDaemon) stop() error {
	d.cancel()
	d.cancel = nil
	if code := <-d.ended; code != exitOK {
		return fmt.Errorf("serve ends with %d\n%s", code, d.log)
	}
	return nil
}

func (d *scriptDaemon) control() *admin.Client { return admin.NewClient(d.socket) }

func (d *scriptDaemon) post(body, want string) error {
	before, err := d.control().Rejects(context.Background())
	if err != nil {
		return err
	}
	var got answer
	if err := eventually(func() error { // a disk that is slow is answered 503, and the service tries again
		got = postBody(http.DefaultClient, d.webhook, []byte(body))
		if got.status == http.StatusServiceUnavailable {
			return fmt.Errorf("the answer is %+v\n%s", got, d.log)
		}
		return nil
	}); err != nil {
		return err
	}
	if strconv.Itoa(got.status) != want {
		return fmt.Errorf("the answer is %+v, want %s\n%s", got, want, d.log)
	}
	if got.status != http.StatusBadRequest {
		return nil
	}
	return eventually(func() error { // it is kept after the answer, and listed before it is on the disk
		now, err := d.control().Rejects(context.Background())
		if err == nil && len(now) <= len(before) {
			err = fmt.Errorf("the refused request is not listed\n%s", d.log)
		}
		for _, one := range now {
			_, missing := d.control().Reject(context.Background(), one.ID)
			err = errors.Join(err, missing)
		}
		return err
	})
}

func (d *scriptDaemon) waitForJob(_ *testscript.TestScript, args []string) error {
	job, state := args[0], args[1]
	id, err := strconv.ParseUint(job, 10, 64)
	if err != nil {
		return err
	}
	return eventually(func() error {
		x, err := d.control().Job(context.Background(), id)
		if err != nil || string(x.Job.State) != state {
			return fmt.Errorf("job %s is %s, not %s: %v\n%s", job, x.Job.State, state, err, d.log)
		}
		if state == string(ticket.Pending) || state == string(ticket.Printing) {
			return nil
		}
		// Its end can be read before the sync has returned; until then its station counts it.
		all, err := d.control().Stations(context.Background())
		for _, s := range all.Stations {
			if s.Name == x.Job.Station && s.Printing > 0 {
				return fmt.Errorf("job %s is still counted: %+v\n%s", job, s, d.log)
			}
		}
		return err
	})
}

// setPrinter changes the state of a printer.
func (d *scriptDaemon) setPrinter(_ *testscript.TestScript, args []string) error {
	p, what := d.printers[args[0]], args[1]
	switch what {
	case "on", "off":
		return p.Refuse(what == "off")
	case "ready":
		p.Set(p.Conditions(), false)
		p.Repair()
		return nil
	case "stalls":
		p.StallAfter(100) // the status queries before a ticket are a few bytes
		return nil
	}
	c, err := virtual.ParseCondition(what)
	if err == nil {
		p.Set(c, true)
	}
	return err
}

func (d *scriptDaemon) waitForPrinter(_ *testscript.TestScript, args []string) error {
	name, state := args[0], args[1]
	return eventually(func() error {
		all, err := d.control().Stations(context.Background())
		for _, p := range all.Stations {
			if p.Name == name && (string(p.State) == state || p.Device != nil && p.Device.State == state) {
				return nil
			}
		}
		return fmt.Errorf("%s is not %s: %+v, %v\n%s", name, state, all.Stations, err, d.log)
	})
}

// startService runs the service's API until the script ends or asks for another. Its flags, and their meaning if they
// are not there, are as for possim serve.
func (d *scriptDaemon) startService(ts *testscript.TestScript, args []string) error {
	o := sim.Options{ClientID: "possim", ClientSecret: "possim-secret"}
	var venues []string
	one := sim.Restaurant{}
	f := flag.NewFlagSet("service", flag.ContinueOnError)
	f.StringVar(&o.Prefix, "prefix", "/api", "")
	f.StringVar(&o.LaborPrefix, "labor-prefix", "", "")
	f.StringVar(&o.CursorAt, "cursor-at", contract.FieldNextCursor, "")
	f.IntVar(&o.MaxLimit, "max-limit", 0, "")
	f.Uint64Var(&o.Seed, "seed", 1, "")
	f.IntVar(&one.Employees, "employees", 25, "")
	f.StringVar(&one.Zone, "timezone", sim.DefaultZone, "")
	f.Func("venue", "", func(id string) error { venues = append(venues, id); return nil })
	f.Func("fault", "", func(text string) error {
		fault, err := sim.ParseFault(text)
		o.Faults = append(o.Faults, fault)
		return err
	})
	if err := f.Parse(args); err != nil {
		return err
	}
	if len(venues) == 0 {
		venues = []string{venueID}
	}
	for _, one.ID = range venues {
		o.Venues = append(o.Venues, one)
	}

	if d.service != nil {
		d.service.CloseClientConnections()
		d.service.Close()
	}
	d.service = httptest.NewServer(sim.New(o).Handler())
	d.service.URL += strings.TrimSuffix("/"+strings.Trim(o.Prefix, "/"), "/")
	ts.Setenv("TICKETRAIL_SERVICE_BASE_URL", d.service.URL)
	return nil
}

// waitForNames waits until the running daemon knows so many names and the time zone of its only venue.
func (d *scriptDaemon) waitForNames(_ *testscript.TestScript, args []string) error {
	refreshed := regexp.MustCompile(`venue refreshed.* employees=` + args[0] + ` timezone=[A-Z]`)
	return eventually(func() error {
		if !refreshed.MatchString(d.log.String()) {
			return fmt.Errorf("the names are not known\n%s", d.log)
		}
		return nil
	})
}

var shownCode = regexp.MustCompile(`id="code"[^>]*>([A-Z0-9-]+)<`)

// useTablet is the command tablet. The tablet is on another machine, as far as the daemon can tell: it asks for this
// one by a name.
func (d *scriptDaemon) useTablet(ts *testscript.TestScript, args []string) error {
	if len(args) == 2 {
		code, _, err := d.browse("/screen/" + args[0])
		if err == nil && strconv.Itoa(code) != args[1] {
			err = fmt.Errorf("it got %d, want %s", code, args[1])
		}
		return err
	}
	all, err := d.control().Screens(context.Background())
	if err != nil || len(all.Screens) == 0 {
		return fmt.Errorf("the daemon has the screens %+v, %w", all, err)
	}
	u, err := url.Parse(all.Screens[0].Address)
	if err != nil {
		return err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	d.display = "http://" + u.Host
	d.browser = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	_, text, err := d.browse("/")
	if err != nil {
		return err
	}
	m := shownCode.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("no code is shown: %s", text)
	}
	ts.Setenv("CODE", m[1])
	return nil
}

func (d *scriptDaemon) browse(path string) (status int, text string, err error) {
	req, err := http.NewRequest("GET", d.display+path, nil)
	if err != nil {
		return 0, "", err
	}
	req.Host = "kitchen-box"
	resp, err := d.browser.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}
