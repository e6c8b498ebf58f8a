package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/cmd/internal/finding"
	"ticketrail/cmd/internal/setup"
	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue/queuetest"
	"ticketrail/receiver"
	"ticketrail/receiver/plan"
)

// TestEachFaultIsSaidInTheSameWordsEverywhere makes faults and compares the words of status, doctor, the page for
// managers, a message, the journal and the metric. Without a daemon there are status, doctor and the last line of the
// journal.
func TestEachFaultIsSaidInTheSameWordsEverywhere(t *testing.T) {
	cert, key := keyPair(t, time.Now().AddDate(1, 0, 0))
	oldCert, oldKey := keyPair(t, time.Date(1999, 12, 1, 0, 0, 0, 0, time.UTC)) // the simulated year is 2000
	refuse := func(code receiver.Code) func(*testDaemon) {
		return func(k *testDaemon) { k.App.rejects.Keep(receiver.Reject{Time: time.Now(), Code: string(code)}) }
	}
	set := func(c virtual.Condition) func(*testDaemon) {
		return func(k *testDaemon) { k.Printers["grill"].Set(c, true) }
	}
	onDisk := func(text string) func(*testDaemon) {
		return func(k *testDaemon) { k.must(os.WriteFile(k.file(), []byte(text), 0o600)) }
	}
	connect := func(d transport.Dialer) func(*testDaemon) {
		return func(k *testDaemon) {
			k.change(func(o *Options) {
				to := o.Dialer
				o.Dialer = func(p config.Printer) (transport.Dialer, error) {
					if p.Name == "grill" {
						return d, nil
					}
					return to(p)
				}
			})
		}
	}
	const reach, correct = "check its power, its cable and its address", "correct it; then systemctl reload-or-restart"
	const readable = "(chgrp ticketrail FILE; chmod g+r FILE;"
	for _, c := range []struct {
		name              string
		before, make      func(*testDaemon) // the start, and after it
		id, cause, advice string
		warning           bool
	}{
		{"a printer that is off", nil, func(k *testDaemon) { k.Printers["grill"].Refuse(true) },
			"station/grill/unreachable", "unreachable", reach, false},
		{"a wrong port", connect(dialAddress("tcp://127.0.0.1:1")), nil,
			"station/grill/unreachable", "unreachable", "is 1 its port?", false},
		{"a cable that was pulled", nil, func(k *testDaemon) { k.Printers["grill"].Unplug(true) },
			"station/grill/unreachable", "unreachable", reach, false},
		{"no paper", nil, set(virtual.PaperOut), "station/grill/paper_out", "paper out", "put in a new roll", false},
		{"no paper after a cable fault", nil, func(k *testDaemon) {
			k.Printers["grill"].Refuse(true)
			k.Advance(20 * time.Minute)
			k.Printers["grill"].Refuse(false)
			set(virtual.PaperOut)(k)
		}, "station/grill/paper_out", "paper out", "put in a new roll", false},
		{"an open cover", nil, set(virtual.CoverOpen), "station/grill/cover_open", "cover open", "close the", false},
		{"a printer that hangs", nil, func(k *testDaemon) { k.Printers["grill"].Stall() },
			"station/grill/hung", "hung", "switch it off", false},
		{"no USB printer", connect(dialAddress("usb://ffff:ffff")), nil,
			"station/grill/unreachable", "unreachable", reach, false},
		{"nginx at the printer's address", connect(dialer(dialWebServer)), nil, "station/grill/not_a_printer",
			"not a printer", "check its address and its port", false},
		{"a web server that waits", connect(dialer(dialWaitingServer)), nil, "station/grill/not_a_printer",
			"not a printer", "check its address and its port", false},
		{"a printer that DHCP moved", func(k *testDaemon) {
			connect(movedDialer{k.Printers["grill"]})(k)
		}, nil, "station/grill/moved", "was found at b, not at a", "in the router", true},
		{"a held station", nil, func(k *testDaemon) {
			k.must(k.App.Queue().HoldStation(k.T.Context(), "grill", "cleaning"))
		}, "station/grill/on_hold", "held: cleaning", "printers resume grill", false},
		{"a log of tickets that cannot be written", func(k *testDaemon) {
			l := config.Defaults[config.TicketLog]()
			l.Name, l.To = "copy", "file:///gone/tickets.jsonl"
			k.Conf.Logs = []config.TicketLog{l}
			k.Conf.Routes = slices.Insert(k.Conf.Routes, 0, plan.Route{To: []string{"copy"}, Continue: true})
		}, func(k *testDaemon) { k.Accept("1", at("bar", "Ale")) }, "station/copy/down", "does not work",
			"ticketrail check --online", false},
		{"a wrong secret", nil, refuse(receiver.WrongPath), "orders/refused/wrong_secret",
			"1 request refused: wrong secret in the address", "ticketrail venues list", false},
		{"an unknown venue", nil, refuse(receiver.VenueNotAllowed), "orders/refused/unknown_venue",
			"1 request refused: the venue is not in the configuration", "to venues", false},
		{"another address", nil, refuse(receiver.AddressNotAllowed), "orders/refused/address",
			"1 request refused: sent from an address that is not allowed", "receiver.allow_from", false},
		{"a header that a proxy removed", nil, refuse(receiver.VenueMissing), "orders/refused/header_missing",
			"1 request refused: without the header that names the venue", "pass on all headers", false},
		{"orders that cannot be read", nil, func(k *testDaemon) { k.Send(`{"records":7}`) },
			"orders/refused/schema_mismatch", "1 request refused: schema mismatch", "ticketrail rejects", false},
		{"silence", func(k *testDaemon) { k.Conf.Venues[0].Hours = []config.Hours{hours(t, "daily 00:00-24:00")} },
			func(k *testDaemon) { k.Advance(2 * time.Hour) }, "orders/silent/Harbour Grill",
			"nothing came for Harbour Grill, although it is open", "internet connection", true},
		{"credentials that the service refuses", withBadService(http.StatusUnauthorized, nil), nil,
			"venue/Harbour Grill/token", "token fails", "check service.client_id", false},
		{"a service that cannot be reached", withBadService(0, syscall.ECONNREFUSED), nil,
			"venue/Harbour Grill/token", "token fails", "check service.base_url", false},
		{"an address that is no longer reached", func(k *testDaemon) {
			k.Conf.Receiver.ExternalURL = "https://kitchen.example"
		}, func(k *testDaemon) {
			k.Advance(10 * time.Minute)
			k.mails.unreachable.Store(true)
		}, doctor.NoAnswer, "its address does not answer", "on a phone", true},
		{"an address that leads elsewhere", func(k *testDaemon) {
			k.Conf.Receiver.ExternalURL = "https://www.example"
		}, nil, "webhook/not_ours", "its address is answered by something else", "lead it to", false},
		{"a damaged database", func(k *testDaemon) {
			k.must(os.WriteFile(k.Conf.Storage.Path, make([]byte, 20_000), 0o600))
		}, nil, "database/damaged/t.db.corrupt-20000101T000000Z", "a damaged database was put aside",
			"ask the kitchen", false},
		{"a full disk", func(k *testDaemon) {
			slow.Test(k.T, "root")
			folder := filepath.Dir(k.Conf.Storage.Path)
			k.must(unix.Mount("tmpfs", folder, "tmpfs", 0, "size=64m"))
			k.T.Cleanup(func() { k.must(unix.Unmount(folder, unix.MNT_DETACH)) })
		}, func(k *testDaemon) {
			filler := filepath.Join(filepath.Dir(k.Conf.Storage.Path), "filler")
			for size := 32 << 20; size > 4<<10; size /= 2 {
				out, err := os.OpenFile(filler, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
				k.must(err)
				_, _ = out.Write(make([]byte, size)) // until nothing more fits
				k.must(out.Close())
			}
			k.Post("7f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", "1", 0, at("bar", "Ale"))
		}, finding.DiskFull, "no orders are accepted: the disk is full", "delete something on the disk", false},
		{"a certificate that cannot be read", func(k *testDaemon) {
			k.Conf.Receiver.TLS.CertFile, k.Conf.Receiver.TLS.KeyFile = cert, key
		}, func(k *testDaemon) { k.must(os.WriteFile(cert, nil, 0o600)) }, "certificate/unreadable/webhook",
			"webhook: it cannot be read", "renew ", false},
		{"a certificate that has expired", func(k *testDaemon) {
			k.Conf.Receiver.TLS.CertFile, k.Conf.Receiver.TLS.KeyFile = oldCert, oldKey
		}, nil, "certificate/expired/webhook", "webhook: it expired", "renew ", false},
		{"a typo in the file", nil, onDisk("printer: []"), "config/invalid", "configuration on disk is refused",
			correct, false},
		{"a time zone that does not exist", nil, onDisk(grillOnly + "venues: [ { id: " + otherVenue +
			", name: Grill, timezone: Australia/Melborne } ]\n"), "config/invalid", "configuration on disk is refused",
			correct, false},
		{"a secret that was removed", nil, onDisk(grillOnly + "receiver: { secret_file: removed }"),
			"config/secret_missing", "configuration on disk is refused: bad secret or certificate", readable, false},
		{"a configuration that cannot be read", nil, func(k *testDaemon) { k.must(os.Mkdir(k.file(), 0o700)) },
			"config/unreadable", "configuration on disk is refused: it cannot be read", readable, false},
		{"no token for the relay", withRelay, nil, "relay/no_token", "no order can be fetched",
			"ticketrail relay venues add", false},
		{"a clock without a time server", func(k *testDaemon) {
			k.change(func(o *Options) { o.Clock = unsynced{} })
		}, nil, "clock/not_synchronized", "it may be wrong, it is not synchronized", "timesyncd", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &queuetest.Log{}
			runFaulty(t, func(k *testDaemon) {
				k.change(func(o *Options) { o.Log = log })
				if strings.HasPrefix(c.id, "config/") {
					k.change(func(o *Options) { o.ConfigPath = k.file() })
				}
				if c.before != nil {
					c.before(k)
				}
			}, func(k *testDaemon) {
				if c.make != nil {
					c.make(k)
				}
				k.Advance(25 * time.Minute)

				f := withID(k.T, k.findings(), c.id)
				level, severity := "ERROR", finding.Fail
				if c.warning {
					level, severity = "WARN", finding.Warn
				}
				assert.True(t, strings.HasPrefix(f.Text, c.cause) && strings.Contains(f.Do, c.advice) &&
					f.Level == severity && !f.Since.IsZero(), f, c)
				k.wantMetric(1, "ticketrail_finding", c.id, string(severity))
				k.saysOnThePage(f)
				if f.Station && c.warning { // people away from the kitchen can do nothing about it
					assert.True(t, !strings.Contains(k.mails.String(), f.ID), "people were told of", f)
				} else {
					k.saysInMails(f)
				}
				line := "level=" + level + ` msg="a finding has begun" component=notify finding=`
				assert.True(t, strings.Contains(strings.ReplaceAll(log.String(), `"`+c.id+`"`, c.id), line+c.id),
					"the journal lacks", line, c.id, log)
				if strings.HasPrefix(c.id, "config/") { // doctor reads the same file
					found, _ := doctor.Box{}.Look(k.T.Context(), k.file())
					wantSame(k.T, f, withID(k.T, found, c.id))
				}
			})
		})
	}

	for _, c := range []struct {
		name, text        string // the end of the file
		id, cause, advice string
	}{
		{"a port that is taken", "metrics: { listen: TAKEN }\n", "port/metrics.listen",
			"the port of metrics.listen is taken", "stop that program"},
		{"a typo", "printer: []\n", "config/invalid", "configuration on disk is refused", correct},
		{"a time zone that does not exist", "zone: Australia/Melborne\n", "config/invalid",
			"configuration on disk is refused", correct},
		{"a secret that was removed", "service: { base_url: \"https://a\", client_id: c, client_secret_file: no }\n",
			"config/secret_missing", "configuration on disk is refused: bad secret or certificate", readable},
		{"a configuration that cannot be read", "", "config/unreadable",
			"configuration on disk is refused: it cannot be read", readable},
		{"no folder for the database", "storage: { path: gone/t.db }\n", "database/no_folder",
			"its folder does not exist", "create it"},
		{"a database of another user", "storage: { path: other/t.db }\n", "database/owner",
			"the service may not open it, or not write in its folder", "chown -R root: "},
	} {
		t.Run(c.name+" at the start", func(t *testing.T) { wantRefusedStart(t, c.text, c.id, c.cause, c.advice) })
	}
}

func TestAnAddressThatNeverAnsweredThisBoxIsNotTold(t *testing.T) {
	runFaulty(t, func(k *testDaemon) {
		k.Conf.Receiver.ExternalURL = "https://kitchen.example"
		k.mails.unreachable.Store(true)
	}, func(k *testDaemon) {
		k.Advance(20 * time.Minute)
		for _, f := range k.findings() {
			assert.Equal(t, f.Level, finding.OK, f)
		}
	})
}

// runFaulty runs a daemon that tells a phone what is wrong.
func runFaulty(t *testing.T, setup, f func(*testDaemon)) {
	mails := &mailbox{}
	was := http.DefaultTransport
	http.DefaultTransport = mails
	defer func() { http.DefaultTransport = was }()
	runDaemonWith(t, func(k *testDaemon) {
		withCapability(virtual.Everything)(k)
		k.mails = mails
		k.Conf.Notify.To = []config.Recipient{{Name: "phone", Address: config.NewSecret("https://127.0.0.1:1/"),
			Keys: config.NewSecret("whsec_" + strings.Repeat("QUJD", 8))}}
		setup(k)
	}, f, "grill", "bar")
}

// wantRefusedStart starts a daemon with a text at the end of its file. The error that ends the start has the words of
// status and doctor.
func wantRefusedStart(t *testing.T, text, id, cause, advice string) {
	folder := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	defer taken.Close()
	t.Setenv("TICKETRAIL_RECEIVER_LISTEN", "127.0.0.1:0")
	t.Setenv("TICKETRAIL_DISPLAY_LISTEN", "127.0.0.1:0")
	path := filepath.Join(folder, "t.yaml")
	zone := "UTC"
	if rest, ok := strings.CutPrefix(text, "zone: "); ok {
		zone, text = strings.TrimSpace(rest), ""
	}
	for _, line := range []string{"metrics: { listen: \"\" }\n", "storage: { path: t.db }\n"} {
		if key, _, _ := strings.Cut(line, " "); !strings.Contains(text, key) {
			text += line
		}
	}
	text = strings.ReplaceAll(text, "TAKEN", fmt.Sprintf("%q", taken.Addr())) + grillOnly + "admin: { socket: s }\n" +
		"fonts: [ none.ttf ]\nvenues: [ { id: " + otherVenue + ", name: Grill, timezone: " + zone + " } ]\n"
	if id != "config/unreadable" {
		assert.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	if id == "database/owner" {
		asAnotherUser(t, folder)
	}

	a, err := New(t.Context(), Options{ConfigPath: path, Log: t.Output()})
	if err == nil {
		t.Fatalf("it starts: %v", a.Close())
	}
	if refused := setup.Refused(path, err); refused != nil { // the words of ticketrail serve
		err = refused
	}
	fault, ok := errors.AsType[*finding.Error](err)
	if !ok || fault.ID != id || fault.Text != cause || !strings.Contains(fault.Do, advice) {
		t.Fatalf("the start ends with %v, want %s: %s: %s", err, id, cause, advice)
	}
	assert.True(t, strings.HasPrefix(fault.Error(), id+": "+cause) && strings.HasSuffix(fault.Error(), ": "+fault.Do),
		"the journal ends with", fault)
	if id == "port/metrics.listen" { // of it doctor knows by ss
		slow.Test(t, "ss")
	}
	found, _ := doctor.Box{}.Look(t.Context(), path)
	wantSame(t, fault.Finding, withID(t, found, id))
}

// withID is the finding with an identity.
func withID(t *testing.T, all []finding.Finding, id string) finding.Finding {
	t.Helper()
	i := slices.IndexFunc(all, func(f finding.Finding) bool { return f.ID == id })
	if i < 0 {
		t.Fatalf("no %s among %+v", id, all)
	}
	return all[i]
}

// wantSame compares the words of two findings. Only root sees which program has a port.
func wantSame(t *testing.T, f, g finding.Finding) {
	t.Helper()
	assert.True(t, f.ID == g.ID && f.Level == g.Level && f.Subject == g.Subject && f.Text == g.Text && f.Do == g.Do &&
		strings.HasPrefix(g.Detail, f.Detail), f, g)
}

// saysOnThePage looks for a finding on the page for managers.
func (k *testDaemon) saysOnThePage(f finding.Finding) {
	k.T.Helper()
	page := httptest.NewRecorder()
	k.App.control.ServePage(page, httptest.NewRequest("GET", "/state", nil), "anna")
	k.says("the page", page.Body.String(), f)
}

// saysInMails looks for a finding in the messages to people.
func (k *testDaemon) saysInMails(f finding.Finding) {
	k.T.Helper()
	k.says("no message", k.mails.String(), f)
}

func (k *testDaemon) says(where, text string, f finding.Finding) {
	k.T.Helper()
	for _, want := range []string{f.ID, f.Text, f.Do} {
		b, err := json.Marshal(want)
		if k.must(err); !strings.Contains(text, string(b)) {
			k.T.Errorf("%s has %s:\n%s", where, b, text)
		}
	}
}

// file is a configuration file beside the database.
func (k *testDaemon) file() string { return filepath.Join(filepath.Dir(k.Conf.Storage.Path), "t.yaml") }

// A dialer connects to whatever is at the address of a printer.
type dialer func(context.Context) (transport.Conn, error)

func (d dialer) Dial(ctx context.Context) (transport.Conn, error) { return d(ctx) }

// A webConn is a connection to a web server.
type webConn struct{ net.Conn }

func (c webConn) Finish(context.Context) error { return c.Close() }

// dialAddress connects to a real address of this machine.
func dialAddress(address string) dialer {
	return func(ctx context.Context) (transport.Conn, error) {
		d, err := transport.Open(address)
		if err != nil {
			return nil, err
		}
		return d.Dial(ctx)
	}
}

// A movedDialer is the printer at another address.
type movedDialer struct{ transport.Dialer }

func (movedDialer) Moved() (text, advice string) {
	return "was found at b, not at a", "give it a fixed address in the router"
}

// withBadService has a point-of-sale API that gives this answer.
func withBadService(status int, err error) func(*testDaemon) {
	return func(k *testDaemon) {
		k.configureService()
		k.service = roundTripper(func(r *http.Request) (*http.Response, error) {
			if err != nil {
				return nil, err
			}
			return &http.Response{StatusCode: status, Body: http.NoBody, Request: r}, nil
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// dialWaitingServer connects to a web server that waits for the whole of a request.
func dialWaitingServer(context.Context) (transport.Conn, error) {
	here, there := net.Pipe()
	whole := make(chan struct{})
	go func() {
		defer there.Close()
		go func() { _, _ = io.Copy(io.Discard, there) }()
		<-whole
		_, _ = io.WriteString(there, "HTTP/1.1 400 Bad Request\r\n\r\n")
	}()
	return waitingConn{webConn{here}, sync.OnceFunc(func() { close(whole) })}, nil
}

// A waitingConn is a connection to it.
type waitingConn struct {
	webConn
	end func()
}

func (c waitingConn) CloseWrite() error { c.end(); return nil }
func (c waitingConn) Close() error      { c.end(); return c.webConn.Close() }

// asAnotherUser gives a database in the folder to another user, as whom the rest of the test opens files. The service
// is root, says systemctl.
func asAnotherUser(t *testing.T, folder string) {
	slow.Test(t, "root")
	const other, service = 12345, 54321
	bin := t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(folder, "other", "t.db"): "",
		filepath.Join(bin, "systemctl"): "#!/bin/sh\necho LoadState=loaded\necho User=root\necho 'ExecStart={ " +
			filepath.Join(folder, "t.yaml") + " }'\n",
	} {
		err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.Chmod(filepath.Dir(name), 0o777),
			os.WriteFile(name, []byte(text), 0o700), os.Chown(name, other, -1))
		assert.NoError(t, err)
	}
	for dir := folder; dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		assert.NoError(t, os.Chmod(dir, 0o755))
	}
	readable := errors.Join(os.Chmod(filepath.Join(folder, "t.yaml"), 0o644),
		os.Chmod(filepath.Join(bin, "systemctl"), 0o755))
	if readable != nil {
		t.Fatal(readable)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	runtime.LockOSThread() // for ever: the thread ends with the test
	assert.NoError(t, unix.Setfsuid(service))
	t.Cleanup(func() { _ = unix.Setfsuid(0); runtime.UnlockOSThread() })
}

// dialWebServer connects to a web server, which answers a printer's commands with an error.
func dialWebServer(context.Context) (transport.Conn, error) {
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		_, _ = there.Read(make([]byte, 512))
		_, _ = io.WriteString(there, "HTTP/1.1 400 Bad Request\r\nServer: nginx\r\nConnection: close\r\n\r\n")
	}()
	return webConn{here}, nil
}

// unsynced is a clock without a time server.
type unsynced struct{}

func (unsynced) Now() time.Time     { return time.Now() }
func (unsynced) Synchronized() bool { return false }

// A mailbox takes the posted messages. It also answers at kitchen.example as the webhook does.
type mailbox struct {
	unreachable atomic.Bool // kitchen.example is

	mu  sync.Mutex
	got bytes.Buffer
}

func (m *mailbox) RoundTrip(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	answer := &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}
	if r.Body != nil {
		_, err := m.got.ReadFrom(r.Body)
		return answer, err
	}

	if m.unreachable.Load() {
		return nil, syscall.ECONNREFUSED
	}
	if r.URL.Host == "kitchen.example" {
		answer.Body = io.NopCloser(strings.NewReader(`{"error":{"code":"method_not_allowed"}}`))
	}
	return answer, nil
}

func (m *mailbox) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.got.String()
}
